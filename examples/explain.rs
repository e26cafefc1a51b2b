//! Draws a layout, or a relayout between two, in the terminal and as an SVG document.
//!
//!     cargo run --no-default-features --features explain --example explain -- 'f32[2,3]{0,1:PAD(3,5,zero)}'
//!     cargo run --no-default-features --features explain --example explain -- 'f32[2,3]' 'f32[2,3]{0,1}' --svg=move.svg
//!
//! `stridec explain` draws every operation.

use stridec::{
    Operation, Tensor,
    explain::{Picture, svg, terminal},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut shapes, mut file) = (vec![], None);
    for argument in std::env::args().skip(1) {
        match argument.strip_prefix("--svg=") {
            Some(path) => file = Some(path.to_owned()),
            None => shapes.push(argument),
        }
    }
    let draw = |picture: &Picture<'_>| {
        print!("{}", terminal(picture, 80));
        file.iter().try_for_each(|file| std::fs::write(file, svg(picture)))
    };
    match &shapes[..] {
        [layout] => layout.parse::<Tensor>()?.draw(draw)?,
        [from, to] => Operation::relayout(from.parse()?, to.parse()?)?.draw(draw)?,
        _ => return Err("one shape, or two for a relayout between them".into()),
    }
    Ok(())
}
