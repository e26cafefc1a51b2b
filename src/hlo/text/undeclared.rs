//! Infers the shapes of instructions for which the text declares none, by the rules of XLA's
//! `shape_inference.cc`.
//!
//! The rules for the opcodes that the compiler supports are in `infer`, because all readers use
//! them. The rules here are for the other opcodes, such as `dot`. They are needed because later
//! instructions and the memory report depend on the shape, even if the compiler does not support
//! the opcode.

use super::{attributes, cursor::Cursor, written::WrittenAttribute};
use crate::{
    hlo::{
        InstructionError, Opcode,
        attributes::{OpcodeContext, known},
        infer::{Callees, Signature, infer_undeclared, reduced},
    },
    proto::hlo as proto,
    shape::{Dimension, ElementType, FieldPath, Layout, Shape},
};

type Result<T> = std::result::Result<T, InstructionError>;

/// An instruction for which the text declares no shape, with everything from which its shape can be
/// inferred.
pub(super) struct Undeclared<'a, 'b> {
    /// The fields that the instruction's attributes set, as far as stridec needs them.
    pub(super) proto: &'b proto::HloInstructionProto,
    pub(super) operands: &'b [&'b Shape],
    /// The called computations, as indices into the module's computations.
    pub(super) called: &'b [usize],
    pub(super) callees: &'b dyn Callees,
    /// All attributes as text, because `proto` lacks those of opcodes that the compiler does not
    /// support.
    pub(super) attributes: &'b [WrittenAttribute<'a>],
    /// A cursor over the whole text, to which the positions of attributes refer.
    pub(super) cursor: &'b Cursor<'a>,
}

/// The window of a convolution or a `reduce-window` along one dimension, with the fields of XLA's
/// `WindowDimension`. `low` and `high` are the padding of the array at its two ends.
struct WindowStep {
    size: i64,
    stride: i64,
    low: i64,
    high: i64,
    base_dilation: i64,
    window_dilation: i64,
}

impl Undeclared<'_, '_> {
    /// Returns the inferred shape of the result.
    pub(super) fn shape(&self) -> Result<Shape> {
        match self.proto.opcode.as_str() {
            "acos"
            | "acosh"
            | "asin"
            | "asinh"
            | "atanh"
            | "cbrt"
            | "cosine"
            | "cosh"
            | "erf"
            | "exponential"
            | "exponential-minus-one"
            | "log"
            | "log-plus-one"
            | "logistic"
            | "rsqrt"
            | "sine"
            | "sinh"
            | "tan"
            | "tanh"
            | "cholesky"
            | "select-and-scatter"
            | "while"
            | "batch-norm-inference" => self.operand(0).cloned(),
            "atan2" => Ok(self.wider(0, 1)?.clone()),
            "triangular-solve" => self.operand(1).cloned(),
            "after-all" => Ok(Shape::token()),
            "partition-id" | "replica-id" => Self::array(ElementType::U32, Vec::new()),
            "set-dimension-size" => self.set_dimension_size(),
            "broadcast" => self.broadcast(),
            "map" => {
                let dimensions = self.operand(0)?.dimensions().to_vec();
                Self::array(self.callee(0)?.result.element_type(), dimensions)
            }
            "reduce" if self.is_variadic_reduce() => self.reduce(),
            "reduce-window" => {
                let value = self.operand(self.operands.len() / 2)?.element_type();
                let dimensions = Self::windowed(self.operand(0)?.dimensions(), &self.window()?)?;
                Self::array(value, dimensions)
            }
            "scan" => self.scan(),
            "topk" => self.topk(),
            "fft" => self.fft(),
            "dot" => self.dot(0, 1, &[]),
            "scaled-dot" => self.dot(0, 2, &[]),
            "ragged-dot" => self.ragged_dot(),
            "convolution" => self.convolution(),
            "batch-norm-training" | "batch-norm-grad" => self.batch_norm(),
            _ => self.of_known_opcode(),
        }
    }

    /// Infers the shape of an opcode that the compiler supports, by the rules of `infer`.
    fn of_known_opcode(&self) -> Result<Shape> {
        let context = OpcodeContext {
            literal: None,
            called: self.called.to_vec(),
            operands: self.operands,
            shape: None,
        };
        let opcode = known(self.proto, context)?;
        let shape = infer_undeclared(&opcode, self.operands, self.callees)?;
        self.with_operand_layout(&opcode, shape)
    }

    /// Returns `shape` with the layout that XLA's parser gives it. XLA infers some shapes by
    /// changing a copy of an operand's shape, so they keep the layout of this operand.
    fn with_operand_layout(&self, opcode: &Opcode, shape: Shape) -> Result<Shape> {
        match opcode {
            Opcode::Unary(_)
            | Opcode::Binary(_)
            | Opcode::Compare { .. }
            | Opcode::Complex
            | Opcode::Real
            | Opcode::Imag
            | Opcode::Reverse { .. } => with_layout_of(self.operand(0)?, &shape),
            // As in XLA, the result has the layout of the predicate, but the element size of the
            // values.
            Opcode::Select if self.operand(0)?.rank() > 0 => {
                let Some(layout) = self.operand(0)?.layout() else { return Ok(shape) };
                let values = self.operand(1)?.layout();
                let element_size_in_bits = values.map_or(0, |layout| layout.element_size_in_bits);
                let layout = Layout { element_size_in_bits, ..layout.clone() };
                with_layout(layout, &shape)
            }
            Opcode::Select | Opcode::Clamp => with_layout_of(self.operand(1)?, &shape),
            Opcode::Scatter(_) | Opcode::Sort { .. } if shape.is_array() => {
                with_layout_of(self.operand(0)?, &shape)
            }
            Opcode::Scatter(_) | Opcode::Sort { .. } => {
                let parts = self.operands.iter().zip(shape.tuple_shapes());
                let parts = parts.map(|(operand, part)| with_layout_of(operand, part));
                Ok(Shape::tuple(parts.collect::<Result<Vec<_>>>()?)?)
            }
            // XLA's `PermuteDimensions` also permutes the layout, so that no element moves in
            // memory.
            Opcode::Transpose { dimensions } => {
                let Some(layout) = self.operand(0)?.layout() else { return Ok(shape) };
                let of = |old: &usize| dimensions.iter().position(|dimension| dimension == old);
                let minor_to_major = layout.minor_to_major.iter().filter_map(of).collect();
                with_layout(Layout { minor_to_major, ..layout.clone() }, &shape)
            }
            _ => Ok(shape),
        }
    }

    /// Returns the shape with which XLA's parser replaces the declared shape of an instruction that
    /// transfers data between devices or to and from the host: the shape of the data, together with
    /// a `u32[]` context and a token if the opcode returns them. Returns `None` for any other
    /// opcode, or if a part of the shape is missing.
    pub(super) fn transferred(&self, declared: &Shape) -> Option<Shape> {
        let data = |shape: &Shape| shape.tuple_shapes().first().cloned();
        let context = || Shape::new(ElementType::U32, [], None).ok();
        match self.proto.opcode.as_str() {
            "send" => {
                let data = self.operands.first().copied().cloned()?;
                Shape::tuple([data, context()?, Shape::token()]).ok()
            }
            "recv" => Shape::tuple([data(declared)?, context()?, Shape::token()]).ok(),
            "recv-done" => Shape::tuple([data(self.operands.first()?)?, Shape::token()]).ok(),
            "infeed" => Shape::tuple([data(declared)?, Shape::token()]).ok(),
            "send-done" | "outfeed" => Some(Shape::token()),
            _ => None,
        }
    }

    /// Returns the error for an instruction whose shape cannot be inferred, so that the text must
    /// declare it.
    pub(super) fn missing() -> InstructionError {
        let accepted = "a shape, which the operands and attributes of this opcode do not give";
        InstructionError::Missing { field: FieldPath::new("shape"), accepted }
    }

    /// Returns the shape of an operand, or an error if there are too few operands.
    fn operand(&self, number: usize) -> Result<&Shape> {
        self.operands.get(number).copied().ok_or_else(|| InstructionError::OperandCount {
            expected: format!("at least {}", number + 1),
            given: self.operands.len(),
        })
    }

    /// Returns the signature of a called computation, by its position in the list of called
    /// computations.
    fn callee(&self, number: usize) -> Result<Signature<'_>> {
        let callee = self.called.get(number);
        callee.and_then(|&callee| self.callees.signature(callee)).ok_or_else(Self::missing)
    }

    /// Returns the shape of an array without a layout.
    fn array(element_type: ElementType, dimensions: Vec<Dimension>) -> Result<Shape> {
        Ok(Shape::array(element_type, dimensions, None)?)
    }

    /// Returns a cursor over the value of an attribute, or `None` if there is no such attribute.
    fn attribute(&self, name: &str) -> Option<Cursor<'_>> {
        let attribute = self.attributes.iter().find(|attribute| attribute.name == name)?;
        Some(self.cursor.over(attribute.start, attribute.value))
    }

    /// Returns the value of an attribute as text, or `None` if there is no such attribute.
    fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|it| it.name == name).map(|attribute| attribute.value)
    }

    /// Returns the integers in an attribute. The list is empty if there is no such attribute,
    /// because XLA omits empty lists.
    fn numbers(&self, name: &str) -> Vec<usize> {
        let read = |mut cursor: Cursor<'_>| attributes::numbers(&mut cursor).ok();
        let numbers = self.attribute(name).and_then(read).unwrap_or_default();
        numbers.into_iter().map(|n| usize::try_from(n).unwrap_or(usize::MAX)).collect()
    }

    /// Returns the integer in an attribute, or an error if there is no such attribute.
    fn number(&self, name: &str) -> Result<i64> {
        let number = self.attribute(name).and_then(|mut cursor| cursor.number("a number").ok());
        number.ok_or_else(Self::missing)
    }

    /// Returns the shape of the operand with the wider element type, which is the type of a result
    /// that mixes types. If both types have the same width, returns the shape of operand `first`.
    fn wider(&self, first: usize, second: usize) -> Result<&Shape> {
        let (first, second) = (self.operand(first)?, self.operand(second)?);
        let bits = |shape: &Shape| shape.element_type().bits().unwrap_or(0);
        Ok(if bits(second) > bits(first) { second } else { first })
    }

    /// Infers the shape of a `set-dimension-size`, which makes an extent dynamic: its value is an
    /// operand. The extent of the operand becomes the bound.
    fn set_dimension_size(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let mut dimensions = shape.dimensions().to_vec();
        let along = self.numbers("dimensions").first().copied().unwrap_or(usize::MAX);
        let dimension = dimensions.get_mut(along).ok_or_else(Self::missing)?;
        if let Dimension::Fixed(extent) = *dimension {
            *dimension = Dimension::AtMost(extent);
        }
        Ok(Shape::array(shape.element_type(), dimensions, shape.layout().cloned())?)
    }

    /// Infers the shape of a broadcast. Without a declared shape, XLA's parser reads the attribute
    /// `dimensions` as the extents of new, outermost dimensions.
    fn broadcast(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let sizes = self.numbers("dimensions").into_iter().map(|n| Dimension::Fixed(n as u64));
        Self::array(shape.element_type(), sizes.chain(shape.dimensions().iter().copied()).collect())
    }

    /// Returns true if the instruction reduces several arrays at once, or if its computation
    /// returns a tuple. The rules of `infer` do not cover this.
    fn is_variadic_reduce(&self) -> bool {
        self.operands.len() != 2 || self.callee(0).is_ok_and(|callee| !callee.result.is_array())
    }

    /// Infers the shape of a reduce of several arrays, which is a tuple of the reduced arrays.
    fn reduce(&self) -> Result<Shape> {
        let (array, dimensions) = (self.operand(0)?, self.numbers("dimensions"));
        let parts = self.callee(0)?.result.tuple_shapes().iter();
        let parts = parts.map(|part| reduced(array, &dimensions, part.element_type()));
        Ok(Shape::tuple(parts.collect::<Result<Vec<_>>>()?)?)
    }

    /// Infers the shape of a scan, which calls a computation for each index along a dimension, in
    /// order. The last `num_carries` results of the computation are carries, which the next call
    /// receives; the scan returns their last values. The results of all calls are collected for the
    /// others, so they get the scanned dimension.
    fn scan(&self) -> Result<Shape> {
        let along = self.numbers("dimensions").first().copied().unwrap_or(usize::MAX);
        let carries = usize::try_from(self.number("num_carries")?).unwrap_or(usize::MAX);
        let extent = self.operand(0)?.dimensions().get(along).copied();
        let extent = extent.ok_or_else(Self::missing)?;
        let longer = |shape: &Shape| {
            let mut dimensions = shape.dimensions().to_vec();
            dimensions.insert(along.min(dimensions.len()), extent);
            Self::array(shape.element_type(), dimensions)
        };
        let result = self.callee(0)?.result;
        if result.is_array() {
            return if carries > 0 { Ok(result.clone()) } else { longer(result) };
        }
        let parts = result.tuple_shapes();
        let parts = parts.iter().enumerate().map(|(i, part)| {
            if i.saturating_add(carries) < parts.len() { longer(part) } else { Ok(part.clone()) }
        });
        Ok(Shape::tuple(parts.collect::<Result<Vec<_>>>()?)?)
    }

    /// Infers the shape of a top-k: a tuple of the `k` values that it selects along the last
    /// dimension, and of their indices.
    fn topk(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let k = u64::try_from(self.number("k")?).map_err(|_| Self::missing())?;
        let mut dimensions = shape.dimensions().to_vec();
        *dimensions.last_mut().ok_or_else(Self::missing)? = Dimension::Fixed(k);
        let values = Self::array(shape.element_type(), dimensions.clone())?;
        Ok(Shape::tuple([values, Self::array(ElementType::S32, dimensions)?])?)
    }

    /// Infers the shape of a Fourier transform. A transform from real to complex numbers, or back,
    /// also changes the extent of the last dimension, because the spectrum of real numbers is
    /// symmetric and only about half of it is stored.
    fn fft(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let length = self.numbers("fft_length").last().copied().ok_or_else(Self::missing)?;
        let double = matches!(shape.element_type(), ElementType::F64 | ElementType::C128);
        let (element_type, extent) = match self.value("fft_type") {
            Some("RFFT") => {
                let complex = if double { ElementType::C128 } else { ElementType::C64 };
                (complex, (length != 0).then_some(length / 2 + 1))
            }
            Some("IRFFT") => (component(shape.element_type()), Some(length)),
            _ => return Ok(shape.clone()),
        };
        let mut dimensions = shape.dimensions().to_vec();
        if let (Some(last), Some(extent)) = (dimensions.last_mut(), extent) {
            *last = Dimension::Fixed(extent as u64);
        }
        Ok(Shape::array(element_type, dimensions, shape.layout().cloned())?)
    }

    /// Infers the shape of the matrix product of the operands `left` and `right`: the batch
    /// dimensions, then the other dimensions of the left operand, and then those of the right one.
    /// `groups` are additional dimensions at the front.
    fn dot(&self, left: usize, right: usize, groups: &[Dimension]) -> Result<Shape> {
        let wider = self.wider(left, right)?;
        let (left, right) = (self.operand(left)?, self.operand(right)?);
        let batch = self.numbers("lhs_batch_dims");
        let mut dimensions = groups.to_vec();
        for &dimension in &batch {
            dimensions.push(*left.dimensions().get(dimension).ok_or_else(Self::missing)?);
        }
        let lost = [batch, self.numbers("lhs_contracting_dims")].concat();
        let kept = |shape: &Shape, lost: &[usize]| -> Vec<Dimension> {
            let dimensions = shape.dimensions().iter().enumerate();
            dimensions.filter(|(i, _)| !lost.contains(i)).map(|(_, &extent)| extent).collect()
        };
        dimensions.extend(kept(left, &lost));
        let names = ["rhs_batch_dims", "rhs_contracting_dims", "rhs_group_dims"];
        dimensions.extend(kept(right, &names.map(|name| self.numbers(name)).concat()));
        Self::array(wider.element_type(), dimensions)
    }

    /// Infers the shape of a ragged dot: a matrix product whose rows, columns or contracted
    /// elements form groups of different sizes. If the groups divide a contracting dimension, there
    /// is a product for each group, and the result gets a dimension for the groups.
    fn ragged_dot(&self) -> Result<Shape> {
        let ragged = self.numbers("lhs_ragged_dims");
        let contracting = self.numbers("lhs_contracting_dims");
        let is_contracting = ragged.iter().any(|dimension| contracting.contains(dimension));
        let groups = self.operand(2)?.dimensions().last().copied();
        let groups: Vec<_> = groups.filter(|_| is_contracting).into_iter().collect();
        self.dot(0, 1, &groups)
    }

    /// Infers the shape of a convolution from its window and from the attribute `dim_labels`, such
    /// as `b01f_01io->b01f`. It has a letter or digit for each dimension of the input, the kernel
    /// and the output: `b` for the batch, `f` for the features, `i` and `o` for the features of the
    /// input and the output, and a digit for each spatial dimension.
    fn convolution(&self) -> Result<Shape> {
        let (left, right) = (self.operand(0)?, self.operand(1)?);
        let labels = self.value("dim_labels").ok_or_else(Self::missing)?;
        let (operands, output) = labels.split_once("->").ok_or_else(Self::missing)?;
        let (input, kernel) = operands.split_once('_').ok_or_else(Self::missing)?;
        let at = |labels: &str, label: char, shape: &Shape| {
            let place = labels.find(label)?;
            shape.dimensions().get(place).copied()
        };
        let groups = self.number("batch_group_count").unwrap_or(1).max(1);
        let spatial = |n: usize| char::from_digit(u32::try_from(n).ok()?, 10);
        let count = output.len().saturating_sub(2);
        let extents = (0..count).map(|n| at(input, spatial(n)?, left)).collect::<Option<Vec<_>>>();
        let extents = extents.ok_or_else(Self::missing)?;
        let windows = if self.value("window").is_some() { self.window()? } else { Vec::new() };
        let extents = Self::windowed(&extents, &windows)?;
        let dimensions = output.chars().map(|label| match label {
            'b' => mapped(at(input, 'b', left)?, |n| Some(n / groups)),
            'f' => at(kernel, 'o', right),
            digit => extents.get(usize::try_from(digit.to_digit(10)?).ok()?).copied(),
        });
        let dimensions: Option<Vec<_>> = dimensions.collect();
        Self::array(self.wider(0, 1)?.element_type(), dimensions.ok_or_else(Self::missing)?)
    }

    /// Parses the attribute `window`, such as `{size=3x3 stride=2x2 pad=0_1x0_1}`, and returns an
    /// entry for each dimension. An omitted stride or dilation is 1, and an omitted padding is 0.
    fn window(&self) -> Result<Vec<WindowStep>> {
        let value = self.value("window").unwrap_or("{}");
        let fields = value.trim_matches(['{', '}']).split([' ', ',', '\n']);
        let field = |name: &str| {
            fields.clone().filter_map(|field| field.split_once('=')).find(|(key, _)| *key == name)
        };
        let list = |name: &str| -> Vec<i64> {
            let value = field(name).map_or("", |(_, value)| value);
            value.split('x').filter_map(|n| n.parse().ok()).collect()
        };
        let (sizes, strides) = (list("size"), list("stride"));
        let (base, window) = (list("lhs_dilate"), list("rhs_dilate"));
        let pads = field("pad").map_or("", |(_, value)| value);
        let pads = attributes::padding(pads, self.cursor).map_err(|_| Self::missing())?.dimensions;
        let or_one = |list: &[i64], i: usize| list.get(i).copied().unwrap_or(1).max(1);
        let dimension = |(i, &size): (usize, &i64)| WindowStep {
            size,
            stride: or_one(&strides, i),
            low: pads.get(i).map_or(0, |pad| pad.edge_padding_low),
            high: pads.get(i).map_or(0, |pad| pad.edge_padding_high),
            base_dilation: or_one(&base, i),
            window_dilation: or_one(&window, i),
        };
        Ok(sizes.iter().enumerate().map(dimension).collect())
    }

    /// Returns the number of positions that a window can take along each dimension, which are the
    /// extents of the result.
    fn windowed(extents: &[Dimension], window: &[WindowStep]) -> Result<Vec<Dimension>> {
        if extents.len() != window.len() {
            return Err(Self::missing());
        }
        let dilated = |n: i64, by: i64| {
            if n == 0 { Some(0) } else { (n - 1).checked_mul(by)?.checked_add(1) }
        };
        let dimensions = extents.iter().zip(window).map(|(&extent, window)| {
            mapped(extent, |n| {
                let base = dilated(n, window.base_dilation)?;
                let base = base.checked_add(window.low)?.checked_add(window.high)?;
                let size = dilated(window.size, window.window_dilation)?;
                Some(if base < size { 0 } else { (base - size) / window.stride + 1 })
            })
        });
        dimensions.collect::<Option<Vec<_>>>().ok_or_else(Self::missing)
    }

    /// Infers the shape of a batch normalization for training, or of its gradient: a tuple of the
    /// array, and of two vectors with an entry for each feature.
    fn batch_norm(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let feature = usize::try_from(self.number("feature_index")?).unwrap_or(usize::MAX);
        let extent = shape.dimensions().get(feature).copied().ok_or_else(Self::missing)?;
        let of = Self::array(shape.element_type(), vec![extent])?;
        Ok(Shape::tuple([shape.clone(), of.clone(), of])?)
    }
}

/// Applies the function `of` to an extent, or to the bound if the extent is bounded. An unknown
/// extent stays unknown. Returns `None` if the result is not a valid extent.
fn mapped(extent: Dimension, of: impl FnOnce(i64) -> Option<i64>) -> Option<Dimension> {
    let apply = |n: u64| u64::try_from(of(i64::try_from(n).ok()?)?).ok();
    Some(match extent {
        Dimension::Fixed(n) => Dimension::Fixed(apply(n)?),
        Dimension::AtMost(n) => Dimension::AtMost(apply(n)?),
        Dimension::Unbounded => Dimension::Unbounded,
    })
}

/// Returns the type of the real and imaginary parts of a complex type. Returns any other type
/// unchanged.
fn component(element_type: ElementType) -> ElementType {
    match element_type {
        ElementType::C64 => ElementType::F32,
        ElementType::C128 => ElementType::F64,
        other => other,
    }
}

/// Returns `shape` with the layout of `of`, which has the same extents. If the element types
/// differ, the size of elements in the layout is not copied.
fn with_layout_of(of: &Shape, shape: &Shape) -> Result<Shape> {
    let Some(layout) = of.layout().cloned() else { return Ok(shape.clone()) };
    let is_same = of.element_type() == shape.element_type();
    let element_size_in_bits = if is_same { layout.element_size_in_bits } else { 0 };
    with_layout(Layout { element_size_in_bits, ..layout }, shape)
}

fn with_layout(layout: Layout, shape: &Shape) -> Result<Shape> {
    Ok(Shape::array(shape.element_type(), shape.dimensions().iter().copied(), layout)?)
}
