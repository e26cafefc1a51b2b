//! [`AccessorError`]: the reasons why a layout or a program has no accessor.

use crate::{
    error_kind::ErrorKind, nest::NestError, program::ProgramError, schedule::ScheduleError,
    stride::StrideError, wgsl::WgslError,
};

/// The reason why a layout or a result of a program has no accessor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccessorError {
    /// A name that cannot begin the names of WGSL functions.
    #[error(
        "name: expected a WGSL identifier, a letter and then letters, digits and underscores, got {given:?}"
    )]
    Name {
        /// The given name.
        given: String,
    },
    /// A store into elements that share a word with others, so that concurrent stores would lose
    /// data.
    #[error(
        "store: expected elements of whole words of 32 bits, got elements of {bits} bits; two invocations that store into one word would lose one of the elements, so read with this accessor, and write with a relayout"
    )]
    StoreWidth {
        /// The width of an element in memory, in bits.
        bits: u32,
    },
    /// A store into elements that do not start at words, because a prefix comes before them.
    #[error(
        "store: expected elements that start at words of 32 bits, got a prefix of {bytes} bytes before them; bind the buffer after the prefix, and leave the prefix out of the layout"
    )]
    StorePrefix {
        /// The size of the prefix, in bytes.
        bytes: u64,
    },
    /// A store into a layout that cannot be a destination: its elements share memory, or stridec
    /// does not write such strides.
    #[error("store: {error}; the layout can be read")]
    StoreLayout {
        /// The reason why the layout cannot be a destination.
        error: Box<NestError>,
    },
    /// A layout whose offsets cannot be computed by a nest.
    #[error("layout: {error}")]
    Nest {
        /// The reason why there is no nest.
        error: Box<NestError>,
    },
    /// An array with too many elements to number them.
    #[error("layout: {error}")]
    Stride {
        /// The reason why the elements cannot be numbered.
        error: Box<StrideError>,
    },
    /// An accessor that would compute with numbers of more than 32 bits.
    #[error("accessor: {error}")]
    Number {
        /// The number that exceeds 32 bits.
        error: Box<ScheduleError>,
    },
    /// A buffer with more words than a `u32` can count.
    #[error(
        "buffer {name}: expected at most {limit} words of 32 bits, as many as an index counts, got {given}; split the array along its outermost dimension"
    )]
    Words {
        /// The name of the buffer.
        name: String,
        /// The number of words in the buffer.
        given: u64,
        /// The greatest number of words that is supported.
        limit: u64,
    },
    /// A number to which no result belongs.
    #[error("result: expected a number below {results}, got {given}")]
    Result {
        /// The given number.
        given: usize,
        /// The number of arrays in the module's result.
        results: usize,
    },
    /// A result that cannot be computed without other values in scratch buffers.
    #[error(
        "result {result}: expected a value that one function computes from the parameters, got one that needs scratch buffers ({shapes}); compile the module to kernels, or make those values parameters of it"
    )]
    Scratch {
        /// The number of the result.
        result: usize,
        /// The shapes of the scratch buffers.
        shapes: String,
    },
    /// A constant that is too large for the text of a function.
    #[error(
        "result {result}: expected constants of at most {limit} bytes in a function, got one of {given}; make it a parameter of the module"
    )]
    Constant {
        /// The number of the result.
        result: usize,
        /// The size of the constant, in bytes.
        given: usize,
        /// The greatest size that is supported, in bytes.
        limit: usize,
    },
    /// A module that cannot be lowered.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// Functions that naga rejects, usually because the name already has a meaning in WGSL.
    #[error(
        "name: with the name {name:?}, the functions are not valid WGSL; choose another: {error}"
    )]
    Wgsl {
        /// The name that was given to the functions.
        name: String,
        /// naga's message.
        error: WgslError,
    },
}

impl AccessorError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Name { .. } | Self::Result { .. } | Self::Wgsl { .. } => ErrorKind::Invalid,
            Self::Nest { error } => error.kind(),
            Self::Stride { error } => error.kind(),
            Self::Number { error } => error.kind(),
            Self::Program(error) => error.kind(),
            Self::StoreWidth { .. }
            | Self::StorePrefix { .. }
            | Self::StoreLayout { .. }
            | Self::Words { .. }
            | Self::Scratch { .. }
            | Self::Constant { .. } => ErrorKind::Unsupported,
        }
    }

    /// Returns true if only stores are impossible, so that an accessor of the same layout with
    /// [`Access::Read`](super::Access::Read) exists.
    #[must_use]
    pub fn is_store(&self) -> bool {
        matches!(
            self,
            Self::StoreWidth { .. } | Self::StorePrefix { .. } | Self::StoreLayout { .. }
        )
    }
}
