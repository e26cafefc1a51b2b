//! An [`Opcode`] is the operation of an instruction together with its attributes, such as the
//! permutation of a transpose.

use super::{Literal, opcode_names::OPCODES};

/// The operation of an instruction, with its attributes. The attributes have the names that XLA
/// gives them. An attribute called `computation` is an index into
/// [`Module::computations`](super::Module::computations).
///
/// An opcode is not checked when it is created, because its rules depend on the operands.
/// [`Builder`](super::Builder) and the readers check it when it becomes part of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Opcode {
    /// An argument that the caller of the computation passes.
    Parameter {
        /// The index of the parameter, from 0.
        number: usize,
    },
    /// A value that the module contains.
    Constant(Box<Literal>),
    /// An array in which each element is its own index along a dimension, converted to the element
    /// type of the result.
    Iota {
        /// The dimension along which the elements count upwards.
        dimension: usize,
    },
    /// A copy of the operand, possibly in another layout.
    Copy,
    /// The stored bytes of the operand, interpreted with the type, the extents and the layout of
    /// the result. Both shapes must take the same number of bytes.
    Bitcast,
    /// The bits of the operand, interpreted as another element type. If that type is narrower, the
    /// result has an additional minor-most dimension, which runs over the parts of an element:
    /// `f32[2,3]` becomes `u8[2,3,4]`. If it is wider, the minor-most dimension is removed.
    BitcastConvert,
    /// The elements of the operand with other extents. Elements keep their place in the row-major
    /// order of indices, so layouts have no effect.
    Reshape,
    /// The elements of the operand, converted to another type.
    Convert,
    /// The operand with permuted dimensions: dimension `k` of the result is dimension
    /// `dimensions[k]` of the operand.
    Transpose {
        /// The permutation.
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
    /// The first operand, with padding before, after and between its elements. The second operand,
    /// a scalar, is the padding value.
    Pad {
        /// The padding of each dimension.
        dimensions: Vec<PaddingDimension>,
    },
    /// The operands, joined along a dimension.
    Concatenate {
        /// The dimension along which the operands are joined.
        dimension: usize,
    },
    /// A slice of the first operand, whose start is known only at run time. The start is given by
    /// the other operands: one vector, or one scalar for each dimension. It is clamped so that the
    /// whole slice is inside the operand.
    DynamicSlice {
        /// The extent of the slice along each dimension.
        sizes: Vec<u64>,
    },
    /// The first operand, in which a slice is replaced by the second operand. The other operands
    /// are the start of the slice, which is clamped as in [`DynamicSlice`](Self::DynamicSlice).
    DynamicUpdateSlice,
    /// Slices of the first operand, which start at the indices in the second operand.
    Gather(Box<Gather>),
    /// One or several arrays, in which some elements are combined with updates. The operands are
    /// the arrays, then an array with the indices at which windows of updates start, and then the
    /// updates for each array. If there are several arrays, the result is a tuple.
    Scatter(Box<Scatter>),
    /// The operands, sorted along a dimension. Several operands are reordered in the same way, and
    /// the result is a tuple of them.
    Sort {
        /// The dimension along which elements are sorted.
        dimension: usize,
        /// True if equal elements keep their order.
        is_stable: bool,
        /// The computation that compares elements. It returns true if its first element must
        /// precede its second one. If there are several operands, it has two parameters for each:
        /// the two elements of the first operand, the two elements of the second operand, and so
        /// on.
        computation: usize,
    },
    /// The extent of the operand along a dimension.
    GetDimensionSize {
        /// The dimension whose extent is returned.
        dimension: usize,
    },
    /// A reduction: all elements of the first operand along some dimensions, and the second
    /// operand, a scalar, are combined into one element. The order of the combinations is not
    /// specified.
    Reduce {
        /// The reduced dimensions, which the result does not have.
        dimensions: Vec<usize>,
        /// The computation that combines two elements.
        computation: usize,
    },
    /// A tuple of the operands.
    Tuple,
    /// One element of a tuple.
    GetTupleElement {
        /// The index of the element, from 0.
        index: usize,
    },
    /// The result of a computation whose arguments are the operands.
    Call {
        /// The index of the called computation.
        computation: usize,
    },
    /// A call whose computation XLA compiles to a single kernel.
    Fusion {
        /// The index of the called computation.
        computation: usize,
        /// The kind of the fusion in XLA, such as `kLoop`. It does not affect the result.
        kind: String,
    },
    /// The result of one of several computations, which are called branches. Operand 0 selects the
    /// branch, and each branch has one further operand, which is its only argument.
    ///
    /// A `pred` selects the first branch if it is true, and the second one if it is false. An
    /// integer is the index of a branch; an index that is out of range selects the last branch.
    Conditional {
        /// The index of the computation of each branch.
        computations: Vec<usize>,
    },
    /// The start of an asynchronous call. [`AsyncDone`](Self::AsyncDone) returns its result. The
    /// value of this instruction is a tuple: a tuple of the operands, the result of the call, and
    /// further elements that XLA uses to track the call and that have no meaning here.
    AsyncStart {
        /// The index of the called computation.
        computation: usize,
    },
    /// An intermediate step of an asynchronous call, which returns its operand: the value of
    /// [`AsyncStart`](Self::AsyncStart).
    AsyncUpdate,
    /// The end of an asynchronous call, which returns the result of the call.
    AsyncDone,
    /// The start of an asynchronous copy. [`CopyDone`](Self::CopyDone) returns its result. The
    /// value of this instruction is a tuple: the copy, the operand, and an element that XLA uses to
    /// track the copy and that has no meaning here.
    CopyStart,
    /// The end of an asynchronous copy, which returns the copy.
    CopyDone,
    /// The operand, unchanged. XLA's optimizations move no instructions across this barrier.
    OptBarrier,
    /// The first operand, unchanged. In XLA, users of the result also wait for the second operand,
    /// a token.
    AddDependency,
    /// The operand, unchanged. In XLA, this instruction marks the boundary between two shardings.
    Domain,
    /// A custom call that returns its operand.
    IdentityCall(IdentityCall),
    /// A comparison of the operands, element by element. The result has the type `pred`.
    Compare {
        /// The comparison, such as equal or less than.
        direction: ComparisonDirection,
        /// True if floats are compared in the total order of IEEE 754, which also orders NaNs and
        /// zeros of different signs.
        total_order: bool,
    },
    /// The element of the second operand if the first operand is true, and the element of the third
    /// operand otherwise.
    Select,
    /// The second operand, clamped to the range from the first to the third operand.
    Clamp,
    /// An operation on one operand.
    Unary(Unary),
    /// An operation on two operands of the same type.
    Binary(Binary),
    /// Complex numbers whose real parts are the first operand and whose imaginary parts are the
    /// second.
    Complex,
    /// The real part of each element.
    Real,
    /// The imaginary part of each element.
    Imag,
    /// An instruction that the compiler does not support. This is an opcode without a variant of
    /// its own, such as `dot`, or a form that its variant cannot represent, such as a reduce of
    /// several arrays, or an instruction with dynamic extents. Its operands and called computations
    /// are kept, but not its attributes.
    Other {
        /// XLA's name of the opcode.
        opcode: String,
        /// The target of a custom call, or an empty string for any other opcode.
        target: String,
        /// The indices of the called computations.
        computations: Vec<usize>,
    },
}

/// The indices that a slice selects along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SliceDimension {
    /// The first index.
    pub start: u64,
    /// The end of the range, one past its last index.
    pub limit: u64,
    /// The step from one selected index to the next, at least 1.
    pub stride: u64,
}

/// The padding of one dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PaddingDimension {
    /// The number of elements that are added before the first one. A negative number removes
    /// elements.
    pub edge_padding_low: i64,
    /// The number of elements that are added after the last one. A negative number removes
    /// elements.
    pub edge_padding_high: i64,
    /// The number of elements that are added between any two adjacent elements.
    pub interior_padding: u64,
}

/// The attributes of a gather, with the names of XLA's `GatherDimensionNumbers`.
///
/// A gather has two operands. From the first one, the *operand*, it takes slices of the extents
/// `slice_sizes`. The second one, the *indices*, consists of index vectors along the dimension
/// `index_vector_dim`; each vector is the start of one slice. The result has the dimensions of a
/// slice, except collapsed and batching ones, and the dimensions of the indices, except
/// `index_vector_dim`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gather {
    /// The dimensions of the result that are dimensions of a slice, in ascending order.
    pub offset_dims: Vec<usize>,
    /// The dimensions of the operand that the result does not have, in ascending order. A slice has
    /// an extent of at most 1 along them.
    pub collapsed_slice_dims: Vec<usize>,
    /// The dimension of the operand for each entry of an index vector: the entry is the start of
    /// the slice along this dimension. Along all other dimensions except batching ones, a slice
    /// starts at 0.
    pub start_index_map: Vec<usize>,
    /// The dimension of the indices that contains the index vectors. If it is the rank of the
    /// indices, each index is an index vector of length 1.
    pub index_vector_dim: usize,
    /// The batching dimensions of the operand, in ascending order. Each corresponds to a dimension
    /// of the indices: a slice is taken at the same index along both.
    pub operand_batching_dims: Vec<usize>,
    /// The dimension of the indices that corresponds to each entry of `operand_batching_dims`.
    pub start_indices_batching_dims: Vec<usize>,
    /// The extent of each slice along each dimension of the operand.
    pub slice_sizes: Vec<u64>,
}

/// The attributes of a scatter, with the names of XLA's `ScatterDimensionNumbers`.
///
/// A scatter has at least three operands: the updated array, called the *operand*; the *indices*,
/// which consist of index vectors along the dimension `index_vector_dim`; and the *updates*, which
/// consist of windows. Each window is combined with the elements of the operand from its index
/// vector on. Several arrays can be updated at once; each has separate updates, and all share the
/// indices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// The dimensions of the updates that are dimensions of a window, in ascending order.
    pub update_window_dims: Vec<usize>,
    /// The dimensions of the operand that a window does not have, in ascending order. A window
    /// covers one index along them.
    pub inserted_window_dims: Vec<usize>,
    /// The dimension of the operand for each entry of an index vector: the entry is the start of
    /// the window along this dimension. Along all other dimensions except batching ones, a window
    /// starts at 0.
    pub scatter_dims_to_operand_dims: Vec<usize>,
    /// The dimension of the indices that contains the index vectors. If it is the rank of the
    /// indices, each index is an index vector of length 1.
    pub index_vector_dim: usize,
    /// The batching dimensions of the operand, in ascending order. Each corresponds to a dimension
    /// of the indices: a window is written at the same index along both.
    pub input_batching_dims: Vec<usize>,
    /// The dimension of the indices that corresponds to each entry of `input_batching_dims`.
    pub scatter_indices_batching_dims: Vec<usize>,
    /// The index of the computation that combines elements. It takes one element of each operand,
    /// and then one element of the updates of each operand.
    pub computation: usize,
}

/// Defines an enum with a method that returns XLA's name of each variant.
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

            /// Returns the variant that XLA calls `name`, or `None` if there is no such variant.
            pub(super) fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

names! {
    /// A custom call that returns its operand.
    IdentityCall {
        /// An annotation with the sharding of a value, which is how its elements are distributed
        /// over devices.
        Sharding = "Sharding",
        /// An annotation with the sharding of a function's result, from Shardy.
        FuncResultSharding = "xla.sdy.FuncResultSharding",
        /// A request for a particular layout.
        LayoutConstraint = "LayoutConstraint",
        /// The beginning of a part of the program in which each device computes with its own shard
        /// of a value. With a single shard, the shard is the whole value, so the shape does not
        /// change.
        SpmdFullToShardShape = "SPMDFullToShardShape",
        /// The end of a part of the program in which each device computes with its own shard of a
        /// value.
        SpmdShardToFullShape = "SPMDShardToFullShape",
        /// The counterpart of [`SpmdFullToShardShape`](Self::SpmdFullToShardShape) in Shardy, XLA's
        /// newer sharding system.
        GlobalToLocalShape = "xla.sdy.GlobalToLocalShape",
        /// The counterpart of [`SpmdShardToFullShape`](Self::SpmdShardToFullShape) in Shardy.
        LocalToGlobalShape = "xla.sdy.LocalToGlobalShape",
        /// A request for a kind of memory, such as memory of the host.
        DevicePlacement = "annotate_device_placement",
        /// A move to the memory of the host.
        MoveToHost = "MoveToHost",
        /// A move to the memory of the device.
        MoveToDevice = "MoveToDevice",
        /// A request to stay in the memory of the device.
        PinToDevice = "PinToDevice",
        /// A request to stay in the fast memory of the device.
        PinToDeviceSram = "PinToDeviceSram",
        /// A conversion of a value to a buffer.
        Pin = "Pin",
        /// A conversion of a buffer to a value.
        Unpin = "Unpin",
        /// An assertion that the indices of a gather are in range.
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
        /// The number with the opposite sign.
        Negate = "negate",
        /// The complement of every bit, or the logical negation of a `pred`.
        Not = "not",
        /// -1 for negative numbers, 1 for positive numbers, and the number itself for zeros and
        /// NaN.
        Sign = "sign",
        /// The value rounded down to a whole number.
        Floor = "floor",
        /// The value rounded up to a whole number.
        Ceil = "ceil",
        /// The nearest whole number. Halves are rounded away from zero.
        RoundNearestAfz = "round-nearest-afz",
        /// The nearest whole number. Halves are rounded to the even neighbor.
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
        /// The bitwise exclusive OR, or the logical exclusive OR of two `pred`s.
        Xor = "xor",
        /// The sum; integers wrap around.
        Add = "add",
        /// The difference; integers wrap around.
        Subtract = "subtract",
        /// The product; integers wrap around.
        Multiply = "multiply",
        /// The quotient. Integer quotients are truncated, and a division by 0 sets all bits.
        Divide = "divide",
        /// The remainder, with the sign of the dividend.
        Remainder = "remainder",
        /// The smaller operand.
        Minimum = "minimum",
        /// The larger operand.
        Maximum = "maximum",
        /// The first operand to the power of the second. An integer to a negative power is 1 if the
        /// integer is 1, and otherwise 0.
        Power = "power",
        /// The first operand, shifted left by the second, which is read as unsigned. The new bits
        /// are zeros.
        ShiftLeft = "shift-left",
        /// The first operand, shifted right by the second. The new bits are copies of the sign bit.
        ShiftRightArithmetic = "shift-right-arithmetic",
        /// The first operand, shifted right by the second. The new bits are zeros.
        ShiftRightLogical = "shift-right-logical",
    }
}

impl Opcode {
    /// Returns the name of the opcode in XLA.
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

    /// Returns the indices of the computations that the opcode calls. The list is empty if it calls
    /// none.
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

    /// Returns true if no version of XLA has an opcode with this name.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::Other { opcode, .. } if !OPCODES.contains(&opcode.as_str()))
    }

    /// Returns this opcode as [`Opcode::Other`], which keeps only its name and its called
    /// computations.
    pub(super) fn without_attributes(&self) -> Self {
        Self::Other {
            opcode: self.name().to_owned(),
            target: String::new(),
            computations: self.computations().to_vec(),
        }
    }

    /// Returns true if the opcode with this name accepts operands and results of several float
    /// types. XLA accepts them in these opcodes, and inserts the conversions between the types.
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

    /// Returns true if the opcode also accepts extents that are bounded, such as `f32[<=8]`, or
    /// unknown, such as `f32[?]`.
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
