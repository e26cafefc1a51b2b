//! `--cases programs`: functions that JAX wrote as HLO modules, compared with the buffer copy and
//! the identity kernel for the bytes that they write.

use std::{
    error::Error,
    fs::File,
    time::{Duration, Instant},
};

use stridec::{
    gpu::{Buffer, Gpu, Recording},
    hlo::Module,
    program::{ArrayBuffer, BufferId, HostParameter, Program, compile_module},
    schedule::Target,
};

use super::{
    Options, base64,
    measure::{Implementation, Measured, in_turns},
    write_json,
};

/// Returns the programs whose names contain `only`, compiled with default layouts.
pub fn programs(target: &Target, only: &str) -> Result<Vec<(String, Program)>, Box<dyn Error>> {
    let mut all = Vec::new();
    for line in include_str!("../data/programs.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line)?;
        let name = case["name"].as_str().ok_or("expected a name")?;
        if name.contains(only) {
            let module = base64::decode(case["module"].as_str().ok_or("expected a module")?);
            let module = Module::decode(&module)?.with_default_layouts();
            all.push((name.to_owned(), compile_module(&module, target)?));
        }
    }
    Ok(all)
}

/// Returns `bytes` bytes without a pattern that repeats after a few bytes.
pub fn noise(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24).to_le_bytes()[0]).collect()
}

/// Returns bytes for a program's parameters.
pub fn images(program: &Program) -> Vec<Vec<u8>> {
    program.parameters().iter().map(|array| noise(array.bytes())).collect()
}

/// Times every module of `benches/data/programs.jsonl` with default layouts.
pub fn measure(
    gpu: &Gpu,
    options: &Options,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let target = gpu.limits().target(gpu.name());
    let mut shares = Shares { device: gpu.name(), json, of_identity: Vec::new() };
    for (name, program) in programs(&target, &options.only)? {
        let kernels = program.kernels();
        let kernels = format!("{} {}", kernels.len(), kernels[0].strategy);
        shares.add(&name, with_noise(gpu, &program, options), &kernels)?;
    }
    shares.print();
    Ok(())
}

/// The report of a list of cases: a line for each of them, and a summary.
pub struct Shares<'a> {
    pub device: String,
    /// The file of `--json`.
    pub json: &'a mut Option<File>,
    /// The rate of each case as a share of the identity kernel's rate.
    pub of_identity: Vec<f64>,
}

impl Shares<'_> {
    /// Prints the rates and shares of a case, and writes its times to the file. Returns an error
    /// with the name of the case if it could not be measured.
    pub fn add(
        &mut self,
        name: &str,
        measured: Result<Vec<Measured>, Box<dyn Error>>,
        kernels: &str,
    ) -> Result<(), Box<dyn Error>> {
        let measured = measured.map_err(|error| format!("{name}: {error}"))?;
        let [copy, identity, stridec] = [0, 1, 2].map(|of: usize| measured[of].rate());
        println!(
            "{:.2} of the copy, {:.2} of the identity kernel, {stridec:.2} GB/s, {:.3} ms: {name}: {kernels}",
            stridec / copy,
            stridec / identity,
            measured[2].best.as_secs_f64() * 1e3,
        );
        self.of_identity.push(stridec / identity);
        Ok(write_json(self.json, name, &self.device, &measured)?)
    }

    /// Prints the geometric mean and the least of all shares.
    pub fn print(&self) {
        let shares = &self.of_identity;
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = (shares.iter().map(|x| x.ln()).sum::<f64>() / shares.len() as f64).exp();
        println!("of the identity kernel: geometric mean {mean:.2}, least {least:.2}");
    }
}

/// Times a program on parameters that look random, as [`on_gpu`] does, for the bytes that it
/// writes.
pub fn with_noise(
    gpu: &Gpu,
    program: &Program,
    options: &Options,
) -> Result<Vec<Measured>, Box<dyn Error>> {
    let written: u64 = program.results().iter().map(ArrayBuffer::bytes).sum();
    on_gpu(gpu, program, &images(program), 2 * written, options)
}

/// Times a program, and a copy that reads and writes `bytes` bytes in total. `images` has the bytes
/// of each parameter. A result that takes over a parameter is written to its buffer.
pub fn on_gpu(
    gpu: &Gpu,
    program: &Program,
    images: &[Vec<u8>],
    bytes: u64,
    options: &Options,
) -> Result<Vec<Measured>, Box<dyn Error>> {
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let expected = expected(program, &images)?;
    let upload = |bytes: &[u8]| gpu.upload(&[bytes, &[0; 16]].concat());
    let parameters = images.iter().map(|image| upload(image)).collect::<Result<Vec<_>, _>>()?;
    let results = expected.iter().map(|image| gpu.allocate(image.len() as u64 + 16));
    let results = results.collect::<Result<Vec<_>, _>>()?;
    let scratch = program.scratch().iter().map(|array| gpu.allocate(array.bytes() + 16));
    let scratch = scratch.collect::<Result<Vec<_>, _>>()?;
    let results: Vec<&Buffer> = (0..results.len())
        .map(|result| match program.home(BufferId::Result(result)) {
            BufferId::Parameter(parameter) => &parameters[parameter],
            _ => &results[result],
        })
        .collect();
    let buffers: Vec<_> = parameters
        .iter()
        .chain(results.iter().copied())
        .chain(&scratch)
        .map(|buffer| buffer.handle().as_entire_buffer_binding())
        .collect();
    let recording = gpu.bind_program(program, &buffers)?;
    Job { recording, results: results.into_iter().zip(expected).collect(), bytes }
        .measure(gpu, options)
}

/// Runs a program on the host, and returns its results.
fn expected(program: &Program, images: &[&[u8]]) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    if program.aliases().is_empty() {
        return Ok(program.run_on_host(images)?);
    }
    let mut images: Vec<Vec<u8>> = images.iter().map(|image| image.to_vec()).collect();
    let own = |result: &usize| program.home(BufferId::Result(*result)) == BufferId::Result(*result);
    assert_eq!((0..program.results().len()).filter(own).count(), 0, "results with own buffers");
    program.run_on_host_in_place(
        images.iter_mut().map(|image| HostParameter::Donated(image)),
        &mut [],
    )?;
    Ok(program.aliases().iter().map(|alias| images[alias.parameter].clone()).collect())
}

/// Kernels with their buffers, which are checked and timed.
pub struct Job<'a> {
    pub recording: Recording,
    /// Each buffer that is written, with its expected contents.
    pub results: Vec<(&'a Buffer, Vec<u8>)>,
    /// The number of bytes that are read and written.
    pub bytes: u64,
}

impl Job<'_> {
    /// Compares the results with the expected ones, then times the kernels. Three implementations
    /// take turns: the device's buffer copy and the identity kernel, which read and write `bytes`
    /// bytes in total, and the kernels. Each runs `--back-to-back` times in one submission.
    pub fn measure(&self, gpu: &Gpu, options: &Options) -> Result<Vec<Measured>, Box<dyn Error>> {
        let back_to_back = options.back_to_back;
        self.run(gpu, 1)?;
        for (buffer, expected) in &self.results {
            let mut out = vec![0xa5; expected.len()];
            gpu.download(buffer, &mut out)?;
            if out != *expected {
                return Err("the device and the host differ".into());
            }
        }
        let moved = self.bytes / 2;
        let identity =
            super::measure::identity(moved)?.compile(&gpu.limits().target(gpu.name()))?;
        let [flat, copied] = [gpu.allocate(moved + 16)?, gpu.allocate(moved + 16)?];
        let timed = |run: &dyn Fn() -> Result<(), stridec::gpu::GpuError>| {
            let start = Instant::now();
            run()?;
            Ok(start.elapsed() / back_to_back)
        };
        let copy = || timed(&|| gpu.copy(&flat, &copied, moved, back_to_back));
        let same = || timed(&|| gpu.dispatch_repeated(&identity, &flat, &copied, back_to_back));
        let implementations: Vec<Implementation<'_>> = vec![
            ("copy".into(), Box::new(copy)),
            ("identity".into(), Box::new(same)),
            ("stridec".into(), Box::new(|| self.run(gpu, back_to_back))),
        ];
        in_turns(self.bytes, options.repetitions, implementations)
    }

    /// Runs the kernels `times` times in one submission, and returns the time of one run.
    fn run(&self, gpu: &Gpu, times: u32) -> Result<Duration, Box<dyn Error>> {
        let mut encoder =
            gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        (0..times).try_for_each(|_| self.recording.record(&mut pass))?;
        drop(pass);
        let start = Instant::now();
        let submission = gpu.queue().submit([encoder.finish()]);
        gpu.device()
            .poll(wgpu::PollType::Wait { submission_index: Some(submission), timeout: None })?;
        Ok(start.elapsed() / times)
    }
}
