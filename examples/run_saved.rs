//! A runner of saved programs. It compiles nothing: a file has the kernels, and each of them is
//! proved again to stay inside its buffers while it is read.
//!
//! `stridec compile hlo @examples/data/movements.txt --emit pb -o movements.pb`
//! `cargo run --no-default-features --features gpu --example run_saved -- movements.pb`

use std::{env, error::Error, fs};

use stridec::{ErrorKind, gpu::Gpu, program::Program};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("expected the file of a saved program")?;
    let program = Program::decode(&fs::read(path)?)?;
    println!("{}: {} kernels", program.name(), program.kernels().len());
    for kernel in program.kernels() {
        let proof = kernel.proof().map_or("nothing to dispatch".to_owned(), ToString::to_string);
        println!("  {}: {proof}", kernel.strategy);
    }

    // Any bytes will do for the parameters.
    let bytes = |count: u64| (0..count).map(|at| (at * 7 % 251).to_le_bytes()[0]).collect();
    let images: Vec<Vec<u8>> = program.parameters().iter().map(|of| bytes(of.bytes())).collect();
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let expected = program.run_on_host(&images)?;
    match Gpu::open() {
        Ok(gpu) if gpu.run_program(&program, &images)? == expected => {
            println!("{}: the bytes of the host", gpu.name());
            Ok(())
        }
        Ok(gpu) => Err(format!("{}: different bytes", gpu.name()).into()),
        Err(error) if error.kind() == ErrorKind::NoDevice => {
            println!("ran on the host: {error}");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}
