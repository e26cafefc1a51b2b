//! What every instruction of a module takes, and in all.

use std::sync::Arc;

use super::{Footprint, proto, scan::Scan, text};
use crate::{hlo::HloError, shape::Shape};

/// What the buffers of a module take. Shapes are read and nothing else, so that modules that compute will do.
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
    /// Every instruction, those with most padding first, then those with most bytes.
    pub instructions: Vec<InstructionMemory>,
    /// Bytes of the buffers of all instructions that have one of their own.
    pub total_bytes: u64,
    /// Bytes of it that hold no element.
    pub total_padding_bytes: u64,
    /// Bytes of the entry's parameters.
    pub parameters_bytes: u64,
    /// Bytes of the entry's result.
    pub results_bytes: u64,
}

/// What one instruction takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionMemory {
    /// The name of its computation; empty for a shape alone, and in reports of XLA.
    pub computation: Arc<str>,
    /// Its name.
    pub name: Box<str>,
    /// What it does, such as `copy`.
    pub opcode: Arc<str>,
    /// What it gives.
    pub shape: Arc<Shape>,
    /// What that takes; `None` where an extent is not known, or the layout has no strides.
    pub memory: Option<Footprint>,
    /// Whether it has a buffer of its own. A tuple, an element of one, a bitcast, the parameters and the root of a callee,
    /// and what is inside a fusion or is applied to elements have none.
    pub has_buffer: bool,
}

impl MemoryReport {
    /// Reads a serialized `xla.HloModuleProto` or `xla.HloProto`.
    ///
    /// # Errors
    ///
    /// Where `bytes` are no such message, a shape is invalid, or there are too many instructions.
    pub fn of_proto(bytes: &[u8]) -> Result<Self, HloError> {
        Ok(proto::scan(bytes)?.report())
    }

    /// Reads HLO text, or the allocations in XLA's report that memory ran out.
    ///
    /// # Errors
    ///
    /// Where the text is neither, or a shape is invalid.
    pub fn of_text(text: &str) -> Result<Self, HloError> {
        Ok(text::scan(text)?.report())
    }

    /// Measures a shape alone, as one instruction without a name.
    #[must_use]
    pub fn of_shape(shape: &Shape) -> Self {
        Scan::of_shape(shape).report()
    }

    /// Bytes of the buffers that are neither a parameter of the entry nor its result.
    #[must_use]
    pub fn temporaries_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.parameters_bytes).saturating_sub(self.results_bytes)
    }
}
