//! The nests and host plans of `where`, `tril` and similar functions, as JAX writes them. Their
//! results are checked with all others of `tests/data/stablehlo_cases.jsonl`.

use stridec::{hlo::Module, host, internals::Inspect, program::Program};

use super::support::hlo_cases::stablehlo_cases;

/// Returns the program of a recorded function.
fn program(name: &str) -> Program {
    text_of(name, str::to_owned)
}

/// Returns the program of a recorded function, whose text is changed first.
fn text_of(name: &str, changed: impl Fn(&str) -> String) -> Program {
    let id = format!("masks/{name}/as_text");
    let case = stablehlo_cases().iter().find(|case| case.id == id).expect("a recorded case");
    let text = changed(case.record["text"].as_str().unwrap());
    Program::lower(&Module::parse(&text).unwrap()).unwrap()
}

/// If a predicate follows from the index alone, nothing is looked up, whatever the predicate is
/// computed through: floats, integers, conversions, comparisons, and operations on predicates.
#[test]
fn masks_of_the_index_become_guards() {
    for (name, sizes) in [
        ("tril_ones", [2, 1]),
        ("tril_ones_large", [2, 1]),
        ("tril_ones_batch", [2, 1]),
        ("tril_ones_bool", [2, 1]),
        ("tri_of_integers", [2, 1]),
        ("triu", [2, 1]),
        ("window", [2, 2]),
        ("outside_window", [2, 2]),
        ("product", [3, 3]),
        ("exclusive", [4, 4]),
        ("eye", [2, 1]),
        ("blocks", [3, 6]),
    ] {
        let program = program(name);
        assert_eq!((program.steps().len(), program.constants().len()), (1, 0), "{name}");
        let nest = program.steps()[0].nest();
        let guards: usize = nest.cases().iter().map(|case| case.when.len()).sum();
        assert!(nest.lookups().is_empty() && nest.sources().len() == 1, "{name}: {nest}");
        assert_eq!([nest.cases().len(), guards], sizes, "{name}: {nest}");
    }
}

/// A mask of 16 Mi elements is not computed when compiling. The host cuts the triangle into rows.
#[test]
fn a_large_triangle_has_the_guards_of_a_small_one() {
    let large = |text: &str| text.replace("70x90", "4096x4096");
    let program = text_of("tril_ones_large", large);
    let nest = program.steps()[0].nest();
    assert!(nest.lookups().is_empty() && program.constants().is_empty(), "{nest}");
    let plan = host::plan(nest, 1);
    assert!(!plan.contains("looked up") && !plan.contains("rows of"), "{plan}");
    assert!(plan.contains("rows in parts of up to 2 cases, 16384 bytes in a row"), "{plan}");
}

/// If a mask of the index and a loaded predicate are combined, only the predicate is looked up, and
/// only where the mask does not decide.
#[test]
fn masks_leave_only_what_is_loaded() {
    for (name, cases) in [("causal_and_mask", 3), ("causal_or_mask", 3), ("attention", 3)] {
        let program = program(name);
        let nest = program.steps()[0].nest();
        assert_eq!((nest.lookups().len(), nest.cases().len()), (1, cases), "{name}: {nest}");
        assert_eq!(nest.lookups()[0].to_string().lines().count(), 1, "{name}: {nest}");
    }
}

/// A choice by a loaded predicate takes the mover that copies both values whole.
#[test]
fn loaded_masks_choose_between_whole_copies() {
    for (name, plan) in [
        ("mask_large", "if true, from the source; if false, a constant"),
        ("mask_bf16", "if true, from the source; if false, a constant"),
        ("mask_u8", "if true, from the source; if false, a constant"),
        ("mask_c64", "if true, from the source; if false, a constant"),
        ("mask_not", "if true, from the source; if false, a constant"),
        ("mask_both", "if true, from the source; if false, from the source"),
        ("nested", "if true, from the source; if false, from a buffer"),
        ("padded", "if true, from a buffer; if false, from a buffer"),
        ("causal_and_mask", "if true, from a buffer; if false, a constant"),
    ] {
        let program = program(name);
        let of = host::plan(program.steps()[0].nest(), 1);
        assert!(of.starts_with("units of ") && of.trim().ends_with(plan), "{name}: {of}");
    }
    let rows = host::plan(program("mask_rows").steps()[0].nest(), 1);
    assert!(rows.starts_with("rows of"), "{rows}");
}
