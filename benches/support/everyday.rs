//! The everyday cases, which are relayouts and slices of shapes that real tensors have. They are in
//! `benches/data/everyday.jsonl`.
//!
//! Each line is an object with the fields `name` and `op`, which has the arguments of `stridec
//! bench`.
#![allow(dead_code)] // each bench uses a part

use std::error::Error;

use stridec::{
    Operation, Tensor,
    shape::{Layout, Shape},
    stride::StrideDescriptor,
    window::Slice,
};

/// A case: its name, and the operation to time.
pub struct Everyday {
    pub name: String,
    pub operation: Operation,
}

/// Returns the cases of `benches/data/everyday.jsonl`.
pub fn everyday() -> Result<Vec<Everyday>, Box<dyn Error>> {
    read(include_str!("../data/everyday.jsonl"))
}

/// Returns the cases of a text, which has one case on each line.
pub fn read(lines: &str) -> Result<Vec<Everyday>, Box<dyn Error>> {
    lines.lines().filter(|line| !line.trim().is_empty()).map(case).collect()
}

fn case(line: &str) -> Result<Everyday, Box<dyn Error>> {
    let value: serde_json::Value = serde_json::from_str(line)?;
    let name = value["name"].as_str().ok_or("expected a name")?.to_owned();
    let arguments: Vec<&str> =
        value["op"].as_array().into_iter().flatten().filter_map(|text| text.as_str()).collect();
    let operation = operation(&arguments).map_err(|error| format!("{name}: {error}"))?;
    Ok(Everyday { name, operation })
}

/// Returns the operation that arguments of the command line describe: `relayout --from SHAPE --to
/// LAYOUT`, or `slice --from SHAPE --offsets=… --sizes=… --strides=…`.
pub fn operation(arguments: &[&str]) -> Result<Operation, Box<dyn Error>> {
    let flag = |name: &str| -> Result<&str, Box<dyn Error>> {
        let mut rest =
            arguments.iter().skip_while(|argument| argument.split('=').next() != Some(name));
        let found = rest.next().ok_or_else(|| format!("expected {name}"))?;
        match found.split_once('=') {
            Some((_, value)) => Ok(value),
            None => Ok(rest.next().ok_or_else(|| format!("expected a value after {name}"))?),
        }
    };
    let source: Shape = flag("--from")?.parse()?;
    match arguments.first() {
        Some(&"relayout") => {
            let layout: Layout = flag("--to")?.parse()?;
            let sizes = StrideDescriptor::try_from(&source)?.sizes().to_vec();
            let destination = Shape::new(source.element_type(), sizes, layout)?;
            Ok(Operation::relayout(source.try_into()?, destination.try_into()?)?)
        }
        Some(&"slice") => {
            let slice = Slice::new(
                numbers(flag("--offsets")?)?,
                numbers(flag("--sizes")?)?,
                numbers::<i64>(flag("--strides")?)?,
            );
            Ok(Operation::slice(Tensor::try_from(source)?, &slice, None)?)
        }
        other => Err(format!("expected relayout or slice, got {other:?}").into()),
    }
}

fn numbers<N: std::str::FromStr>(list: &str) -> Result<Vec<N>, N::Err> {
    list.split(',').map(str::parse).collect()
}
