//! Accessors on the GPU. A kernel calls the functions at every coordinate, and the results are
//! compared with the oracle, which moves elements one by one.

use std::collections::BTreeMap;

use stridec::{
    Tensor,
    accessor::{Access, Accessor, AccessorError},
    gpu::Gpu,
    stride::StrideDescriptor,
    window::Window,
};
use wgpu::BufferUsages;

use super::{
    handwritten::buffer,
    support::{
        gpu::gpu,
        hlo_cases::{HloCase, hlo_cases, stablehlo_cases},
        oracle,
        random::{self, Random},
        scope::cases,
    },
};

/// Returns a kernel with one invocation for each element of an array. The lines of `body` may use
/// the coordinates `index` and the number `at` of the element.
fn kernel(declared: &str, bindings: &[(&str, bool)], extents: &[u64], body: &str) -> String {
    let digit = |(dimension, extent): (usize, &u64)| {
        format!("    let d{dimension} = rest % {extent}u;\n    rest /= {extent}u;\n")
    };
    let digits: String = extents.iter().enumerate().rev().map(digit).collect();
    let count: u64 = extents.iter().product();
    let declaration = |(binding, (name, writable)): (usize, &(&str, bool))| {
        let access = if *writable { "read_write" } else { "read" };
        format!("@group(1) @binding({binding}) var<storage, {access}> {name}: array<u32>;\n")
    };
    let more: String = bindings.iter().enumerate().map(declaration).collect();
    format!(
        "{declared}
{more}@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let at = id.x;
    if at >= {count}u {{ return; }}
    var rest = at;
{digits}{body}
}}
"
    )
}

/// Runs a kernel on buffers of two groups, and returns the contents of the buffer `read`.
fn run(
    gpu: &Gpu,
    wgsl: &str,
    groups: [&[(&[u8], bool)]; 2],
    count: u64,
    read: (usize, usize),
) -> Vec<u8> {
    let device = gpu.device();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(wgsl.into()),
    });
    let storage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let made = groups.map(|images| {
        let buffers: Vec<wgpu::Buffer> = images
            .iter()
            .map(|(image, _)| {
                let mut whole = image.to_vec();
                whole.resize(image.len().next_multiple_of(4).max(4), 0);
                let made = buffer(gpu, whole.len() as u64, storage);
                gpu.queue().write_buffer(&made, 0, &whole);
                made
            })
            .collect();
        let entry = |(binding, (_, writable)): (u32, &(&[u8], bool))| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: !writable },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let entries: Vec<_> = (0..).zip(images).map(entry).collect();
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &entries,
        });
        let entries: Vec<_> = (0..)
            .zip(&buffers)
            .map(|(binding, of)| wgpu::BindGroupEntry { binding, resource: of.as_entire_binding() })
            .collect();
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &layout,
            entries: &entries,
        });
        (buffers, layout, group)
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&made[0].1), Some(&made[1].1)],
        immediate_size: 0,
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: Some(&layout),
        module: &module,
        entry_point: None,
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &made[0].2, &[]);
    pass.set_bind_group(1, &made[1].2, &[]);
    pass.dispatch_workgroups(u32::try_from(count.div_ceil(64)).unwrap(), 1, 1);
    drop(pass);
    let source = &made[read.0].0[read.1];
    let readback = buffer(gpu, source.size(), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    encoder.copy_buffer_to_buffer(source, 0, &readback, 0, source.size());
    gpu.queue().submit([encoder.finish()]);
    readback.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
    readback.get_mapped_range(..).unwrap().to_vec()
}

/// Returns the lines that write `value`, which has `words` words, to `out` after `before` other
/// words.
fn put(value: &str, words: u32, before: u32) -> String {
    let stride = words + before;
    let letters = if words == 1 { vec![""] } else { vec![".x", ".y", ".z", ".w"] };
    let store = |(word, letter): (u32, &str)| {
        format!("    out[at * {stride}u + {}u] = bits{letter};", before + word)
    };
    let stores: Vec<String> = (0..words).zip(letters).map(store).collect();
    format!("    let bits = {value};\n{}", stores.join("\n"))
}

fn index(extents: &[u64]) -> String {
    let coordinates: Vec<String> = (0..extents.len()).map(|of| format!("d{of}")).collect();
    coordinates.join(", ")
}

/// Returns the dense, row-major array of the same elements.
fn dense(of: &StrideDescriptor) -> StrideDescriptor {
    let mut strides = vec![1_i64; of.rank()];
    for dimension in (1..of.rank()).rev() {
        let extent = i64::try_from(of.sizes()[dimension]).unwrap();
        strides[dimension - 1] = strides[dimension] * extent.max(1);
    }
    let bits = of.element_bits().into();
    StrideDescriptor::strided(of.element_type(), bits, of.sizes(), &strides, 0).unwrap()
}

/// Returns the bits of element `at` of a dense array, as words.
fn element(image: &[u8], bits: u32, at: usize) -> Vec<u32> {
    let bit = |n: usize| u32::from(image[n / 8] >> (n % 8) & 1);
    let width = bits as usize;
    (0..width.div_ceil(32))
        .map(|word| {
            let own = word * 32..width.min(word * 32 + 32);
            own.enumerate().map(|(to, from)| bit(at * width + from) << to).sum()
        })
        .collect()
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Compares `offset` and `bits` at every coordinate with the oracle, and `store` if there is one.
fn check_layout(gpu: &Gpu, tensor: &Tensor, random: &mut Random) -> bool {
    let of = tensor.descriptor();
    let (extents, bits) = (of.sizes(), of.element_bits());
    let count: u64 = extents.iter().product();
    let writable = Accessor::of_layout("x", tensor, Access::ReadWrite);
    let stores = writable.is_ok();
    let accessor = match writable {
        Err(error) if error.is_store() => Accessor::of_layout("x", tensor, Access::Read).unwrap(),
        accessor => accessor.unwrap(),
    };
    if count == 0 {
        return stores;
    }
    let image = random.bytes(of.image_bytes());
    assert_eq!(accessor.buffers()[0].size_in_bytes, of.image_bytes().next_multiple_of(4));
    let words = bits.div_ceil(32);
    let index = index(extents);
    let body = format!(
        "    out[at * {}u] = x_offset({index});\n{}",
        words + 1,
        put(&format!("x_bits({index})"), words, 1)
    );
    let text = kernel(&accessor.declared(), &[("out", true)], extents, &body);
    let room = vec![0; usize::try_from(count).unwrap() * 4 * (words as usize + 1)];
    let out = run(gpu, &text, [&[(&image, stores)], &[(&room, true)]], count, (1, 0));
    let packed = oracle::run(of, &dense(of), &Window::identity(extents), &image, None);
    let out = words_of(&out);
    let (mut at, mut elements) = (0, out.chunks(words as usize + 1));
    oracle::each_index(extents, |place| {
        let own = elements.next().unwrap();
        assert_eq!(u64::from(own[0]), of.offset(place).unwrap(), "{tensor} {place:?}\n{text}");
        assert_eq!(own[1..], element(&packed, bits, at), "{tensor} {place:?}\n{text}");
        at += 1;
    });
    if stores {
        let given = random.bytes(count * u64::from(bits) / 8);
        let mut expected = image.clone();
        oracle::keep(&dense(of), of, &Window::identity(extents), &given, &mut expected);
        let parts: Vec<String> =
            (0..words).map(|of| format!("given[at * {words}u + {of}u]")).collect();
        let value = match words {
            1 => parts[0].clone(),
            _ => format!("vec{words}<u32>({})", parts.join(", ")),
        };
        let separator = if extents.is_empty() { "" } else { ", " };
        let body = format!("    x_store({index}{separator}{value});");
        let text = kernel(&accessor.declared(), &[("given", false)], extents, &body);
        let out = run(gpu, &text, [&[(&image, true)], &[(&given, false)]], count, (0, 0));
        assert!(out[..image.len()] == expected, "{tensor}\n{text}");
    }
    stores
}

#[test]
fn random_layouts() {
    let Some(gpu) = gpu("accessors of random layouts") else { return };
    let cases = cases(120);
    let mut stored = 0;
    for case in 0..cases {
        let mut random = Random((case << 8) + 71);
        let makes = [random::operation, random::relayout, random::runs, random::padded_tiles];
        let operation = makes[usize::try_from(case % 4).unwrap()](&mut random);
        let sides = [operation.source_side, operation.destination_side];
        for side in sides {
            stored += u64::from(check_layout(&gpu, &side.tensor(), &mut random));
        }
    }
    assert!(stored > cases / 4, "{stored}");
}

#[test]
fn named_layouts() {
    let Some(gpu) = gpu("accessors of named layouts") else { return };
    for text in [
        "f32[]",
        "u8[1,1,1]",
        "s4[30,50]{0,1:E(4)}",
        "u2[7,9]{1,0:E(2)}",
        "s1[3,11]{1,0:T(2,8)E(1)}",
        "pred[5,6]{0,1:E(32)}",
        "bf16[16,256]{1,0:T(8,128)(2,1)}",
        "bf16[5,3,4,5]{3,2,1,0:T(*,4,2)}",
        "f32[3,5]{1,0:T(2,2)PAD(4,7,one)}",
        "f16[5]{0:M(3)}",
        "c128[5]{0:M(8)}",
        "f64[5]{0:M(12)}",
        "f64[5]{0:M(2)}",
        "f32[<=4,3]",
        "f32[3,4,5] strided<[64,-8,1], offset: 30>",
        "u8[4,5] strided<[0,3]>",
        "cute:((2,4),8):((1,16),2)",
        "dml:{\"data_type\": \"FLOAT16\", \"sizes\": [2,3], \"strides\": [8,1], \"total_tensor_size_in_bytes\": 24}",
    ] {
        let tensor = stridec::notation::read(text).unwrap();
        check_layout(&gpu, &tensor, &mut Random(5));
    }
}

/// Runs the accessor of every result of a module, and compares all elements.
fn check_case(gpu: &Gpu, case: &HloCase, counts: &mut BTreeMap<&'static str, usize>) {
    let (Ok(module), Ok(program)) = (case.module(), case.lower()) else { return };
    let (inputs, outputs) = (case.inputs(), case.outputs());
    for (number, (array, output)) in program.results().iter().zip(&outputs).enumerate() {
        let accessor = match Accessor::of_result("result", &module, number) {
            Ok(accessor) => accessor,
            Err(AccessorError::Scratch { .. }) => {
                *counts.entry("scratch").or_default() += 1;
                continue;
            }
            Err(AccessorError::Constant { .. }) => {
                *counts.entry("large constant").or_default() += 1;
                continue;
            }
            Err(error) => panic!("{}: {error}", case.id),
        };
        let of = array.descriptor();
        let (extents, bits) = (of.sizes(), of.element_bits());
        let count: u64 = extents.iter().product();
        *counts.entry("right").or_default() += 1;
        if count == 0 || accessor.buffers().len() > 7 {
            continue;
        }
        let read = |name: &str| (inputs[name[1..].parse::<usize>().unwrap()].as_slice(), false);
        let images: Vec<_> = accessor.buffers().iter().map(|of| read(&of.name)).collect();
        for (buffer, (image, _)) in accessor.buffers().iter().zip(&images) {
            assert_eq!(buffer.size_in_bytes, image.len().next_multiple_of(4) as u64);
        }
        let words = bits.div_ceil(32);
        let body = put(&format!("result_bits({})", index(extents)), words, 0);
        let text = kernel(&accessor.declared(), &[("out", true)], extents, &body);
        let room = vec![0; usize::try_from(count).unwrap() * 4 * words as usize];
        let out = run(gpu, &text, [&images, &[(&room, true)]], count, (1, 0));
        let packed = oracle::run(of, &dense(of), &Window::identity(extents), output, None);
        for (at, own) in words_of(&out).chunks(words as usize).enumerate() {
            assert_eq!(own, element(&packed, bits, at), "{} element {at}\n{text}", case.id);
        }
    }
}

#[test]
fn every_module_of_xla() {
    let Some(gpu) = gpu("accessors of modules") else { return };
    let mut counts = BTreeMap::new();
    // A pipeline for each module takes lavapipe 10 ms or more.
    let step = if cases(120) >= 1000 { 1 } else { 4 };
    let modules = hlo_cases().iter().chain(stablehlo_cases());
    for case in modules.filter(|case| case.is_ok()).step_by(step) {
        check_case(&gpu, case, &mut counts);
    }
    let right = counts["right"];
    let others: usize = counts.values().sum::<usize>() - right;
    assert!(right > 20 * others, "{counts:?}");
}
