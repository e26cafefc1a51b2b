//! `--cases programs`: functions that JAX wrote as HLO modules, compared with a copy of the same
//! number of bytes and with JAX.

use std::{error::Error, fs};

use rayon::ThreadPoolBuilder;
use stridec::{
    hlo::Module,
    program::{ArrayBuffer, Program},
};

use super::{
    base64, image,
    timing::{Contender, Report, Timing, geomean, option, round_robin},
};

/// Times every module of `benches/data/programs.jsonl` on one thread, with default layouts.
pub fn measure(repetitions: usize) -> Result<(), Box<dyn Error>> {
    let modules = include_str!("../data/programs.jsonl");
    measure_modules(modules, |buffer| image(buffer.bytes()), repetitions)
}

/// Times the modules in the lines of a file. `parameter` returns the image of a parameter.
pub fn measure_modules(
    modules: &str,
    mut parameter: impl FnMut(&ArrayBuffer) -> Vec<u8>,
    repetitions: usize,
) -> Result<(), Box<dyn Error>> {
    let only = option("--only").unwrap_or_default();
    let jax = option("--jax").map(fs::read_to_string).transpose()?;
    let jax: serde_json::Value =
        jax.map_or(Ok(serde_json::Value::Null), |text| serde_json::from_str(&text))?;
    let mut report = Report::new("host");
    let (mut of_memcpy, mut over_jax) = (vec![], vec![]);
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    for line in modules.lines() {
        let case: serde_json::Value = serde_json::from_str(line)?;
        let name = case["name"].as_str().ok_or("expected a name")?;
        if !name.contains(&only) {
            continue;
        }
        let module = base64::decode(case["module"].as_str().ok_or("expected a module")?);
        let program = Program::lower(&Module::decode(&module)?.with_default_layouts())?;
        let parameters: Vec<Vec<u8>> = program.parameters().iter().map(&mut parameter).collect();
        let parameters: Vec<&[u8]> = parameters.iter().map(Vec::as_slice).collect();
        let timings = pool.install(|| beside_memcpy(&program, &parameters, repetitions));
        report.add(name, &timings);
        let share = timings[1].best_ms / timings[0].best_ms;
        of_memcpy.push(share);
        print!("{share:60.2} of memcpy");
        if let Some(jax) = jax[name].as_f64() {
            over_jax.push(jax / timings[0].best_ms);
            print!(", {:.2} times as fast as JAX", jax / timings[0].best_ms);
        }
        println!(", {} kernels", program.steps().len());
    }
    let least = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
    let summary = |of: Vec<f64>, what: &str| {
        if !of.is_empty() {
            println!("{what}: geometric mean {:.2}, least {:.2}", geomean(of.clone()), least(&of));
        }
    };
    summary(of_memcpy, "of memcpy");
    summary(over_jax, "over JAX");
    Ok(())
}

/// Times a program and a copy of the same number of bytes as the program's results.
fn beside_memcpy(program: &Program, parameters: &[&[u8]], repetitions: usize) -> Vec<Timing> {
    let mut results: Vec<Vec<u8>> =
        program.results().iter().map(|buffer| image(buffer.bytes())).collect();
    let bytes = results.iter().map(Vec::len).sum();
    let (from, mut to) = (image(bytes as u64), image(bytes as u64));
    let mut results: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
    let run = Contender {
        name: "stridec".to_owned(),
        bytes,
        run: Box::new(|| program.run_on_host_into(parameters, &mut results).expect("a run")),
    };
    let memcpy =
        Contender { name: "memcpy".to_owned(), bytes, run: Box::new(|| to.copy_from_slice(&from)) };
    round_robin(repetitions, false, vec![run, memcpy])
}
