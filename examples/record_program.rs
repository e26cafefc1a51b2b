//! Records a whole graph of movements into a program's own command encoder. Parameters, results and
//! scratch buffers are parts of one pool buffer. The layout of the first result is the one that
//! costs least, and the kernels are those of `examples/data/movements.wgsl`.
//!
//! `cargo run --no-default-features --features gpu --example record_program [-- --update]`

use std::{env, error::Error, fs};

use stridec::{
    Target,
    gpu::Gpu,
    hlo::{Builder, Module, Opcode, SliceDimension},
    program::{Program, compile_module},
};

/// The kernels that this example ran when it was last changed.
const SNAPSHOT: &str = include_str!("data/movements.wgsl");

/// The extents of the image.
const ROWS: usize = 7;
const COLUMNS: usize = 13;
const CHANNELS: usize = 3;
/// The length of the other array.
const MORE: usize = 29;

fn main() -> Result<(), Box<dyn Error>> {
    // The limits that every device has, so that the kernels are equal on all machines. The bindings
    // are all `read_write`, so that one buffer serves for all of them.
    let mut target = Target::webgpu();
    target.read_write_sources = true;
    let program = cheapest(&target)?;
    println!("{} kernels, {} scratch buffers", program.kernels().len(), program.scratch().len());
    let texts: Vec<&str> = program.kernels().iter().map(|of| of.wgsl.as_str()).collect();
    if env::args().any(|given| given == "--update") {
        fs::write("examples/data/movements.wgsl", texts.join("\n"))?;
    } else if texts.join("\n") != SNAPSHOT {
        return Err("the kernels changed: review them with --update and `git diff`".into());
    }

    // The runtime's own device and queue.
    let instance = wgpu::Instance::default();
    let options = wgpu::RequestAdapterOptions::default();
    let Ok(adapter) = pollster::block_on(instance.request_adapter(&options)) else {
        println!("found no adapter; Debian's mesa-vulkan-drivers has one that needs no GPU");
        return Ok(());
    };
    let (device, queue) =
        pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    let gpu = Gpu::from_device(device.clone(), queue.clone());

    let (places, bytes) = places(&program, gpu.limits().min_storage_buffer_offset_alignment);
    let pool = buffer(&device, bytes, wgpu::BufferUsages::STORAGE);
    let images = parameters();
    for (image, &place) in images.iter().zip(&places) {
        // `write_buffer` needs whole words.
        let zeros = vec![0; image.len().next_multiple_of(4) - image.len()];
        queue.write_buffer(&pool, place, &[image.as_slice(), &zeros].concat());
    }

    // The runtime's own encoder and compute pass, which may record other commands too.
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    let part = |&offset: &u64| wgpu::BufferBinding { buffer: &pool, offset, size: None };
    let ranges: Vec<_> = places.iter().map(part).collect();
    gpu.encode_program(&program, &mut pass, &ranges)?;
    drop(pass);
    let staging = buffer(&device, bytes, wgpu::BufferUsages::MAP_READ);
    encoder.copy_buffer_to_buffer(&pool, 0, &staging, 0, bytes);
    queue.submit([encoder.finish()]);

    staging.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let memory = staging.get_mapped_range(..)?.to_vec();
    let results = &places[images.len()..];
    for (number, (expected, &place)) in expected(&images, &program)?.iter().zip(results).enumerate()
    {
        let place = usize::try_from(place)?;
        if memory[place..place + expected.len()] != expected[..] {
            return Err(format!("result {number} is wrong").into());
        }
        println!("result {number}, {}: right", program.results()[number].shape());
    }
    Ok(())
}

/// Compiles the graph with the layout of its first result that costs least, as a compiler does if
/// the readers of the result accept any layout.
fn cheapest(target: &Target) -> Result<Program, Box<dyn Error>> {
    let mut best = None;
    for layout in ["2,1,0", "1,2,0", "2,0,1", "0,2,1", "1,0,2", "0,1,2"] {
        let program = compile_module(&graph(layout)?, target)?;
        let microseconds = program.estimate(target)?.nanoseconds / 1e3;
        println!("{}: {microseconds:.3} µs", program.results()[0].shape());
        if best.as_ref().is_none_or(|&(least, _)| microseconds < least) {
            best = Some((microseconds, program));
        }
    }
    Ok(best.ok_or("no layout")?.1)
}

/// Eight movements of bytes, with three results. The first one has the given layout.
fn graph(layout: &str) -> Result<Module, Box<dyn Error>> {
    let mut builder = Builder::new("movements");
    let shapes = [format!("u8[{ROWS},{COLUMNS},{CHANNELS}]"), format!("u8[{MORE}]")];
    let parameters = vec![shapes[0].parse()?, shapes[1].parse()?];
    let image = builder.parameter(shapes[0].parse()?)?;
    let more = builder.parameter(shapes[1].parse()?)?;

    // The first result: planes in place of pixels, mirrored.
    let planes = builder.add(Opcode::Transpose { dimensions: vec![2, 0, 1] }, &[image])?;
    let mirrored = builder.add(Opcode::Reverse { dimensions: vec![2] }, &[planes])?;

    // The second: every second column, in a row, after the other array.
    let rows = SliceDimension { start: 0, limit: ROWS as u64, stride: 1 };
    let columns = SliceDimension { start: 1, limit: COLUMNS as u64, stride: 2 };
    let channels = SliceDimension { start: 0, limit: CHANNELS as u64, stride: 1 };
    let dimensions = vec![rows, columns, channels];
    let halved = builder.add(Opcode::Slice { dimensions }, &[image])?;
    let length = ROWS * (COLUMNS / 2) * CHANNELS;
    let flat = builder.add_as(Opcode::Reshape, &[halved], format!("u8[{length}]").parse()?)?;
    let joined = builder.add(Opcode::Concatenate { dimension: 0 }, &[more, flat])?;

    // The third: columns before rows, and each row repeated for each element of the other array.
    let turned = builder.add(Opcode::Transpose { dimensions: vec![1, 0, 2] }, &[image])?;
    let shape = format!("u8[{MORE},{COLUMNS},{ROWS},{CHANNELS}]").parse()?;
    let dimensions = vec![1, 2, 3];
    let repeated = builder.add_as(Opcode::Broadcast { dimensions }, &[turned], shape)?;

    let results = [mirrored, joined, repeated];
    let root = builder.add(Opcode::Tuple, &results)?;
    let result = format!(
        "(u8[{CHANNELS},{ROWS},{COLUMNS}]{{{layout}}}, u8[{}], u8[{MORE},{COLUMNS},{ROWS},{CHANNELS}])",
        MORE + length
    );
    Ok(builder.finish_with_layouts("main", root, parameters, result.parse()?)?)
}

/// The results, computed with loops.
fn expected(images: &[Vec<u8>; 2], program: &Program) -> Result<[Vec<u8>; 3], Box<dyn Error>> {
    let [image, more] = images;
    let pixel = |row, column, channel| image[(row * COLUMNS + column) * CHANNELS + channel];
    let mut results = [vec![0; image.len()], more.clone(), Vec::new()];
    let place = program.results()[0].descriptor();
    for at in 0..image.len() {
        let [channel, row, column] = [at / COLUMNS / ROWS, at / COLUMNS % ROWS, at % COLUMNS];
        let offset = place.offset(&[channel, row, column].map(|number| number as u64))?;
        results[0][usize::try_from(offset)?] = pixel(row, COLUMNS - 1 - column, channel);
    }
    for row in 0..ROWS {
        for column in (1..COLUMNS).step_by(2) {
            results[1].extend((0..CHANNELS).map(|channel| pixel(row, column, channel)));
        }
    }
    for _ in 0..MORE {
        for column in 0..COLUMNS {
            for row in 0..ROWS {
                results[2].extend((0..CHANNELS).map(|channel| pixel(row, column, channel)));
            }
        }
    }
    Ok(results)
}

/// The images of the parameters.
fn parameters() -> [Vec<u8>; 2] {
    let bytes = |count: usize, factor: usize| {
        (0..count).map(|at| (at * factor % 251).to_le_bytes()[0]).collect()
    };
    [bytes(ROWS * COLUMNS * CHANNELS, 7), bytes(MORE, 31)]
}

/// Returns the offset of each parameter, result and scratch buffer in the pool, and its size.
fn places(program: &Program, alignment: u32) -> (Vec<u64>, u64) {
    let mut end = 0;
    let place = |buffer| {
        let place = end;
        end = (end + program.binding_bytes(buffer)).next_multiple_of(alignment.into());
        place
    };
    let places = program.buffers().map(place).collect();
    (places, end.next_multiple_of(4))
}

fn buffer(device: &wgpu::Device, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let usage = match usage {
        wgpu::BufferUsages::MAP_READ => usage | wgpu::BufferUsages::COPY_DST,
        usage => usage | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
    };
    let (label, mapped_at_creation) = (Some("of the runtime"), false);
    device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation })
}
