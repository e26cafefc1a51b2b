//! Why a module is invalid, or more than stridec reads.

use crate::{
    error_kind::ErrorKind,
    shape::{FieldPath, Shape, ShapeError},
};

/// Why a module cannot be read or built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HloError {
    /// Bytes that are no module, or a field of the module itself.
    #[error(transparent)]
    Message(#[from] ShapeError),
    /// A field of the module, or of a computation, that is missing or names nothing.
    #[error("{field}: {given}; expected {accepted}")]
    Field {
        /// The field.
        field: FieldPath,
        /// What is wrong with it, in words.
        given: String,
        /// What is accepted.
        accepted: &'static str,
    },
    /// An instruction that breaks a rule.
    #[error("instruction {instruction} of computation {computation}: {error}")]
    Instruction {
        /// The name of the computation.
        computation: String,
        /// The name of the instruction, or its place in the computation where it has none.
        instruction: String,
        /// The path of the instruction in the module.
        path: FieldPath,
        /// The rule.
        error: Box<InstructionError>,
    },
    /// A text that is no module.
    #[error("line {line}, column {column}: {reason}")]
    Text {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// An error about what begins at a place in a text.
    #[error("line {line}: {error}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        error: Box<HloError>,
    },
    /// The buffers of the entry computation are not those that its instructions have.
    #[error("{field}: expected {expected}, which the entry computation has, got {given}")]
    EntryLayout {
        /// The field.
        field: FieldPath,
        /// The shape of the parameter or the root.
        expected: Box<Shape>,
        /// The shape that the field gives.
        given: Box<Shape>,
    },
    /// More instructions than stridec reads.
    #[error("computations: expected at most {limit} instructions in all, got {given} or more")]
    TooManyInstructions {
        /// How many there are at least.
        given: usize,
        /// The most that are read.
        limit: usize,
    },
    /// More computations than stridec reads.
    #[error("computations: expected at most {limit} computations, got {given} or more")]
    TooManyComputations {
        /// How many there are at least.
        given: usize,
        /// The most that are read.
        limit: usize,
    },
    /// Calls nested deeper than stridec follows them.
    #[error("computation {computation}: expected calls at most {limit} deep, got more")]
    TooDeep {
        /// The name of the computation.
        computation: String,
        /// The deepest that is accepted.
        limit: usize,
    },
    /// Calls with more shapes among their operands than stridec compares.
    #[error(
        "computations: expected calls whose operands have at most {limit} shapes in all, got {given} or more"
    )]
    TooManyCalledShapes {
        /// How many there are at least.
        given: usize,
        /// The most that are compared.
        limit: usize,
    },
    /// Constants of more bytes than stridec reads.
    #[error(
        "computations: expected constants of at most {limit} bytes in all, got {given} or more"
    )]
    TooManyLiteralBytes {
        /// How many there are at least.
        given: usize,
        /// The most that are read.
        limit: usize,
    },
    /// Bytes beside the constants, more than stridec reads.
    #[error("computations: expected at most {limit} bytes beside the constants, got {given}")]
    TooManyBytes {
        /// How many there are.
        given: usize,
        /// The most that are read.
        limit: usize,
    },
}

impl HloError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooManyInstructions { .. }
            | Self::TooManyComputations { .. }
            | Self::TooDeep { .. }
            | Self::TooManyCalledShapes { .. }
            | Self::TooManyLiteralBytes { .. }
            | Self::TooManyBytes { .. } => ErrorKind::Unsupported,
            Self::Line { error, .. } => error.kind(),
            _ => ErrorKind::Invalid,
        }
    }

    /// The field that the error is about, as a path from the module; `None` where it is about no single one.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        match self {
            Self::Message(error) => error.field().cloned(),
            Self::Field { field, .. } | Self::EntryLayout { field, .. } => Some(field.clone()),
            Self::Line { error, .. } => error.field(),
            Self::Instruction { path, error, .. } => Some(error.field().below(path)),
            _ => None,
        }
    }
}

/// The rule that an instruction breaks. Fields are paths from the instruction's own message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstructionError {
    /// A shape that is invalid, or a number that a field does not accept.
    #[error(transparent)]
    Value(#[from] ShapeError),
    /// A field that is missing.
    #[error("{field}: missing; expected {accepted}")]
    Missing {
        /// The field.
        field: FieldPath,
        /// What is accepted.
        accepted: &'static str,
    },
    /// A name or a number that names nothing.
    #[error("{field}: {given} is not known; expected {accepted}")]
    Unknown {
        /// The field.
        field: FieldPath,
        /// What is given.
        given: String,
        /// What is accepted.
        accepted: &'static str,
    },
    /// A number that another instruction of the computation has.
    #[error(
        "{field}: {given} is taken by an instruction before this one; expected each number once"
    )]
    Taken {
        /// The field.
        field: FieldPath,
        /// The number.
        given: u64,
    },
    /// Another number of operands than the opcode takes.
    #[error("operand_ids: expected {expected}, got {given}")]
    OperandCount {
        /// What the opcode takes, in words.
        expected: String,
        /// How many there are.
        given: usize,
    },
    /// An operand of a shape that the opcode does not take.
    #[error("operand_ids[{operand}]: expected {expected}, got {given}")]
    Operand {
        /// Which operand.
        operand: usize,
        /// What the opcode takes, in words.
        expected: String,
        /// The operand's shape.
        given: Box<Shape>,
    },
    /// A called computation that does not fit.
    #[error("called_computation_ids: expected {expected}, got {given}")]
    Callee {
        /// What the opcode takes, in words.
        expected: String,
        /// What it calls, in words.
        given: String,
    },
    /// A shape that is not what the operands and attributes give.
    #[error("shape: expected {expected}, which the operands and attributes give, got {given}")]
    Result {
        /// The shape that is inferred, in words.
        expected: String,
        /// The shape that is declared.
        given: Box<Shape>,
    },
    /// A literal with another number of values or bytes than its shape has.
    #[error("{field}: expected {expected} {what}, those of {shape}, got {given}")]
    LiteralSize {
        /// The field.
        field: FieldPath,
        /// Values or bytes.
        what: &'static str,
        /// How many the shape has.
        expected: u64,
        /// How many there are.
        given: u64,
        /// The shape.
        shape: Box<Shape>,
    },
}

impl InstructionError {
    /// The field that the error is about, as a path from the instruction's own message.
    #[must_use]
    pub fn field(&self) -> FieldPath {
        match self {
            Self::Value(error) => error.field().cloned().unwrap_or_default(),
            Self::Missing { field, .. }
            | Self::Unknown { field, .. }
            | Self::Taken { field, .. }
            | Self::LiteralSize { field, .. } => field.clone(),
            Self::OperandCount { .. } => FieldPath::new("operand_ids"),
            Self::Operand { operand, .. } => FieldPath::new("operand_ids").index(*operand),
            Self::Callee { .. } => FieldPath::new("called_computation_ids"),
            Self::Result { .. } => FieldPath::new("shape"),
        }
    }

    /// The same error, its field seen from the message that holds this one at `outer`.
    pub(super) fn below(mut self, outer: &FieldPath) -> Self {
        match &mut self {
            Self::Value(error) => return Self::Value(error.clone().below(outer)),
            Self::Missing { field, .. }
            | Self::Unknown { field, .. }
            | Self::Taken { field, .. }
            | Self::LiteralSize { field, .. } => *field = std::mem::take(field).below(outer),
            _ => {}
        }
        self
    }
}
