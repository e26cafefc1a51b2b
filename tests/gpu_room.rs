//! The GPU room, with kernels written by hand: what runs, and what is refused with which error.
#![cfg(feature = "gpu")]

mod support;

use stridec::gpu::{Adapters, Gpu, GpuError, Side};
use stridec::wgsl::{Binding, Dispatch, Kernel};
use wgpu::BufferUsages;

/// A kernel over two arrays of `words` words each.
fn kernel(words: u64, workgroups: &[[u32; 3]], body: &str) -> Kernel {
    let wgsl = format!(
        "@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> destination: array<u32>;
@compute @workgroup_size(64)
fn relayout(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {{
    {body}
}}
"
    );
    let size_in_bytes = words * 4;
    Kernel {
        wgsl,
        entry_point: "relayout".to_owned(),
        workgroup_size: [64, 1, 1],
        bindings: vec![
            Binding { group: 0, binding: 0, writable: false, size_in_bytes },
            Binding { group: 0, binding: 1, writable: true, size_in_bytes },
        ],
        dispatches: workgroups.iter().map(|&workgroups| Dispatch { workgroups }).collect(),
        copy_regions: Vec::new(),
        source_bytes: size_in_bytes,
        destination_bytes: size_in_bytes,
    }
}

/// Copies `words` words, an invocation each.
fn identity(words: u32) -> Kernel {
    let body = format!("if id.x < {words}u {{ destination[id.x] = source[id.x]; }}");
    kernel(words.into(), &[[words.div_ceil(64), 1, 1]], &body)
}

/// Bytes that tell their places apart.
fn pattern(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn bytes_of(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn identity_copies_every_word() {
    let Some(gpu) = support::gpu::gpu("identity_copies_every_word") else { return };
    for words in [1, 63, 64, 65, 4096, 100_003] {
        let kernel = identity(words);
        let source = pattern(kernel.source_bytes);
        let mut destination = vec![0xaa; source.len()];
        gpu.run(&kernel, &source, &mut destination).unwrap();
        assert_eq!(destination, source, "{words} words");
    }
}

#[test]
fn images_that_end_inside_a_word_are_read_and_written_to_their_last_byte() {
    let Some(gpu) = support::gpu::gpu("images_that_end_inside_a_word") else { return };
    // A longer run first, so that the buffers kept from it hold other bytes past these images.
    let long = identity(16);
    gpu.run(&long, &[0xff; 64], &mut [0; 64]).unwrap();
    for bytes in 57..=60 {
        let kernel = Kernel { source_bytes: bytes, ..identity(15) };
        let mut destination = vec![0xaa; 60];
        gpu.run(&kernel, &pattern(bytes), &mut destination).unwrap();
        let mut padded = pattern(bytes);
        padded.resize(60, 0);
        assert_eq!(destination, padded, "the source's last word is filled with zeros");

        let kernel = Kernel { destination_bytes: bytes, ..identity(15) };
        let mut destination = vec![0xaa; usize::try_from(bytes).unwrap()];
        gpu.run(&kernel, &pattern(60), &mut destination).unwrap();
        assert_eq!(destination, pattern(bytes));
    }
}

#[test]
fn images_longer_than_a_staging_part_arrive_whole() {
    let Some(gpu) = support::gpu::gpu("images_longer_than_a_staging_part") else { return };
    // 70 MiB and 12 bytes: five parts each way, the last a short one.
    let words = 70 * (1 << 18) + 3;
    let body = format!(
        "let at = id.x + id.y * groups.x * 64u; if at < {words}u {{ destination[at] = source[at]; }}"
    );
    let kernel = kernel(words, &[[65535, 5, 1]], &body);
    let source = pattern(kernel.source_bytes);
    let mut destination = vec![0; source.len()];
    gpu.run(&kernel, &source, &mut destination).unwrap();
    assert!(destination == source, "the first difference is at {:?}", {
        destination.iter().zip(&source).position(|(a, b)| a != b)
    });
}

#[test]
fn dispatches_run_in_order_and_see_what_earlier_ones_wrote() {
    let Some(gpu) = support::gpu::gpu("dispatches_run_in_order") else { return };
    let body =
        "if id.x < 256u { destination[id.x] = destination[id.x] * groups.y + source[id.x]; }";
    // The first adds to whatever is there times one; to start from zero, it runs on a fresh buffer.
    let kernel = kernel(256, &[[4, 1, 1], [4, 2, 1]], body);
    let source = gpu.upload(&bytes_of(0..256)).unwrap();
    let destination = gpu.allocate(1024).unwrap();
    let kernel = Kernel {
        wgsl: kernel.wgsl.replace("if id.x < 256u", "if id.x < 256u && id.y == 0u"),
        ..kernel
    };
    gpu.dispatch(&kernel, &source, &destination).unwrap();
    let mut result = vec![0; 1024];
    gpu.download(&destination, &mut result).unwrap();
    // 0·1 + n, then n·2 + n.
    assert_eq!(result, bytes_of((0..256).map(|n| 3 * n)));
}

#[test]
fn two_dimensional_dispatches_reach_past_a_dimension() {
    let Some(gpu) = support::gpu::gpu("two_dimensional_dispatches") else { return };
    let body = "let at = id.y * groups.x * 64u + id.x;
    if at < 1000u { destination[999u - at] = source[at]; }";
    let kernel = kernel(1000, &[[4, 4, 1]], body);
    let mut destination = vec![0; 4000];
    gpu.run(&kernel, &bytes_of(0..1000), &mut destination).unwrap();
    assert_eq!(destination, bytes_of((0..1000).rev()));
}

#[test]
fn an_empty_kernel_leaves_the_destination_alone() {
    let Some(gpu) = support::gpu::gpu("an_empty_kernel") else { return };
    let empty = Kernel {
        wgsl: String::new(),
        entry_point: String::new(),
        workgroup_size: [1; 3],
        bindings: Vec::new(),
        dispatches: Vec::new(),
        copy_regions: Vec::new(),
        source_bytes: 0,
        destination_bytes: 4,
    };
    let mut destination = [7; 4];
    gpu.run(&empty, &[], &mut destination).unwrap();
    assert_eq!(destination, [7; 4]);
}

#[test]
fn images_of_another_size_are_refused() {
    let Some(gpu) = support::gpu::gpu("images_of_another_size") else { return };
    let kernel = identity(4);
    let error = gpu.run(&kernel, &[0; 15], &mut [0; 16]).unwrap_err();
    assert_eq!(error, GpuError::ImageSize { side: Side::Source, given: 15, expected: 16 });
    let error = gpu.run(&kernel, &[0; 16], &mut [0; 17]).unwrap_err();
    assert_eq!(error, GpuError::ImageSize { side: Side::Destination, given: 17, expected: 16 });
    assert_eq!(error.to_string(), "destination is 17 bytes, the kernel's image is 16");
}

#[test]
fn buffers_too_small_or_shared_are_refused() {
    let Some(gpu) = support::gpu::gpu("buffers_too_small") else { return };
    let kernel = identity(4);
    let (small, enough) = (gpu.allocate(12).unwrap(), gpu.allocate(16).unwrap());
    let error = gpu.dispatch(&kernel, &small, &enough).unwrap_err();
    assert_eq!(error, GpuError::BufferTooSmall { side: Side::Source, given: 12, needed: 16 });
    let error = gpu.dispatch(&kernel, &enough, &small).unwrap_err();
    assert_eq!(error, GpuError::BufferTooSmall { side: Side::Destination, given: 12, needed: 16 });
    assert!(matches!(
        gpu.dispatch(&kernel, &enough, &enough.clone()),
        Err(GpuError::SameBuffer { .. })
    ));
    assert!(matches!(
        gpu.download(&small, &mut [0; 13]),
        Err(GpuError::BufferTooSmall { given: 12, needed: 13, .. })
    ));
    assert!(matches!(
        gpu.copy(&enough, &small, 16, 1),
        Err(GpuError::BufferTooSmall { side: Side::Destination, .. })
    ));
}

#[test]
fn shaders_that_do_not_compile_are_typed_errors() {
    let Some(gpu) = support::gpu::gpu("shaders_that_do_not_compile") else { return };
    let good = identity(4);
    let bad = [
        Kernel { wgsl: "this is no shader".to_owned(), ..good.clone() },
        Kernel { wgsl: good.wgsl.replace("source[id.x]", "1.5"), ..good.clone() },
        Kernel { entry_point: "missing".to_owned(), ..good.clone() },
        // A binding that the layout does not have.
        Kernel { wgsl: good.wgsl.replace("@binding(0)", "@binding(7)"), ..good.clone() },
    ];
    let gpu = gpu.as_ref().clone().with_cache_capacity(8);
    for kernel in bad {
        let error = gpu.run(&kernel, &[0; 16], &mut [0; 16]).unwrap_err();
        assert!(matches!(error, GpuError::Shader { .. }), "{error}");
        assert!(error.to_string().lines().count() <= 14, "{error}");
    }
    assert!(gpu.cache().is_empty(), "what failed is not kept");
    // The device works on.
    let mut destination = [0; 16];
    gpu.run(&good, &[3; 16], &mut destination).unwrap();
    assert_eq!(destination, [3; 16]);
}

#[test]
fn kernels_past_the_limits_are_refused_before_the_device_is_touched() {
    let Some(gpu) = support::gpu::gpu("kernels_past_the_limits") else { return };
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
    let wide =
        Kernel { dispatches: vec![Dispatch { workgroups: [1, most + 1, 1] }], ..identity(4) };
    assert_eq!(limit_of(&wide), u64::from(most));

    let most = limits.max_compute_invocations_per_workgroup;
    let crowded = Kernel { workgroup_size: [1, most + 1, u32::MAX], ..identity(4) };
    assert!(limit_of(&crowded) <= u64::from(most));

    let most = limits.max_storage_buffer_binding_size;
    let mut large = identity(4);
    large.bindings[0].size_in_bytes = (most + 1).next_multiple_of(4);
    assert_eq!(limit_of(&large), most);

    assert!(gpu.allocate(u64::MAX).is_err_and(|error| error.is_beyond_limits()));
}

#[test]
fn kernels_with_other_bindings_are_refused() {
    let Some(gpu) = support::gpu::gpu("kernels_with_other_bindings") else { return };
    let changes: [fn(&mut Vec<Binding>); 6] = [
        |bindings| bindings.truncate(1),
        |bindings| bindings[0].writable = true,
        |bindings| bindings[1].writable = false,
        |bindings| bindings[1].group = 1,
        |bindings| bindings[0].size_in_bytes = 7,
        |bindings| bindings[1].size_in_bytes = 12,
    ];
    for change in changes {
        let mut kernel = identity(4);
        change(&mut kernel.bindings);
        let error = gpu.run(&kernel, &[0; 16], &mut [0; 16]).unwrap_err();
        assert!(matches!(error, GpuError::Bindings { .. }), "{error}");
    }
}

fn buffer(gpu: &Gpu, size: u64, usage: BufferUsages) -> wgpu::Buffer {
    let label = None;
    gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label,
        size,
        usage,
        mapped_at_creation: false,
    })
}

fn part(buffer: &wgpu::Buffer, offset: u64, size: u64) -> wgpu::BufferBinding<'_> {
    wgpu::BufferBinding { buffer, offset, size: wgpu::BufferSize::new(size) }
}

#[test]
fn an_embedder_encodes_onto_its_own_buffers_with_offsets() {
    let Some(opened) = support::gpu::gpu("an_embedder_encodes") else { return };
    let gpu = Gpu::from_device(opened.device().clone(), opened.queue().clone());
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let (source, destination) = (buffer(&gpu, 1024, usage), buffer(&gpu, 2048, usage));
    let image = pattern(40);
    gpu.queue().write_buffer(&source, 256, &image);
    gpu.queue().write_buffer(&destination, 0, &[0x55; 2048]);
    let kernel = identity(10);
    let mut encoder =
        gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    gpu.encode(&kernel, &mut encoder, &part(&source, 256, 40), &part(&destination, 512, 300))
        .unwrap();
    // A slice of a buffer converts too, and the rest of the buffer is a range.
    let rest = wgpu::BufferBinding::try_from(destination.slice(1024..)).unwrap();
    gpu.encode(&kernel, &mut encoder, &part(&source, 256, 40), &rest).unwrap();
    let readback = buffer(&gpu, 2048, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    encoder.copy_buffer_to_buffer(&destination, 0, &readback, 0, 2048);
    gpu.queue().submit([encoder.finish()]);
    readback.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let mut expected = vec![0x55; 2048];
    expected[512..552].copy_from_slice(&image);
    expected[1024..1064].copy_from_slice(&image);
    assert_eq!(readback.get_mapped_range(..).unwrap()[..], expected[..]);
}

#[test]
fn ranges_that_cannot_be_bound_are_refused() {
    let Some(gpu) = support::gpu::gpu("ranges_that_cannot_be_bound") else { return };
    let kernel = identity(10);
    let storage = BufferUsages::STORAGE;
    let (one, two) = (buffer(&gpu, 1024, storage), buffer(&gpu, 1024, storage));
    let uniform = buffer(&gpu, 1024, BufferUsages::UNIFORM);
    let mut encoder =
        gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut encode =
        |source, destination| gpu.encode(&kernel, &mut encoder, &source, &destination).unwrap_err();
    let alignment = gpu.limits().min_storage_buffer_offset_alignment;
    assert_eq!(
        encode(part(&one, 2, 0), part(&two, 0, 0)),
        GpuError::OffsetAlignment { side: Side::Source, offset: 2, alignment }
    );
    assert_eq!(
        encode(part(&one, 0, 0), part(&two, 0, 36)),
        GpuError::BufferTooSmall { side: Side::Destination, given: 36, needed: 40 }
    );
    // A range that lies past its buffer's end, though it is long enough by itself.
    assert_eq!(
        encode(part(&one, 1024, 4096), part(&two, 0, 0)),
        GpuError::BufferTooSmall { side: Side::Source, given: 0, needed: 40 }
    );
    assert!(matches!(encode(part(&uniform, 0, 0), part(&two, 0, 0)), GpuError::Usage { .. }));
    assert_eq!(
        encode(part(&one, 0, 40), part(&one, 256, 40)),
        GpuError::SameBuffer { source_offset: 0, destination_offset: 256 }
    );
}

#[test]
fn a_buffer_of_another_device_is_a_typed_error() {
    let Some(gpu) = support::gpu::gpu("a_buffer_of_another_device") else { return };
    let other = Gpu::open().unwrap();
    let (ours, theirs) = (gpu.allocate(16).unwrap(), other.allocate(16).unwrap());
    let kernel = identity(4);
    let side = Side::Destination;
    assert_eq!(gpu.dispatch(&kernel, &ours, &theirs), Err(GpuError::ForeignBuffer { side }));
    assert_eq!(gpu.copy(&ours, &theirs, 16, 1), Err(GpuError::ForeignBuffer { side }));
    let side = Side::Source;
    assert_eq!(gpu.download(&theirs, &mut [0; 16]), Err(GpuError::ForeignBuffer { side }));
    // A clone is the same device.
    gpu.as_ref().clone().dispatch(&kernel, &ours, &gpu.allocate(16).unwrap()).unwrap();
}

#[test]
fn the_cache_is_bounded_shared_by_clones_and_cleared() {
    let Some(opened) = support::gpu::gpu("the_cache_is_bounded") else { return };
    let adopt = || Gpu::from_device(opened.device().clone(), opened.queue().clone());
    let one = adopt().with_cache_capacity(3);
    let two = one.clone();
    let run = |gpu: &Gpu, words: u32| {
        let bytes = usize::try_from(words).unwrap() * 4;
        let mut destination = vec![0; bytes];
        gpu.run(&identity(words), &vec![1; bytes], &mut destination).unwrap();
        assert_eq!(destination, vec![1; bytes]);
    };
    run(&one, 1);
    run(&two, 1);
    assert_eq!(one.cache().len(), 1, "one device, one kernel, one pipeline");
    for words in 2..10 {
        run(&one, words);
        assert!(two.cache().len() <= two.cache().capacity());
    }
    assert_eq!(two.cache().len(), 3);
    one.cache().clear();
    assert!(two.cache().is_empty());
    run(&two, 9);
    assert_eq!(one.cache().len(), 1);

    let uncached = adopt().with_cache_capacity(0);
    run(&uncached, 1);
    assert!(uncached.cache().is_empty());
}

#[test]
fn a_device_that_is_gone_is_a_typed_error() {
    if support::gpu::gpu("a_device_that_is_gone").is_none() {
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

    // An embedder's device has no callback of ours: the loss shows in what no longer answers.
    let own = Gpu::open().unwrap();
    let gpu = Gpu::from_device(own.device().clone(), own.queue().clone());
    gpu.device().destroy();
    lost(gpu.run(&kernel, &[1; 16], &mut [0; 16]));
}

#[test]
fn a_wait_past_its_timeout_is_a_typed_error() {
    if support::gpu::gpu("a_wait_past_its_timeout").is_none() {
        return;
    }
    let limit = std::time::Duration::ZERO;
    let gpu = Gpu::open().unwrap().with_timeout(limit);
    let words = 1 << 22;
    let (source, destination) =
        (gpu.allocate(words * 4).unwrap(), gpu.allocate(words * 4).unwrap());
    let kernel = identity(u32::try_from(words / 2).unwrap());
    let error = gpu.dispatch_repeated(&kernel, &source, &destination, 100).unwrap_err();
    assert_eq!(error, GpuError::Timeout { operation: "running the kernel", limit });
}

#[test]
fn many_threads_share_a_device() {
    let Some(gpu) = support::gpu::gpu("many_threads_share_a_device") else { return };
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let gpu = &gpu;
            scope.spawn(move || {
                for words in (1..200).step_by(7) {
                    let kernel = identity(words);
                    let bytes = usize::try_from(kernel.source_bytes).unwrap();
                    let mut destination = vec![0; bytes];
                    gpu.run(&kernel, &vec![thread; bytes], &mut destination).unwrap();
                    assert_eq!(destination, vec![thread; bytes]);
                }
            });
        }
    });
}

#[test]
fn the_device_copies_its_own_buffers() {
    let Some(gpu) = support::gpu::gpu("the_device_copies") else { return };
    let image = pattern(1000);
    let source = gpu.upload(&image).unwrap();
    let destination = gpu.allocate(1000).unwrap();
    gpu.copy(&source, &destination, 1000, 3).unwrap();
    let mut result = vec![0; 1000];
    gpu.download(&destination, &mut result).unwrap();
    assert_eq!(result, image);
    gpu.trim();
}

#[test]
fn adapters_say_what_they_are() {
    let adapters = Adapters::enumerate();
    for adapter in &adapters {
        assert!(!adapter.name().is_empty() && !adapter.backend().is_empty());
        assert!(!adapter.computes() || adapter.limits().max_buffer_size > 0);
        println!(
            "{} {} {} {:?}",
            adapter.name(),
            adapter.backend(),
            adapter.kind(),
            adapter.limits()
        );
    }
    if let Ok(best) = adapters.choose() {
        let gpu = Gpu::open_adapter(best).unwrap();
        assert_eq!((gpu.name(), gpu.backend()), (best.name().to_owned(), best.backend()));
        assert_eq!((gpu.kind(), gpu.limits()), (best.kind(), best.limits()));
    }
}
