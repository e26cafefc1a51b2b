//! One operation on values.

use super::{Opcode, SourceLine};
use crate::shape::Shape;

/// One operation on values, whose shape is what its operands and attributes give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) opcode: Opcode,
    pub(super) operands: Vec<usize>,
    pub(super) source: Option<SourceLine>,
}

impl Instruction {
    /// Its name, such as `transpose.3`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it gives. The layout is the one that was read, which says something about a `bitcast` only.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What it does.
    #[must_use]
    pub fn opcode(&self) -> &Opcode {
        &self.opcode
    }

    /// The instructions whose values it takes, as places in
    /// [`Computation::instructions`](super::Computation::instructions); each is before this one.
    #[must_use]
    pub fn operands(&self) -> &[usize] {
        &self.operands
    }

    /// The line that it comes from, where the module says it.
    #[must_use]
    pub fn source(&self) -> Option<&SourceLine> {
        self.source.as_ref()
    }
}
