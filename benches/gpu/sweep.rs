//! `--cases sweep`: random operations and programs, compared with the identity kernel for the bytes
//! that they write.

use std::{error::Error, fs::File};

use stridec::gpu::Gpu;

use super::{
    Options,
    measure::{self, Measured},
    programs,
    sweep_cases::{What, cases},
    write_json,
};

/// A measured case.
struct Row {
    name: String,
    /// The time of the identity kernel divided by the time of the case.
    share: f64,
    /// The rate, in 10^9 bytes that are read and written in a second.
    rate: f64,
    strategy: String,
}

/// Measures random cases, and prints the slowest ones and a summary of each family and of all.
/// Every result is compared with the host's.
pub fn measure(
    gpu: &Gpu,
    options: &Options,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    let mut all = cases(options.seed, options.count);
    all.retain(|case| case.name.contains(&options.only));
    for case in all {
        let (strategy, measured) =
            one(gpu, &case.what, options).map_err(|error| format!("{}: {error}", case.name))?;
        let [_, identity, stridec] = [0, 1, 2].map(|of: usize| measured[of].best.as_secs_f64());
        write_json(json, &case.name, &gpu.name(), &measured)?;
        let (share, rate) = (identity / stridec, measured[2].rate());
        rows.push(Row { name: case.name, share, rate, strategy });
    }
    rows.sort_by(|a, b| a.share.total_cmp(&b.share));
    for Row { name, share, rate, strategy } in rows.iter().take(options.rows) {
        println!("{share:6.3} {rate:8.2} GB/s  {name}: {strategy}");
    }
    let family = |row: &Row| row.name.split('/').next().unwrap_or_default().to_owned();
    let mut families: Vec<String> = rows.iter().map(family).collect();
    families.sort_unstable();
    families.dedup();
    for of in families {
        println!("{of:12} {}", summary(rows.iter().filter(|row| family(row) == of)));
    }
    println!("{} cases: {}", rows.len(), summary(rows.iter()));
    Ok(())
}

/// Measures one case. Also returns the strategies of its kernels.
fn one(
    gpu: &Gpu,
    what: &What,
    options: &Options,
) -> Result<(String, Vec<Measured>), Box<dyn Error>> {
    let target = gpu.limits().target(gpu.name());
    let (repetitions, back_to_back) = (options.repetitions, options.back_to_back);
    match what {
        What::Operation(operation) => {
            let measured = measure::on_gpu(gpu, operation, repetitions, back_to_back)?;
            Ok((operation.compile(&target)?.strategy.to_string(), measured))
        }
        What::Program(program) => {
            let program = (**program).clone().compiled(&target)?;
            let strategies = program.kernels().iter().map(|kernel| kernel.strategy.to_string());
            let strategies = strategies.collect::<Vec<_>>().join(", ");
            Ok((strategies, programs::with_noise(gpu, &program, options)?))
        }
    }
}

/// Describes the shares of rows that are sorted by their share.
fn summary<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let shares: Vec<f64> = rows.map(|row| row.share).collect();
    if shares.is_empty() {
        return "no cases".into();
    }
    let mean = (shares.iter().map(|share| share.ln()).sum::<f64>() / shares.len() as f64).exp();
    let (low, least) = (shares[shares.len() / 20], shares[0]);
    format!("geometric mean {mean:.3}, 5th percentile {low:.3}, least {least:.3}")
}
