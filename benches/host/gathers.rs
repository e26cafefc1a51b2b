//! `--cases gathers`: rows and single elements that are selected by indices, in the forms that JAX
//! has for `table[ids]` and `jnp.take`. They are compared with a loop over the indices.

use std::error::Error;

use rayon::ThreadPoolBuilder;
use stridec::{hlo::Module, program::Program};

use super::timing::{Contender, Report, option, round_robin};

/// A gather of `count` rows of `width` elements.
struct Case {
    name: &'static str,
    rows: usize,
    width: usize,
    count: usize,
    /// True if an index out of range gives NaN, as in `jnp.take`. Otherwise it gives the nearest
    /// row.
    fills: bool,
}

const CASES: [Case; 5] = [
    Case { name: "rows of 256 bytes", rows: 1 << 18, width: 64, count: 1 << 15, fills: false },
    Case { name: "table[ids]", rows: 50_257, width: 768, count: 8192, fills: false },
    Case { name: "take(table, ids)", rows: 50_257, width: 768, count: 8192, fills: true },
    Case { name: "x[ids]", rows: 1 << 20, width: 1, count: 1 << 20, fills: false },
    Case { name: "take(x, ids)", rows: 1 << 20, width: 1, count: 1 << 20, fills: true },
];

impl Case {
    /// Returns the HLO text to which JAX 0.10.2 lowers the function, with fewer calls.
    fn text(&self) -> String {
        let Self { rows, width, count, .. } = self;
        let taken = "ROOT taken = f32[N,W] gather(x, vectors), offset_dims={1},
            collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,W}";
        let end = if self.fills {
            let filled = "zero2 = s32[N,1] broadcast(zero), dimensions={}
                at_least = pred[N,1] compare(vectors, zero2), direction=GE
                last = s32[] constant(LAST)
                last2 = s32[N,1] broadcast(last), dimensions={}
                at_most = pred[N,1] compare(vectors, last2), direction=LE
                inside = pred[N,1] and(at_least, at_most)
                true = pred[] constant(true)
                all = pred[N] reduce(inside, true), dimensions={1}, to_apply=both
                mask = pred[N,W] broadcast(all), dimensions={0}
                nan = f32[] constant(nan)
                nans = f32[N,W] broadcast(nan), dimensions={}
                ROOT result = f32[N,W] select(mask, taken, nans)";
            format!("{}\n{filled}", taken.trim_start_matches("ROOT "))
        } else {
            taken.to_owned()
        };
        let text = format!(
            "HloModule gather
            both {{
                a = pred[] parameter(0)
                b = pred[] parameter(1)
                ROOT both = pred[] and(a, b)
            }}
            ENTRY main {{
                x = f32[ROWS,W] parameter(0)
                ids = s32[N] parameter(1)
                zero = s32[] constant(0)
                zeros = s32[N] broadcast(zero), dimensions={{}}
                negative = pred[N] compare(ids, zeros), direction=LT
                rows = s32[] constant(ROWS)
                all_rows = s32[N] broadcast(rows), dimensions={{}}
                wrapped = s32[N] add(ids, all_rows)
                chosen = s32[N] select(negative, wrapped, ids)
                vectors = s32[N,1] reshape(chosen)
                {end}
            }}"
        );
        text.replace("LAST", &(rows - 1).to_string())
            .replace("ROWS", &rows.to_string())
            .replace("[N", &format!("[{count}"))
            .replace("W]", &format!("{width}]"))
            .replace(",W}", &format!(",{width}}}"))
    }
}

/// Times every case on one thread. Every tenth index counts from the end.
pub fn measure(repetitions: usize) -> Result<(), Box<dyn Error>> {
    let only = option("--only").unwrap_or_default();
    let mut report = Report::new("host");
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        let Case { name, rows, width, count, .. } = *case;
        let program = Program::lower(&Module::parse(&case.text())?)?;
        let row = width * 4;
        let table: Vec<u8> =
            (0..rows * row).map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
        let all = i32::try_from(rows)?;
        let mut state = 1_u64;
        let mut id = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let id = i32::try_from(state >> 33).expect("31 bits") % all;
            if n.is_multiple_of(10) { id - all } else { id }
        };
        let ids: Vec<i32> = (0..count).map(&mut id).collect();
        let image: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        let (mut result, mut expected) = (vec![1; count * row], vec![2; count * row]);
        let timings = pool.install(|| {
            let mut results = [&mut result[..]];
            let run = Contender {
                name: "stridec".to_owned(),
                bytes: count * row,
                run: Box::new(|| {
                    program.run_on_host_into(&[&table, &image], &mut results).expect("a run");
                }),
            };
            let by_hand = Contender {
                name: "a loop".to_owned(),
                bytes: count * row,
                run: Box::new(|| {
                    for (to, &id) in expected.chunks_exact_mut(row).zip(&ids) {
                        let id = if id < 0 { id + all } else { id }.clamp(0, all - 1);
                        let first = id.unsigned_abs() as usize * row;
                        to.copy_from_slice(&table[first..first + row]);
                    }
                }),
            };
            round_robin(repetitions, false, vec![run, by_hand])
        });
        assert!(result == expected, "{name}: other bytes");
        report.add(name, &timings);
        println!("{:60.2} of the loop", timings[1].best_ms / timings[0].best_ms);
    }
    Ok(())
}
