//! Defines instructions and attributes as they are in a text, before they are checked.

use std::sync::Arc;

use crate::{
    hlo::{Literal, SourceLine, opcode_names::OPCODES},
    proto::hlo as proto,
    shape::Shape,
};

/// An instruction of a text, before its opcode and attributes are checked. The names of operands
/// and computations are already replaced by indices.
pub(in crate::hlo) struct WrittenInstruction {
    pub(in crate::hlo) name: String,
    /// The declared shape, or the inferred one if the text declares none.
    pub(in crate::hlo) shape: Arc<Shape>,
    /// The opcode and the attributes. Other fields of the message are not set.
    pub(in crate::hlo) proto: proto::HloInstructionProto,
    /// The value of a constant, or `None` if the text omits it or the target does not need it.
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
    /// The computations that the value names or contains, as indices into the module's
    /// computations.
    pub(super) callees: Vec<usize>,
}

/// Returns true if the value of the attribute with this name names computations, or contains them.
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

/// A part of an asynchronous operation in XLA's short form. Its opcode is named after the opcode
/// that runs asynchronously, which is called the *wrapped* opcode: `slice-start`, `slice-update`
/// and `slice-done` wrap a `slice`. In the long form, `async-start` calls a computation that
/// contains only the wrapped opcode. XLA expands the short form to the long one, and so does the
/// parser.
#[derive(Clone, Copy)]
pub(super) enum AsyncPart<'a> {
    /// The start of the operation, with the name of the wrapped opcode.
    Start(&'a str),
    Update,
    Done,
}

impl<'a> AsyncPart<'a> {
    /// Recognizes a part by the name of its opcode, such as `slice-start`. Returns `None` if the
    /// name does not have this form, and also if it is an opcode of its own in XLA, such as
    /// `copy-start`.
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

    /// Returns the name of the opcode in the long form.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start(_) => "async-start",
            Self::Update => "async-update",
            Self::Done => "async-done",
        }
    }
}
