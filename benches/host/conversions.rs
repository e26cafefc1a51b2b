//! `--cases conversions`: relayouts between two element types. The share is of a `memcpy` that
//! reads and writes as many bytes together.

use rayon::ThreadPoolBuilder;

use super::{
    Run, image,
    timing::{Contender, Report, option, round_robin},
};

/// Relayouts of images, weights, activations and indices, in both directions.
const CASES: [(&str, &str); 14] = [
    ("u8[2160,3840,3]", "f32[2160,3840,3]{1,0,2}"),
    ("u8[2160,3840,3]", "f16[2160,3840,3]{1,0,2}"),
    ("f32[3,1080,1920]", "u8[3,1080,1920]{0,2,1}"),
    ("f32[8192,8192]", "bf16[8192,8192]{1,0:T(8,128)(2,1)}"),
    ("bf16[4096,4096]", "f32[4096,4096]{0,1}"),
    ("f16[32,64,112,112]", "f32[32,64,112,112]{1,3,2,0}"),
    ("f32[32,64,112,112]", "f16[32,64,112,112]{1,3,2,0}"),
    ("s64[8388608]", "s32[8388608]"),
    ("s32[4096,2048]", "s64[4096,2048]{0,1}"),
    ("s4[4096,4096]{1,0:E(4)}", "bf16[4096,4096]{0,1}"),
    ("u4[4096,4096]{1,0:E(4)}", "s8[4096,4096]"),
    ("f8e4m3fn[4096,4096]", "bf16[4096,4096]"),
    ("f64[2048,2048]", "f32[2048,2048]{0,1}"),
    ("f32[4096,4096]", "f8e4m3fn[4096,4096]{0,1}"),
];

/// Times every case on the given number of threads.
pub fn measure(number: impl Fn(&str, usize) -> usize) {
    let only = option("--only").unwrap_or_default();
    let (repetitions, threads) = (number("--repetitions", 15), number("--threads", 1));
    let mut report = Report::new("host");
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let mut shares = Vec::new();
    for (from, to) in CASES.iter().filter(|(from, to)| from.contains(&only) || to.contains(&only)) {
        let mut run = Run::relayout(from, to);
        let bytes = usize::midpoint(run.source.len(), run.destination.len());
        let source = image(bytes as u64);
        let name = run.name.clone();
        let timings = pool.install(|| {
            let mut copy = vec![0xa5; bytes];
            let memcpy = Contender {
                name: "memcpy".to_owned(),
                bytes,
                run: Box::new(|| copy.copy_from_slice(&source)),
            };
            round_robin(repetitions, false, vec![run.contender(), memcpy])
        });
        let share = timings[1].best_ms / timings[0].best_ms;
        report.add(&name, &timings);
        println!("{share:60.3} of memcpy");
        shares.push(share);
    }
    let mean = shares.iter().map(|share| share.ln()).sum::<f64>() / shares.len() as f64;
    println!("geometric mean {:.3}, {threads} threads", mean.exp());
}
