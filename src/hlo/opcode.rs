//! Opcodes with their attributes.

use super::Literal;

/// The operation of an instruction. Attributes have the same names as in XLA. Computations are
/// identified by their indices in [`Module::computations`](super::Module::computations).
///
/// An opcode on its own is not checked. [`Builder`](super::Builder) and the readers check it when
/// they add an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opcode {
    /// A value passed in by the caller.
    Parameter {
        /// The number of the parameter, from 0.
        number: usize,
    },
    /// A value stored in the module.
    Constant(Box<Literal>),
    /// The index of each element along a dimension, as a number of the result's type.
    Iota {
        /// The dimension.
        dimension: usize,
    },
    /// The unchanged value, possibly in another layout.
    Copy,
    /// The memory of the operand, read with the type, extents and layout of the result. If the
    /// element widths differ, only the bytes are preserved.
    Bitcast,
    /// The bits of the operand, read as another type. A narrower type adds a minor-most dimension,
    /// and a wider type removes one.
    BitcastConvert,
    /// The elements of the operand in row-major order of their logical indices, regardless of
    /// layouts.
    Reshape,
    /// The numbers of the operand, converted to another type.
    Convert,
    /// The operand with its dimensions permuted: dimension `k` of the result is dimension
    /// `dimensions[k]` of the operand.
    Transpose {
        /// A permutation.
        dimensions: Vec<usize>,
    },
    /// The operand repeated along new dimensions: dimension `k` of the operand is dimension
    /// `dimensions[k]` of the result, and the operand repeats along all other dimensions.
    Broadcast {
        /// One dimension of the result for each dimension of the operand, in any order.
        dimensions: Vec<usize>,
    },
    /// The operand, mirrored along some dimensions.
    Reverse {
        /// The mirrored dimensions, each once.
        dimensions: Vec<usize>,
    },
    /// Every `stride`-th element from `start` up to, but not including, `limit`.
    Slice {
        /// One range for each dimension.
        dimensions: Vec<SliceDimension>,
    },
    /// The first operand, with copies of the second, a scalar, before, after and between its
    /// elements.
    Pad {
        /// The padding of each dimension.
        dimensions: Vec<PaddingDimension>,
    },
    /// The operands, joined along a dimension.
    Concatenate {
        /// The dimension along which the operands are joined.
        dimension: usize,
    },
    /// A slice whose start is computed at run time. The start is given by a vector, or by one
    /// scalar for each dimension, and is clamped so that the slice lies inside the operand.
    DynamicSlice {
        /// The extents of the slice.
        sizes: Vec<u64>,
    },
    /// The first operand, with a part of it replaced by the second. The other operands give the
    /// start, as for [`DynamicSlice`](Self::DynamicSlice).
    DynamicUpdateSlice,
    /// Slices of the first operand, at starts given by the second.
    Gather(Box<Gather>),
    /// The first operand, with parts of it combined with the third at starts given by the second.
    Scatter(Box<Scatter>),
    /// The elements of the first operand along some dimensions, combined with each other and with
    /// the second operand, a scalar. The order of combination is unspecified.
    Reduce {
        /// The dimensions to reduce, which the result does not have.
        dimensions: Vec<usize>,
        /// The computation that combines two elements.
        computation: usize,
    },
    /// A tuple of the operands.
    Tuple,
    /// An element of a tuple.
    GetTupleElement {
        /// The index of the element, from 0.
        index: usize,
    },
    /// The result of calling a computation with the operands as its parameters.
    Call {
        /// The computation.
        computation: usize,
    },
    /// A call that XLA compiles to one kernel.
    Fusion {
        /// The computation.
        computation: usize,
        /// XLA's fusion kind, such as `kLoop`. It does not affect the value.
        kind: String,
    },
    /// The operand, behind a barrier for XLA's optimizations.
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
    /// The second operand for each element for which the first is true, and the third otherwise.
    Select,
    /// The second operand, clamped to the range from the first to the third.
    Clamp,
    /// An operation on one operand.
    Unary(Unary),
    /// An operation on two operands of the same type.
    Binary(Binary),
    /// A complex number from its real and imaginary parts.
    Complex,
    /// The real part of each element.
    Real,
    /// The imaginary part of each element.
    Imag,
    /// An opcode that the compiler does not support. Only its shape, operands and called
    /// computations are kept.
    Other {
        /// XLA's name of the opcode.
        opcode: String,
        /// The target of a custom call, or an empty string for other opcodes.
        target: String,
        /// The called computations.
        computations: Vec<usize>,
    },
}

/// The range of indices that a slice selects along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceDimension {
    /// The first index.
    pub start: u64,
    /// The index just past the last.
    pub limit: u64,
    /// The step, at least 1.
    pub stride: u64,
}

/// The padding of one dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PaddingDimension {
    /// The number of elements added before the first. A negative number removes elements.
    pub edge_padding_low: i64,
    /// The number of elements added after the last. A negative number removes elements.
    pub edge_padding_high: i64,
    /// The number of elements added between adjacent elements.
    pub interior_padding: u64,
}

/// The attributes of a gather.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gather {
    /// The dimensions of the result that come from a slice, in ascending order.
    pub offset_dims: Vec<usize>,
    /// The dimensions of the operand that slices drop, in ascending order.
    pub collapsed_slice_dims: Vec<usize>,
    /// The dimension of the operand that each entry of an index vector refers to.
    pub start_index_map: Vec<usize>,
    /// The dimension of the indices that holds the index vectors. It equals the rank of the indices
    /// if each index vector is a single scalar.
    pub index_vector_dim: usize,
    /// The dimensions of the operand that are matched with dimensions of the indices, in ascending
    /// order.
    pub operand_batching_dims: Vec<usize>,
    /// The dimension of the indices matched with each of `operand_batching_dims`.
    pub start_indices_batching_dims: Vec<usize>,
    /// The extents of each slice.
    pub slice_sizes: Vec<u64>,
}

/// The attributes of a scatter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// The dimensions of the updates that come from a window, in ascending order.
    pub update_window_dims: Vec<usize>,
    /// The dimensions of the operand that windows lack, in ascending order.
    pub inserted_window_dims: Vec<usize>,
    /// The dimension of the operand that each entry of an index vector refers to.
    pub scatter_dims_to_operand_dims: Vec<usize>,
    /// The dimension of the indices that holds the index vectors. It equals the rank of the indices
    /// if each index vector is a single scalar.
    pub index_vector_dim: usize,
    /// The dimensions of the operand that are matched with dimensions of the indices, in ascending
    /// order.
    pub input_batching_dims: Vec<usize>,
    /// The dimension of the indices matched with each of `input_batching_dims`.
    pub scatter_indices_batching_dims: Vec<usize>,
    /// The computation that combines an element of the operand, parameter 0, with an element of the
    /// updates, parameter 1.
    pub computation: usize,
}

/// Defines an enum whose variants have names in XLA.
macro_rules! names {
    ($(#[$doc:meta])* $kind:ident { $($(#[$of:meta])* $value:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($(#[$of])* $value),* }

        impl $kind {
            /// All variants, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// Returns the name that XLA uses.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name),* }
            }

            /// Returns the variant that XLA calls `name`, if there is one.
            pub(super) fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

names! {
    /// A custom call that returns its operand.
    IdentityCall {
        /// An annotation with the sharding of a value.
        Sharding = "Sharding",
        /// An annotation with the sharding of a result.
        FuncResultSharding = "xla.sdy.FuncResultSharding",
        /// A request for a particular layout.
        LayoutConstraint = "LayoutConstraint",
    }
}

names! {
    /// The comparison of two elements.
    ComparisonDirection {
        /// Equal.
        Eq = "EQ",
        /// Not equal.
        Ne = "NE",
        /// Greater than or equal.
        Ge = "GE",
        /// Greater than.
        Gt = "GT",
        /// Less than or equal.
        Le = "LE",
        /// Less than.
        Lt = "LT",
    }
}

names! {
    /// An operation on one operand.
    Unary {
        /// The absolute value.
        Abs = "abs",
        /// The number with its sign flipped.
        Negate = "negate",
        /// The complement of every bit, or the logical negation of a `pred`.
        Not = "not",
        /// -1, 0 or 1 for negative numbers, zero and positive numbers, respectively.
        Sign = "sign",
    }
}

names! {
    /// An operation on two operands of the same type.
    Binary {
        /// The bitwise AND, or the logical AND of two `pred`s.
        And = "and",
        /// The bitwise OR, or the logical OR of two `pred`s.
        Or = "or",
        /// The sum; integers wrap around.
        Add = "add",
        /// The difference; integers wrap around.
        Subtract = "subtract",
        /// The product; integers wrap around.
        Multiply = "multiply",
        /// The quotient. Integer quotients are truncated, and division by 0 sets all bits.
        Divide = "divide",
        /// The remainder, with the sign of the dividend.
        Remainder = "remainder",
        /// The smaller operand.
        Minimum = "minimum",
        /// The larger operand.
        Maximum = "maximum",
    }
}

impl Opcode {
    /// Returns the name that XLA uses.
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

    /// Returns the indices of the called computations.
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

    /// Returns true if the opcode treats bounded and unknown extents in the same way as fixed ones.
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
