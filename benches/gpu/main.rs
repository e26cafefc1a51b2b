//! Relayouts beside the same device's buffer copy and its best identity kernel.
//!
//! ```text
//! cargo bench --bench relayout -- [--cases eight|ttc24|widths] [--repetitions 15] [--back-to-back 1] [--json FILE]
//! ```
//!
//! Uploads and first dispatches are left out; implementations take turns; every output is compared in full. GB/s counts
//! the bytes of both sides that must move.

#![allow(unreachable_pub, clippy::cast_precision_loss)]

mod cases;
mod measure;

use std::{env, error::Error, fs, io::Write as _};

use stridec::{gpu::Gpu, shape::ElementType};

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let gpu = Gpu::open()?;
    println!("{} ({}, {})", gpu.name(), gpu.backend(), gpu.kind());
    println!(
        "run-time checks: off for proved kernels; destination zeroed once by wgpu, before the first dispatch"
    );
    let cases = match options.cases.as_str() {
        "eight" => cases::eight(ElementType::F32)?,
        "ttc24" => cases::ttc(include_str!("../data/ttc57_24MiB.json"), ElementType::F32)?,
        "widths" => {
            let mut all = Vec::new();
            for element_type in [
                ElementType::F32,
                ElementType::U8,
                ElementType::F16,
                ElementType::F64,
                ElementType::C128,
            ] {
                for mut case in cases::eight(element_type)? {
                    case.name = format!("{element_type} {}", case.name);
                    all.push(case);
                }
            }
            all
        }
        other => {
            return Err(format!("--cases {other}: accepted are eight, ttc24 and widths").into());
        }
    };
    let mut json = options.json.map(fs::File::create).transpose()?;
    let mut ratios = [Vec::new(), Vec::new()];
    println!(
        "{:48} {:>10} {:>10} {:>10} {:>9} {:>9}",
        "GB/s, best", "copy", "identity", "stridec", "/copy", "/identity"
    );
    for case in &cases {
        let results = measure::case(&gpu, case, options.repetitions, options.back_to_back)?;
        let rate = |n: usize| results[n].bytes as f64 / results[n].best.as_secs_f64() / 1e9;
        let (copy, identity, stridec) = (rate(0), rate(1), rate(2));
        println!(
            "{:48} {copy:10.2} {identity:10.2} {stridec:10.2} {:9.3} {:9.3}",
            case.name,
            stridec / copy,
            stridec / identity
        );
        ratios[0].push(stridec / copy);
        ratios[1].push(stridec / identity);
        if let Some(json) = &mut json {
            for result in &results {
                let line = serde_json::json!({
                    "case": case.name,
                    "device": gpu.name(),
                    "implementation": result.implementation,
                    "bytes": result.bytes,
                    "best_ms": result.best.as_secs_f64() * 1e3,
                    "median_ms": result.median.as_secs_f64() * 1e3,
                });
                writeln!(json, "{line}")?;
            }
        }
    }
    let geomean =
        |list: &[f64]| (list.iter().map(|x| x.ln()).sum::<f64>() / list.len() as f64).exp();
    println!(
        "geomean: {:.3} of the copy, {:.3} of the identity kernel",
        geomean(&ratios[0]),
        geomean(&ratios[1])
    );
    Ok(())
}

/// The flags.
struct Options {
    cases: String,
    repetitions: usize,
    back_to_back: u32,
    json: Option<String>,
}

impl Options {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut options =
            Self { cases: "eight".into(), repetitions: 15, back_to_back: 1, json: None };
        let mut arguments = env::args().skip(1);
        while let Some(flag) = arguments.next() {
            if flag == "--bench" {
                continue; // cargo's own
            }
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--cases" => options.cases = value,
                "--repetitions" => options.repetitions = value.parse()?,
                "--back-to-back" => options.back_to_back = value.parse()?,
                "--json" => options.json = Some(value),
                _ => {
                    return Err(format!(
                        "{flag}: accepted are --cases, --repetitions, --back-to-back and --json"
                    )
                    .into());
                }
            }
        }
        Ok(options)
    }
}
