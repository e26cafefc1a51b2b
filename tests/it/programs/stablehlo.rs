//! Programs in the form that JAX prints, from `tests/data/stablehlo_cases.jsonl`. The outputs of
//! every case are equal to the byte, and every refusal has the right kind.

use stridec::ErrorKind;

use super::support::hlo_cases::{check_outputs, stablehlo_cases};

#[test]
fn outputs_are_equal_to_the_byte_on_the_host() {
    check_outputs(stablehlo_cases(), |program, images| Ok(program.run_on_host(images)?));
}

#[test]
fn refusals_have_the_kind_that_mlir_and_xla_give() {
    for case in stablehlo_cases().iter().filter(|case| !case.is_ok()) {
        let error = case.lower().map(drop).unwrap_err();
        println!("{}: {error}", case.id);
        let kind = if case.is_invalid() { ErrorKind::Invalid } else { ErrorKind::Unsupported };
        assert_eq!(error.kind(), kind, "{}: {error}", case.id);
    }
}
