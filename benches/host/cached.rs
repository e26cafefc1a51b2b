//! `--cases cached`: copies within the caches, compared with a `memcpy` of the same number of bytes
//! in the caches, and the time of calls on 64 bytes.

use super::{
    Run,
    timing::{Contender, Report, round_robin},
};

/// The least number of bytes that a repetition moves, because a single call is too short to be
/// timed.
const REPETITION_BYTES: usize = 1 << 23;

/// The greatest number of calls in a repetition.
const MOST_CALLS: usize = 1 << 14;

/// The source, the destination, and the goal as a share of `memcpy`'s rate.
const COPIES: [(&str, &str, f64); 12] = [
    ("u8[3,224,224]", "u8[3,224,224]{0,2,1}", 0.15),
    ("u8[224,224,3]", "u8[224,224,3]{1,0,2}", 0.15),
    ("u8[16,12,28,28]", "u8[16,12,28,28]{1,3,2,0}", 0.15),
    ("u8[16,28,28,12]", "u8[16,28,28,12]{2,1,3,0}", 0.15),
    ("u8[16,16,28,28]", "u8[16,16,28,28]{1,3,2,0}", 0.15),
    ("f32[64,64]", "f32[64,64]{0,1}", 0.3),
    ("f32[256,256]", "f32[256,256]{0,1}", 0.3),
    ("f32[1024,1024]", "f32[1024,1024]{0,1}", 0.3),
    ("f32[32,32,32]", "f32[32,32,32]{0,1,2}", 0.3),
    ("u8[256,256]", "u8[256,256]{0,1}", 0.3),
    ("u16[256,256]", "u16[256,256]{0,1}", 0.3),
    ("f64[128,128]", "f64[128,128]{0,1}", 0.3),
];

/// The source and the destination, of 64 bytes each.
const CALLS: [(&str, &str); 5] = [
    ("f32[16]", "f32[16]"),
    ("f32[4,4]", "f32[4,4]{0,1}"),
    ("u8[8,8]", "u8[8,8]{0,1}"),
    ("bf16[4,5]", "bf16[4,5]{1,0:T(4,8)}"),
    ("u8[3,16]", "u8[3,16]{0,1:T(4,4)}"),
];

/// Times the copies and the calls on one thread.
pub fn measure(repetitions: usize, report: &mut Report) {
    println!("copies in cache");
    for (from, to, goal) in COPIES {
        let mut run = Run::relayout(from, to);
        let length = run.destination.len();
        let calls = (REPETITION_BYTES / length).clamp(1, MOST_CALLS);
        let (source, mut copy) = (run.source.clone(), vec![0xa5; length]);
        let memcpy = Contender {
            name: "memcpy".to_owned(),
            bytes: calls * length,
            run: Box::new(|| {
                for _ in 0..calls {
                    copy.copy_from_slice(std::hint::black_box(&source));
                }
            }),
        };
        let timings = round_robin(repetitions, false, vec![times(&mut run, calls), memcpy]);
        run.check();
        report.add(&format!("{calls} times {from} to {to}"), &timings);
        let ratio = timings[1].best_ms / timings[0].best_ms;
        println!("{ratio:50.3} of memcpy (goal {goal})");
    }
    println!("calls on 64 bytes (goal: at most 1000 ns)");
    let mut runs: Vec<Run> = CALLS.iter().map(|(from, to)| Run::relayout(from, to)).collect();
    for run in &mut runs {
        let timings = round_robin(repetitions, false, vec![times(run, MOST_CALLS)]);
        run.check();
        println!("{:44} {:6.0} ns", run.name, nanoseconds(timings[0].best_ms, MOST_CALLS));
    }
    // There are more operations than a thread caches, so that each call takes the time of a first
    // call.
    let in_turns = Contender {
        name: "in turns".to_owned(),
        bytes: 0,
        run: Box::new(|| {
            for _ in 0..MOST_CALLS / runs.len() {
                runs.iter_mut().for_each(Run::copy);
            }
        }),
    };
    let timings = round_robin(repetitions, false, vec![in_turns]);
    println!("{:44} {:6.0} ns", "the five in turns", nanoseconds(timings[0].best_ms, MOST_CALLS));
}

/// Returns a contender that makes `calls` calls of a run.
fn times(run: &mut Run, calls: usize) -> Contender<'_> {
    Contender {
        name: "stridec".to_owned(),
        bytes: calls * run.destination.len(),
        run: Box::new(move || (0..calls).for_each(|_| run.copy())),
    }
}

fn nanoseconds(ms: f64, calls: usize) -> f64 {
    ms * 1e6 / calls as f64
}
