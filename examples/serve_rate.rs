//! Measures how many requests a second `serve` answers: `cargo run --release --example serve_rate`.
//!
//! The requests differ in extents, layouts, types and windows. Every kernel is validated.

use std::{collections::HashSet, io::Cursor, thread, time::Instant};

use prost::Message;
use stridec::{
    Error, Tensor,
    proto::stridec::{
        CompileRequest, CompileResponse, Relayout, Slice, compile_request::Operation,
        compile_response,
    },
    service::serve,
};

const REQUESTS: u32 = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut input = vec![];
    for number in 0..REQUESTS {
        request(number)?.encode_length_delimited(&mut input)?;
    }
    let mut output = vec![];
    let started = Instant::now();
    let answered = serve(Cursor::new(input), &mut output)?;
    let seconds = started.elapsed().as_secs_f64();
    let threads = thread::available_parallelism()?;
    println!("{answered} requests in {seconds:.2} s on {threads} threads");
    println!("{:.0} requests a second", f64::from(REQUESTS) / seconds);
    println!("{} distinct kernels, each validated", texts(&output)?.len());
    Ok(())
}

/// Makes a slice or relayout of an image, a different one for each number.
fn request(number: u32) -> Result<CompileRequest, Error> {
    let kind = ["f32", "bf16", "s8", "f64"][number as usize % 4];
    let (height, width) = (8 + u64::from(number) / 100, 8 + u64::from(number) % 100);
    let tensor = |layout: &str| -> Result<_, Error> {
        let text = format!("{kind}[2,{height},{width},16]{layout}");
        Ok(Some((&text.parse::<Tensor>()?).try_into()?))
    };
    let source = tensor("{3,2,1,0}")?;
    let operation = match number % 3 {
        0 => Operation::Slice(Slice {
            source,
            destination: None,
            window_offsets: vec![0, 1, 2, 0],
            window_sizes: vec![2, height - 2, width - 2, 16],
            window_strides: vec![1, 2, -1, 1],
            output_sizes: vec![],
        }),
        1 => Operation::Relayout(Relayout { source, destination: tensor("{2,1,3,0}")? }),
        _ => Operation::Relayout(Relayout { source, destination: tensor("{3,2,1,0:T(8,128)}")? }),
    };
    Ok(CompileRequest { operation: Some(operation), ..Default::default() })
}

/// Returns the texts of the distinct kernels; a response without a kernel is an error.
fn texts(mut output: &[u8]) -> Result<HashSet<String>, Box<dyn std::error::Error>> {
    let mut texts = HashSet::new();
    while !output.is_empty() {
        match CompileResponse::decode_length_delimited(&mut output)?.result {
            Some(compile_response::Result::Kernel(kernel)) => texts.insert(kernel.wgsl),
            other => return Err(format!("no kernel: {other:?}").into()),
        };
    }
    Ok(texts)
}
