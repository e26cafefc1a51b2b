//! `Gpu::encode` and `Gpu::encode_program`: recording into the caller's commands, on the caller's
//! buffers.

use stridec::{
    ErrorKind, Operation, Target,
    gpu::{Gpu, GpuError},
    hlo::Module,
    program::{BufferId, Program, compile_module},
    wgsl::Kernel,
};
use wgpu::BufferUsages;

use super::handwritten::{buffer, part};
use super::support::gpu::gpu;
use super::support::{random::Random, scratch};

const STORAGE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// Returns the target of a device, with sources that may be in the same buffer as the destination.
fn read_write(gpu: &Gpu) -> Target {
    let mut target = gpu.limits().target("pool");
    target.read_write_sources = true;
    target
}

/// Submits the commands of `encoder`, and returns the contents of a buffer after them.
pub(super) fn finish(
    gpu: &Gpu,
    mut encoder: wgpu::CommandEncoder,
    source: &wgpu::Buffer,
) -> Vec<u8> {
    let readback = buffer(gpu, source.size(), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    encoder.copy_buffer_to_buffer(source, 0, &readback, 0, source.size());
    gpu.queue().submit([encoder.finish()]);
    readback.map_async(wgpu::MapMode::Read, .., |mapped| mapped.unwrap());
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    readback.get_mapped_range(..).unwrap().to_vec()
}

pub(super) fn encoder(gpu: &Gpu) -> wgpu::CommandEncoder {
    gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// A buffer that holds the parameters, results and scratch buffers of a program, at random offsets.
/// The bytes between them must not be written.
struct Pool {
    buffer: wgpu::Buffer,
    bytes: Vec<u8>,
    ranges: Vec<(u64, u64)>,
}

impl Pool {
    fn new(gpu: &Gpu, program: &Program, images: &[&[u8]], random: &mut Random) -> Self {
        let ids = (0..program.parameters().len())
            .map(BufferId::Parameter)
            .chain((0..program.results().len()).map(BufferId::Result));
        let mut sizes: Vec<u64> = ids.map(|id| program.binding_bytes(id)).collect();
        sizes.extend(program.scratch_sizes());
        let alignment = u64::from(gpu.limits().min_storage_buffer_offset_alignment);
        let mut end = 0;
        let mut ranges = vec![(0, 0); sizes.len()];
        // The buffers are in the pool in random order.
        for at in random.permutation(sizes.len()) {
            let start = (end + random.below(40)).next_multiple_of(alignment);
            ranges[at] = (start, sizes[at]);
            end = start + sizes[at];
        }
        let length = end.next_multiple_of(4) + 64;
        let mut bytes = random.bytes(length);
        for (image, &(start, _)) in images.iter().zip(&ranges) {
            bytes[to_usize(start)..][..image.len()].copy_from_slice(image);
        }
        let buffer = buffer(gpu, length, STORAGE);
        gpu.queue().write_buffer(&buffer, 0, &bytes);
        Self { buffer, bytes, ranges }
    }

    fn ranges(&self) -> Vec<wgpu::BufferBinding<'_>> {
        self.ranges.iter().map(|&(offset, size)| part(&self.buffer, offset, size)).collect()
    }

    /// Checks that the results are as expected, and that all bytes except results and scratch
    /// buffers are unchanged.
    fn check(&self, program: &Program, read: &[u8], expected: &[Vec<u8>]) {
        let (parameters, results) = (program.parameters().len(), program.results().len());
        let mut wanted = self.bytes.clone();
        for (number, image) in expected.iter().enumerate() {
            let start = to_usize(self.ranges[parameters + number].0);
            wanted[start..][..image.len()].copy_from_slice(image);
            // The last word of a result is written as a whole.
            let tail = start + image.len()..start + image.len().next_multiple_of(4);
            wanted[tail.clone()].copy_from_slice(&read[tail]);
        }
        for &(start, size) in &self.ranges[parameters + results..] {
            let scratch = to_usize(start)..to_usize(start + size);
            wanted[scratch.clone()].copy_from_slice(&read[scratch]);
        }
        assert!(read == wanted, "{}: a byte differs", program.name());
    }
}

fn modules() -> Vec<(Module, Vec<Vec<u8>>)> {
    let text = "HloModule odd
        ENTRY e {
          p = u8[7,5,3] parameter(0)
          q = u8[3,35] parameter(1)
          k = u8[2,35] constant({ {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35},
            {35,34,33,32,31,30,29,28,27,26,25,24,23,22,21,20,19,18,17,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1} })
          t = u8[3,7,5] transpose(p), dimensions={2,0,1}
          r = u8[3,35] reshape(t)
          all = u8[8,35] concatenate(r, q, k), dimensions={0}
          back = u8[7,5,3] reverse(p), dimensions={1}
          turned = u8[35,3] transpose(q), dimensions={1,0}
          ROOT out = (u8[8,35], u8[7,5,3], u8[35,3]) tuple(all, back, turned)
        }";
    let images = |lengths: &[usize]| -> Vec<Vec<u8>> {
        let image = |(seed, &length): (usize, &usize)| {
            (0..length).map(|at| (at * 31 + seed * 77 + 5).to_le_bytes()[0]).collect()
        };
        lengths.iter().enumerate().map(image).collect()
    };
    let mut all = vec![(Module::parse(text).unwrap(), images(&[105, 105]))];
    let cases = scratch::concatenations().map(|(case, _)| case);
    for case in cases.chain([scratch::stack(), scratch::dynamic_slices(), scratch::doubling()]) {
        let sources = case.sources().iter().map(|source| source.to_vec()).collect();
        all.push((case.module, sources));
    }
    all
}

/// One buffer holds parameters, results and scratch buffers. The program is recorded twice: in an
/// encoder, and in an open compute pass.
#[test]
fn programs_are_recorded_on_one_pool() {
    let Some(gpu) = gpu("programs_are_recorded_on_one_pool") else { return };
    let target = read_write(&gpu);
    let mut scratch = 0;
    for (seed, (module, images)) in (1..).zip(modules()) {
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let program = compile_module(&module, &target).unwrap();
        let expected = program.run_on_host(&images).unwrap();
        scratch += program.scratch().len();
        for open in [false, true] {
            let pool = Pool::new(&gpu, &program, &images, &mut Random(seed));
            let mut encoder = encoder(&gpu);
            if open {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                gpu.encode_program(&program, &mut pass, &pool.ranges()).unwrap();
            } else {
                gpu.encode_program(&program, &mut encoder, &pool.ranges()).unwrap();
            }
            pool.check(&program, &finish(&gpu, encoder, &pool.buffer), &expected);
        }
    }
    assert!(scratch > 2, "{scratch} scratch buffers");
}

/// A recording is used again with other bytes in the same buffers.
#[test]
fn a_recording_is_recorded_again() {
    let Some(gpu) = gpu("a_recording_is_recorded_again") else { return };
    let (module, images) = modules().swap_remove(0);
    let program = compile_module(&module, &read_write(&gpu)).unwrap();
    let first: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let mut pool = Pool::new(&gpu, &program, &first, &mut Random(9));
    let recording = gpu.bind_program(&program, &pool.ranges()).unwrap();
    for round in 0..3_u8 {
        let images: Vec<Vec<u8>> =
            images.iter().map(|image| image.iter().map(|byte| byte ^ round).collect()).collect();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        for (image, &(start, _)) in images.iter().zip(&pool.ranges) {
            pool.bytes[to_usize(start)..][..image.len()].copy_from_slice(image);
        }
        gpu.queue().write_buffer(&pool.buffer, 0, &pool.bytes);
        let mut encoder = encoder(&gpu);
        recording.record(&mut encoder).unwrap();
        let read = finish(&gpu, encoder, &pool.buffer);
        pool.check(&program, &read, &program.run_on_host(&images).unwrap());
    }
}

#[test]
fn ranges_that_a_program_cannot_use_are_refused() {
    let Some(gpu) = gpu("ranges_that_a_program_cannot_use") else { return };
    let (module, images) = modules().swap_remove(0);
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let program = compile_module(&module, &read_write(&gpu)).unwrap();
    let pool = Pool::new(&gpu, &program, &images, &mut Random(3));
    let refused = |program: &Program, change: &dyn Fn(&mut Vec<wgpu::BufferBinding<'_>>)| {
        let mut ranges = pool.ranges();
        change(&mut ranges);
        let error = gpu.encode_program(program, &mut encoder(&gpu), &ranges).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error
    };
    let missing = refused(&program, &|ranges| ranges.truncate(4));
    assert!(matches!(missing, GpuError::RangeCount { given: 4, expected: 5, .. }), "{missing}");
    let text = "expected 5 buffers, 2 parameters, 3 results and 0 scratch buffers, got 4";
    assert_eq!(missing.to_string(), text);
    // A result that overlaps a parameter, one that overlaps another result, one that is too small,
    // and one at an odd offset.
    for (number, change) in [
        (0, (|ranges| ranges[2].offset = ranges[0].offset) as fn(&mut [wgpu::BufferBinding<'_>])),
        (2, |ranges| ranges[4].offset = ranges[3].offset),
        (1, |ranges| ranges[3].size = wgpu::BufferSize::new(100)),
        (1, |ranges| ranges[3].offset += 2),
    ] {
        let error = refused(&program, &|ranges| change(ranges));
        assert_eq!(error.program_buffer(), Some(BufferId::Result(number)), "{error}");
        let field = stridec::Error::from(error).field().unwrap();
        assert_eq!(field.to_string(), format!("results[{number}]"));
    }
    let read_only = compile_module(&module, &gpu.limits().target("read-only")).unwrap();
    let error = refused(&read_only, &|_| ());
    assert!(matches!(error, GpuError::SameBuffer { .. }), "{error}");
}

/// A kernel on ranges of one buffer that do not overlap, and on ranges that do.
#[test]
fn a_kernel_reads_and_writes_parts_of_one_buffer() {
    let Some(gpu) = gpu("a_kernel_reads_and_writes_parts") else { return };
    let shapes = ("u16[5,7]".parse().unwrap(), "u16[5,7]{0,1}".parse().unwrap());
    let operation = Operation::relayout(shapes.0, shapes.1).unwrap();
    let kernel = operation.compile(&read_write(&gpu)).unwrap();
    assert!(kernel.bindings.iter().all(|binding| binding.writable));
    let bytes: Vec<u8> = (0..=250).cycle().take(1024).collect();
    let pool = buffer(&gpu, 1024, STORAGE);
    gpu.queue().write_buffer(&pool, 0, &bytes);
    let mut commands = encoder(&gpu);
    gpu.encode(&kernel, &mut commands, &[part(&pool, 256, 80), part(&pool, 512, 80)]).unwrap();
    let mut expected = bytes.clone();
    operation.run_on_host(&bytes[256..326], &mut expected[512..582]).unwrap();
    let read = finish(&gpu, commands, &pool);
    expected[582..584].copy_from_slice(&read[582..584]);
    assert!(read == expected);

    let ranges = [part(&pool, 256, 80), part(&pool, 256, 80)];
    let error = gpu.encode(&kernel, &mut encoder(&gpu), &ranges).unwrap_err();
    assert!(matches!(error, GpuError::Overlap { .. }), "{error}");
    let error = gpu.encode(&kernel, &mut encoder(&gpu), &ranges[..1]).unwrap_err();
    assert!(matches!(error, GpuError::RangeCount { given: 1, expected: 2, .. }), "{error}");
}

/// Kernels that differ only in the names of modules and the types of arrays, which are in comments,
/// share a pipeline.
#[test]
fn equal_kernels_with_other_names_share_a_pipeline() {
    let Some(opened) = gpu("equal_kernels_with_other_names") else { return };
    let gpu = Gpu::from_device(opened.device().clone(), opened.queue().clone());
    let target = gpu.limits().target("shared");
    let source: Vec<u8> = (0..96).collect();
    let mut texts = std::collections::BTreeSet::new();
    for number in 0..12 {
        let kind = ["f32", "s32", "u32"][number % 3];
        let text = format!(
            "HloModule module_{number} ENTRY e {{ p = {kind}[4,6] parameter(0) \
             ROOT t = {kind}[6,4] transpose(p), dimensions={{1,0}} }}"
        );
        let program = compile_module(&Module::parse(&text).unwrap(), &target).unwrap();
        texts.insert(program.kernels()[0].wgsl.clone());
        let expected = program.run_on_host(&[&source]).unwrap();
        assert_eq!(gpu.run_program(&program, &[&source]).unwrap(), expected);
        assert_eq!(gpu.cache().len(), 1);

        // Without its proof, the same kernel has run-time checks and therefore another pipeline.
        if number == 11 {
            let unproved = Kernel::from_parts(program.kernels()[0].clone().into_parts());
            assert_ne!(unproved.key(), program.kernels()[0].key());
            gpu.run(&unproved, &source, &mut [0; 96]).unwrap();
            assert_eq!(gpu.cache().len(), 2);
        }
    }
    assert_eq!(texts.len(), 12, "all texts differ");
}

/// Opens a device with WebGPU's downlevel limits: 4 storage buffers.
fn small_device() -> Option<Gpu> {
    let instance = wgpu::Instance::default();
    let options = wgpu::RequestAdapterOptions::default();
    let adapter = pollster::block_on(instance.request_adapter(&options)).ok()?;
    let descriptor = wgpu::DeviceDescriptor {
        required_limits: wgpu::Limits::downlevel_defaults(),
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).ok()?;
    Some(Gpu::from_device(device, queue))
}

#[test]
fn a_device_of_four_storage_buffers_runs_programs_of_many_sources() {
    if gpu("a_device_of_four_storage_buffers").is_none() {
        return;
    }
    let gpu = small_device().expect("an adapter with downlevel limits");
    assert_eq!(gpu.limits().max_storage_buffers_per_shader_stage, 4);
    let mut target = gpu.limits().target("small");
    assert_eq!(target.max_storage_buffers_per_shader_stage, 4);
    let mut cases = vec![scratch::concatenate(6, "u8", 3), scratch::dynamic_slices()];
    cases.extend(scratch::concatenations().map(|(case, _)| case));
    for case in cases {
        let sources = case.sources();
        let small = compile_module(&case.module, &target).unwrap();
        assert!(small.kernels().iter().all(|kernel| kernel.bindings.len() <= 4));
        assert_eq!(
            gpu.run_program(&small, &sources).unwrap(),
            std::slice::from_ref(&case.expected)
        );
        let lowered = Program::lower(&case.module).unwrap();
        assert_eq!(
            gpu.run_program(&lowered, &sources).unwrap(),
            std::slice::from_ref(&case.expected)
        );
        let large = compile_module(&case.module, &Target::webgpu()).unwrap();
        let error = gpu.run_program(&large, &sources).unwrap_err();
        let GpuError::BeyondLimit { limit: 4, .. } = error else { panic!("{error}") };
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    target.max_storage_buffers_per_shader_stage = 2;
    let error = compile_module(&scratch::concatenate(6, "u8", 3).module, &target).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("sources: expected at most 1"), "{error}");
}
