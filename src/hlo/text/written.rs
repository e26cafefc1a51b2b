//! Instructions and attributes as the text has them, before they are checked.

use std::sync::Arc;

use crate::{
    hlo::{Literal, SourceLine, opcode_names::OPCODES},
    proto::hlo as proto,
    shape::Shape,
};

/// An instruction in which indices replace names, before it is checked.
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

/// The part of an async pair whose name has the wrapped opcode in it, such as `slice-start` and
/// `slice-done`.
#[derive(Clone, Copy)]
pub(super) enum AsyncPart<'a> {
    /// The start of the pair, with the wrapped opcode.
    Start(&'a str),
    Update,
    Done,
}

impl<'a> AsyncPart<'a> {
    /// Returns the part that an opcode's name describes. Returns `None` for all other opcodes,
    /// including XLA's own ones that end in `-start` or `-done`.
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

    /// Returns XLA's opcode for this part.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start(_) => "async-start",
            Self::Update => "async-update",
            Self::Done => "async-done",
        }
    }
}
