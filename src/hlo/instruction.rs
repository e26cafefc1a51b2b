//! An [`Instruction`] applies an opcode to the results of earlier instructions, and records the
//! shape of its own result.

use super::{Opcode, SourceLine};
use crate::shape::Shape;

/// An opcode, the instructions whose results are its operands, and the shape of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) opcode: Opcode,
    pub(super) operands: Vec<usize>,
    pub(super) source: Option<SourceLine>,
}

impl Instruction {
    /// Returns the name of the instruction, such as `transpose.3`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the shape of the result, with the layout that the module gives it. The layout has no
    /// effect, except for `bitcast`; see [`Module`](super::Module).
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the opcode with its attributes.
    #[must_use]
    pub fn opcode(&self) -> &Opcode {
        &self.opcode
    }

    /// Returns the operands, as indices into
    /// [`Computation::instructions`](super::Computation::instructions). Operands always precede
    /// this instruction.
    #[must_use]
    pub fn operands(&self) -> &[usize] {
        &self.operands
    }

    /// Returns the line of the user's program that produced the instruction, or `None` if the
    /// module does not record it.
    #[must_use]
    pub fn source(&self) -> Option<&SourceLine> {
        self.source.as_ref()
    }
}
