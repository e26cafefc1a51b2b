//! Programs of JAX and XLA, from `tests/data/hlo_cases.jsonl`. The outputs of every case are equal
//! to the byte, and every refusal has the right kind.

mod bitcasts;
mod chains;
mod converts;
mod donated;
mod folds;
mod gathers;
mod identities;
mod interleave;
mod masks;
mod pads;
mod scatter_rows;
mod scratch;
mod sorts;
mod stablehlo;

use stridec::{ErrorKind, hlo::Module, internals::Inspect, program::Program};

use super::support::{
    self,
    hlo_cases::{HloCase, check_outputs, hlo_cases},
};

/// Returns the bytes of each result of a module on these parameters.
fn results(text: &str, parameters: &[&[u8]]) -> Vec<Vec<u8>> {
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let program = Program::lower(&module).unwrap_or_else(|error| panic!("{text}\n{error}"));
    program.run_on_host(parameters).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

#[test]
fn outputs_are_equal_to_the_byte_on_the_host() {
    check_outputs(hlo_cases(), |program, images| Ok(program.run_on_host(images)?));
}

#[test]
fn what_computes_is_refused() {
    // The case `refused/convert` was recorded when conversions were refused.
    let refused = |case: &&HloCase| !case.is_ok() && case.id != "refused/convert";
    for case in hlo_cases().iter().filter(refused) {
        let error = case.lower().map(drop).unwrap_err();
        let kind = if case.is_invalid() { ErrorKind::Invalid } else { ErrorKind::Unsupported };
        assert_eq!(error.kind(), kind, "{}: {error}", case.id);
    }
}

/// If a scatter drops its window, the index inside the window has no bounds. Nothing is loaded from
/// there.
#[test]
fn indices_of_a_window_that_is_dropped_are_not_loaded() {
    let module = Module::parse(
        "HloModule dropped

         replace {
           old = f32[] parameter(0)
           ROOT new = f32[] parameter(1)
         }

         ENTRY main {
           x = f32[8] parameter(0)
           rows = s32[3,1] parameter(1)
           base = f32[6] parameter(2)
           place = s32[1] parameter(3)
           start = s32[] parameter(4)
           window = f32[3] gather(x, rows), offset_dims={}, collapsed_slice_dims={0},
             start_index_map={0}, index_vector_dim=1, slice_sizes={1}
           all = f32[6] scatter(base, place, window), update_window_dims={0},
             inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0,
             to_apply=replace
           ROOT one = f32[1] dynamic-slice(all, start), dynamic_slice_sizes={1}
         }",
    );
    let program = Program::lower(&module.unwrap()).unwrap();
    let x: Vec<u8> = (0..8_u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
    let rows: Vec<u8> = [7_i32, 5, 6].into_iter().flat_map(i32::to_le_bytes).collect();
    let base: Vec<u8> = (20..26_u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
    for (place, start, expected) in [(5, 0, 20.), (-1, 5, 25.), (3, 4, 5.), (3, 2, 22.)] {
        let (place, start) = (i32::to_le_bytes(place), i32::to_le_bytes(start));
        let images: [&[u8]; 5] = [&x, &rows, &base, &place, &start];
        let results = program.run_on_host(&images).unwrap();
        assert_eq!(results, [f32::to_le_bytes(expected)], "{place:?} {start:?}");
    }
}

/// Prints the numbers of the table in `ARCHITECTURE.md`, and compares the sizes of all nests with a
/// snapshot: cases, guards, quotients, lookups and sources. Nests of one case without any of these
/// are only counted. A line that changes is a program with other nests or scratch buffers, which
/// tests of its results do not notice.
#[test]
fn nests_have_the_sizes_of_the_snapshot() {
    let mut numbers: [Vec<usize>; 6] = Default::default();
    let (mut plain, mut smallest, mut lines) = (0, 0, Vec::new());
    for case in hlo_cases().iter().filter(|case| case.is_ok()) {
        let Ok(program) = case.lower() else { continue };
        let mut line = Vec::new();
        for step in program.steps() {
            let nest = step.nest();
            let guards = nest.cases().iter().map(|case| case.when.len()).sum();
            let of = [
                nest.cases().len(),
                guards,
                nest.quotients().len(),
                nest.lookups().len(),
                nest.sources().len(),
            ];
            line.push(format!("{of:?}").replace(',', ""));
            let of = of.into_iter().chain([program.steps().len()]);
            numbers.iter_mut().zip(of).for_each(|(numbers, of)| numbers.push(of));
            plain += usize::from(nest.cases().len() <= 1);
        }
        if line.iter().all(|sizes| sizes == "[1 0 0 0 1]") {
            smallest += 1;
        } else {
            lines.push(format!("{}: {}", case.id, line.join(" ")));
        }
    }
    lines.push(format!("{smallest} others of [1 0 0 0 1]"));
    let count = numbers[0].len();
    println!("{count} kernels, {plain} of one case");
    let names = ["cases", "guards", "quotients", "lookups", "sources", "kernels of the program"];
    for (name, numbers) in names.into_iter().zip(&mut numbers) {
        numbers.sort_unstable();
        let (median, p99) = (numbers[count / 2], numbers[count * 99 / 100]);
        println!("{name}: median {median}, p99 {p99}, most {}", numbers[count - 1]);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots/programs");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("sizes_of_nests", lines.join("\n")));
}
