//! `--cases programs`: functions that JAX wrote as HLO modules, compared with the buffer copy and
//! the identity kernel for the bytes that they write.

use std::{
    error::Error,
    fs::File,
    time::{Duration, Instant},
};

use stridec::{
    gpu::Gpu,
    hlo::Module,
    program::{ArrayBuffer, Program, compile_module},
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

/// Returns images for a program's parameters, without a pattern that repeats after a few bytes.
pub fn images(program: &Program) -> Vec<Vec<u8>> {
    let image = |of: &ArrayBuffer| -> Vec<u8> {
        (0..of.bytes()).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24).to_le_bytes()[0]).collect()
    };
    program.parameters().iter().map(image).collect()
}

/// Times every module of `benches/data/programs.jsonl` with default layouts.
pub fn measure(
    gpu: &Gpu,
    options: &Options,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let target = gpu.limits().target(gpu.name());
    let mut shares = Vec::new();
    println!(
        "{:40} {:>9} {:>9} {:>9} {:>9} {:>9}  kernels",
        "ms, best", "copy", "identity", "stridec", "/copy", "/identity"
    );
    for (name, program) in programs(&target, &options.only)? {
        let measured = on_gpu(gpu, &program, options.repetitions, options.back_to_back)
            .map_err(|error| format!("{name}: {error}"))?;
        let [copy, identity, stridec] = [0, 1, 2].map(|of: usize| measured[of].best.as_secs_f64());
        shares.push(identity / stridec);
        println!(
            "{name:40} {:9.3} {:9.3} {:9.3} {:9.2} {:9.2}  {} {}",
            copy * 1e3,
            identity * 1e3,
            stridec * 1e3,
            copy / stridec,
            identity / stridec,
            program.kernels().len(),
            program.kernels()[0].strategy
        );
        write_json(json, &name, &gpu.name(), &measured)?;
    }
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let geomean = (shares.iter().map(|x| x.ln()).sum::<f64>() / shares.len() as f64).exp();
    println!("of the identity kernel: geometric mean {geomean:.2}, least {least:.2}");
    Ok(())
}

/// Times a program. The implementations are the device's buffer copy of the bytes that the program
/// writes, the kernel of that copy, and the program. Each runs `back_to_back` times in one
/// submission. Before that, the results are compared with the host's.
pub fn on_gpu(
    gpu: &Gpu,
    program: &Program,
    repetitions: usize,
    back_to_back: u32,
) -> Result<Vec<Measured>, Box<dyn Error>> {
    let images = images(program);
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let expected = program.run_on_host(&images)?;
    let upload = |bytes: &[u8]| gpu.upload(&[bytes, &[0; 16]].concat());
    let parameters = images.iter().map(|image| upload(image)).collect::<Result<Vec<_>, _>>()?;
    let results = expected.iter().map(|image| upload(image)).collect::<Result<Vec<_>, _>>()?;
    let scratch = program.scratch().iter().map(|array| gpu.allocate(array.bytes() + 16));
    let scratch = scratch.collect::<Result<Vec<_>, _>>()?;
    let buffers: Vec<_> = parameters
        .iter()
        .chain(&results)
        .chain(&scratch)
        .map(|buffer| buffer.handle().as_entire_buffer_binding())
        .collect();
    let recording = gpu.bind_program(program, &buffers)?;
    let run = |times: u32| -> Result<Duration, Box<dyn Error>> {
        let mut encoder =
            gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        (0..times).try_for_each(|_| recording.record(&mut pass))?;
        drop(pass);
        let start = Instant::now();
        let submission = gpu.queue().submit([encoder.finish()]);
        gpu.device()
            .poll(wgpu::PollType::Wait { submission_index: Some(submission), timeout: None })?;
        Ok(start.elapsed() / times)
    };
    run(1)?;
    for (expected, result) in expected.iter().zip(&results) {
        let mut out = vec![0xa5; expected.len()];
        gpu.download(result, &mut out)?;
        if out != *expected {
            return Err("the device and the host differ".into());
        }
    }
    let moved = expected.iter().map(|image| image.len() as u64).sum();
    let identity = super::measure::identity(moved)?.compile(&gpu.limits().target(gpu.name()))?;
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
        ("stridec".into(), Box::new(|| run(back_to_back))),
    ];
    in_turns(2 * moved, repetitions, implementations)
}
