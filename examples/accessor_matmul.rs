//! A matrix product that reads its operands as they lie in memory: activations in a TPU's tiles,
//! weights of 4 bits packed into bytes, and a residual that is a slice of a transposed reshape. The
//! kernel is written by hand and calls accessors, so that no relayout runs before it.
//!
//! `cargo run --example accessor_matmul`

use std::error::Error;

use stridec::{
    Operation, Tensor,
    accessor::{Access, Accessor},
    hlo::Module,
};

const ROWS: usize = 64;
const DEPTH: usize = 96;
const COLUMNS: usize = 48;

const ACTIVATIONS: &str = "bf16[64,96]{1,0:T(8,128)(2,1)}";
const WEIGHTS: &str = "s4[96,48]{0,1:E(4)}";
const RESIDUAL: &str = "HloModule residual
ENTRY main {
  heads = f32[12,64,8] parameter(0)
  rows = f32[64,12,8] transpose(heads), dimensions={1,0,2}
  flat = f32[64,96] reshape(rows)
  ROOT half = f32[64,48] slice(flat), slice={[0:64], [0:96:2]}
}";

/// The kernel without the accessors. One invocation computes one element.
const KERNEL: &str = "
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> w: array<u32>;
@group(0) @binding(2) var<storage, read> p0: array<u32>;
@group(0) @binding(3) var<storage, read_write> product: array<f32>;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.y;
    let column = id.x;
    if row >= 64u || column >= 48u {
        return;
    }
    var sum = bitcast<f32>(residual_bits(row, column));
    for (var k = 0u; k < 96u; k++) {
        let activation = bitcast<f32>(a_bits(row, k) << 16u);
        let weight = bitcast<i32>(w_bits(k, column) << 28u) >> 28u;
        sum += activation * f32(weight);
    }
    product[row * 48u + column] = sum;
}
";

fn main() -> Result<(), Box<dyn Error>> {
    let (activations, weights): (Tensor, Tensor) = (ACTIVATIONS.parse()?, WEIGHTS.parse()?);
    let a = Accessor::of_layout("a", &activations, Access::Read)?;
    let w = Accessor::of_layout("w", &weights, Access::Read)?;
    let residual = Accessor::of_result("residual", &Module::parse(RESIDUAL)?, 0)?;
    let kernel = [a.wgsl(), w.wgsl(), residual.wgsl(), KERNEL].join("\n");
    println!("{}\n{}\n{}", a.wgsl(), w.wgsl(), residual.wgsl());

    // Small integers, so that sums are exact in any order.
    let numbers = |count: usize, factor: usize, of: usize| -> Vec<i8> {
        (0..count).map(|at| (at * factor % of).to_le_bytes()[0].cast_signed() - 3).collect()
    };
    let (a_values, w_values) = (numbers(ROWS * DEPTH, 7, 11), numbers(DEPTH * COLUMNS, 5, 8));
    let heads = numbers(12 * ROWS * 8, 3, 101);
    let floats = |numbers: &[i8]| -> Vec<[u8; 4]> {
        numbers.iter().map(|&number| f32::from(number).to_le_bytes()).collect()
    };

    // The bytes that another part of the program left in these layouts.
    let bf16: Vec<u8> = floats(&a_values).iter().flat_map(|float| [float[2], float[3]]).collect();
    let s4: Vec<u8> = w_values.iter().map(|number| number.to_le_bytes()[0]).collect();
    let images = [
        image("bf16[64,96]", activations, &bf16)?,
        image("s4[96,48]", weights, &s4)?,
        floats(&heads).concat(),
    ];
    let least = [&a, &w, &residual].map(|accessor| accessor.buffers()[0].size_in_bytes);
    for (image, least) in images.iter().zip(least) {
        assert!(image.len() as u64 >= least, "the accessor names the size to bind");
    }
    let Some(product) = run(&kernel, &images)? else {
        println!("found no adapter; Debian's mesa-vulkan-drivers has one that needs no GPU");
        return Ok(());
    };

    for row in 0..ROWS {
        for column in 0..COLUMNS {
            // Element (row, 2 · column) of the rows of 12 heads with 8 numbers each.
            let (head, lane) = (2 * column / 8, 2 * column % 8);
            let mut expected = i16::from(heads[(head * ROWS + row) * 8 + lane]);
            for k in 0..DEPTH {
                let weight = i16::from(w_values[k * COLUMNS + column]);
                expected += i16::from(a_values[row * DEPTH + k]) * weight;
            }
            let given = product[row * COLUMNS + column];
            if given.to_bits() != f32::from(expected).to_bits() {
                return Err(format!("({row}, {column}): expected {expected}, got {given}").into());
            }
        }
    }
    println!("{ROWS} by {COLUMNS} sums of {DEPTH} products: all right");
    Ok(())
}

/// The memory of a dense array in another layout.
fn image(dense: &str, layout: Tensor, bytes: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut image = vec![0; usize::try_from(layout.descriptor().image_bytes())?];
    Operation::relayout(dense.parse()?, layout)?.run_on_host(bytes, &mut image)?;
    Ok(image)
}

/// Runs the kernel with wgpu alone, and returns the product; `None` without an adapter.
fn run(wgsl: &str, images: &[Vec<u8>]) -> Result<Option<Vec<f32>>, Box<dyn Error>> {
    let instance = wgpu::Instance::default();
    let options = wgpu::RequestAdapterOptions::default();
    let Ok(adapter) = pollster::block_on(instance.request_adapter(&options)) else {
        return Ok(None);
    };
    let (device, queue) =
        pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(wgsl.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let buffer = |size: usize, usage| {
        let (label, size, mapped_at_creation) = (None, size as u64, false);
        device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation })
    };
    let (storage, copied) = (wgpu::BufferUsages::STORAGE, wgpu::BufferUsages::COPY_DST);
    let bytes = ROWS * COLUMNS * 4;
    let mut buffers: Vec<wgpu::Buffer> =
        images.iter().map(|image| buffer(image.len(), storage | copied)).collect();
    for (buffer, image) in buffers.iter().zip(images) {
        queue.write_buffer(buffer, 0, image);
    }
    buffers.push(buffer(bytes, storage | wgpu::BufferUsages::COPY_SRC));
    let entries: Vec<wgpu::BindGroupEntry> = (0..)
        .zip(&buffers)
        .map(|(binding, of)| wgpu::BindGroupEntry { binding, resource: of.as_entire_binding() })
        .collect();
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let readback = buffer(bytes, wgpu::BufferUsages::MAP_READ | copied);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    let [x, y] = [COLUMNS, ROWS].map(|extent| u32::try_from(extent.div_ceil(8)));
    pass.dispatch_workgroups(x?, y?, 1);
    drop(pass);
    encoder.copy_buffer_to_buffer(&buffers[3], 0, &readback, 0, bytes as u64);
    queue.submit([encoder.finish()]);
    readback.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let memory = readback.get_mapped_range(..)?;
    let numbers = memory.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap()));
    Ok(Some(numbers.collect()))
}
