//! Runs that succeed. Their results are checked.

use stridec::gpu::{Adapters, Gpu};
use stridec::wgsl::Kernel;
use wgpu::BufferUsages;

use super::handwritten::{buffer, bytes_of, identity, kernel, part, pattern, with};

use super::support::gpu::gpu;

#[test]
fn identity_copies_every_word() {
    let Some(gpu) = gpu("identity_copies_every_word") else { return };
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
    let Some(gpu) = gpu("images_that_end_inside_a_word") else { return };
    // Run a longer kernel first, so that the buffers that are kept from it have other bytes after
    // the end of these tensors.
    let long = identity(16);
    gpu.run(&long, &[0xff; 64], &mut [0; 64]).unwrap();
    for bytes in 57..=60 {
        let kernel = with(identity(15), |kernel| kernel.source_bytes = bytes);
        let mut destination = vec![0xaa; 60];
        gpu.run(&kernel, &pattern(bytes), &mut destination).unwrap();
        let mut padded = pattern(bytes);
        padded.resize(60, 0);
        assert_eq!(destination, padded, "the source's last word is filled with zeros");

        // The kernel also binds whole words after the end of the source, which must be zero.
        gpu.run(&long, &[0xff; 64], &mut [0; 64]).unwrap();
        let kernel = with(identity(15), |kernel| kernel.source_bytes = bytes - 20);
        let mut destination = vec![0xaa; 60];
        gpu.run(&kernel, &pattern(bytes - 20), &mut destination).unwrap();
        let mut padded = pattern(bytes - 20);
        padded.resize(60, 0);
        assert_eq!(destination, padded);

        let kernel = with(identity(15), |kernel| kernel.destination_bytes = bytes);
        let mut destination = vec![0xaa; usize::try_from(bytes).unwrap()];
        gpu.run(&kernel, &pattern(60), &mut destination).unwrap();
        assert_eq!(destination, pattern(bytes));
    }
}

#[test]
fn images_longer_than_a_staging_part_arrive_whole() {
    let Some(gpu) = gpu("images_longer_than_a_staging_part") else { return };
    // 70 MiB and 12 bytes are transferred in five pieces in each direction, and the last piece is
    // short.
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

/// Runs a kernel repeatedly, from several threads, and checks that the results are equal.
#[test]
fn the_same_input_gives_the_same_bytes() {
    let Some(gpu) = gpu("the_same_input_gives_the_same_bytes") else { return };
    let side = |text: &str| text.parse::<stridec::Tensor>().unwrap();
    let (from, to) = (side("s8[40,300]"), side("s8[40,300]{1,0:T(8,128)(4,1)}"));
    let operation = stridec::Operation::relayout(from, to).unwrap();
    let kernel = operation.compile(&stridec::Target::webgpu()).unwrap();
    let source = pattern(kernel.source_bytes);
    let run = || {
        let mut destination = vec![0xaa; usize::try_from(kernel.destination_bytes).unwrap()];
        gpu.run(&kernel, &source, &mut destination).unwrap();
        destination
    };
    let first = run();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..8).for_each(|_| assert!(run() == first)));
        }
    });
}

#[test]
fn dispatches_run_in_order_and_see_what_earlier_ones_wrote() {
    let Some(gpu) = gpu("dispatches_run_in_order") else { return };
    let body =
        "if id.x < 256u { destination[id.x] = destination[id.x] * groups.y + source[id.x]; }";
    // The first kernel adds to the present contents times one. It runs on a fresh buffer, which is
    // zero.
    let kernel = kernel(256, &[[4, 1, 1], [4, 2, 1]], body);
    let source = gpu.upload(&bytes_of(0..256)).unwrap();
    let destination = gpu.allocate(1024).unwrap();
    let kernel = with(kernel, |kernel| {
        kernel.wgsl = kernel.wgsl.replace("if id.x < 256u", "if id.x < 256u && id.y == 0u");
    });
    gpu.dispatch(&kernel, &source, &destination).unwrap();
    let mut result = vec![0; 1024];
    gpu.download(&destination, &mut result).unwrap();
    // 0·1 + n, then n·2 + n.
    assert_eq!(result, bytes_of((0..256).map(|n| 3 * n)));
}

#[test]
fn two_dimensional_dispatches_reach_past_a_dimension() {
    let Some(gpu) = gpu("two_dimensional_dispatches") else { return };
    let body = "let at = id.y * groups.x * 64u + id.x;
    if at < 1000u { destination[999u - at] = source[at]; }";
    let kernel = kernel(1000, &[[4, 4, 1]], body);
    let mut destination = vec![0; 4000];
    gpu.run(&kernel, &bytes_of(0..1000), &mut destination).unwrap();
    assert_eq!(destination, bytes_of((0..1000).rev()));
}

#[test]
fn an_empty_kernel_leaves_the_destination_alone() {
    let Some(gpu) = gpu("an_empty_kernel") else { return };
    let empty = with(Kernel::default(), |kernel| kernel.destination_bytes = 4);
    let mut destination = [7; 4];
    gpu.run(&empty, &[], &mut destination).unwrap();
    assert_eq!(destination, [7; 4]);
}

#[test]
fn an_embedder_encodes_onto_its_own_buffers_with_offsets() {
    let Some(opened) = gpu("an_embedder_encodes") else { return };
    let gpu = Gpu::from_device(opened.device().clone(), opened.queue().clone());
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
    let (source, destination) = (buffer(&gpu, 1024, usage), buffer(&gpu, 2048, usage));
    let image = pattern(40);
    gpu.queue().write_buffer(&source, 256, &image);
    gpu.queue().write_buffer(&destination, 0, &[0x55; 2048]);
    let kernel = identity(10);
    let mut encoder =
        gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let ranges = [part(&source, 256, 40), part(&destination, 512, 300)];
    gpu.encode(&kernel, &mut encoder, &ranges).unwrap();
    // A slice of a buffer converts too, and the rest of the buffer is a range.
    let rest = wgpu::BufferBinding::try_from(destination.slice(1024..)).unwrap();
    gpu.encode(&kernel, &mut encoder, &[part(&source, 256, 40), rest]).unwrap();
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
fn the_cache_is_bounded_shared_by_clones_and_cleared() {
    let Some(opened) = gpu("the_cache_is_bounded") else { return };
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
        assert!(two.cache().len() <= 3);
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
fn many_threads_share_a_device() {
    let Some(gpu) = gpu("many_threads_share_a_device") else { return };
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
fn the_device_times_a_kernel_within_the_wall_clock() {
    let Some(gpu) = gpu("the_device_times_a_kernel") else { return };
    let kernel = identity(1 << 20);
    let source = gpu.upload(&pattern(kernel.source_bytes)).unwrap();
    let destination = gpu.allocate(kernel.destination_bytes).unwrap();
    let start = std::time::Instant::now();
    let timed = gpu.time(&kernel, &source, &destination, 3).unwrap();
    let wall = start.elapsed();
    let has_timestamps = gpu.device().features().contains(wgpu::Features::TIMESTAMP_QUERY);
    assert_eq!(timed.is_some(), has_timestamps);
    assert!(timed.is_none_or(|timed| timed <= wall), "{timed:?} of {wall:?}");
    let mut result = vec![0; usize::try_from(kernel.destination_bytes).unwrap()];
    gpu.download(&destination, &mut result).unwrap();
    assert!(result == pattern(kernel.source_bytes));
}

#[test]
fn the_device_copies_its_own_buffers() {
    let Some(gpu) = gpu("the_device_copies") else { return };
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
            adapter.device_type(),
            adapter.limits()
        );
    }
    if let Ok(best) = adapters.choose() {
        let gpu = Gpu::open_adapter(best).unwrap();
        assert_eq!((gpu.name(), gpu.backend()), (best.name().to_owned(), best.backend()));
        assert_eq!((gpu.device_type(), gpu.limits()), (best.device_type(), best.limits()));
    }
}

#[test]
fn without_an_adapter_tests_are_skipped_loudly_or_fail_where_one_is_required() {
    let child = |require: &str| {
        std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "runs::identity_copies_every_word"])
            .env("WGPU_ADAPTER_NAME", "no adapter has this name")
            .env("STRIDEC_REQUIRE_GPU", require)
            .output()
            .unwrap()
    };
    let skipped = child("0");
    assert!(skipped.status.success());
    assert!(String::from_utf8_lossy(&skipped.stderr).contains("SKIPPED: no GPU adapter"));
    assert!(!child("1").status.success());
}
