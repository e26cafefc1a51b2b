//! A program's kernels as a drawing: what each one reads and writes, from top to bottom.

use std::fmt::Write as _;

use stridec::{Kernel, program::Program};

use crate::picture::escaped;

/// Pixels of a row, and of a character.
const ROW: usize = 34;
const CHARACTER: usize = 8;

/// An SVG document with a row for each kernel: its sources, its number and strategy, its destination.
pub(crate) fn svg(program: &Program, kernels: &[Kernel]) -> String {
    let rows: Vec<[String; 3]> = kernels
        .iter()
        .zip(program.steps())
        .enumerate()
        .map(|(number, (kernel, step))| {
            let reads: Vec<String> = step.sources().iter().map(ToString::to_string).collect();
            let kernel = format!("{number}: {}", kernel.strategy.name());
            [reads.join(", "), kernel, step.destination().to_string()]
        })
        .collect();
    let width = |column: usize| {
        let longest = rows.iter().map(|row| row[column].chars().count()).max();
        longest.unwrap_or(0) * CHARACTER + 20
    };
    let widths = [width(0), width(1), width(2)];
    let starts = [10, widths[0] + 50, widths[0] + widths[1] + 90];
    let (all, height) = (starts[2] + widths[2] + 10, ROW * rows.len() + 10);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"{height}\" font-family=\"monospace\" font-size=\"13\">\
         <title>{}: what each kernel reads and writes</title>",
        escaped(program.name())
    );
    for (row, texts) in rows.iter().enumerate() {
        let (top, line) = (ROW * row + 8, ROW * row + 20);
        for column in 0..3 {
            let (left, wide) = (starts[column], widths[column]);
            let fill = if column == 1 { "#4477aa" } else { "none" };
            let ink = if column == 1 { "#ffffff" } else { "currentColor" };
            let (at, base, text) = (left + 10, line + 4, escaped(&texts[column]));
            let _ = write!(
                svg,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"24\" rx=\"4\" fill=\"{fill}\" stroke=\"#4477aa\"/>\
                 <text x=\"{at}\" y=\"{base}\" fill=\"{ink}\">{text}</text>"
            );
        }
        for column in 0..2 {
            let (from, to) = (starts[column] + widths[column], starts[column + 1]);
            let (back, up, down) = (to - 7, line - 4, line + 4);
            let _ = write!(
                svg,
                "<path d=\"M{from} {line}H{to}M{back} {up}L{to} {line}L{back} {down}\" fill=\"none\" stroke=\"currentColor\"/>"
            );
        }
    }
    svg.push_str("</svg>");
    svg
}
