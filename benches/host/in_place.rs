//! `--cases in-place`: a row that is written to a cache at a run-time start, and rows that are
//! scattered to run-time indices. They are compared with a loop that calls `memcpy` for each row.
//! The result takes over the buffer of its parameter, except in cases that copy the whole table
//! first.

use std::error::Error;

use rayon::ThreadPoolBuilder;
use stridec::{
    hlo::Module,
    program::{HostParameter, Program},
};

use super::{
    image,
    timing::{Contender, Report, option, round_robin},
};

/// A scatter of `count` rows of `width` numbers of 4 bytes.
struct Case {
    name: &'static str,
    rows: usize,
    width: usize,
    count: usize,
    /// True if the result takes over the table.
    in_place: bool,
}

const CASES: [Case; 6] = [
    Case {
        name: "a row of 4 KiB in a cache of 32 MiB",
        rows: 8192,
        width: 1024,
        count: 1,
        in_place: true,
    },
    Case {
        name: "4,096 of 8,192 rows of 256 bytes, in place",
        rows: 8192,
        width: 64,
        count: 4096,
        in_place: true,
    },
    Case {
        name: "4,096 of 8,192 rows of 4 KiB, in place",
        rows: 8192,
        width: 1024,
        count: 4096,
        in_place: true,
    },
    Case {
        name: "4,096 of 65,536 rows of 1 KiB, in place",
        rows: 65_536,
        width: 256,
        count: 4096,
        in_place: true,
    },
    Case {
        name: "4,096 of 8,192 rows of 256 bytes, with a copy",
        rows: 8192,
        width: 64,
        count: 4096,
        in_place: false,
    },
    Case {
        name: "4,096 of 8,192 rows of 4 KiB, with a copy",
        rows: 8192,
        width: 1024,
        count: 4096,
        in_place: false,
    },
];

impl Case {
    fn text(&self) -> String {
        let Self { rows, width, count, .. } = self;
        let body = match count {
            1 => {
                "zero = s32[] constant(0)
                ROOT r = f32[ROWS,W] dynamic-update-slice(x, y, at, zero)"
            }
            _ => {
                "ROOT r = f32[ROWS,W] scatter(x, at, y), update_window_dims={1},
                inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,
                to_apply=replace"
            }
        };
        let at = if *count == 1 { "s32[]".to_owned() } else { format!("s32[{count},1]") };
        let text = format!(
            "HloModule m, input_output_alias={{ {{}}: (0, {{}}, may-alias) }}
            replace {{ o = f32[] parameter(0) ROOT n = f32[] parameter(1) }}
            ENTRY e {{
                x = f32[ROWS,W] parameter(0)
                at = {at} parameter(1)
                y = f32[{count},W] parameter(2)
                {body}
            }}"
        );
        text.replace("ROWS", &rows.to_string()).replace("W]", &format!("{width}]"))
    }
}

/// Times every case on one thread. No row is written twice.
pub fn measure(repetitions: usize) -> Result<(), Box<dyn Error>> {
    let only = option("--only").unwrap_or_default();
    let mut report = Report::new("host");
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    for case in CASES.iter().filter(|case| case.name.contains(&only)) {
        let Case { name, rows, width, count, in_place } = *case;
        let module = Module::parse(&case.text())?;
        let program =
            if in_place { Program::lower_in_place(&module)? } else { Program::lower(&module)? };
        assert_eq!(program.aliases().len(), usize::from(in_place));
        let row = width * 4;
        let (source, updates) = (image((rows * row) as u64), image((count * row + 8) as u64));
        let updates = &updates[8..];
        // An odd factor visits each row of a power of two once.
        let ids: Vec<usize> = (0..count).map(|n| (n * 4099 + 77) % rows).collect();
        let at: Vec<u8> = ids.iter().flat_map(|&id| (id as u32).to_le_bytes()).collect();
        let (mut result, mut expected) = (source.clone(), source.clone());
        let moved = if in_place { count * row } else { rows * row };
        let timings = pool.install(|| {
            let run = Contender {
                name: "stridec".to_owned(),
                bytes: moved,
                run: Box::new(|| {
                    if !in_place {
                        let images = [&source[..], &at, updates];
                        let run = program.run_on_host_into(&images, &mut [&mut result]);
                        return run.expect("a run");
                    }
                    let parameters = [
                        HostParameter::Donated(&mut result),
                        HostParameter::Read(&at),
                        HostParameter::Read(updates),
                    ];
                    program.run_on_host_in_place(parameters, &mut []).expect("a run");
                }),
            };
            let by_hand = Contender {
                name: "a loop".to_owned(),
                bytes: moved,
                run: Box::new(|| {
                    if !in_place {
                        expected.copy_from_slice(&source);
                    }
                    for (&id, update) in ids.iter().zip(updates.chunks_exact(row)) {
                        expected[id * row..(id + 1) * row].copy_from_slice(update);
                    }
                }),
            };
            round_robin(repetitions, false, vec![run, by_hand])
        });
        assert!(result == expected, "{name}: other bytes");
        report.add(name, &timings);
        let [ours, theirs] = [timings[0].best_ms, timings[1].best_ms];
        println!("{:60.4} ms, {:.2} times the loop", ours, ours / theirs);
    }
    Ok(())
}
