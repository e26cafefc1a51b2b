//! `--cases conversions`: relayouts between two element types, and through tables. They are
//! compared with the buffer copy and the identity kernel for an equal number of bytes that are read
//! and written.

use std::{error::Error, fs::File};

use stridec::{ErrorKind, gpu::Gpu};

use super::{
    Options,
    conversion_cases::{Conversion, conversions},
    programs::{Job, Shares, noise},
};

/// Times every case.
pub fn measure(
    gpu: &Gpu,
    options: &Options,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let target = gpu.limits().target(gpu.name());
    let mut shares = Shares { device: gpu.name(), json, of_identity: Vec::new() };
    for Conversion { name, operation } in conversions(&options.only)? {
        let kernel = match operation.compile(&target) {
            Ok(kernel) => kernel,
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                println!("{name}: {error}");
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let image = noise(operation.source_descriptor().image_bytes());
        let mut expected =
            vec![0; usize::try_from(operation.destination_descriptor().image_bytes())?];
        operation.run_on_host(&image, &mut expected)?;
        let mut sources = vec![gpu.upload(&image)?];
        if let Some(table) = operation.table() {
            sources.push(gpu.upload(table.bytes())?);
        }
        let destination = gpu.allocate(expected.len() as u64 + 16)?;
        let buffers = sources.iter().chain([&destination]);
        let buffers: Vec<_> =
            buffers.map(|buffer| buffer.handle().as_entire_buffer_binding()).collect();
        let job = Job {
            recording: gpu.bind(&kernel, &buffers)?,
            results: vec![(&destination, expected.clone())],
            bytes: (image.len() + expected.len()) as u64,
        };
        shares.add(&name, job.measure(gpu, options), &kernel.strategy.to_string())?;
    }
    shares.print();
    Ok(())
}
