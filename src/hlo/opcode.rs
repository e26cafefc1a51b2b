//! [`Opcode`]: an operation with its attributes, such as the dimensions of a transpose.

use super::{Literal, opcode_names::OPCODES};

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
    /// One or several arrays, with parts of them combined with as many updates. The operands are
    /// the arrays, the starts of the parts, and the updates. With several arrays, the result is a
    /// tuple.
    Scatter(Box<Scatter>),
    /// The operands, sorted along a dimension by one order. With several operands, the result is a
    /// tuple.
    Sort {
        /// The dimension along which elements are sorted.
        dimension: usize,
        /// True if equal elements keep their order.
        is_stable: bool,
        /// The computation that returns true if one element of each operand comes before another
        /// one. Its parameters are the two elements of the first operand, those of the second, and
        /// so on.
        computation: usize,
    },
    /// The extent of the operand along a dimension.
    GetDimensionSize {
        /// The dimension.
        dimension: usize,
    },
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
    /// The result of one of several computations, each called with an operand of its own. The first
    /// operand chooses: a `pred` the first computation if it is true, and otherwise the second; an
    /// integer the computation with that number, and the last one if there is none.
    Conditional {
        /// The computations, in the order of their operands.
        computations: Vec<usize>,
    },
    /// The start of a call that [`AsyncDone`](Self::AsyncDone) ends: a tuple of a tuple of the
    /// operands, the result, and values without a meaning.
    AsyncStart {
        /// The computation.
        computation: usize,
    },
    /// The operand, a call that has been started.
    AsyncUpdate,
    /// The result of a call that has been started.
    AsyncDone,
    /// The start of a copy that [`CopyDone`](Self::CopyDone) ends: a tuple of the copy, the operand
    /// and a value without a meaning.
    CopyStart,
    /// The result of a copy that has been started.
    CopyDone,
    /// The operand, behind a barrier for XLA's optimizations.
    OptBarrier,
    /// The first operand, after the second, a token.
    AddDependency,
    /// The operand, at a border between shardings.
    Domain,
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
    /// The computation that combines an element of each operand, the first parameters, with an
    /// element of each of the updates, the parameters after these.
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
        /// A border of a region whose values are shards, entered. It changes no shape if there is
        /// one shard.
        SpmdFullToShardShape = "SPMDFullToShardShape",
        /// A border of a region whose values are shards, left.
        SpmdShardToFullShape = "SPMDShardToFullShape",
        /// The entry of such a region in Shardy's form.
        GlobalToLocalShape = "xla.sdy.GlobalToLocalShape",
        /// The exit of such a region in Shardy's form.
        LocalToGlobalShape = "xla.sdy.LocalToGlobalShape",
        /// A request for a kind of memory.
        DevicePlacement = "annotate_device_placement",
        /// A move to memory of the host.
        MoveToHost = "MoveToHost",
        /// A move to memory of the device.
        MoveToDevice = "MoveToDevice",
        /// A request to stay in memory of the device.
        PinToDevice = "PinToDevice",
        /// A request to stay in fast memory of the device.
        PinToDeviceSram = "PinToDeviceSram",
        /// A value as a buffer.
        Pin = "Pin",
        /// A buffer as a value.
        Unpin = "Unpin",
        /// An assurance that indices of a gather are in range.
        AssumeGatherIndicesInBound = "AssumeGatherIndicesInBound",
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
        /// -1, 0 or 1 for negative numbers, zero and positive numbers, respectively. Floats keep
        /// the sign of zero.
        Sign = "sign",
        /// The value rounded down to a whole number.
        Floor = "floor",
        /// The value rounded up to a whole number.
        Ceil = "ceil",
        /// The nearest whole number; halves are rounded away from zero.
        RoundNearestAfz = "round-nearest-afz",
        /// The nearest whole number; halves are rounded to even numbers.
        RoundNearestEven = "round-nearest-even",
        /// True for floats that are neither infinite nor NaN.
        IsFinite = "is-finite",
        /// The square root.
        Sqrt = "sqrt",
        /// The number of bits that are 1.
        PopulationCount = "popcnt",
        /// The number of zero bits above the highest bit that is 1.
        CountLeadingZeros = "count-leading-zeros",
    }
}

names! {
    /// An operation on two operands of the same type.
    Binary {
        /// The bitwise AND, or the logical AND of two `pred`s.
        And = "and",
        /// The bitwise OR, or the logical OR of two `pred`s.
        Or = "or",
        /// The bitwise exclusive OR, or that of two `pred`s.
        Xor = "xor",
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
        /// The first number to the power of the second. An integer to a negative power is 0, or 1
        /// for 1.
        Power = "power",
        /// The first integer shifted left by the second, which counts as unsigned. Zeros move in.
        ShiftLeft = "shift-left",
        /// The first integer shifted right by the second. Copies of the sign move in.
        ShiftRightArithmetic = "shift-right-arithmetic",
        /// The first integer shifted right by the second. Zeros move in.
        ShiftRightLogical = "shift-right-logical",
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
            Self::Sort { .. } => "sort",
            Self::GetDimensionSize { .. } => "get-dimension-size",
            Self::Reduce { .. } => "reduce",
            Self::Tuple => "tuple",
            Self::GetTupleElement { .. } => "get-tuple-element",
            Self::Call { .. } => "call",
            Self::Fusion { .. } => "fusion",
            Self::Conditional { .. } => "conditional",
            Self::AsyncStart { .. } => "async-start",
            Self::AsyncUpdate => "async-update",
            Self::AsyncDone => "async-done",
            Self::CopyStart => "copy-start",
            Self::CopyDone => "copy-done",
            Self::OptBarrier => "opt-barrier",
            Self::AddDependency => "add-dependency",
            Self::Domain => "domain",
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
            | Self::AsyncStart { computation }
            | Self::Sort { computation, .. }
            | Self::Reduce { computation, .. } => std::slice::from_ref(computation),
            Self::Scatter(scatter) => std::slice::from_ref(&scatter.computation),
            Self::Conditional { computations } | Self::Other { computations, .. } => computations,
            _ => &[],
        }
    }

    /// Returns true if no version of XLA has an opcode of this name.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::Other { opcode, .. } if !OPCODES.contains(&opcode.as_str()))
    }

    /// Returns the opcode as one that the compiler does not support.
    pub(super) fn without_attributes(&self) -> Self {
        Self::Other {
            opcode: self.name().to_owned(),
            target: String::new(),
            computations: self.computations().to_vec(),
        }
    }

    /// Returns true if XLA accepts floats of several types among the operands and the result of the
    /// opcode with this name, and converts between them.
    pub(super) fn mixes_floats(name: &str) -> bool {
        let moves_or_chooses = matches!(
            name,
            "copy"
                | "reshape"
                | "transpose"
                | "broadcast"
                | "reverse"
                | "slice"
                | "pad"
                | "concatenate"
                | "dynamic-slice"
                | "dynamic-update-slice"
                | "gather"
                | "scatter"
                | "sort"
                | "reduce"
                | "compare"
                | "select"
                | "clamp"
        );
        moves_or_chooses || Unary::from_name(name).is_some() || Binary::from_name(name).is_some()
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
                | Self::Conditional { .. }
                | Self::AsyncStart { .. }
                | Self::AsyncUpdate
                | Self::AsyncDone
                | Self::CopyStart
                | Self::CopyDone
                | Self::OptBarrier
                | Self::AddDependency
                | Self::Domain
                | Self::IdentityCall(_)
                | Self::Other { .. }
        )
    }
}
