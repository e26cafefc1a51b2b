//! `--cases conversions`: relayouts between two element types, and through tables. They are
//! compared with a `memcpy` that reads and writes the same number of bytes in total.

use std::error::Error;

use rayon::ThreadPoolBuilder;

use super::{
    conversion_cases::{Conversion, conversions},
    image,
    timing::{Contender, Report, option, round_robin},
};

/// Times every case on the given number of threads.
pub fn measure(number: impl Fn(&str, usize) -> usize) -> Result<(), Box<dyn Error>> {
    let (repetitions, threads) = (number("--repetitions", 15), number("--threads", 1));
    let mut report = Report::new("host");
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut shares = Vec::new();
    for Conversion { name, operation } in conversions(&option("--only").unwrap_or_default())? {
        let source = image(operation.source_descriptor().image_bytes());
        let mut destination = image(operation.destination_descriptor().image_bytes());
        let (bytes, written) =
            (usize::midpoint(source.len(), destination.len()), destination.len());
        let flat = image(bytes as u64);
        let timings = pool.install(|| {
            let mut copy = vec![0xa5; bytes];
            let memcpy = Contender {
                name: "memcpy".to_owned(),
                bytes,
                run: Box::new(|| copy.copy_from_slice(&flat)),
            };
            let run = Contender {
                name: "stridec".to_owned(),
                bytes: written,
                run: Box::new(|| {
                    operation.run_on_host(&source, &mut destination).expect("a run");
                }),
            };
            round_robin(repetitions, false, vec![run, memcpy])
        });
        let share = timings[1].best_ms / timings[0].best_ms;
        report.add(&name, &timings);
        println!("{share:60.3} of memcpy");
        shares.push(share);
    }
    let mean = shares.iter().map(|share| share.ln()).sum::<f64>() / shares.len() as f64;
    println!("geometric mean {:.3}, {threads} threads", mean.exp());
    Ok(())
}
