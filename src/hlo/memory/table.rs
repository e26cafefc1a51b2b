//! Formats a [`MemoryReport`] as a table for a terminal.

use std::fmt::Write as _;

use super::{InstructionMemory, MemoryReport, cheapest_order};
use crate::text::human_readable_num_bytes as num_bytes;

impl MemoryReport {
    /// Formats the first `top` instructions that have buffers, followed by the totals. Instructions
    /// are in the order of [`instructions`](Self::instructions), so the results with the most
    /// padding come first. If a result takes fewer bytes in another order of its dimensions, the
    /// next line shows that order. `stridec memory` prints this table.
    ///
    /// ```
    /// use stridec::hlo::MemoryReport;
    /// let table = MemoryReport::of_shape(&"f32[128,6]{1,0:T(8,128)}".parse()?).table(20);
    /// assert!(table.contains("    64.0K       3.0K    21.3x  f32[128,6]{1,0:T(8,128)}\n"));
    /// assert!(table.ends_with("\n    64.0K  in all\n    61.0K  of it padding\n"));
    /// # Ok::<(), stridec::shape::ParseError>(())
    /// ```
    #[must_use]
    pub fn table(&self, top: usize) -> String {
        let mut text = String::new();
        let measured = self.instructions.iter().filter(|it| it.has_buffer && it.memory.is_some());
        let shown: Vec<&InstructionMemory> = measured.clone().take(top).collect();
        let _ = writeln!(text, "{:>9}  {:>9}  {:>7}  shape", "bytes", "unpadded", "factor");
        for instruction in &shown {
            let memory = instruction.buffers;
            let (bytes, unpadded) = (num_bytes(memory.bytes), num_bytes(memory.unpadded_bytes));
            let factor = format!("{:.1}x", memory.expansion());
            let (shape, name) = (&instruction.shape, name(instruction));
            let _ = writeln!(text, "{bytes:>9}  {unpadded:>9}  {factor:>7}  {shape}{name}");
            if !self.is_of_orders
                && let Some((cheapest, other)) = cheapest_order(shape)
            {
                let saved = num_bytes(memory.bytes - other.bytes);
                let _ = writeln!(text, "{:>30}{saved} less as {cheapest}", "");
            }
        }
        let left_out = measured.count() - shown.len();
        if left_out > 0 {
            let _ = writeln!(text, "and {left_out} more; `top` says how many are shown");
        }
        let unknown = self.instructions.iter().filter(|it| it.memory.is_none()).count();
        if unknown > 0 {
            let _ = writeln!(
                text,
                "{unknown} shapes have extents or layouts whose bytes are not known"
            );
        }
        // Omit the sums, because the rows are one array in different orders.
        if self.is_of_orders {
            return text;
        }
        let _ = writeln!(text);
        let mut sums = vec![];
        // Only a module has parameters, results and temporaries. A report of a single shape does
        // not, and is recognized by its instruction without a name.
        if self.instructions.iter().any(|it| !it.name.is_empty()) {
            sums.extend([
                ("parameters", self.parameters_bytes),
                ("results", self.results_bytes),
                ("temporaries", self.temporaries_bytes),
            ]);
        }
        sums.extend([("in all", self.total_bytes), ("of it padding", self.total_padding_bytes)]);
        for (name, bytes) in sums {
            let _ = writeln!(text, "{:>9}  {name}", num_bytes(bytes));
        }
        text
    }
}

/// Formats the name of an instruction and the name of its computation, such as `x.1 (main)`.
/// Returns an empty string for an instruction without a name.
fn name(instruction: &InstructionMemory) -> String {
    match (instruction.name.as_ref(), instruction.computation.as_ref()) {
        ("", _) => String::new(),
        (name, "") => format!("  {name}"),
        (name, computation) => format!("  {name} ({computation})"),
    }
}
