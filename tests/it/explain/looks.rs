//! Snapshots of pictures, which show a reviewer every change of their looks.

use stridec::explain::{Picture, Side, svg, terminal};

use super::{geometry::plain, lower, relayout};

fn drawn(notation: &str, draw: impl Fn(&Picture<'_>) -> String) -> String {
    let descriptor = lower(notation);
    draw(&Picture::layout(Side { notation, descriptor: &descriptor }))
}

#[test]
fn terminal_padded() {
    insta::assert_snapshot!(plain(&drawn("f32[2,3]{0,1:PAD(3,5,zero)}", |p| terminal(p, 80))));
}

#[test]
fn terminal_tiled() {
    insta::assert_snapshot!(plain(&drawn("bf16[16,256]{1,0:T(8,128)(2,1)}", |p| terminal(p, 80))));
}

#[test]
fn terminal_partial_tiles() {
    insta::assert_snapshot!(plain(&drawn("f32[3,5]{1,0:T(2,2)}", |p| terminal(p, 80))));
}

#[test]
fn terminal_relayout() {
    let text = relayout("s4[3,5]", "s4[3,5]{0,1:E(4)}", |p| terminal(p, 80));
    insta::assert_snapshot!(plain(&text));
}

#[test]
fn terminal_colours() {
    insta::assert_snapshot!(drawn("f32[2,2]{0,1}", |p| terminal(p, 80)).replace('\u{1b}', "ESC"));
}

#[test]
fn svg_padded() {
    let text = drawn("f32[2,3]{0,1:PAD(3,5,zero)}", svg);
    insta::assert_snapshot!(text.replace("><", ">\n<"));
}

#[test]
fn svg_relayout() {
    let text = relayout("f32[2,2]{1,0}", "f32[2,2]{0,1}", svg);
    insta::assert_snapshot!(text.replace("><", ">\n<"));
}
