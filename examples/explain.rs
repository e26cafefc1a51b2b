//! Draws a layout, or the relayout between two:
//!
//!     cargo run --example explain --features explain -- 'f32[2,3]{0,1:PAD(3,5,zero)}'
//!     cargo run --example explain --features explain -- 'f32[2,3]' 'f32[2,3]{0,1}' --html page.html --svg move.svg

use stridec::{
    Operation, Target,
    explain::{self, Compiled, Movement, Picture, Side},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut shapes, mut svg, mut html) = (vec![], None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--svg" => svg = arguments.next(),
            "--html" => html = arguments.next(),
            _ => shapes.push(argument),
        }
    }
    let target = Target::webgpu();
    let write = |picture: &Picture<'_>, compiled: Option<&Compiled<'_>>| {
        if let Some(path) = &svg {
            std::fs::write(path, explain::svg(picture))?;
        }
        if let Some(path) = &html {
            std::fs::write(path, explain::html(picture, compiled))?;
        }
        if svg.is_none() && html.is_none() {
            anstream(&explain::terminal(picture, 80));
        }
        Ok::<(), std::io::Error>(())
    };
    match &shapes[..] {
        [layout] => {
            let descriptor = layout.parse::<stridec::Tensor>()?.descriptor()?;
            let side = Side { notation: layout, descriptor: &descriptor };
            write(&Picture::layout(side), None)?;
        }
        [from, to] => {
            let operation = Operation::relayout(from.parse()?, to.parse()?)?;
            let source = Side { notation: from, descriptor: operation.source() };
            let movement = Movement {
                destination: Side { notation: to, descriptor: operation.destination() },
                window: operation.window(),
                nest: operation.nest(),
            };
            let kernel = operation.compile(&target)?;
            let dispatches: Vec<_> = kernel.dispatches.iter().map(|d| d.workgroups).collect();
            let compiled = Compiled {
                wgsl: &kernel.wgsl,
                entry_point: &kernel.entry_point,
                workgroup_size: kernel.workgroup_size,
                binding_bytes: [0, 1]
                    .map(|n| kernel.bindings.get(n).map_or(0, |b| b.size_in_bytes)),
                dispatches: &dispatches,
                schedule: &operation.schedule(&target)?.to_string(),
                stages: &operation.stages(&target)?,
            };
            write(&Picture::operation(operation.title(), source, movement), Some(&compiled))?;
        }
        _ => return Err("one shape, or two for a relayout between them".into()),
    }
    Ok(())
}

/// Prints text with its colours; pipe through a program that strips them where they are not wanted.
fn anstream(text: &str) {
    print!("{text}");
}
