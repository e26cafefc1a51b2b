//! `stridec memory`: what every buffer of a module takes, and what padding costs.

use std::{fmt::Write as _, path::Path};

use serde_json::{Value, json};
use stridec::{
    Tensor,
    hlo::{InstructionMemory, MemoryReport, cheapest_order},
    xla::human_readable_num_bytes as num_bytes,
};

use super::{
    args::{MemoryArgs, MemoryFormat},
    errors::{Failure, printable},
    module_file::ModuleFile,
    output::print,
    shape_arg::tensor,
};

/// Instructions of a table where the arguments do not say how many.
const TOP: usize = 20;

/// The endings of files that hold a shape and no module.
const SHAPES: [&str; 4] = ["textproto", "pbtxt", "txtpb", "json"];

pub(super) fn memory(args: &MemoryArgs) -> Result<(), Failure> {
    let report = match args.module.strip_prefix('@').map(Path::new) {
        Some(path) if !is_shape(path) => ModuleFile::read(path)?.memory()?,
        _ => {
            let tensor = tensor(&args.module)?;
            let Tensor::Shape(shape) = &tensor else {
                let reason = format!(
                    "{tensor}: expected an XLA shape, got strides; `describe` measures these"
                );
                return Err(Failure::invalid(reason));
            };
            MemoryReport::of_shape(shape)
        }
    };
    match args.format {
        MemoryFormat::Text => print(&printable(&table(&report, args.top.unwrap_or(TOP)))),
        MemoryFormat::Json => print(&format!("{:#}\n", object(&report, args.top))),
    }
}

fn is_shape(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SHAPES.contains(&ending))
}

/// `x.1 (main)`
fn name(instruction: &InstructionMemory) -> String {
    match (instruction.name.as_ref(), instruction.computation.as_ref()) {
        ("", _) => String::new(),
        (name, "") => format!("  {name}"),
        (name, computation) => format!("  {name} ({computation})"),
    }
}

fn table(report: &MemoryReport, top: usize) -> String {
    let mut text = String::new();
    let measured = report.instructions.iter().filter(|it| it.has_buffer && it.memory.is_some());
    let shown: Vec<&InstructionMemory> = measured.clone().take(top).collect();
    let _ = writeln!(text, "{:>9}  {:>9}  {:>7}  shape", "bytes", "unpadded", "factor");
    for instruction in &shown {
        let Some(memory) = instruction.memory else { continue };
        let (bytes, unpadded) = (num_bytes(memory.bytes), num_bytes(memory.unpadded_bytes));
        let factor = format!("{:.1}x", memory.expansion());
        let (shape, name) = (&instruction.shape, name(instruction));
        let _ = writeln!(text, "{bytes:>9}  {unpadded:>9}  {factor:>7}  {shape}{name}");
        if let Some((cheapest, other)) = cheapest_order(shape) {
            let saved = num_bytes(memory.bytes - other.bytes);
            let _ = writeln!(text, "{:>30}{saved} less as {cheapest}", "");
        }
    }
    let left_out = measured.count() - shown.len();
    if left_out > 0 {
        let _ = writeln!(text, "and {left_out} more; --top shows as many as it says");
    }
    let unknown = report.instructions.iter().filter(|it| it.memory.is_none()).count();
    if unknown > 0 {
        let _ =
            writeln!(text, "{unknown} shapes have extents or layouts whose bytes are not known");
    }
    let _ = writeln!(text);
    for (name, bytes) in [
        ("parameters", report.parameters_bytes),
        ("results", report.results_bytes),
        ("temporaries", report.temporaries_bytes()),
        ("in all", report.total_bytes),
        ("of it padding", report.total_padding_bytes),
    ] {
        let _ = writeln!(text, "{:>9}  {name}", num_bytes(bytes));
    }
    text
}

fn object(report: &MemoryReport, top: Option<usize>) -> Value {
    let shown = report.instructions.iter().take(top.unwrap_or(usize::MAX));
    let instructions: Vec<Value> =
        shown.enumerate().map(|(i, it)| instruction(it, i < TOP)).collect();
    json!({
        "instructions": instructions,
        "total_bytes": report.total_bytes,
        "total_padding_bytes": report.total_padding_bytes,
        "parameters_bytes": report.parameters_bytes,
        "results_bytes": report.results_bytes,
        "temporaries_bytes": report.temporaries_bytes(),
    })
}

fn instruction(instruction: &InstructionMemory, is_worst: bool) -> Value {
    let memory = instruction.memory;
    let mut value = json!({
        "computation": instruction.computation.as_ref(),
        "name": instruction.name.as_ref(),
        "opcode": instruction.opcode.as_ref(),
        "shape": instruction.shape.to_string(),
        "elements": memory.map(|memory| memory.elements),
        "unpadded_bytes": memory.map(|memory| memory.unpadded_bytes),
        "bytes": memory.map(|memory| memory.bytes),
        "padding_bytes": memory.map(|memory| memory.padding_bytes()),
        "expansion": memory.map(|memory| memory.expansion()),
        "has_buffer": instruction.has_buffer,
    });
    if is_worst && let Some((shape, cheapest)) = cheapest_order(&instruction.shape) {
        value["cheapest"] = json!({ "shape": shape.to_string(), "bytes": cheapest.bytes });
    }
    value
}
