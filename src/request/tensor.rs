//! A tensor of an operation, in any of the forms that stridec accepts.

use std::{fmt, str::FromStr};

use crate::{
    error::Error,
    notation::{
        self, Array, Form, NotationError,
        dml::{BufferTensorDesc, DmlError},
    },
    shape::{ElementType, FieldPath, Layout, Notation, ParseError, Shape, StridedShape},
    stride::StrideDescriptor,
};

/// One tensor's type, extents and memory layout, in any of the forms that stridec accepts.
///
/// ```
/// use stridec::request::Tensor;
/// let rows: Tensor = "f32[2,3] strided<[5,1]>".parse()?;
/// assert_eq!(rows.descriptor()?.physical_elements(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant)] // few live at a time
#[non_exhaustive]
pub enum Tensor {
    /// An XLA shape.
    Shape(Shape),
    /// Sizes, strides and an offset.
    Strided(StridedShape),
    /// DirectML's description of a buffer.
    Buffer(BufferTensorDesc),
}

impl Tensor {
    /// The dense, row-major tensor of these sizes.
    ///
    /// # Errors
    ///
    /// Where the type has no elements, or a size does not fit.
    pub fn dense(
        element_type: ElementType,
        sizes: impl IntoIterator<Item = u64>,
    ) -> Result<Self, Error> {
        Ok(Self::Shape(Shape::new(element_type, sizes, None)?))
    }

    /// The densest tensor of these sizes that is described as this one is, in elements as wide as its own.
    ///
    /// A shape has the default layout then, and so has what had strides; a DirectML description is packed.
    pub(super) fn dense_like(&self, sizes: impl IntoIterator<Item = u64>) -> Result<Self, Error> {
        let (element_type, bits) = match self {
            Self::Shape(shape) => (
                shape.element_type(),
                shape.layout().map_or(0, |layout| layout.element_size_in_bits),
            ),
            Self::Strided(shape) => (shape.element_type(), shape.element_size_in_bits()),
            Self::Buffer(desc) => {
                let sizes: Result<Vec<u32>, DmlError> = sizes
                    .into_iter()
                    .enumerate()
                    .map(|(dimension, given)| {
                        u32::try_from(given)
                            .map_err(|_| DmlError::SizeTooLarge { dimension, given })
                    })
                    .collect();
                return Ok(BufferTensorDesc::new(desc.data_type(), &sizes?, None)?.into());
            }
        };
        let sizes: Vec<u64> = sizes.into_iter().collect();
        let layout = (bits != 0).then(|| Layout::default_for_rank(sizes.len()).element_size(bits));
        Ok(Self::Shape(Shape::new(element_type, sizes, layout)?))
    }

    /// Lowers it to strides.
    ///
    /// # Errors
    ///
    /// Where it has no elements, or fields that cannot be expressed by strides.
    pub fn descriptor(&self) -> Result<StrideDescriptor, Error> {
        Ok(match self {
            Self::Shape(shape) => StrideDescriptor::try_from(shape)?,
            Self::Strided(shape) => StrideDescriptor::try_from(shape)?,
            Self::Buffer(desc) => StrideDescriptor::try_from(desc)?,
        })
    }
}

impl Tensor {
    /// The field of `proto::Tensor` that holds it.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Shape(_) => "shape",
            Self::Strided(_) => "strided",
            Self::Buffer(_) => "buffer_tensor_desc",
        }
    }

    /// The path of a field in the message that describes the tensor; `field` has the name that a shape has for it.
    pub(super) fn field(&self, field: FieldPath) -> FieldPath {
        match self {
            Self::Shape(_) => field,
            Self::Strided(_) => field.renamed(&[("dimensions", "sizes")]),
            Self::Buffer(_) => {
                field.renamed(&[("dimensions", "sizes"), ("element_type", "data_type")])
            }
        }
    }
}

impl From<Notation> for Tensor {
    fn from(notation: Notation) -> Self {
        match notation {
            Notation::Shape(shape) => Self::Shape(shape),
            Notation::Strided(shape) => Self::Strided(shape),
        }
    }
}

impl From<Shape> for Tensor {
    fn from(shape: Shape) -> Self {
        Self::Shape(shape)
    }
}

impl From<StridedShape> for Tensor {
    fn from(shape: StridedShape) -> Self {
        Self::Strided(shape)
    }
}

impl From<BufferTensorDesc> for Tensor {
    fn from(desc: BufferTensorDesc) -> Self {
        Self::Buffer(desc)
    }
}

impl TryFrom<Array> for Tensor {
    type Error = NotationError;

    /// The form in which operations take an array, where there is one.
    fn try_from(array: Array) -> Result<Self, NotationError> {
        Ok(match array.into_form() {
            Form::Shape(shape) => Self::Shape(shape),
            Form::Strided(shape) => Self::Strided(shape),
            Form::Buffer(desc) => Self::Buffer(desc),
            Form::Digits => return Err(NotationError::Digits),
        })
    }
}

impl TryFrom<Tensor> for Array {
    type Error = Error;

    /// The array with the place of each element.
    fn try_from(tensor: Tensor) -> Result<Self, Error> {
        Ok(match tensor {
            Tensor::Shape(shape) => Self::try_from(shape)?,
            Tensor::Strided(shape) => Self::try_from(shape)?,
            Tensor::Buffer(desc) => Self::try_from(desc)?,
        })
    }
}

impl FromStr for Tensor {
    type Err = ParseError;

    /// Reads XLA's notation, or `KIND:TEXT`, the notation of another system; see [`notation`].
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if notation::is_other(text)? {
            return Self::try_from(notation::read(text)?)
                .map_err(|error| ParseError::unsupported(0..text.len(), error.to_string()));
        }
        Ok(text.parse::<Notation>()?.into())
    }
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(shape) => shape.fmt(f),
            Self::Strided(shape) => shape.fmt(f),
            Self::Buffer(desc) => desc.fmt(f),
        }
    }
}
