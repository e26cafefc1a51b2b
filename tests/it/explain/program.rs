//! Pictures of programs. Every module of the test data is drawn, and each cell shows the element
//! that the program reads.

use stridec::{Target, explain::ProgramPicture, hlo::Module, program::Ways};

use super::{geometry::plain, support::hlo_cases::hlo_cases};

const TEXT: &str =
    "HloModule crop, entry_computation_layout={(f32[4,6]{1,0}, f32[2,6]{1,0}, s32[])->f32[8,3]{1,0:T(8,128)}}

ENTRY main {
  x = f32[4,6] parameter(0)
  y = f32[2,6] parameter(1)
  at = s32[] parameter(2)
  zero = f32[] constant(0)
  origin = s32[] constant(0)
  both = f32[6,6] concatenate(x, y), dimensions={0}
  rows = f32[6,3] dynamic-slice(both, origin, at), dynamic_slice_sizes={6,3}
  ROOT padded = f32[8,3] pad(rows, zero), padding=1_1x0_0
}
";

fn draw<T>(text: &str, draw: impl FnOnce(ProgramPicture<'_>) -> T) -> T {
    let module = Module::parse(text).unwrap();
    draw(ProgramPicture::new(&Ways::new(&module).unwrap()))
}

#[test]
fn terminal_program() {
    insta::assert_snapshot!(plain(&draw(TEXT, |picture| picture.terminal(80))));
}

#[test]
fn svg_program() {
    let text = draw(TEXT, |picture| picture.element(&[5, 2]).svg());
    insta::assert_snapshot!(text.replace("><", ">\n<"));
}

/// The starts of slices are taken from the inputs.
#[test]
fn inputs_give_the_numbers() {
    let module = Module::parse(TEXT).unwrap();
    let inputs = [vec![0; 96], vec![0; 48], 2_i32.to_le_bytes().to_vec()];
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let ways = Ways::new(&module).unwrap().with_parameters(&inputs).unwrap();
    let text = plain(&ProgramPicture::new(&ways).element(&[1, 0]).terminal(80));
    assert!(text.contains("It is x at (0,2), byte 8."), "{text}");
    assert!(text.contains("Slices start where at of the inputs says."), "{text}");
}

/// In a large array, a row is drawn wherever the source of the rows changes.
#[test]
fn the_first_row_of_each_source_is_drawn() {
    let text = "ENTRY main {
        x = u8[1000,3] parameter(0)
        y = u8[37,3] parameter(1)
        ROOT z = u8[1037,3] concatenate(x, y), dimensions={0}
    }";
    let text = plain(&draw(text, |picture| picture.terminal(80)));
    assert!(text.contains("A 999,0") && text.contains("B 0,0"), "{text}");
}

#[test]
fn every_case_is_drawn() {
    let mut drawn = 0;
    for case in hlo_cases() {
        let Ok(module) = Module::decode(&case.bytes) else { continue };
        let Ok(ways) = Ways::new(&module) else { continue };
        let picture = ProgramPicture::new(&ways);
        let text = picture.terminal(80);
        assert!(text.contains("RESULT 0") || ways.program().results().is_empty(), "{text}");
        let document = picture.svg();
        roxmltree::Document::parse(&document).unwrap();
        drawn += 1;
        if drawn % 16 == 0 {
            let page = picture.html(&Target::webgpu()).unwrap();
            assert!(page.len() < 400_000, "{}: {} bytes", case.id, page.len());
        }
    }
    assert!(drawn > 700, "{drawn}");
}
