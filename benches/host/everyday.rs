//! `--cases everyday`: each case is measured as a share of the rate of a copy of the same number of
//! bytes by the same number of threads.

use std::{error::Error, fmt::Write as _, fs};

use rayon::{ThreadPoolBuilder, prelude::*};

use super::{
    Run,
    bars::{self, Bars},
    everyday_cases::everyday,
    timing::{Contender, Report, Timing, geomean, option, processor, round_robin},
};

/// The numbers of threads with which cases are measured.
const THREADS: [usize; 2] = [1, 2];

/// The default number of repetitions for numpy. The best repetition counts.
const NUMPY_REPETITIONS: usize = 15;

/// Times every case with each number of threads, and prints the table. Options also write the table
/// and a plot of it to files.
pub fn measure(repetitions: usize) -> Result<(), Box<dyn Error>> {
    let only = option("--only").unwrap_or_default();
    let numpy = option("--numpy").map(fs::read_to_string).transpose()?;
    let numpy: serde_json::Value =
        numpy.map_or(Ok(serde_json::Value::Null), |text| serde_json::from_str(&text))?;
    let mut report = Report::new("host");
    let mut table = String::from(
        "| case | GB/s, 1 thread | of memcpy | GB/s, 2 threads | of memcpy | numpy GB/s |\n|---|---|---|---|---|---|\n",
    );
    let (mut shares, mut over_numpy) = (Vec::new(), Vec::new());
    for case in everyday()?.into_iter().filter(|case| case.name.contains(&only)) {
        let mut run = Run::new("stridec", &case.operation);
        write!(table, "| {}", case.name)?;
        let mut bars = Bars { name: case.name.clone(), shares: Vec::new() };
        for threads in THREADS {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
            let (rate, share) =
                pool.install(|| one(&mut run, repetitions, &case.name, &mut report));
            write!(table, " | {rate:.1} | {share:.2}")?;
            bars.shares.push(share);
            if let (1, Some(numpy)) = (threads, numpy[&case.name].as_f64()) {
                let rate = pool.install(|| alone(&mut run, repetitions));
                over_numpy.push((rate / numpy, case.name.clone()));
            }
        }
        match numpy[&case.name].as_f64() {
            Some(rate) => writeln!(table, " | {rate:.1} |")?,
            None => writeln!(table, " | |")?,
        }
        shares.push(bars);
    }
    let mut summary = processor() + "\n\n";
    for (number, threads) in THREADS.iter().enumerate() {
        let of = |bars: &Bars| bars.shares[number];
        let least = shares.iter().min_by(|a, b| of(a).total_cmp(&of(b))).ok_or("no case")?;
        let below = shares.iter().filter(|bars| of(bars) < 0.5).count();
        writeln!(
            summary,
            "Threads: {threads}. Geometric mean {:.3} of memcpy, least {:.3} ({}), {below} of {} below 0.5.",
            geomean(shares.iter().map(of)),
            of(least),
            least.name,
            shares.len()
        )?;
    }
    if let Some((least, name)) = over_numpy.iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
        writeln!(
            summary,
            "Over numpy, one thread: geometric mean {:.2}, least {least:.2} ({name}), {} cases.",
            geomean(over_numpy.iter().map(|(over, _)| *over)),
            over_numpy.len()
        )?;
    }
    print!("{table}\n{summary}");
    if let Some(file) = option("--table") {
        fs::write(file, format!("{summary}\n{table}"))?;
    }
    if let Some(file) = option("--plot") {
        let title = format!("Everyday cases on the host, of memcpy: {}", processor());
        let series = THREADS.map(|threads| match threads {
            1 => "1 thread".to_owned(),
            threads => format!("{threads} threads"),
        });
        bars::plot(&file, &title, &series, &shares, 1.5)?;
    }
    Ok(())
}

/// Returns the rate of one case in GB/s, and its share of the copy's rate.
fn one(run: &mut Run, repetitions: usize, name: &str, report: &mut Report) -> (f64, f64) {
    let threads = rayon::current_num_threads();
    let length = run.destination.len();
    let source: Vec<u8> = (0..length).map(|n| n as u8).collect();
    let mut copy = vec![0xa5; length];
    let memcpy = Contender {
        name: "memcpy".to_owned(),
        bytes: length,
        run: Box::new(|| {
            let share = length.div_ceil(threads).next_multiple_of(4096);
            let chunks = copy.par_chunks_mut(share).zip(source.par_chunks(share));
            chunks.for_each(|(to, from)| to.copy_from_slice(from));
        }),
    };
    let timings = round_robin(repetitions, false, vec![run.contender(), memcpy]);
    run.check();
    report.add(&format!("{name}, {threads} threads"), &timings);
    (rate(&timings[0]), timings[1].best_ms / timings[0].best_ms)
}

/// Returns the rate of one case in GB/s if nothing else runs between its repetitions, as in numpy's
/// process. The last-level cache then holds only the buffers of the case, and not the buffers of a
/// copy.
fn alone(run: &mut Run, repetitions: usize) -> f64 {
    rate(&round_robin(repetitions.max(NUMPY_REPETITIONS), false, vec![run.contender()])[0])
}

/// Returns the rate of the best repetition in GB/s.
fn rate(timing: &Timing) -> f64 {
    2.0 * timing.bytes as f64 / timing.best_ms / 1e6
}
