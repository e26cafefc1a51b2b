//! Times contenders in turns, and writes the lines of a report.
#![allow(dead_code)] // each bench uses a part
#![allow(clippy::cast_precision_loss)] // rates are shown to four digits

use std::{
    fs::File,
    io::Write as _,
    time::{Duration, Instant},
};

/// An implementation of a case.
pub struct Contender<'a> {
    /// The name in the report.
    pub name: String,
    /// The size of the destination, in bytes.
    pub bytes: usize,
    /// A function that runs the implementation once.
    pub run: Box<dyn FnMut() + 'a>,
}

/// The times of a contender.
pub struct Timing {
    /// The name in the report.
    pub name: String,
    /// The size of the destination, in bytes.
    pub bytes: usize,
    /// The time of the shortest repetition, in milliseconds.
    pub best_ms: f64,
    /// The median time of the repetitions, in milliseconds.
    pub median_ms: f64,
}

/// Runs the contenders in turns, `repetitions` times each. One earlier run of each is not counted.
pub fn round_robin(repetitions: usize, sleep: bool, mut contenders: Vec<Contender>) -> Vec<Timing> {
    let mut times = vec![Vec::new(); contenders.len()];
    for repetition in 0..=repetitions {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            // The threads of the previous contender fall asleep in the meantime.
            if sleep {
                std::thread::sleep(Duration::from_millis(2));
            }
            let start = Instant::now();
            (contender.run)();
            let took = start.elapsed().as_secs_f64() * 1e3;
            if repetition > 0 {
                times.push(took);
            }
        }
    }
    contenders
        .into_iter()
        .zip(times)
        .map(|(contender, mut times)| {
            times.sort_by(f64::total_cmp);
            Timing {
                name: contender.name,
                bytes: contender.bytes,
                best_ms: times[0],
                median_ms: times[times.len() / 2],
            }
        })
        .collect()
}

/// Prints the report. With `--json FILE`, also writes it to a file, with an object on each line.
pub struct Report {
    json: Option<File>,
    device: String,
}

impl Report {
    /// Creates a report for `device`. Its file is given by the command line.
    pub fn new(device: &str) -> Self {
        let json = option("--json").map(|path| File::create(path).expect("the report's file"));
        Self { json, device: device.to_owned() }
    }

    /// Adds the times of one case.
    pub fn add(&mut self, case: &str, timings: &[Timing]) {
        print!("{case:44}");
        for timing in timings {
            // Each byte is read and written.
            let bytes = 2 * timing.bytes;
            let rate = bytes as f64 / timing.best_ms / 1e6;
            print!(" {} {:.3} ms ({rate:.1} GB/s)", timing.name, timing.best_ms);
            if let Some(json) = &mut self.json {
                writeln!(
                    json,
                    r#"{{"case":"{case}","device":"{}","implementation":"{}","bytes":{},"best_ms":{:.5},"median_ms":{:.5}}}"#,
                    self.device, timing.name, bytes, timing.best_ms, timing.median_ms
                )
                .expect("the report's file");
            }
        }
        println!();
    }
}

/// Returns the name of the processor and the number of its cores, as far as the system reports
/// them.
pub fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    format!("{}, {cores} cores", name.map_or("a processor without a name", |(_, name)| name))
}

/// Returns the value after `name` on the command line, or `None` if `name` is not given.
pub fn option(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.nth(1)
}

/// Returns the geometric mean.
pub fn geomean(of: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in of {
        sum += value.ln();
        count += 1.0;
    }
    (sum / count).exp()
}
