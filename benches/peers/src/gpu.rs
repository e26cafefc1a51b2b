//! The cases of `benches/gpu`: stridec's kernels compared with CubeCL's `into_contiguous`, on one
//! device.
//!
//! Uploads and first dispatches are not timed. Implementations take turns, and each waits for its
//! result. The last output of each implementation is compared in full.

#[path = "../../gpu/cases.rs"]
mod cases;
#[path = "../../support/timing.rs"]
mod timing;

use std::{cmp::Reverse, error::Error};

use cases::Case;
use cubecl::{
    Device,
    client::Client,
    future::block_on,
    ir::{ElemType, FloatKind},
    prelude::TensorBinding,
    server::Handle,
    std::tensor::into_contiguous,
    wgpu::{AutoGraphicsApi, RuntimeOptions, WgpuDevice, init_setup},
};
use stridec::{Operation, Tensor, gpu::Gpu, shape::ElementType};
use timing::{Contender, Report, Timing, geomean, option, round_robin};

fn main() -> Result<(), Box<dyn Error>> {
    let cases = match option("--cases").as_deref() {
        None | Some("eight") => cases::eight(ElementType::F32)?,
        Some("ttc24") => cases::ttc(include_str!("../../data/ttc57_24MiB.json"), ElementType::F32)?,
        Some(other) => return Err(format!("--cases {other}: accepted are eight and ttc24").into()),
    };
    let repetitions = option("--repetitions").map_or(Ok(15), |n| n.parse())?;

    // CubeCL opens the device, because it needs more features of the adapter than stridec. stridec
    // adopts the device.
    let device = WgpuDevice::default();
    let setup = init_setup::<AutoGraphicsApi>(&device, RuntimeOptions::default());
    let client = Device::Wgpu(device).client();
    let gpu = Gpu::from_device(setup.device, setup.queue);
    println!("{} ({}, {}), one device for both", gpu.name(), gpu.backend(), gpu.device_type());
    println!("CubeCL's runtime: {}", client.name());

    let mut report = Report::new(&gpu.name());
    let mut ratios = Vec::new();
    for case in &cases {
        let timings = compare(&gpu, &client, case, repetitions)?;
        report.add(&case.name, &timings);
        let [ours, theirs, identity] = [0, 1, 2].map(|n: usize| timings[n].best_ms);
        ratios.push((theirs / ours, identity / ours, &case.name));
    }
    let least = ratios.iter().min_by(|a, b| a.0.total_cmp(&b.0)).ok_or("no case")?;
    println!(
        "stridec: geomean {:.3} over CubeCL (least {:.3}, {}), {:.3} of the identity kernel",
        geomean(ratios.iter().map(|ratio| ratio.0)),
        least.0,
        least.2,
        geomean(ratios.iter().map(|ratio| ratio.1)),
    );
    Ok(())
}

/// Times stridec, CubeCL and the identity kernel on one case.
fn compare(
    gpu: &Gpu,
    client: &Client,
    case: &Case,
    repetitions: usize,
) -> Result<Vec<Timing>, Box<dyn Error>> {
    let operation = &case.operation;
    let moved = operation.destination_descriptor().image_bytes();
    let flat = Tensor::dense(ElementType::U8, [moved])?;
    let identity = Operation::relayout(flat.clone(), flat)?;
    let target = gpu.limits().target(gpu.name());
    let [kernel, same] = [operation.compile(&target)?, identity.compile(&target)?];

    let image = operation.source_descriptor().image_bytes();
    let words = u32::try_from(image.max(moved).div_ceil(4))?;
    // The words are no NaNs, because a copy of floats need not keep the bits of NaNs.
    let words: Vec<u32> = (0..words).map(|n| n.wrapping_mul(0x9e37_79b1) >> 2).collect();
    let noise: &[u8] = bytemuck::cast_slice(&words);
    let source = gpu.upload(noise)?;
    let handle = client.create_from_slice(noise);

    let bound = |kernel: &stridec::Kernel| kernel.bindings.iter().map(|b| b.size_in_bytes).max();
    let [ours, copy] = [&kernel, &same].map(|kernel| gpu.allocate(bound(kernel).unwrap_or(0)));
    let [ours, copy] = [ours?, copy?];
    let mut theirs = None;

    let bytes = usize::try_from(moved)?;
    let contender = |name: &str, run| Contender { name: name.to_owned(), bytes, run };
    let dispatch = |kernel, destination| {
        gpu.dispatch_repeated(kernel, &source, destination, 1).expect("a run");
    };
    let contiguous = || {
        theirs = None; // the memory of the last result becomes free
        let view = view(operation, &handle);
        theirs = Some(into_contiguous(client, view, ElemType::Float(FloatKind::F32)));
        block_on(client.sync()).expect("a run");
    };
    let contenders = vec![
        contender("stridec", Box::new(|| dispatch(&kernel, &ours))),
        contender("cubecl", Box::new(contiguous)),
        contender("identity", Box::new(|| dispatch(&same, &copy))),
    ];
    let timings = round_robin(repetitions, false, contenders);

    let mut expected = vec![0; bytes];
    operation.run_on_host(&noise[..usize::try_from(image)?], &mut expected)?;
    let mut out = vec![0; bytes];
    gpu.download(&ours, &mut out)?;
    assert!(out == expected, "{}: stridec differs from the host", case.name);
    gpu.download(&copy, &mut out)?;
    assert!(out == noise[..bytes], "{}: the identity kernel differs", case.name);
    let theirs = client.read_one(theirs.ok_or("no output")?.handle)?;
    assert!(theirs[..] == expected, "{}: CubeCL differs from the host", case.name);
    Ok(timings)
}

/// Returns the source in the form that CubeCL takes: the dimensions of the destination, the most
/// major first, with the strides of the source.
fn view(operation: &Operation, source: &Handle) -> TensorBinding {
    let mut dimensions: Vec<_> = operation
        .window()
        .dimensions()
        .iter()
        .zip(operation.source_descriptor().strides())
        .zip(operation.destination_descriptor().strides())
        .map(|((dimension, stride), major)| {
            assert!(dimension.src_start() == 0, "a case starts past the source's first element");
            let stride = stride.expect("a strided source") * dimension.src_step();
            let stride = usize::try_from(stride).expect("a step forwards");
            (Reverse(major.expect("a strided destination")), dimension.extent() as usize, stride)
        })
        .collect();
    dimensions.sort();
    let shape = dimensions.iter().map(|&(_, extent, _)| extent).collect();
    let strides = dimensions.iter().map(|&(.., stride)| stride).collect();
    // SAFETY: the operation's window lies inside its source, which is entirely in the buffer.
    unsafe { TensorBinding::from_raw_parts(source.clone(), strides, shape) }
}
