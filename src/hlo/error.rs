//! An [`HloError`] says why a module was refused. It names the computation, the instruction and the
//! field, so that the user can find the mistake.

use crate::{
    error_kind::ErrorKind,
    shape::{FieldPath, Shape, ShapeError},
};

/// The reason why a module could not be read or built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HloError {
    /// The bytes do not encode a module, or a field of the module itself is invalid.
    #[error(transparent)]
    Message(#[from] ShapeError),
    /// A field of the module or of a computation is missing, has a value that is not accepted, or
    /// refers to something that does not exist.
    #[error("{field}: {given}; expected {accepted}")]
    Field {
        /// The path of the field.
        field: FieldPath,
        /// The problem, in words.
        given: String,
        /// The accepted values.
        accepted: &'static str,
    },
    /// An instruction breaks a rule of its opcode.
    #[error("instruction {instruction} of computation {computation}: {error}")]
    Instruction {
        /// The name of the computation, or its index if the name is not known yet.
        computation: String,
        /// The name of the instruction. It is empty if the instruction has no name in a proto.
        instruction: String,
        /// The path of the instruction in the module.
        path: FieldPath,
        /// The rule that the instruction breaks.
        error: Box<InstructionError>,
    },
    /// The text cannot be parsed as a module.
    #[error("line {line}, column {column}: {reason}")]
    Text {
        /// The line, counted from 1.
        line: usize,
        /// The byte in the line, counted from 1.
        column: usize,
        /// The problem, in words.
        reason: String,
    },
    /// The text contains a valid construct that stridec does not support.
    #[error("line {line}, column {column}: {reason}")]
    NotSupported {
        /// The line, counted from 1.
        line: usize,
        /// The byte in the line, counted from 1.
        column: usize,
        /// The construct, in words.
        reason: String,
    },
    /// An error about an instruction or a computation of a text, with the line on which the
    /// instruction or the computation begins.
    #[error("line {line}: {error}")]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// The error without the line.
        error: Box<HloError>,
    },
    /// The declared shape of a buffer of the program differs from the shape of the entry
    /// computation's parameter or result in an element type or an extent.
    #[error("{field}: expected {expected}, which the entry computation has, got {given}")]
    EntryLayout {
        /// The path of the field.
        field: FieldPath,
        /// The shape of the entry computation's parameter or root.
        expected: Box<Shape>,
        /// The shape in the field.
        given: Box<Shape>,
    },
    /// The module has more instructions than stridec accepts. StableHLO text also gets this error
    /// if it has too many values or types.
    #[error("computations: expected at most {limit} instructions in all, got {given} or more")]
    TooManyInstructions {
        /// A lower bound on the number of instructions, because the rest was not counted.
        given: usize,
        /// The maximum that stridec accepts.
        limit: usize,
    },
    /// The module has more computations than stridec accepts.
    #[error("computations: expected at most {limit} computations, got {given} or more")]
    TooManyComputations {
        /// A lower bound on the number of computations.
        given: usize,
        /// The maximum that stridec accepts.
        limit: usize,
    },
    /// Calls are nested more deeply than stridec accepts.
    #[error("computation {computation}: expected calls at most {limit} deep, got more")]
    TooDeep {
        /// The name of the computation.
        computation: String,
        /// The maximum depth that stridec accepts.
        limit: usize,
    },
    /// The operands of all calls together have more shapes than stridec compares. A memory report
    /// returns this error if the results of all instructions together contain too many arrays.
    #[error(
        "computations: expected calls whose operands have at most {limit} shapes in all, got {given} or more"
    )]
    TooManyCalledShapes {
        /// A lower bound on the number of shapes.
        given: usize,
        /// The maximum that stridec compares.
        limit: usize,
    },
    /// All constants together have more bytes than stridec accepts.
    #[error(
        "computations: expected constants of at most {limit} bytes in all, got {given} or more"
    )]
    TooManyLiteralBytes {
        /// A lower bound on the number of bytes.
        given: usize,
        /// The maximum that stridec accepts.
        limit: usize,
    },
    /// The module has more bytes outside its constants than stridec accepts.
    #[error("computations: expected at most {limit} bytes beside the constants, got {given}")]
    TooManyBytes {
        /// The number of bytes.
        given: usize,
        /// The maximum that stridec accepts.
        limit: usize,
    },
}

impl HloError {
    /// Returns the kind of the error, by which a caller can decide how to react. A module that
    /// exceeds a limit is unsupported, not invalid.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::TooManyInstructions { .. }
            | Self::TooManyComputations { .. }
            | Self::TooDeep { .. }
            | Self::TooManyCalledShapes { .. }
            | Self::TooManyLiteralBytes { .. }
            | Self::TooManyBytes { .. }
            | Self::NotSupported { .. } => ErrorKind::Unsupported,
            Self::Line { error, .. } => error.kind(),
            _ => ErrorKind::Invalid,
        }
    }

    /// Returns the path of the invalid field in the module. Returns `None` if the error does not
    /// concern a single field.
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

/// The rule that an instruction breaks. The paths of fields begin at the message of the
/// instruction; [`HloError::field`] returns the path from the start of the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InstructionError {
    /// A shape is invalid, or a number is out of range.
    #[error(transparent)]
    Value(#[from] ShapeError),
    /// A field is missing.
    #[error("{field}: missing; expected {accepted}")]
    Missing {
        /// The path of the field.
        field: FieldPath,
        /// The accepted values.
        accepted: &'static str,
    },
    /// A name, an index or an id refers to something that does not exist.
    #[error("{field}: {given} is not known; expected {accepted}")]
    Unknown {
        /// The path of the field.
        field: FieldPath,
        /// The name, index or id.
        given: String,
        /// The accepted values.
        accepted: &'static str,
    },
    /// An earlier instruction of the same computation has the same id.
    #[error(
        "{field}: {given} is taken by an instruction before this one; expected each number once"
    )]
    Taken {
        /// The path of the field.
        field: FieldPath,
        /// The id that occurs twice.
        given: u64,
    },
    /// The instruction has more or fewer operands than its opcode accepts.
    #[error("operand_ids: expected {expected}, got {given}")]
    OperandCount {
        /// The accepted numbers of operands, in words.
        expected: String,
        /// The number of operands that the instruction has.
        given: usize,
    },
    /// An operand has a shape that the opcode does not accept.
    #[error("operand_ids[{operand}]: expected {expected}, got {given}")]
    Operand {
        /// The index of the operand, from 0.
        operand: usize,
        /// The accepted shapes, in words.
        expected: String,
        /// The shape of the operand.
        given: Box<Shape>,
    },
    /// The called computation does not match the call.
    #[error("called_computation_ids: expected {expected}, got {given}")]
    Callee {
        /// The accepted computations, in words.
        expected: String,
        /// The given computation, in words.
        given: String,
    },
    /// The shape that the module declares for the instruction differs from the shape that is
    /// inferred from the operands and attributes.
    #[error("shape: expected {expected}, which the operands and attributes give, got {given}")]
    Result {
        /// The inferred shape, in words.
        expected: String,
        /// The declared shape.
        given: Box<Shape>,
    },
    /// A literal has more or fewer values or bytes than its shape requires.
    #[error("{field}: expected {expected} {what}, those of {shape}, got {given}")]
    LiteralSize {
        /// The path of the field.
        field: FieldPath,
        /// The unit of the counts: `values` or `bytes`.
        what: &'static str,
        /// The count that the shape requires.
        expected: u64,
        /// The count that was given.
        given: u64,
        /// The shape of the literal.
        shape: Box<Shape>,
    },
}

impl InstructionError {
    /// Returns the path of the invalid field, relative to the message of the instruction.
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

    /// Prepends `outer`, the path of the enclosing message, to the path of the field. Errors about
    /// operands, callees and results are not changed, because their fields are always at the top of
    /// the instruction's message.
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
