//! The memory that the instructions of a module take, one by one and in total.

use std::sync::Arc;

use super::{Footprint, proto, scan::ScannedModule, text};
use crate::{hlo::HloError, shape::Shape};

/// The memory that the buffers of a module take. Only shapes are read, so that every module can be
/// measured, including modules with unsupported opcodes.
///
/// ```
/// use stridec::hlo::MemoryReport;
/// let report = MemoryReport::of_text(
///     "ENTRY main {
///        x = f32[1024,3]{1,0:T(8,128)} parameter(0)
///        ROOT y = f32[1024,3]{0,1:T(8,128)} copy(x)
///      }",
/// )?;
/// assert_eq!(report.instructions[0].name.as_ref(), "x");
/// assert_eq!(report.instructions[0].memory.unwrap().expansion().round(), 43.0);
/// assert_eq!((report.parameters_bytes, report.results_bytes), (524_288, 32_768));
/// # Ok::<(), stridec::hlo::HloError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryReport {
    /// All instructions, sorted by padding, then by size, largest first.
    pub instructions: Vec<InstructionMemory>,
    /// The number of bytes of all instructions that have a buffer of their own.
    pub total_bytes: u64,
    /// The part of `total_bytes` that holds no element.
    pub total_padding_bytes: u64,
    /// The number of bytes of the entry's parameters.
    pub parameters_bytes: u64,
    /// The number of bytes of the entry's result.
    pub results_bytes: u64,
}

/// The memory that one instruction takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionMemory {
    /// The name of the computation; empty for a single shape and for XLA's out-of-memory reports.
    pub computation: Arc<str>,
    /// The name of the instruction.
    pub name: Box<str>,
    /// The opcode, such as `copy`.
    pub opcode: Arc<str>,
    /// The shape of the result.
    pub shape: Arc<Shape>,
    /// The memory of the result; `None` if an extent is unknown or the layout has no strides.
    pub memory: Option<Footprint>,
    /// True if the instruction has a buffer of its own. Tuples, their elements, bitcasts,
    /// parameters and roots of callees have none, and neither has any instruction in a fusion or in
    /// a computation that is applied to elements.
    pub has_buffer: bool,
}

impl MemoryReport {
    /// Reads a serialized `xla.HloModuleProto` or `xla.HloProto`.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` are no such message, if a shape is invalid, or if there are too
    /// many instructions.
    pub fn of_proto(bytes: &[u8]) -> Result<Self, HloError> {
        Ok(proto::scan(bytes)?.report())
    }

    /// Reads HLO text, or the allocations in XLA's report that memory ran out.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is neither, or if a shape is invalid.
    pub fn of_text(text: &str) -> Result<Self, HloError> {
        Ok(text::scan(text)?.report())
    }

    /// Measures a single shape, as one instruction without a name.
    #[must_use]
    pub fn of_shape(shape: &Shape) -> Self {
        ScannedModule::of_shape(shape).report()
    }

    /// Returns the number of bytes of the buffers that are neither a parameter nor the result of
    /// the entry.
    #[must_use]
    pub fn temporaries_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.parameters_bytes).saturating_sub(self.results_bytes)
    }
}
