//! Infers the shapes of instructions for which the text declares no shape, by the rules of XLA's
//! `shape_inference.cc`.

use super::{attributes, cursor::Cursor, written::WrittenAttribute};
use crate::{
    hlo::InstructionError,
    shape::{Dimension, ElementType, FieldPath, Layout, Shape, queries},
};

type Result<T> = std::result::Result<T, InstructionError>;

/// The shapes of a computation's parameters and of its root.
pub(in crate::hlo) type Signature<'a> = (Vec<&'a Shape>, &'a Shape);

/// An instruction for which the text declares no shape.
pub(super) struct Undeclared<'a, 'b> {
    pub(super) opcode: &'b str,
    pub(super) operands: &'b [&'b Shape],
    pub(super) called: &'b [Signature<'b>],
    pub(super) attributes: &'b [WrittenAttribute<'a>],
    pub(super) cursor: &'b Cursor<'a>,
}

/// One dimension of a window.
struct WindowStep {
    size: i64,
    stride: i64,
    low: i64,
    high: i64,
    base_dilation: i64,
    window_dilation: i64,
}

impl Undeclared<'_, '_> {
    /// Returns the shape of the result.
    #[expect(clippy::too_many_lines)] // one arm for each rule of XLA
    pub(super) fn shape(&self) -> Result<Shape> {
        match self.opcode {
            "abs" | "real" | "imag" => {
                let shape = self.operand(0)?;
                with_type(shape, component(shape.element_type()))
            }
            "is-finite" => with_type(self.operand(0)?, ElementType::Pred),
            "compare" => with_type(&self.wider(0, 1)?, ElementType::Pred),
            "complex" => {
                let shape = self.wider(0, 1)?;
                let double = shape.element_type() == ElementType::F64;
                with_type(&shape, if double { ElementType::C128 } else { ElementType::C64 })
            }
            "acos"
            | "acosh"
            | "asin"
            | "asinh"
            | "atanh"
            | "cbrt"
            | "ceil"
            | "copy"
            | "cosine"
            | "cosh"
            | "count-leading-zeros"
            | "domain"
            | "erf"
            | "exponential"
            | "exponential-minus-one"
            | "floor"
            | "log"
            | "log-plus-one"
            | "logistic"
            | "negate"
            | "not"
            | "opt-barrier"
            | "popcnt"
            | "round-nearest-afz"
            | "round-nearest-even"
            | "rsqrt"
            | "sign"
            | "sine"
            | "sinh"
            | "sqrt"
            | "tan"
            | "tanh"
            | "reverse"
            | "cholesky"
            | "select-and-scatter"
            | "add-dependency"
            | "while"
            | "batch-norm-inference" => self.operand(0).cloned(),
            "add"
            | "and"
            | "atan2"
            | "divide"
            | "maximum"
            | "minimum"
            | "multiply"
            | "or"
            | "power"
            | "remainder"
            | "shift-left"
            | "shift-right-arithmetic"
            | "shift-right-logical"
            | "subtract"
            | "xor" => self.wider(0, 1),
            "clamp" | "triangular-solve" => self.operand(1).cloned(),
            "select" => self.wider(1, 2),
            "after-all" => Ok(Shape::token()),
            "partition-id" | "replica-id" => Self::array(ElementType::U32, Vec::new()),
            "get-dimension-size" => Self::array(ElementType::S32, Vec::new()),
            "set-dimension-size" => self.set_dimension_size(),
            "broadcast" => self.broadcast(),
            "transpose" => self.transpose(),
            "concatenate" => self.concatenate(),
            "pad" => self.pad(),
            "gather" => self.gather(),
            "scatter" => self.variadic(self.operands.len() / 2),
            "sort" => self.variadic(self.operands.len()),
            "tuple" => Ok(Shape::tuple(self.operands.iter().copied().cloned())?),
            "get-tuple-element" => {
                let index = usize::try_from(self.number("index")?).unwrap_or(usize::MAX);
                let part = self.operand(0)?.tuple_shapes().get(index).cloned();
                part.ok_or_else(Self::missing)
            }
            "call" => Ok(self.callee(0)?.1.clone()),
            "conditional" => self.conditional(),
            "map" => with_type(self.operand(0)?, self.callee(0)?.1.element_type()),
            "reduce" => self.reduce(),
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
            _ => Err(Self::missing()),
        }
    }

    /// Returns the shape that XLA's parser uses in place of the declared one. For transfers between
    /// devices, it rebuilds the tuple with `u32[]` contexts and tokens. Returns `None` for other
    /// opcodes, and if a part is missing.
    pub(super) fn transferred(&self, declared: &Shape) -> Option<Shape> {
        let data = |shape: &Shape| shape.tuple_shapes().first().cloned();
        let context = || Shape::new(ElementType::U32, [], None).ok();
        match self.opcode {
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

    /// Returns the error for an instruction whose shape does not follow from its operands and
    /// attributes.
    fn missing() -> InstructionError {
        let accepted = "a shape, which the operands and attributes of this opcode do not give";
        InstructionError::Missing { field: FieldPath::new("shape"), accepted }
    }

    fn operand(&self, number: usize) -> Result<&Shape> {
        self.operands.get(number).copied().ok_or_else(|| InstructionError::OperandCount {
            expected: format!("at least {}", number + 1),
            given: self.operands.len(),
        })
    }

    fn callee(&self, number: usize) -> Result<&(Vec<&Shape>, &Shape)> {
        self.called.get(number).ok_or_else(Self::missing)
    }

    fn array(element_type: ElementType, dimensions: Vec<Dimension>) -> Result<Shape> {
        Ok(Shape::array(element_type, dimensions, None)?)
    }

    fn attribute(&self, name: &str) -> Option<Cursor<'_>> {
        let attribute = self.attributes.iter().find(|attribute| attribute.name == name)?;
        Some(self.cursor.over(attribute.start, attribute.value))
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|it| it.name == name).map(|attribute| attribute.value)
    }

    /// Returns the numbers in an attribute, or an empty list if there is no such attribute.
    fn numbers(&self, name: &str) -> Vec<usize> {
        let read = |mut cursor: Cursor<'_>| attributes::numbers(&mut cursor).ok();
        let numbers = self.attribute(name).and_then(read).unwrap_or_default();
        numbers.into_iter().map(|n| usize::try_from(n).unwrap_or(usize::MAX)).collect()
    }

    fn number(&self, name: &str) -> Result<i64> {
        let number = self.attribute(name).and_then(|mut cursor| cursor.number("a number").ok());
        number.ok_or_else(Self::missing)
    }

    /// Returns the common shape of two operands, with the wider of their element types, and with a
    /// bound if either has one.
    fn wider(&self, first: usize, second: usize) -> Result<Shape> {
        let (first, second) = (self.operand(first)?, self.operand(second)?);
        let bits = |shape: &Shape| shape.element_type().bits().unwrap_or(0);
        let of = if bits(second) > bits(first) { second } else { first };
        if first.dimensions() == second.dimensions() || first.rank() != second.rank() {
            return with_type(first, of.element_type());
        }
        let dimensions = first.dimensions().iter().zip(second.dimensions());
        let dimensions = dimensions.map(|(&one, &other)| match (one, other) {
            (Dimension::Fixed(1), other) => other,
            (Dimension::Fixed(_), Dimension::AtMost(_)) => other,
            _ => one,
        });
        let layout = first.layout().cloned();
        Ok(Shape::array(of.element_type(), dimensions, layout)?)
    }

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

    /// Infers the shape of a broadcast that is written with the extents of new, outer dimensions.
    fn broadcast(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let sizes = self.numbers("dimensions").into_iter().map(|n| Dimension::Fixed(n as u64));
        Self::array(shape.element_type(), sizes.chain(shape.dimensions().iter().copied()).collect())
    }

    fn transpose(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let order = self.numbers("dimensions");
        let dimensions = order.iter().map(|&dimension| shape.dimensions().get(dimension).copied());
        let dimensions: Option<Vec<_>> = dimensions.collect();
        let dimensions = dimensions.ok_or_else(Self::missing)?;
        // The elements keep their places in memory, as in XLA's `PermuteDimensions`.
        let layout = shape.layout().map(|layout| {
            let of = |old: &usize| order.iter().position(|dimension| dimension == old);
            let minor_to_major = layout.minor_to_major.iter().map(of).collect::<Option<_>>();
            let minor_to_major = minor_to_major.ok_or_else(Self::missing)?;
            Ok::<_, InstructionError>(Layout { minor_to_major, ..layout.clone() })
        });
        Ok(Shape::array(shape.element_type(), dimensions, layout.transpose()?)?)
    }

    fn concatenate(&self) -> Result<Shape> {
        let first = self.operand(0)?;
        let along = self.numbers("dimensions").first().copied().unwrap_or(usize::MAX);
        let mut dimensions = first.dimensions().to_vec();
        for shape in &self.operands[1..] {
            let (Some(sum), Some(&other)) =
                (dimensions.get_mut(along), shape.dimensions().get(along))
            else {
                return Err(Self::missing());
            };
            *sum = match (*sum, other) {
                (Dimension::Fixed(a), Dimension::Fixed(b)) => Dimension::Fixed(a.saturating_add(b)),
                (
                    Dimension::Fixed(a) | Dimension::AtMost(a),
                    Dimension::Fixed(b) | Dimension::AtMost(b),
                ) => Dimension::AtMost(a.saturating_add(b)),
                _ => Dimension::Unbounded,
            };
        }
        Self::array(first.element_type(), dimensions)
    }

    fn pad(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let value = self.value("padding").ok_or_else(Self::missing)?;
        let config = attributes::padding(value, self.cursor).map_err(|_| Self::missing())?;
        let dimensions = shape.dimensions().iter().zip(&config.dimensions).map(|(&extent, pad)| {
            mapped(extent, |n| {
                let edges = pad.edge_padding_low.checked_add(pad.edge_padding_high)?;
                let between = pad.interior_padding.checked_mul((n - 1).max(0))?;
                n.checked_add(edges)?.checked_add(between)
            })
        });
        let dimensions: Option<Vec<_>> = dimensions.collect();
        Self::array(shape.element_type(), dimensions.ok_or_else(Self::missing)?)
    }

    fn gather(&self) -> Result<Shape> {
        let (operand, indices) = (self.operand(0)?, self.operand(1)?);
        let offset = self.numbers("offset_dims");
        let mut dropped = self.numbers("collapsed_slice_dims");
        dropped.extend(self.numbers("operand_batching_dims"));
        let sizes = self.numbers("slice_sizes");
        let vector = usize::try_from(self.number("index_vector_dim")?).unwrap_or(usize::MAX);
        let mut window = sizes.iter().enumerate().filter(|(i, _)| !dropped.contains(i));
        let mut batch = indices.dimensions().iter().enumerate().filter(|(i, _)| *i != vector);
        let rank = window.clone().count() + batch.clone().count();
        let dimensions = (0..rank).map(|dimension| {
            if offset.contains(&dimension) {
                window.next().map(|(_, &size)| Dimension::Fixed(size as u64))
            } else {
                batch.next().map(|(_, &extent)| extent)
            }
        });
        let dimensions: Option<Vec<_>> = dimensions.collect();
        Self::array(operand.element_type(), dimensions.ok_or_else(Self::missing)?)
    }

    /// Returns the tuple of the first `count` operands' shapes. If `count` is 1, returns the shape
    /// itself.
    fn variadic(&self, count: usize) -> Result<Shape> {
        match self.operands.get(..count) {
            Some([shape]) => Ok((*shape).clone()),
            Some(shapes) => Ok(Shape::tuple(shapes.iter().copied().cloned())?),
            None => Err(Self::missing()),
        }
    }

    fn conditional(&self) -> Result<Shape> {
        let mut shape = self.callee(0)?.1.clone();
        for (_, other) in &self.called[1..] {
            if shape.is_array() && other.is_array() && shape.rank() == other.rank() {
                let dimensions = shape.dimensions().iter().zip(other.dimensions());
                let dimensions: Vec<_> = dimensions
                    .map(|(&one, &other)| match other {
                        Dimension::Fixed(_) => one,
                        other => other,
                    })
                    .collect();
                let layout = shape.layout().cloned();
                shape = Shape::array(shape.element_type(), dimensions, layout)?;
            }
        }
        Ok(shape)
    }

    fn reduce(&self) -> Result<Shape> {
        let lost = self.numbers("dimensions");
        let kept = self.operand(0)?.dimensions().iter().enumerate();
        let kept: Vec<_> = kept.filter(|(i, _)| !lost.contains(i)).map(|(_, &n)| n).collect();
        let result = self.callee(0)?.1;
        if result.is_array() {
            return Self::array(result.element_type(), kept);
        }
        let parts = result.tuple_shapes().iter();
        let parts = parts.map(|part| Self::array(part.element_type(), kept.clone()));
        Ok(Shape::tuple(parts.collect::<Result<Vec<_>>>()?)?)
    }

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
        let result = self.callee(0)?.1;
        if result.is_array() {
            return if carries > 0 { Ok(result.clone()) } else { longer(result) };
        }
        let parts = result.tuple_shapes();
        let parts = parts.iter().enumerate().map(|(i, part)| {
            if i.saturating_add(carries) < parts.len() { longer(part) } else { Ok(part.clone()) }
        });
        Ok(Shape::tuple(parts.collect::<Result<Vec<_>>>()?)?)
    }

    fn topk(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let k = u64::try_from(self.number("k")?).map_err(|_| Self::missing())?;
        let mut dimensions = shape.dimensions().to_vec();
        *dimensions.last_mut().ok_or_else(Self::missing)? = Dimension::Fixed(k);
        let values = Self::array(shape.element_type(), dimensions.clone())?;
        Ok(Shape::tuple([values, Self::array(ElementType::S32, dimensions)?])?)
    }

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

    /// Infers the shape of a matrix product. `left` and `right` are the numbers of the operands,
    /// and `groups` are dimensions that come first in the result.
    fn dot(&self, left: usize, right: usize, groups: &[Dimension]) -> Result<Shape> {
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
        let wider = |shape: &Shape| shape.element_type().bits().unwrap_or(0);
        let of = if wider(right) > wider(left) { right } else { left };
        Self::array(of.element_type(), dimensions)
    }

    fn ragged_dot(&self) -> Result<Shape> {
        let ragged = self.numbers("lhs_ragged_dims");
        let contracting = self.numbers("lhs_contracting_dims");
        let is_contracting = ragged.iter().any(|dimension| contracting.contains(dimension));
        let groups = self.operand(2)?.dimensions().last().copied();
        let groups: Vec<_> = groups.filter(|_| is_contracting).into_iter().collect();
        self.dot(0, 1, &groups)
    }

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
        let bits = |shape: &Shape| shape.element_type().bits().unwrap_or(0);
        let of = if bits(right) > bits(left) { right } else { left };
        Self::array(of.element_type(), dimensions.ok_or_else(Self::missing)?)
    }

    /// Reads the attribute `window`, such as `{size=3x3 stride=2x2 pad=0_1x0_1}`.
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

    /// Returns the number of places of a window along each dimension.
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

    fn batch_norm(&self) -> Result<Shape> {
        let shape = self.operand(0)?;
        let feature = usize::try_from(self.number("feature_index")?).unwrap_or(usize::MAX);
        let extent = shape.dimensions().get(feature).copied().ok_or_else(Self::missing)?;
        let of = Self::array(shape.element_type(), vec![extent])?;
        Ok(Shape::tuple([shape.clone(), of.clone(), of])?)
    }
}

/// Applies a function to an extent or a bound. Returns `None` if the result is not an extent.
fn mapped(extent: Dimension, of: impl FnOnce(i64) -> Option<i64>) -> Option<Dimension> {
    let apply = |n: u64| u64::try_from(of(i64::try_from(n).ok()?)?).ok();
    Some(match extent {
        Dimension::Fixed(n) => Dimension::Fixed(apply(n)?),
        Dimension::AtMost(n) => Dimension::AtMost(apply(n)?),
        Dimension::Unbounded => Dimension::Unbounded,
    })
}

/// Returns the type of the parts of a complex number. Returns any other type unchanged.
fn component(element_type: ElementType) -> ElementType {
    match element_type {
        ElementType::C64 => ElementType::F32,
        ElementType::C128 => ElementType::F64,
        other => other,
    }
}

/// Returns the shape with another element type. A shape with an unknown extent is returned
/// unchanged.
fn with_type(shape: &Shape, element_type: ElementType) -> Result<Shape> {
    if shape.element_type() == element_type || queries::bounds(shape).is_none() {
        return Ok(shape.clone());
    }
    let layout = shape.layout().cloned().map(|layout| Layout { element_size_in_bits: 0, ..layout });
    Ok(Shape::array(element_type, shape.dimensions().iter().copied(), layout)?)
}
