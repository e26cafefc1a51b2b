//! Invalid calls, each with the error that it returns.

use stridec::gpu::{DeviceType, Gpu, GpuError};
use stridec::nest::Operand;
use stridec::wgsl::{Binding, Dispatch, Kernel};
use stridec::{Operation, Target, Tensor};
use wgpu::BufferUsages;

use super::handwritten::{buffer, identity, part, with};

use super::support::gpu::gpu;

#[test]
fn images_of_another_size_are_refused() {
    let Some(gpu) = gpu("images_of_another_size") else { return };
    let kernel = identity(4);
    let error = gpu.run(&kernel, &[0; 15], &mut [0; 16]).unwrap_err();
    assert_eq!(error, GpuError::ImageSize { operand: Operand::Source(0), given: 15, expected: 16 });
    let error = gpu.run(&kernel, &[0; 16], &mut [0; 17]).unwrap_err();
    assert_eq!(
        error,
        GpuError::ImageSize { operand: Operand::Destination, given: 17, expected: 16 }
    );
    assert_eq!(
        error.to_string(),
        "destination: expected 16 bytes, the kernel's whole image, got 17"
    );
}

#[test]
fn buffers_too_small_or_shared_are_refused() {
    let Some(gpu) = gpu("buffers_too_small") else { return };
    let kernel = identity(8);
    let (small, enough) = (gpu.allocate(12).unwrap(), gpu.allocate(32).unwrap());
    // A buffer is rounded up to the widest access, 16 bytes.
    let error = gpu.dispatch(&kernel, &small, &enough).unwrap_err();
    assert_eq!(
        error,
        GpuError::BufferTooSmall { operand: Operand::Source(0), given: 16, needed: 32 }
    );
    let error = gpu.dispatch(&kernel, &enough, &small).unwrap_err();
    assert_eq!(
        error,
        GpuError::BufferTooSmall { operand: Operand::Destination, given: 16, needed: 32 }
    );
    assert!(matches!(
        gpu.dispatch(&kernel, &enough, &enough.clone()),
        Err(GpuError::SameBuffer { .. })
    ));
    assert!(matches!(
        gpu.download(&small, &mut [0; 17]),
        Err(GpuError::BufferTooSmall { given: 16, needed: 17, .. })
    ));
    assert!(matches!(
        gpu.copy(&enough, &small, 32, 1),
        Err(GpuError::BufferTooSmall { operand: Operand::Destination, .. })
    ));
}

#[test]
fn shaders_that_do_not_compile_are_typed_errors() {
    let Some(gpu) = gpu("shaders_that_do_not_compile") else { return };
    let good = identity(4);
    let bad = [
        with(good.clone(), |kernel| kernel.wgsl = "this is no shader".to_owned()),
        with(good.clone(), |kernel| kernel.wgsl = good.wgsl.replace("source[id.x]", "1.5")),
        with(good.clone(), |kernel| kernel.entry_point = "missing".to_owned()),
        // The text uses a binding that the layout lacks.
        with(good.clone(), |kernel| kernel.wgsl = good.wgsl.replace("@binding(0)", "@binding(7)")),
    ];
    let gpu = gpu.as_ref().clone().with_cache_capacity(8);
    for kernel in bad {
        let error = gpu.run(&kernel, &[0; 16], &mut [0; 16]).unwrap_err();
        assert!(matches!(error, GpuError::Shader { .. }), "{error}");
        assert!(error.to_string().lines().count() <= 14, "{error}");
    }
    assert!(gpu.cache().is_empty(), "what failed is not kept");
    // The device still works.
    let mut destination = [0; 16];
    gpu.run(&good, &[3; 16], &mut destination).unwrap();
    assert_eq!(destination, [3; 16]);
}

#[test]
fn kernels_past_the_limits_are_refused_before_the_device_is_touched() {
    let Some(gpu) = gpu("kernels_past_the_limits") else { return };
    let limits = gpu.limits();
    let limit_of = |kernel: &Kernel| {
        let source = vec![0; usize::try_from(kernel.source_bytes).unwrap()];
        match gpu.run(kernel, &source, &mut [0; 16]) {
            Err(error @ GpuError::BeyondLimit { limit, .. }) => {
                assert!(error.is_beyond_limits());
                limit
            }
            other => panic!("{other:?}"),
        }
    };
    let most = limits.max_compute_workgroups_per_dimension;
    let dispatch = Dispatch { workgroups: [1, most + 1, 1] };
    let wide = with(identity(4), |kernel| kernel.dispatches = vec![dispatch]);
    assert_eq!(limit_of(&wide), u64::from(most));

    let most = limits.max_compute_invocations_per_workgroup;
    let crowded = with(identity(4), |kernel| kernel.workgroup_size = [1, most + 1, u32::MAX]);
    assert!(limit_of(&crowded) <= u64::from(most));

    let most = limits.max_storage_buffer_binding_size;
    let size = (most + 1).next_multiple_of(4);
    let large = with(identity(4), |kernel| kernel.bindings[0].size_in_bytes = size);
    assert_eq!(limit_of(&large), most);

    assert!(gpu.allocate(u64::MAX).is_err_and(|error| error.is_beyond_limits()));
}

#[test]
fn kernels_with_other_bindings_are_refused() {
    let Some(gpu) = gpu("kernels_with_other_bindings") else { return };
    let changes: [fn(&mut Vec<Binding>); 5] = [
        |bindings| bindings.truncate(1),
        |bindings| bindings[1].writable = false,
        |bindings| bindings[1].group = 1,
        |bindings| bindings[0].size_in_bytes = 7,
        |bindings| bindings[1].size_in_bytes = 12,
    ];
    for change in changes {
        let kernel = with(identity(4), |kernel| change(&mut kernel.bindings));
        let error = gpu.run(&kernel, &[0; 16], &mut [0; 16]).unwrap_err();
        assert!(matches!(error, GpuError::Bindings { .. }), "{error}");
    }
    // The text declares its source read-only.
    let kernel = with(identity(4), |kernel| kernel.bindings[0].writable = true);
    let error = gpu.run(&kernel, &[0; 16], &mut [0; 16]).unwrap_err();
    assert!(matches!(error, GpuError::Shader { .. }), "{error}");
}

#[test]
fn ranges_that_cannot_be_bound_are_refused() {
    let Some(gpu) = gpu("ranges_that_cannot_be_bound") else { return };
    let kernel = identity(10);
    let storage = BufferUsages::STORAGE;
    let (one, two) = (buffer(&gpu, 1024, storage), buffer(&gpu, 1024, storage));
    let uniform = buffer(&gpu, 1024, BufferUsages::UNIFORM);
    let mut encoder =
        gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut encode = |source, destination| {
        gpu.encode(&kernel, &mut encoder, &[source, destination]).unwrap_err()
    };
    let alignment = gpu.limits().min_storage_buffer_offset_alignment;
    assert_eq!(
        encode(part(&one, 2, 0), part(&two, 0, 0)),
        GpuError::OffsetAlignment { operand: Operand::Source(0), offset: 2, alignment }
    );
    assert_eq!(
        encode(part(&one, 0, 0), part(&two, 0, 36)),
        GpuError::BufferTooSmall { operand: Operand::Destination, given: 36, needed: 40 }
    );
    // The range has enough bytes, but extends past the end of its buffer.
    assert_eq!(
        encode(part(&one, 1024, 4096), part(&two, 0, 0)),
        GpuError::BufferTooSmall { operand: Operand::Source(0), given: 0, needed: 40 }
    );
    assert!(matches!(encode(part(&uniform, 0, 0), part(&two, 0, 0)), GpuError::Usage { .. }));
    assert_eq!(
        encode(part(&one, 0, 40), part(&one, 256, 40)),
        GpuError::SameBuffer { source_offset: 0, destination_offset: 256 }
    );
}

#[test]
fn a_buffer_of_another_device_is_a_typed_error() {
    let Some(gpu) = gpu("a_buffer_of_another_device") else { return };
    let other = Gpu::open().unwrap();
    let (ours, theirs) = (gpu.allocate(16).unwrap(), other.allocate(16).unwrap());
    let kernel = identity(4);
    let operand = Operand::Destination;
    assert_eq!(gpu.dispatch(&kernel, &ours, &theirs), Err(GpuError::ForeignBuffer { operand }));
    assert_eq!(gpu.copy(&ours, &theirs, 16, 1), Err(GpuError::ForeignBuffer { operand }));
    let operand = Operand::Source(0);
    assert_eq!(gpu.download(&theirs, &mut [0; 16]), Err(GpuError::ForeignBuffer { operand }));
    // A clone is the same device.
    gpu.as_ref().clone().dispatch(&kernel, &ours, &gpu.allocate(16).unwrap()).unwrap();
}

#[test]
fn a_device_that_is_gone_is_a_typed_error() {
    if gpu("a_device_that_is_gone").is_none() {
        return;
    }
    let gpu = Gpu::open().unwrap();
    let kernel = identity(4);
    let (source, destination) = (gpu.upload(&[1; 16]).unwrap(), gpu.allocate(16).unwrap());
    gpu.run(&kernel, &[1; 16], &mut [0; 16]).unwrap();
    gpu.device().destroy();
    let lost = |result: Result<(), GpuError>| {
        assert!(matches!(result, Err(GpuError::DeviceLost { .. })), "{result:?}");
    };
    lost(gpu.run(&kernel, &[1; 16], &mut [0; 16]));
    lost(gpu.dispatch(&kernel, &source, &destination));
    lost(gpu.download(&destination, &mut [0; 16]));
    lost(gpu.copy(&source, &destination, 16, 1));
    lost(gpu.upload(&[1; 16]).map(drop));

    // An embedder's device has no callback of ours, so a loss shows only in failing calls.
    let own = Gpu::open().unwrap();
    let gpu = Gpu::from_device(own.device().clone(), own.queue().clone());
    gpu.device().destroy();
    lost(gpu.run(&kernel, &[1; 16], &mut [0; 16]));
}

/// Opens a device with lower limits than the standard guarantees, as its owner may request.
fn device_with_low_limits() -> Gpu {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let low = wgpu::Limits {
        max_compute_invocations_per_workgroup: 64,
        max_compute_workgroup_size_x: 64,
        max_compute_workgroups_per_dimension: 100,
        max_storage_buffer_binding_size: 1 << 16,
        ..wgpu::Limits::downlevel_defaults()
    };
    let descriptor = wgpu::DeviceDescriptor { required_limits: low, ..Default::default() };
    let opened = adapters
        .iter()
        .find_map(|adapter| pollster::block_on(adapter.request_device(&descriptor)).ok());
    let (device, queue) = opened.expect("some adapter opens with low limits");
    Gpu::from_device(device, queue)
}

#[test]
fn a_nest_beyond_the_device_runs_in_parts() {
    if gpu("a_nest_beyond_the_device").is_none() {
        return;
    }
    let gpu = device_with_low_limits();
    let run = |rows: usize, columns: usize| {
        let from: Tensor = format!("u16[{rows},{columns}]").parse().unwrap();
        let to = format!("u16[{rows},{columns}]{{0,1}}").parse().unwrap();
        let operation = Operation::relayout(from, to).unwrap();
        let source: Vec<u8> = (0..=250).cycle().take(rows * columns * 2).collect();
        let (mut expected, mut out) = (vec![0; source.len()], vec![0; source.len()]);
        operation.run_on_host(&source, &mut expected).unwrap();
        let mut last = 0;
        let nest = operation.nest();
        let parts = gpu.run_nest(nest, &source, &mut out, |written| last = written).unwrap();
        assert!(out == expected && last == out.len() as u64, "{rows} x {columns}");
        let longer = [&source[..], &[0]].concat();
        let error = gpu.run_nest(nest, &longer, &mut out, |_| {}).unwrap_err();
        assert!(matches!(error, GpuError::ImageSize { .. }), "{error}");
        parts
    };
    assert_eq!(run(0, 3), 1);
    assert_eq!(run(120, 130), 1);
    assert!(run(300, 400) > 1, "an image of 240,000 bytes past bindings of 65,536");
}

/// A device with lower limits than the target of the kernel.
#[test]
fn a_device_with_lower_limits_than_the_target_is_a_typed_error() {
    if gpu("a_device_with_lower_limits").is_none() {
        return;
    }
    let gpu = device_with_low_limits();
    let refused = |text: &str, target: &Target| {
        let side: Tensor = text.parse().unwrap();
        let kernel = Operation::relayout(side.clone(), side).unwrap().compile(target).unwrap();
        let bytes = usize::try_from(kernel.source_bytes).unwrap();
        match gpu.run(&kernel, &vec![1; bytes], &mut vec![0; bytes]) {
            Err(GpuError::BeyondLimit { limit, .. }) => limit,
            other => panic!("{text}: {other:?}"),
        }
    };
    assert_eq!(refused("f32[64]", &Target::webgpu()), 64);
    let invocations = |most| {
        let mut target = Target::webgpu();
        target.max_compute_invocations_per_workgroup = most;
        target
    };
    let small = invocations(64);
    assert_eq!(refused("f32[40000]", &small), 1 << 16);
    assert_eq!(refused("f32[4000]", &invocations(1)), 100);
    // An operation within these limits runs.
    let side: Tensor = "f32[64]".parse().unwrap();
    let kernel = Operation::relayout(side.clone(), side).unwrap().compile(&small).unwrap();
    let mut destination = [0; 256];
    gpu.run(&kernel, &[7; 256], &mut destination).unwrap();
    assert_eq!(destination, [7; 256]);
}

/// Runs in a separate process, with so little memory that a few large buffers exhaust it.
#[test]
#[cfg(target_os = "linux")]
fn memory_that_runs_out_is_a_typed_error() {
    const STARVED: &str = "STRIDEC_STARVED";
    let name = "refusals::memory_that_runs_out_is_a_typed_error";
    if std::env::var_os(STARVED).is_some() {
        let gpu = Gpu::open().unwrap();
        let mut held = vec![];
        let size = gpu.limits().max_buffer_size.min(512 << 20);
        let error = (0..64).find_map(|_| match gpu.allocate(size) {
            Ok(buffer) => {
                held.push(buffer);
                None
            }
            Err(error) => Some(error),
        });
        assert!(matches!(error, Some(GpuError::OutOfMemory { .. })), "{error:?}");
        // The device can still be used.
        drop(held);
        let mut destination = [0; 16];
        gpu.run(&identity(4), &[3; 16], &mut destination).unwrap();
        assert_eq!(destination, [3; 16]);
        return;
    }
    // The limit applies to the memory of the process, which includes the buffers of software
    // drivers only.
    let is_limited = |gpu: &Gpu| gpu.backend() == "vulkan" && gpu.device_type() == DeviceType::Cpu;
    if gpu("memory_that_runs_out").is_none_or(|gpu| !is_limited(&gpu)) {
        return;
    }
    let script = "ulimit -v 8388608; exec \"$@\"";
    let output = std::process::Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(STARVED, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_wait_past_its_timeout_is_a_typed_error() {
    if gpu("a_wait_past_its_timeout").is_none() {
        return;
    }
    let limit = std::time::Duration::ZERO;
    let gpu = Gpu::open().unwrap().with_timeout(limit);
    let words = 1 << 22;
    let (source, destination) =
        (gpu.allocate(words * 4).unwrap(), gpu.allocate(words * 4).unwrap());
    let kernel = identity(u32::try_from(words / 2).unwrap());
    match gpu.dispatch_repeated(&kernel, &source, &destination, 100) {
        Err(error) => {
            assert_eq!(error, GpuError::Timeout { operation: "running the kernel", limit });
        }
        // A software OpenGL driver does all the work inside the submission.
        Ok(()) => assert_eq!(gpu.backend(), "gl"),
    }
    // The device still works if the timeout is longer.
    let gpu = gpu.with_timeout(std::time::Duration::from_secs(120));
    gpu.dispatch(&kernel, &source, &destination).unwrap();
}
