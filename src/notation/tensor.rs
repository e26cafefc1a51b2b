//! [`Tensor`]: the model from and to which all notations are converted.

use std::{
    fmt::{self, Display},
    ops::Range,
};

use super::{Kind, NotationError, chain, cursor::Result, dml::BufferTensorDesc};
use crate::{
    error_kind::ErrorKind,
    shape::{ElementType, Notation, ParseError, Shape, StridedShape},
    stride::{StrideDescriptor, StrideError},
};

/// A tensor in memory: the location of each element, and the description that is passed to
/// operations.
///
/// ```
/// use stridec::Tensor;
/// let rows: Tensor = "f32[2,3] strided<[5,1]>".parse()?;
/// assert_eq!(rows.descriptor().physical_elements(), 8);
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    descriptor: StrideDescriptor,
    form: TensorForm,
}

/// The description in which a tensor is passed to an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant)] // few values are alive at a time
#[non_exhaustive]
pub enum TensorForm {
    /// An XLA shape.
    Shape(Shape),
    /// Sizes, strides and an offset.
    Strided(StridedShape),
    /// DirectML's description of a tensor in a buffer.
    Buffer(BufferTensorDesc),
    /// No description that an operation accepts, because a dimension has more than one stride and
    /// no XLA layout expresses these strides.
    Digits,
}

impl Tensor {
    /// Returns the descriptor, which gives the location of each element.
    #[must_use]
    pub fn descriptor(&self) -> &StrideDescriptor {
        &self.descriptor
    }

    /// Returns the description in which the tensor is passed to an operation.
    #[must_use]
    pub fn form(&self) -> &TensorForm {
        &self.form
    }

    /// Writes the tensor in the notation `kind`, without the prefix `KIND:`.
    ///
    /// ```
    /// use stridec::notation::{Kind, Tensor};
    /// let array = Tensor::try_from("f32[2,3]{0,1:T(5,3)}".parse::<stridec::shape::Shape>()?)?;
    /// let text = "f32[2,3] Layout(major_to_minor=(1, 0), tiling=((5, 3),), \
    ///             sub_byte_element_size_in_bits=0)";
    /// assert_eq!(array.write(Kind::Jax)?, text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the notation cannot describe the location of every element.
    pub fn write(&self, kind: Kind) -> std::result::Result<String, NotationError> {
        kind.write(self).map_err(|reason| NotationError::Unsupported { kind, reason })
    }

    /// Creates a tensor from a shape. `place` is the position of the shape's text, for errors.
    pub(super) fn of_shape(shape: Shape, place: Range<usize>) -> Result<Self> {
        Self::try_from(shape).map_err(|error| broken_rule(place, error.kind(), error))
    }

    /// Creates a tensor from a descriptor: as an XLA shape if a layout exists, and otherwise with
    /// explicit strides. `place` is the position of the tensor's text, for errors.
    pub(super) fn of_descriptor(
        descriptor: &StrideDescriptor,
        place: Range<usize>,
    ) -> Result<Self> {
        let (element_type, sizes) = (descriptor.element_type(), descriptor.sizes().to_vec());
        let why = match chain::layout(descriptor) {
            Ok(layout) => {
                let shape = Shape::new(element_type, sizes, layout)
                    .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
                return Self::of_shape(shape, place);
            }
            Err(why) => why,
        };
        let strides: Option<Vec<i64>> = descriptor.strides().collect();
        let Some(strides) = strides else {
            let reason =
                format!("a dimension has more than one stride, and no XLA layout says them: {why}");
            return Err(ParseError::unsupported(place, reason));
        };
        let bits = descriptor.element_bits().into();
        Self::strided(element_type, bits, &sizes, &strides, descriptor.base_offset(), place)
    }

    /// Creates a tensor from a descriptor, even if neither an XLA layout nor strides describe it.
    /// No operation accepts such a tensor, but it can be written in other notations. `place` is the
    /// position of the tensor's text, for errors.
    pub(super) fn of_digits(descriptor: StrideDescriptor, place: Range<usize>) -> Result<Self> {
        let is_strided = descriptor.strides().all(|stride| stride.is_some());
        if is_strided || chain::layout(&descriptor).is_ok() {
            return Self::of_descriptor(&descriptor, place);
        }
        Ok(Self { descriptor, form: TensorForm::Digits })
    }

    /// Creates a tensor with explicit strides. `place` is the position of the tensor's text, for
    /// errors.
    pub(super) fn strided(
        element_type: ElementType,
        element_bits: u64,
        sizes: &[u64],
        strides: &[i64],
        offset: u64,
        place: Range<usize>,
    ) -> Result<Self> {
        let (sizes, strides) = (sizes.iter().copied(), strides.iter().copied());
        let shape = StridedShape::new(element_type, sizes, strides, offset, element_bits)
            .map_err(|error| broken_rule(place.clone(), error.kind(), error))?;
        Self::try_from(shape).map_err(|error| broken_rule(place, error.kind(), error))
    }
}

/// Converts an error to a parse error of the same kind, about the text at `place`.
pub(super) fn broken_rule(place: Range<usize>, kind: ErrorKind, error: impl Display) -> ParseError {
    match kind {
        ErrorKind::Unsupported => ParseError::unsupported(place, error.to_string()),
        _ => ParseError::new(place, error.to_string()),
    }
}

impl Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            TensorForm::Shape(shape) => shape.fmt(f),
            TensorForm::Strided(shape) => shape.fmt(f),
            TensorForm::Buffer(desc) => desc.fmt(f),
            TensorForm::Digits => match self.write(Kind::Cute) {
                Ok(text) => write!(f, "cute:{text}"),
                Err(_) => {
                    write!(f, "{}{:?}", self.descriptor.element_type(), self.descriptor.sizes())
                }
            },
        }
    }
}

impl TryFrom<Shape> for Tensor {
    type Error = StrideError;

    fn try_from(shape: Shape) -> std::result::Result<Self, StrideError> {
        Ok(Self { descriptor: StrideDescriptor::try_from(&shape)?, form: TensorForm::Shape(shape) })
    }
}

impl TryFrom<StridedShape> for Tensor {
    type Error = StrideError;

    fn try_from(shape: StridedShape) -> std::result::Result<Self, StrideError> {
        Ok(Self {
            descriptor: StrideDescriptor::try_from(&shape)?,
            form: TensorForm::Strided(shape),
        })
    }
}

impl TryFrom<BufferTensorDesc> for Tensor {
    type Error = StrideError;

    fn try_from(desc: BufferTensorDesc) -> std::result::Result<Self, StrideError> {
        Ok(Self { descriptor: StrideDescriptor::try_from(&desc)?, form: TensorForm::Buffer(desc) })
    }
}

impl TryFrom<Notation> for Tensor {
    type Error = StrideError;

    fn try_from(notation: Notation) -> std::result::Result<Self, StrideError> {
        match notation {
            Notation::Shape(shape) => Self::try_from(shape),
            Notation::Strided(shape) => Self::try_from(shape),
        }
    }
}
