//! `--cases windows`: windows of random shapes that are gathered, scattered or updated at run-time
//! starts. They are compared with a loop over the windows that calls `memcpy` for each run.

#![allow(clippy::cast_sign_loss)] // positive sizes

use fastrand::Rng;
use rayon::ThreadPoolBuilder;
use stridec::{
    hlo::Module,
    program::{HostParameter, Program},
};

use super::{
    image,
    timing::{Contender, geomean, option, round_robin},
};

/// The number of cases that are printed with their times.
const WORST: usize = 30;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Gather,
    /// Scatters windows into the array, whose buffer the result takes over.
    ScatterInPlace,
    /// Scatters windows into a copy of the array.
    ScatterWithCopy,
    /// Updates a single window, such as a token in a cache, in the array itself.
    UpdateInPlace,
}

/// An array `[rows,lines,length]`, and windows of one row of it, `[window_lines,window_length]`.
struct Case {
    kind: Kind,
    /// The element type, and the size of an element in bytes.
    element: (&'static str, usize),
    rows: usize,
    lines: [usize; 2],
    length: [usize; 2],
    /// The start of each window: a row, a line, and a position in the line.
    starts: Vec<[usize; 3]>,
}

impl Case {
    fn random(rng: &mut Rng) -> Self {
        let kinds =
            [Kind::Gather, Kind::ScatterInPlace, Kind::ScatterWithCopy, Kind::UpdateInPlace];
        let kind = kinds[rng.usize(..kinds.len())];
        let types = [("u8", 1), ("bf16", 2), ("f32", 4), ("f64", 8)];
        let element = types[rng.usize(..types.len())];
        let window = |rng: &mut Rng, most: f64| {
            let whole = (2_f64.powf(most * rng.f64()) as usize).max(1);
            [whole, if rng.bool() { whole } else { rng.usize(1..=whole) }]
        };
        let (lines, length) = (window(rng, 4.0), window(rng, 11.0));
        let row = lines[0] * length[0] * element.1;
        let bytes = 2_f64.powf(20.0 + 5.0 * rng.f64()) as usize;
        let rows = (bytes / row).clamp(2, 1 << 20);
        let count = if kind == Kind::UpdateInPlace { 1 } else { (rows / 4).max(2) };
        // Each row has at most one window, so that the order of the windows does not matter.
        let mut ids: Vec<usize> = (0..rows).collect();
        rng.shuffle(&mut ids);
        let starts = ids[..count].iter().map(|&id| {
            [id, rng.usize(..=lines[0] - lines[1]), rng.usize(..=length[0] - length[1])]
        });
        let starts = starts.collect();
        Self { kind, element, rows, lines, length, starts }
    }

    fn name(&self) -> String {
        let Self { rows, lines, length, starts, element: (of, _), .. } = self;
        let kind = match self.kind {
            Kind::Gather => "gather",
            Kind::ScatterInPlace => "scatter",
            Kind::ScatterWithCopy => "scatter with a copy",
            Kind::UpdateInPlace => "update",
        };
        format!(
            "{kind}: {} windows [{},{}] of {of}[{rows},{},{}]",
            starts.len(),
            lines[1],
            length[1],
            lines[0],
            length[0]
        )
    }

    fn text(&self) -> String {
        let Self { rows, lines: [all, lines], length: [row, length], starts, .. } = self;
        let (of, count) = (self.element.0, starts.len());
        let (array, windows) =
            (format!("{of}[{rows},{all},{row}]"), format!("{of}[{count},{lines},{length}]"));
        let body = match self.kind {
            Kind::Gather => format!(
                "ROOT r = {windows} gather(x, at), offset_dims={{1,2}}, collapsed_slice_dims={{0}},
                start_index_map={{0,1,2}}, index_vector_dim=1, slice_sizes={{1,{lines},{length}}}"
            ),
            Kind::UpdateInPlace => format!(
                "s = s32[3] reshape(at)
                a = s32[1] slice(s), slice={{[0:1]}}
                b = s32[1] slice(s), slice={{[1:2]}}
                c = s32[1] slice(s), slice={{[2:3]}}
                i = s32[] reshape(a)
                j = s32[] reshape(b)
                k = s32[] reshape(c)
                y = {windows} parameter(2)
                ROOT r = {array} dynamic-update-slice(x, y, i, j, k)"
            ),
            _ => format!(
                "y = {windows} parameter(2)
                ROOT r = {array} scatter(x, at, y), update_window_dims={{1,2}},
                inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0,1,2}},
                index_vector_dim=1, unique_indices=true, to_apply=replace"
            ),
        };
        let alias = match self.kind {
            Kind::ScatterInPlace | Kind::UpdateInPlace => {
                ", input_output_alias={ {}: (0, {}, may-alias) }"
            }
            _ => "",
        };
        format!(
            "HloModule m{alias}
            replace {{ o = {of}[] parameter(0) ROOT n = {of}[] parameter(1) }}
            ENTRY e {{
                x = {array} parameter(0)
                at = s32[{count},3] parameter(1)
                {body}
            }}"
        )
    }

    /// Calls `run` with each run of a window: its offset in the array, its offset in the windows,
    /// and its length, in bytes.
    fn each_run(&self, run: &mut impl FnMut(usize, usize, usize)) {
        let Self { lines: [all, lines], length: [row, length], element: (_, bytes), .. } = *self;
        // Whole lines are one run.
        let (runs, each) = if length == row { (1, lines * row) } else { (lines, length) };
        for (number, &[id, line, at]) in self.starts.iter().enumerate() {
            for step in 0..runs {
                let from = ((id * all + line + step) * row + at) * bytes;
                run(from, (number * runs + step) * each * bytes, each * bytes);
            }
        }
    }
}

/// A measured case: its name, and its rate as a multiple of the loop's rate.
struct Row {
    name: String,
    share: f64,
    milliseconds: f64,
}

/// Measures random cases, prints the slowest ones, and a summary of each kind.
pub fn measure(number: impl Fn(&str, usize) -> usize) {
    let (threads, count) = (number("--threads", 1), number("--count", 100));
    let only = option("--only").unwrap_or_default();
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let mut rng = Rng::with_seed(number("--seed", 1) as u64);
    let mut rows = Vec::new();
    for case in std::iter::repeat_with(|| Case::random(&mut rng)).take(count) {
        if case.name().contains(&only) {
            rows.push(pool.install(|| row(&case)));
        }
    }
    rows.sort_by(|a, b| a.share.total_cmp(&b.share));
    for Row { name, share, milliseconds } in rows.iter().take(WORST) {
        println!("{share:6.2} {milliseconds:9.4} ms  {name}");
    }
    let kind = |row: &Row| row.name.split(':').next().unwrap_or_default().to_owned();
    let mut kinds: Vec<String> = rows.iter().map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for of in kinds {
        let shares: Vec<f64> =
            rows.iter().filter(|row| kind(row) == of).map(|row| row.share).collect();
        println!(
            "{of:20} {} cases, {threads} threads: geometric mean {:.2}, 5th percentile {:.2}, least {:.2} of the loop on one thread",
            shares.len(),
            geomean(shares.iter().copied()),
            shares[shares.len() / 20],
            shares[0]
        );
    }
}

fn row(case: &Case) -> Row {
    let module = Module::parse(&case.text()).expect("a module").with_default_layouts();
    let in_place = matches!(case.kind, Kind::ScatterInPlace | Kind::UpdateInPlace);
    let program = if in_place { Program::lower_in_place(&module) } else { Program::lower(&module) };
    let program = program.expect("a program");
    assert_eq!(program.aliases().len(), usize::from(in_place), "{}", case.name());
    let bytes = |of: usize| case.element.1 * of;
    let array = image(bytes(case.rows * case.lines[0] * case.length[0]) as u64);
    let moved = bytes(case.starts.len() * case.lines[1] * case.length[1]);
    let windows = image(moved as u64 + 8).split_off(8);
    let at: Vec<u8> =
        case.starts.iter().flatten().flat_map(|&start| (start as u32).to_le_bytes()).collect();
    let first = if case.kind == Kind::Gather { vec![0; moved] } else { array.clone() };
    let (mut result, mut expected) = (first.clone(), first);
    let ours = Contender {
        name: "stridec".to_owned(),
        bytes: moved,
        run: Box::new(|| match case.kind {
            Kind::Gather => {
                program.run_on_host_into(&[&array, &at], &mut [&mut result]).expect("a run");
            }
            Kind::ScatterWithCopy => {
                let images = [&array[..], &at, &windows];
                program.run_on_host_into(&images, &mut [&mut result]).expect("a run");
            }
            _ => {
                let parameters = [
                    HostParameter::Donated(&mut result),
                    HostParameter::Read(&at),
                    HostParameter::Read(&windows),
                ];
                program.run_on_host_in_place(parameters, &mut []).expect("a run");
            }
        }),
    };
    let by_hand = Contender {
        name: "a loop".to_owned(),
        bytes: moved,
        run: Box::new(|| {
            if case.kind == Kind::ScatterWithCopy {
                expected.copy_from_slice(&array);
            }
            case.each_run(&mut |at, window, length| {
                let (at, window) = (at..at + length, window..window + length);
                match case.kind {
                    Kind::Gather => expected[window].copy_from_slice(&array[at]),
                    _ => expected[at].copy_from_slice(&windows[window]),
                }
            });
        }),
    };
    let timings = round_robin(15, false, vec![ours, by_hand]);
    assert!(result == expected, "{}: other bytes", case.name());
    let [ours, theirs] = [timings[0].best_ms, timings[1].best_ms];
    Row { name: case.name(), share: theirs / ours, milliseconds: ours }
}
