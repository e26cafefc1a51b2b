//! Converts a [`MemoryReport`] to JSON.

use serde_json::{Value, json};

use super::{InstructionMemory, MemoryReport, cheapest_order};

/// The number of instructions that get the field `cheapest`, beginning with the one that has the
/// most padding. The search takes too long to do it for all instructions of a large module.
const WORST: usize = 20;

impl MemoryReport {
    /// Returns the report as JSON, as `stridec memory --format json` prints it. It lists the `top`
    /// instructions with the most padding, or all of them if `top` is `None`. The first 20 have a
    /// field `cheapest` if another order of their dimensions takes fewer bytes.
    ///
    /// ```
    /// use stridec::hlo::MemoryReport;
    /// let report = MemoryReport::of_shape(&"f32[128,6]{1,0:T(8,128)}".parse()?).json(None);
    /// assert_eq!(report["total_bytes"], 65_536);
    /// assert_eq!(report["instructions"][0]["cheapest"]["bytes"], 4096);
    /// # Ok::<(), stridec::shape::ParseError>(())
    /// ```
    #[must_use]
    pub fn json(&self, top: Option<usize>) -> Value {
        let shown = self.instructions.iter().take(top.unwrap_or(usize::MAX));
        let instructions: Vec<Value> =
            shown.enumerate().map(|(number, it)| it.json(number < WORST)).collect();
        json!({
            "instructions": instructions,
            "total_bytes": self.total_bytes,
            "total_padding_bytes": self.total_padding_bytes,
            "parameters_bytes": self.parameters_bytes,
            "results_bytes": self.results_bytes,
            "temporaries_bytes": self.temporaries_bytes,
        })
    }
}

impl InstructionMemory {
    /// Returns the memory of the instruction as JSON. If `is_worst` is true, looks for an order of
    /// the dimensions that takes fewer bytes, and adds it as the field `cheapest`.
    fn json(&self, is_worst: bool) -> Value {
        let memory = self.memory;
        let mut value = json!({
            "computation": self.computation.as_ref(),
            "name": self.name.as_ref(),
            "opcode": self.opcode.as_ref(),
            "shape": self.shape.to_string(),
            "elements": memory.map(|memory| memory.elements),
            "unpadded_bytes": memory.map(|memory| memory.unpadded_bytes),
            "bytes": memory.map(|memory| memory.bytes),
            "padding_bytes": memory.map(|memory| memory.padding_bytes()),
            "expansion": memory.map(|memory| memory.expansion()),
            "has_buffer": self.has_buffer,
        });
        if is_worst && let Some((shape, cheapest)) = cheapest_order(&self.shape) {
            value["cheapest"] = json!({ "shape": shape.to_string(), "bytes": cheapest.bytes });
        }
        value
    }
}
