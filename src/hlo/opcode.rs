//! What an instruction does, with its attributes.

use super::Literal;

/// What an instruction does. Attributes have XLA's names; numbers of computations are their places in
/// [`Module::computations`](super::Module::computations).
///
/// The value itself is not checked: [`Builder`](super::Builder) and the readers make instructions of it that are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opcode {
    /// The value that the caller gives.
    Parameter {
        /// Which one, from 0.
        number: usize,
    },
    /// A value that the module holds.
    Constant(Box<Literal>),
    /// The index along a dimension, as a value of the result's type.
    Iota {
        /// The dimension.
        dimension: usize,
    },
    /// The same value, perhaps in another layout.
    Copy,
    /// The same memory, read with the result's type, extents and layout. The elements have the same width, or else
    /// only the bytes agree.
    Bitcast,
    /// The same bits as another type. A narrower type adds a minor-most dimension, a wider one takes it away.
    BitcastConvert,
    /// The same elements in row-major order of the logical indices, whatever the layouts.
    Reshape,
    /// The same number as another type.
    Convert,
    /// Dimension `k` of the result is dimension `dimensions[k]` of the operand.
    Transpose {
        /// A permutation.
        dimensions: Vec<usize>,
    },
    /// Dimension `k` of the operand is dimension `dimensions[k]` of the result; the operand repeats along the others.
    Broadcast {
        /// One for each dimension of the operand, in any order.
        dimensions: Vec<usize>,
    },
    /// Mirrors some dimensions.
    Reverse {
        /// The dimensions, each once.
        dimensions: Vec<usize>,
    },
    /// Every `stride`-th element from `start` up to `limit`.
    Slice {
        /// One for each dimension.
        dimensions: Vec<SliceDimension>,
    },
    /// Elements of a value, the second operand, before, after and between those of the first.
    Pad {
        /// One for each dimension.
        dimensions: Vec<PaddingDimension>,
    },
    /// The operands one after the other.
    Concatenate {
        /// The dimension along which they follow one another.
        dimension: usize,
    },
    /// A slice whose start is known at run time: the second operand, a vector, or one scalar operand a dimension. Each
    /// start is clamped so that the slice is inside.
    DynamicSlice {
        /// Extents of the slice.
        sizes: Vec<u64>,
    },
    /// The first operand with the second in the place of a part of it; the rest are starts as for
    /// [`DynamicSlice`](Self::DynamicSlice).
    DynamicUpdateSlice,
    /// Slices whose starts are in the second operand.
    Gather(Box<Gather>),
    /// The first operand with parts combined with the third, at starts that are in the second.
    Scatter(Box<Scatter>),
    /// The elements of the first operand along some dimensions combined with each other and with the second operand, a
    /// scalar, in any order.
    Reduce {
        /// The dimensions that the result lacks.
        dimensions: Vec<usize>,
        /// The computation that combines two elements.
        computation: usize,
    },
    /// The operands as one value.
    Tuple,
    /// A part of a tuple.
    GetTupleElement {
        /// Which one, from 0.
        index: usize,
    },
    /// The result of a computation, whose parameters are the operands.
    Call {
        /// The computation.
        computation: usize,
    },
    /// A call that XLA compiles to one kernel.
    Fusion {
        /// The computation.
        computation: usize,
        /// XLA's kind, such as `kLoop`; it changes no value.
        kind: String,
    },
    /// The operand, before which XLA moves nothing.
    OptBarrier,
    /// A custom call that returns its operand.
    IdentityCall(IdentityCall),
    /// Whether a comparison holds, element by element.
    Compare {
        /// The comparison.
        direction: ComparisonDirection,
        /// Whether floats are compared in their total order.
        total_order: bool,
    },
    /// The second operand where the first is true, else the third.
    Select,
    /// The second operand, no less than the first and no greater than the third.
    Clamp,
    /// An operation on a value.
    Unary(Unary),
    /// An operation on two values of one type.
    Binary(Binary),
    /// A complex number of its two parts.
    Complex,
    /// The real part.
    Real,
    /// The imaginary part.
    Imag,
    /// Anything else. Its shape and operands are known, what it does is not.
    Other {
        /// XLA's name of the opcode.
        opcode: String,
        /// What a custom call calls; else empty.
        target: String,
        /// The computations that it calls.
        computations: Vec<usize>,
    },
}

/// What a slice takes of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceDimension {
    /// The first index.
    pub start: u64,
    /// The index past the last.
    pub limit: u64,
    /// The step, at least 1.
    pub stride: u64,
}

/// What pad adds to one dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PaddingDimension {
    /// Elements before the first; a negative number takes elements away.
    pub edge_padding_low: i64,
    /// Elements after the last; a negative number takes elements away.
    pub edge_padding_high: i64,
    /// Elements between each two.
    pub interior_padding: u64,
}

/// The attributes of a gather.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gather {
    /// Dimensions of the result that are a slice's, ascending.
    pub offset_dims: Vec<usize>,
    /// Dimensions of the operand that the slices lose, ascending.
    pub collapsed_slice_dims: Vec<usize>,
    /// The dimension of the operand that each entry of an index vector is for.
    pub start_index_map: Vec<usize>,
    /// The dimension of the indices that holds the index vectors; their rank where each vector is one scalar.
    pub index_vector_dim: usize,
    /// Dimensions of the operand that go with dimensions of the indices, ascending.
    pub operand_batching_dims: Vec<usize>,
    /// Those dimensions of the indices.
    pub start_indices_batching_dims: Vec<usize>,
    /// Extents of each slice.
    pub slice_sizes: Vec<u64>,
}

/// The attributes of a scatter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// Dimensions of the updates that are a window's, ascending.
    pub update_window_dims: Vec<usize>,
    /// Dimensions of the operand that the windows lack, ascending.
    pub inserted_window_dims: Vec<usize>,
    /// The dimension of the operand that each entry of an index vector is for.
    pub scatter_dims_to_operand_dims: Vec<usize>,
    /// The dimension of the indices that holds the index vectors; their rank where each vector is one scalar.
    pub index_vector_dim: usize,
    /// Dimensions of the operand that go with dimensions of the indices, ascending.
    pub input_batching_dims: Vec<usize>,
    /// Those dimensions of the indices.
    pub scatter_indices_batching_dims: Vec<usize>,
    /// The computation that combines an element of the operand, parameter 0, with one of the updates, parameter 1.
    pub computation: usize,
}

/// Gives each of an enum's values its name in XLA.
macro_rules! names {
    ($(#[$doc:meta])* $kind:ident { $($(#[$of:meta])* $value:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($(#[$of])* $value),* }

        impl $kind {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// XLA's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name),* }
            }

            /// The value that XLA calls `name`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

names! {
    /// A custom call that returns its operand.
    IdentityCall {
        /// Says how a value is divided among devices.
        Sharding = "Sharding",
        /// Says how a result is divided among devices.
        FuncResultSharding = "xla.sdy.FuncResultSharding",
        /// Asks for a layout.
        LayoutConstraint = "LayoutConstraint",
    }
}

names! {
    /// A comparison.
    ComparisonDirection {
        /// Equal.
        Eq = "EQ",
        /// Not equal.
        Ne = "NE",
        /// Greater or equal.
        Ge = "GE",
        /// Greater.
        Gt = "GT",
        /// Less or equal.
        Le = "LE",
        /// Less.
        Lt = "LT",
    }
}

names! {
    /// An operation on a value.
    Unary {
        /// The number without its sign.
        Abs = "abs",
        /// The number with the other sign.
        Negate = "negate",
        /// Of bits; of `pred`, whether it does not hold.
        Not = "not",
        /// -1, 0 or 1, as the number is below, at or above 0.
        Sign = "sign",
    }
}

names! {
    /// An operation on two values of one type.
    Binary {
        /// Of bits; of `pred`, whether both hold.
        And = "and",
        /// Of bits; of `pred`, whether either holds.
        Or = "or",
        /// The sum; integers wrap around.
        Add = "add",
        /// The difference; integers wrap around.
        Subtract = "subtract",
        /// The product; integers wrap around.
        Multiply = "multiply",
        /// The quotient; of integers it is cut, and by 0 it has all bits set.
        Divide = "divide",
        /// What division leaves, with the sign of the first operand.
        Remainder = "remainder",
        /// The lesser.
        Minimum = "minimum",
        /// The greater.
        Maximum = "maximum",
    }
}

impl Opcode {
    /// XLA's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Parameter { .. } => "parameter",
            Self::Constant(_) => "constant",
            Self::Iota { .. } => "iota",
            Self::Copy => "copy",
            Self::Bitcast => "bitcast",
            Self::BitcastConvert => "bitcast-convert",
            Self::Reshape => "reshape",
            Self::Convert => "convert",
            Self::Transpose { .. } => "transpose",
            Self::Broadcast { .. } => "broadcast",
            Self::Reverse { .. } => "reverse",
            Self::Slice { .. } => "slice",
            Self::Pad { .. } => "pad",
            Self::Concatenate { .. } => "concatenate",
            Self::DynamicSlice { .. } => "dynamic-slice",
            Self::DynamicUpdateSlice => "dynamic-update-slice",
            Self::Gather(_) => "gather",
            Self::Scatter(_) => "scatter",
            Self::Reduce { .. } => "reduce",
            Self::Tuple => "tuple",
            Self::GetTupleElement { .. } => "get-tuple-element",
            Self::Call { .. } => "call",
            Self::Fusion { .. } => "fusion",
            Self::OptBarrier => "opt-barrier",
            Self::IdentityCall(_) => "custom-call",
            Self::Compare { .. } => "compare",
            Self::Select => "select",
            Self::Clamp => "clamp",
            Self::Unary(unary) => unary.name(),
            Self::Binary(binary) => binary.name(),
            Self::Complex => "complex",
            Self::Real => "real",
            Self::Imag => "imag",
            Self::Other { opcode, .. } => opcode,
        }
    }

    /// The computations that it calls.
    #[must_use]
    pub fn computations(&self) -> &[usize] {
        match self {
            Self::Call { computation }
            | Self::Fusion { computation, .. }
            | Self::Reduce { computation, .. } => std::slice::from_ref(computation),
            Self::Scatter(scatter) => std::slice::from_ref(&scatter.computation),
            Self::Other { computations, .. } => computations,
            _ => &[],
        }
    }

    /// Whether extents that are bounds or unknown say nothing else about it than fixed ones do.
    pub(super) fn takes_dynamic_extents(&self) -> bool {
        matches!(
            self,
            Self::Parameter { .. }
                | Self::Copy
                | Self::Tuple
                | Self::GetTupleElement { .. }
                | Self::Call { .. }
                | Self::Fusion { .. }
                | Self::OptBarrier
                | Self::IdentityCall(_)
                | Self::Other { .. }
        )
    }
}
