//! Times relayouts, and compares them with the device's buffer copy and with the best identity
//! kernel on the device.
//!
//! ```text
//! cargo bench --bench relayout --
//!     [--cases eight|ttc24|ttc200|widths|everyday|programs|conversions|rows|warm|record]
//!     [--only TEXT] [--repetitions 15] [--back-to-back 1] [--json FILE]
//! cargo bench --bench relayout -- --cases sweep [--seed 1] [--count 180] [--rows 30] …
//! cargo bench --bench relayout -- --cases model|estimate [--target FILE.json] …
//! cargo bench --bench relayout -- --cases by-hand [--kernels FOLDER] …
//! cargo bench --bench relayout -- --cases scale [--plot FILE.svg] [--largest 512] …
//! ```
//!
//! Uploads and first dispatches are not timed. Implementations take turns. Every output is compared
//! in full. GB/s counts the bytes that must be read and written.

#![allow(unreachable_pub, clippy::cast_precision_loss)]

mod bare;
#[path = "../../tests/support/base64.rs"]
mod base64;
mod by_hand;
mod cases;
#[path = "../support/conversions.rs"]
mod conversion_cases;
mod conversions;
mod estimate;
#[path = "../support/everyday.rs"]
mod everyday;
#[path = "../../cli/src/measure.rs"]
mod measure;
mod model;
mod plot;
mod programs;
mod record;
mod rows;
mod scale;
mod sweep;
#[path = "../support/sweep.rs"]
mod sweep_cases;
#[allow(dead_code)] // the command line fits models to trials
#[path = "../../cli/src/trials.rs"]
mod trials;
mod warm;

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::Write as _,
};

use measure::Measured;
use stridec::{Target, gpu::Gpu, shape::ElementType};

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::read()?;
    let mut json = options.json.as_ref().map(fs::File::create).transpose()?;
    if options.cases == "scale" {
        let gpu = Gpu::open().inspect_err(|error| println!("the host alone: {error}")).ok();
        let panels =
            scale::measure(gpu.as_ref(), options.repetitions as u64, options.largest, &mut json)?;
        return options.plot.map_or(Ok(()), |file| plot::plot(&file, &panels));
    }
    let gpu = Gpu::open()?;
    println!("{} ({}, {})", gpu.name(), gpu.backend(), gpu.device_type());
    println!(
        "run-time checks: off for proved kernels; destination zeroed once by wgpu, before the first dispatch"
    );
    if ["model", "estimate"].contains(&options.cases.as_str()) {
        let target = options.target(&gpu)?;
        let measure = if options.cases == "model" { model::measure } else { estimate::measure };
        return measure(&gpu, &target, &options, &mut json);
    }
    if options.cases == "warm" {
        return warm::measure(&gpu, options.repetitions, &mut json);
    }
    if options.cases == "record" {
        return record::measure(&gpu);
    }
    if options.cases == "by-hand" {
        return by_hand::measure(&gpu, &options, &mut json);
    }
    if options.cases == "programs" {
        return programs::measure(&gpu, &options, &mut json);
    }
    if options.cases == "conversions" {
        return conversions::measure(&gpu, &options, &mut json);
    }
    if options.cases == "rows" {
        return rows::measure(&gpu, &options, &mut json);
    }
    if options.cases == "sweep" {
        return sweep::measure(&gpu, &options, &mut json);
    }
    let cases = match options.cases.as_str() {
        "eight" => cases::eight(ElementType::F32)?,
        "everyday" => everyday::everyday()?
            .into_iter()
            .map(|everyday::Everyday { name, operation }| cases::Case { name, operation })
            .collect(),
        "ttc24" => cases::ttc(include_str!("../data/ttc57_24MiB.json"), ElementType::F32)?,
        "ttc200" => cases::ttc(include_str!("../data/ttc57.json"), ElementType::F32)?,
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
            return Err(format!(
                "--cases {other}: accepted are eight, ttc24, ttc200, widths, everyday, sweep, programs, conversions, rows, model, estimate, by-hand, warm, record and scale"
            )
            .into());
        }
    };
    let mut ratios = [Vec::new(), Vec::new()];
    println!(
        "{:48} {:>10} {:>10} {:>10} {:>9} {:>9}",
        "GB/s, best", "copy", "identity", "stridec", "/copy", "/identity"
    );
    for case in cases.iter().filter(|case| case.name.contains(&options.only)) {
        let results =
            measure::on_gpu(&gpu, &case.operation, options.repetitions, options.back_to_back)?;
        let [copy, identity, stridec] = [0, 1, 2].map(|number: usize| results[number].rate());
        println!(
            "{:48} {copy:10.2} {identity:10.2} {stridec:10.2} {:9.3} {:9.3}",
            case.name,
            stridec / copy,
            stridec / identity
        );
        ratios[0].push(stridec / copy);
        ratios[1].push(stridec / identity);
        write_json(&mut json, &case.name, &gpu.name(), &results)?;
    }
    let geomean =
        |list: &[f64]| (list.iter().map(|x| x.ln()).sum::<f64>() / list.len() as f64).exp();
    let least = ratios[1].iter().copied().fold(f64::INFINITY, f64::min);
    println!(
        "geomean: {:.3} of the copy, {:.3} of the identity kernel (least {least:.3})",
        geomean(&ratios[0]),
        geomean(&ratios[1])
    );
    Ok(())
}

/// Writes results to the file of `--json`, one on each line.
fn write_json(
    json: &mut Option<File>,
    case: &str,
    device: &str,
    results: &[Measured],
) -> std::io::Result<()> {
    let Some(json) = json else { return Ok(()) };
    results.iter().try_for_each(|result| writeln!(json, "{}", result.json(case, device)))
}

/// The flags of the command line.
struct Options {
    cases: String,
    /// The file of a target that `--cases model` and `--cases estimate` use in place of the preset.
    target: Option<String>,
    /// The folder with the kernels of `--cases by-hand`.
    kernels: Option<String>,
    /// A part of the names of the cases to run.
    only: String,
    repetitions: usize,
    /// The number of times that each implementation runs in one submission.
    back_to_back: u32,
    /// The seed of `--cases sweep`.
    seed: u64,
    /// The number of random cases of `--cases sweep`.
    count: usize,
    /// The number of slow cases that `--cases sweep` prints.
    rows: usize,
    json: Option<String>,
    plot: Option<String>,
    /// The size of the largest tensor on the host, in MiB.
    largest: u64,
}

impl Options {
    /// Returns the target of `--target`, or else that of the device.
    fn target(&self, gpu: &Gpu) -> Result<Target, Box<dyn Error>> {
        Ok(match &self.target {
            Some(file) => Target::from_json(&fs::read_to_string(file)?)?,
            None => gpu.limits().target(gpu.name()),
        })
    }

    fn read() -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            cases: "eight".into(),
            target: None,
            kernels: None,
            only: String::new(),
            repetitions: 15,
            back_to_back: 1,
            seed: 1,
            count: 180,
            rows: 30,
            json: None,
            plot: None,
            largest: 512,
        };
        let mut arguments = env::args().skip(1);
        while let Some(flag) = arguments.next() {
            if flag == "--bench" {
                continue; // cargo's own
            }
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--cases" => options.cases = value,
                "--target" => options.target = Some(value),
                "--kernels" => options.kernels = Some(value),
                "--only" => options.only = value,
                "--repetitions" => options.repetitions = value.parse()?,
                "--back-to-back" => options.back_to_back = value.parse()?,
                "--seed" => options.seed = value.parse()?,
                "--count" => options.count = value.parse()?,
                "--rows" => options.rows = value.parse()?,
                "--json" => options.json = Some(value),
                "--largest" => options.largest = value.parse()?,
                "--plot" => options.plot = Some(value),
                _ => {
                    return Err(format!(
                        "{flag}: accepted are --cases, --only, --target, --kernels, --repetitions, --back-to-back, --seed, --count, --rows, --json, --plot and --largest"
                    )
                    .into());
                }
            }
        }
        Ok(options)
    }
}
