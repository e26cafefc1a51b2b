//! The memory of the buffers in a module or a report.

use serde_json::{Value, json};
use stridec::{
    Tensor,
    hlo::{InstructionMemory, MemoryReport, cheapest_order},
    notation::TensorForm,
    shape::{Notation, Shape},
    xla::human_readable_num_bytes as num_bytes,
};

use crate::{
    asked::Asked,
    fault::{Fault, Field},
};

/// The number of buffers that the page lists.
const SHOWN: usize = 50;

/// Measures an HLO module, XLA's out-of-memory report, or a single shape.
pub(crate) fn measured(asked: &Asked<'_>) -> Result<MemoryReport, Fault> {
    Ok(match asked.module_text() {
        None => MemoryReport::of_proto(asked.bytes())
            .map_err(|error| Fault::new(Field::Module, error))?,
        Some(text) => match shape(text.trim()) {
            Some(shape) => MemoryReport::of_shape(&shape),
            None => MemoryReport::of_text(text).map_err(|error| Fault::hlo(text, &error))?,
        },
    })
}

/// Returns the memory of the buffers, the sizes as texts.
pub(crate) fn report(asked: &Asked<'_>) -> Result<Value, Fault> {
    let report = measured(asked)?;
    let measured = report.instructions.iter().filter(|it| it.has_buffer && it.memory.is_some());
    let buffers: Vec<Value> = measured.clone().take(SHOWN).map(buffer).collect();
    Ok(json!({
        "more": measured.count() - buffers.len(),
        "buffers": buffers,
        "unknown": report.instructions.iter().filter(|it| it.memory.is_none()).count(),
        "sums": [
            ["parameters", num_bytes(report.parameters_bytes)],
            ["results", num_bytes(report.results_bytes)],
            ["temporaries", num_bytes(report.temporaries_bytes)],
            ["in all", num_bytes(report.total_bytes)],
            ["of which padding", num_bytes(report.total_padding_bytes)],
        ],
    }))
}

/// Returns the XLA shape that a notation describes, or `None` if it describes none. The shape may
/// have no memory, such as a tuple.
fn shape(text: &str) -> Option<Shape> {
    match text.parse::<Tensor>().as_ref().map(Tensor::form) {
        Ok(TensorForm::Shape(shape)) => Some(shape.clone()),
        Ok(_) => None,
        Err(_) => match text.parse() {
            Ok(Notation::Shape(shape)) => Some(shape),
            _ => None,
        },
    }
}

fn buffer(instruction: &InstructionMemory) -> Value {
    let memory = instruction.memory.unwrap_or_default();
    let cheapest = cheapest_order(&instruction.shape);
    json!({
        "name": instruction.name.as_ref(),
        "computation": instruction.computation.as_ref(),
        "shape": instruction.shape.to_string(),
        "isArray": instruction.shape.is_array(),
        "bytes": num_bytes(memory.bytes),
        "unpadded": num_bytes(memory.unpadded_bytes),
        "factor": format!("{:.1}", memory.expansion()),
        "cheapest": cheapest.map(|(shape, other)| json!({
            "shape": shape.to_string(),
            "saved": num_bytes(memory.bytes.saturating_sub(other.bytes)),
        })),
    })
}
