//! Records a relayout in the command encoder of a program that has its own wgpu device and buffers.
//!
//! `cargo run --no-default-features --features gpu --example run_on_device`

use std::error::Error;

use stridec::{Operation, gpu::Gpu, shape::Shape};
use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// The offset of the result in the pool, in bytes: a multiple of 256, which every device accepts.
const PLACE: u64 = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    // The runtime's own device and queue.
    let instance = wgpu::Instance::default();
    let options = wgpu::RequestAdapterOptions::default();
    let Ok(adapter) = pollster::block_on(instance.request_adapter(&options)) else {
        println!("found no adapter; Debian's mesa-vulkan-drivers has one that needs no GPU");
        return Ok(());
    };
    let (device, queue) =
        pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;

    // It is created once. Clones share one pipeline cache, which is bounded.
    let gpu = Gpu::from_device(device.clone(), queue.clone()).with_cache_capacity(64);

    let (source, destination): (Shape, Shape) = ("f32[4,6]".parse()?, "f32[4,6]{0,1}".parse()?);
    let operation = Operation::relayout(source.try_into()?, destination.try_into()?)?;
    // wgpu validates the shader when it creates the pipeline, so it need not be validated here.
    let kernel = operation.compile_unvalidated(&gpu.limits().target("my device"))?;

    let numbers: Vec<f32> = (0..24_u8).map(f32::from).collect();
    let source = device.create_buffer_init(&BufferInitDescriptor {
        label: Some("source"),
        contents: bytemuck::cast_slice(&numbers),
        usage: wgpu::BufferUsages::STORAGE,
    });
    let pool = buffer(&device, PLACE + 4096, wgpu::BufferUsages::STORAGE);
    let staging = buffer(&device, kernel.destination_bytes, wgpu::BufferUsages::MAP_READ);

    // The runtime's own encoder, which may record other commands too.
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let from = wgpu::BufferBinding { buffer: &source, offset: 0, size: None };
    let to = wgpu::BufferBinding { buffer: &pool, offset: PLACE, size: None };
    gpu.encode(&kernel, &mut encoder, &[from, to])?;
    encoder.copy_buffer_to_buffer(&pool, PLACE, &staging, 0, kernel.destination_bytes);
    queue.submit([encoder.finish()]);

    staging.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let result: Vec<f32> = bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..)?);
    println!("{}: {result:?}", gpu.name());
    let expected: Vec<f32> = (0..24).map(|i| numbers[i % 4 * 6 + i / 4]).collect();
    if result != expected {
        return Err("the result is not the transposed array".into());
    }
    Ok(())
}

fn buffer(device: &wgpu::Device, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let copies = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let usage = if usage == wgpu::BufferUsages::MAP_READ {
        usage | wgpu::BufferUsages::COPY_DST
    } else {
        usage | copies
    };
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("of the runtime"),
        size,
        usage,
        mapped_at_creation: false,
    })
}
