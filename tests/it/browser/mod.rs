//! Generated pages in a real browser. Chromium opens each page, the page runs its kernel through
//! WebGPU and compares the result, and the test reads the verdict. In this way, every kernel is
//! compiled by Tint.
//!
//! Without Chromium, the tests print that they are skipped, or fail if `STRIDEC_REQUIRE_BROWSER=1`
//! is set. `STRIDEC_CHROMIUM` names another browser.

mod cases;
mod chromium;

use cases::Case;

#[test]
fn every_page_passes_its_own_check() {
    let cases = cases::all();
    let Some(answers) = chromium::answers(&cases) else { return };
    let mut failures = vec![];
    for (case, answer) in cases.iter().zip(&answers) {
        eprintln!("{}: {} {}", case.name, answer.verdict, answer.text);
        if answer.verdict != case.expected {
            failures.push(format!("{}: {} {}", case.name, answer.verdict, answer.text));
        }
        assert!(case.page.len() < 300_000, "{}: a page of {} bytes", case.name, case.page.len());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(cases.iter().filter(|case| case.expected == "pass").count() > 20);
}

/// The check of a page fails if its kernel is wrong.
#[test]
fn a_wrong_kernel_is_caught() {
    let cases: Vec<Case> = cases::wrong();
    let Some(answers) = chromium::answers(&cases) else { return };
    for (case, answer) in cases.iter().zip(&answers) {
        assert_eq!(answer.verdict, "fail", "{}: {}", case.name, answer.text);
        eprintln!("{}: {}", case.name, answer.text);
    }
}
