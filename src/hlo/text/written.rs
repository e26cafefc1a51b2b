//! Instructions and attributes in the form of the text, before they are checked.

use std::sync::Arc;

use crate::{
    hlo::{Literal, SourceLine, opcode_names::OPCODES},
    proto::hlo as proto,
    shape::Shape,
};

/// An instruction of a text before it is checked. The names of operands and computations have been
/// replaced by indices.
pub(in crate::hlo) struct WrittenInstruction {
    pub(in crate::hlo) name: String,
    pub(in crate::hlo) shape: Arc<Shape>,
    pub(in crate::hlo) proto: proto::HloInstructionProto,
    pub(in crate::hlo) literal: Option<Literal>,
    /// The operands, as indices of instructions in the computation.
    pub(in crate::hlo) operands: Vec<usize>,
    /// The called computations, as indices into the module's computations.
    pub(in crate::hlo) called: Vec<usize>,
    pub(in crate::hlo) source: Option<SourceLine>,
}

impl WrittenInstruction {
    /// Creates an instruction without operands and without called computations.
    pub(super) fn new(name: String, shape: Arc<Shape>, proto: proto::HloInstructionProto) -> Self {
        let (operands, called) = (Vec::new(), Vec::new());
        Self { name, shape, proto, literal: None, operands, called, source: None }
    }
}

/// An attribute of an instruction, with its value as text.
pub(super) struct WrittenAttribute<'a> {
    pub(super) name: &'a str,
    /// The position of the value in the whole text.
    pub(super) start: usize,
    pub(super) value: &'a str,
    /// The computations that the value names or contains, as indices.
    pub(super) callees: Vec<usize>,
}

/// Returns true if the value of the attribute with this name can contain computations.
pub(super) fn has_callees(attribute: &str) -> bool {
    const CALLS: [&str; 11] = [
        "to_apply",
        "calls",
        "condition",
        "body",
        "true_computation",
        "false_computation",
        "branch_computations",
        "called_computations",
        "select",
        "scatter",
        "async_wrapped_computation",
    ];
    CALLS.contains(&attribute)
}

/// An instruction of an asynchronous operation whose name contains the wrapped opcode, such as
/// `slice-start` and `slice-done`. XLA expands this short form.
#[derive(Clone, Copy)]
pub(super) enum AsyncPart<'a> {
    /// The start of the operation, with the wrapped opcode.
    Start(&'a str),
    Update,
    Done,
}

impl<'a> AsyncPart<'a> {
    /// Splits an opcode's name, such as `slice-start`. Returns `None` if it does not have this
    /// form, and also if XLA has an opcode with this name, such as `copy-start`.
    pub(super) fn of(opcode: &'a str) -> Option<Self> {
        if OPCODES.contains(&opcode) {
            return None;
        }
        let is_wrapped = |inner: &str| OPCODES.contains(&inner);
        if let Some(inner) = opcode.strip_suffix("-start") {
            return is_wrapped(inner).then_some(Self::Start(inner));
        }
        let update = opcode.strip_suffix("-update").filter(|inner| is_wrapped(inner));
        let done = opcode.strip_suffix("-done").filter(|inner| is_wrapped(inner));
        update.map(|_| Self::Update).or(done.map(|_| Self::Done))
    }

    /// Returns the opcode that XLA gives this instruction after the expansion.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start(_) => "async-start",
            Self::Update => "async-update",
            Self::Done => "async-done",
        }
    }
}
