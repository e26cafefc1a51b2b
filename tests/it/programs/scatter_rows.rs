//! Scatters and gathers of many rows whose indices are parameters, in
//! `tests/data/scatter_rows_cases.jsonl`.

use stridec::{hlo::Module, program::Program};

use super::{
    results,
    support::hlo_cases::{check_outputs, scatter_rows_cases},
};

#[test]
fn outputs_are_equal_to_the_byte_on_the_host() {
    assert_eq!(scatter_rows_cases().len(), 146);
    check_outputs(scatter_rows_cases(), |program, images| Ok(program.run_on_host(images)?));
}

/// The last update of a row wins. There are 20 updates of two rows.
#[test]
fn the_last_of_many_updates_wins() {
    let text = "HloModule duplicates
        replace { o = u8[] parameter(0) ROOT n = u8[] parameter(1) }
        ENTRY e {
          x = u8[4,3] parameter(0)
          at = u8[20] parameter(1)
          y = u8[20,3] parameter(2)
          ROOT r = u8[4,3] scatter(x, at, y), update_window_dims={1}, inserted_window_dims={0},
            scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=replace
        }";
    let at: Vec<u8> = (0..20).map(|n| [2, 0, 9, 255][n % 4]).collect();
    let y: Vec<u8> = (0..60).collect();
    let expected = [vec![51, 52, 53, 100, 100, 100, 48, 49, 50], vec![100; 3]].concat();
    assert_eq!(results(text, &[&[100; 12], &at, &y]), [expected]);
}

/// Each scatter has a table of the last update of each row: one kernel clears the table, one fills
/// it, and one copies.
#[test]
fn a_table_has_two_kernels() {
    let text = "HloModule m
        replace { o = f32[] parameter(0) ROOT n = f32[] parameter(1) }
        ENTRY e {
          x = f32[100,4] parameter(0)
          at = s32[50,1] parameter(1)
          y = f32[50,4] parameter(2)
          ROOT r = f32[100,4] scatter(x, at, y), update_window_dims={1}, inserted_window_dims={0},
            scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=replace
        }";
    let program = Program::lower(&Module::parse(text).unwrap()).unwrap();
    let steps: Vec<String> = program
        .steps()
        .iter()
        .map(|step| format!("{} of {:?}", step.destination(), step.sources().len()))
        .collect();
    assert_eq!(steps, ["scratch 0 of 0", "scratch 0 of 1", "result 0 of 3"]);
}
