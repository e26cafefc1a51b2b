//! Opcodes with their attributes.

use super::Literal;

/// The operation of an instruction. Attributes have XLA's names; computations are referred to by
/// their places in [`Module::computations`](super::Module::computations).
///
/// An opcode alone is not checked: [`Builder`](super::Builder) and the readers check it when they
/// make an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opcode {
    /// A value from the caller.
    Parameter {
        /// The parameter's number, from 0.
        number: usize,
    },
    /// A value that the module holds.
    Constant(Box<Literal>),
    /// The index along a dimension, as a number of the result's type.
    Iota {
        /// The dimension.
        dimension: usize,
    },
    /// The unchanged value, perhaps in another layout.
    Copy,
    /// The operand's memory, read with the result's type, extents and layout. If the elements
    /// differ in width, only the bytes are equal.
    Bitcast,
    /// The operand's bits as another type. A narrower type adds a minor-most dimension, a wider
    /// type removes it.
    BitcastConvert,
    /// The operand's elements, in row-major order of the logical indices whatever the layouts.
    Reshape,
    /// The operand's numbers converted to another type.
    Convert,
    /// A permutation of dimensions: dimension `k` of the result is dimension `dimensions[k]` of the
    /// operand.
    Transpose {
        /// A permutation.
        dimensions: Vec<usize>,
    },
    /// A repetition: dimension `k` of the operand is dimension `dimensions[k]` of the result, and
    /// the operand repeats along the other dimensions.
    Broadcast {
        /// One dimension of the result for each dimension of the operand, in any order.
        dimensions: Vec<usize>,
    },
    /// The operand mirrored along some dimensions.
    Reverse {
        /// The mirrored dimensions, each once.
        dimensions: Vec<usize>,
    },
    /// Every `stride`-th element from `start` up to, but not including, `limit`.
    Slice {
        /// One range for each dimension.
        dimensions: Vec<SliceDimension>,
    },
    /// The first operand, with copies of the second before, after and between its elements.
    Pad {
        /// The padding of each dimension.
        dimensions: Vec<PaddingDimension>,
    },
    /// The operands one after the other.
    Concatenate {
        /// The dimension along which the operands are joined.
        dimension: usize,
    },
    /// A slice whose start is computed at run time. The starts are a vector, or one scalar for each
    /// dimension, and are clamped so that the slice is inside the operand.
    DynamicSlice {
        /// The extents of the slice.
        sizes: Vec<u64>,
    },
    /// The first operand with a part of it replaced by the second. The other operands are starts,
    /// as for [`DynamicSlice`](Self::DynamicSlice).
    DynamicUpdateSlice,
    /// Slices of the first operand, with starts from the second.
    Gather(Box<Gather>),
    /// The first operand, parts of which are combined with the third at starts from the second.
    Scatter(Box<Scatter>),
    /// The elements of the first operand along some dimensions, combined with each other and with
    /// the second operand, a scalar, in any order.
    Reduce {
        /// The dimensions that the result lacks.
        dimensions: Vec<usize>,
        /// The computation that combines two elements.
        computation: usize,
    },
    /// The operands as one tuple.
    Tuple,
    /// An element of a tuple.
    GetTupleElement {
        /// The element's number, from 0.
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
        /// XLA's kind, such as `kLoop`; it does not affect the value.
        kind: String,
    },
    /// The operand, as a barrier for XLA's optimizations.
    OptBarrier,
    /// A custom call that returns its operand.
    IdentityCall(IdentityCall),
    /// The result of a comparison, element by element.
    Compare {
        /// The comparison.
        direction: ComparisonDirection,
        /// True if floats are compared in their total order.
        total_order: bool,
    },
    /// The second operand for every element for which the first is true, else the third.
    Select,
    /// The second operand, limited to the range from the first to the third.
    Clamp,
    /// An operation on one operand.
    Unary(Unary),
    /// An operation on two operands of one type.
    Binary(Binary),
    /// A complex number from its real and imaginary parts.
    Complex,
    /// The real part.
    Real,
    /// The imaginary part.
    Imag,
    /// An opcode that the compiler does not support. Only its shape, operands and callees are
    /// known.
    Other {
        /// XLA's name of the opcode.
        opcode: String,
        /// The target of a custom call; empty for other opcodes.
        target: String,
        /// The called computations.
        computations: Vec<usize>,
    },
}

/// The range that a slice takes of one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceDimension {
    /// The first index.
    pub start: u64,
    /// The index past the last.
    pub limit: u64,
    /// The step, at least 1.
    pub stride: u64,
}

/// The padding of one dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PaddingDimension {
    /// The number of elements added before the first; a negative number removes elements.
    pub edge_padding_low: i64,
    /// The number of elements added after the last; a negative number removes elements.
    pub edge_padding_high: i64,
    /// The number of elements added between neighbouring elements.
    pub interior_padding: u64,
}

/// The attributes of a gather.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gather {
    /// The dimensions of the result that come from a slice, ascending.
    pub offset_dims: Vec<usize>,
    /// The dimensions of the operand that slices lack, ascending.
    pub collapsed_slice_dims: Vec<usize>,
    /// The dimension of the operand for each entry of an index vector.
    pub start_index_map: Vec<usize>,
    /// The dimension of the indices that holds the index vectors; equal to their rank if each
    /// vector is one scalar.
    pub index_vector_dim: usize,
    /// The dimensions of the operand that match dimensions of the indices, ascending.
    pub operand_batching_dims: Vec<usize>,
    /// The matching dimensions of the indices.
    pub start_indices_batching_dims: Vec<usize>,
    /// The extents of a slice.
    pub slice_sizes: Vec<u64>,
}

/// The attributes of a scatter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// The dimensions of the updates that come from a window, ascending.
    pub update_window_dims: Vec<usize>,
    /// The dimensions of the operand that windows lack, ascending.
    pub inserted_window_dims: Vec<usize>,
    /// The dimension of the operand for each entry of an index vector.
    pub scatter_dims_to_operand_dims: Vec<usize>,
    /// The dimension of the indices that holds the index vectors; equal to their rank if each
    /// vector is one scalar.
    pub index_vector_dim: usize,
    /// The dimensions of the operand that match dimensions of the indices, ascending.
    pub input_batching_dims: Vec<usize>,
    /// The matching dimensions of the indices.
    pub scatter_indices_batching_dims: Vec<usize>,
    /// The computation that combines an element of the operand, parameter 0, with an element of the
    /// updates, parameter 1.
    pub computation: usize,
}

/// Defines an enum whose values have names in XLA.
macro_rules! names {
    ($(#[$doc:meta])* $kind:ident { $($(#[$of:meta])* $value:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($(#[$of])* $value),* }

        impl $kind {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// Returns XLA's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name),* }
            }

            /// Returns the value that XLA calls `name`.
            pub(super) fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

names! {
    /// A custom call that returns its operand.
    IdentityCall {
        /// The annotation of a value's sharding.
        Sharding = "Sharding",
        /// The annotation of a result's sharding.
        FuncResultSharding = "xla.sdy.FuncResultSharding",
        /// A request for a layout.
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
    /// An operation on one operand.
    Unary {
        /// The absolute value.
        Abs = "abs",
        /// The number with the other sign.
        Negate = "negate",
        /// The complement of every bit; for `pred`, the logical negation.
        Not = "not",
        /// -1, 0 or 1 for negative numbers, zero and positive numbers.
        Sign = "sign",
    }
}

names! {
    /// An operation on two operands of one type.
    Binary {
        /// The bitwise conjunction; for `pred`, the logical one.
        And = "and",
        /// The bitwise disjunction; for `pred`, the logical one.
        Or = "or",
        /// The sum; integers wrap around.
        Add = "add",
        /// The difference; integers wrap around.
        Subtract = "subtract",
        /// The product; integers wrap around.
        Multiply = "multiply",
        /// The quotient; of integers it is truncated, and all bits are set if the divisor is 0.
        Divide = "divide",
        /// The remainder, with the sign of the first operand.
        Remainder = "remainder",
        /// The lesser operand.
        Minimum = "minimum",
        /// The greater operand.
        Maximum = "maximum",
    }
}

impl Opcode {
    /// Returns XLA's name.
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

    /// Returns the called computations.
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

    /// Returns true if the opcode treats bounded and unknown extents like fixed ones.
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
