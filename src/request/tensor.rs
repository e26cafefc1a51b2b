//! Conversions of everything that can be an operand of an operation to [`Tensor`].

use std::str::FromStr;

use super::operation::Paths;
use crate::{
    error::Error,
    nest::Operand,
    notation::{
        self, NotationError, Tensor, TensorForm,
        dml::{BufferTensorDesc, DmlError},
    },
    shape::{ElementType, FieldPath, Layout, ParseError, Shape},
    stride::StrideError,
};

impl Tensor {
    /// Creates the dense, row-major tensor with these sizes.
    ///
    /// # Errors
    ///
    /// Returns an error if the type has no elements, or if a size is too large.
    pub fn dense(
        element_type: ElementType,
        sizes: impl IntoIterator<Item = u64>,
    ) -> Result<Self, Error> {
        Ok(Self::try_from(Shape::new(element_type, sizes, None)?)?)
    }

    /// Creates a dense destination with these sizes, in the same form as this tensor and with
    /// elements of the same width.
    ///
    /// If this tensor is a shape or has strides, the destination is a shape with the default
    /// layout. If it is a DirectML description, the destination is a packed description.
    pub(super) fn dense_like(
        &self,
        paths: &Paths,
        sizes: impl IntoIterator<Item = u64>,
    ) -> Result<Self, Error> {
        let located = |kind| {
            let path = paths.tensor(Operand::Destination, kind);
            move |error: StrideError| Error::from(error).below(&path)
        };
        let descriptor = self.descriptor();
        let bits = match self.form() {
            TensorForm::Shape(shape) => {
                shape.layout().map_or(0, |layout| layout.element_size_in_bits)
            }
            TensorForm::Strided(shape) => shape.element_size_in_bits(),
            TensorForm::Digits => descriptor.element_bits().into(),
            TensorForm::Buffer(desc) => {
                let sizes: Result<Vec<u32>, DmlError> = sizes
                    .into_iter()
                    .enumerate()
                    .map(|(dimension, given)| {
                        u32::try_from(given)
                            .map_err(|_| DmlError::SizeTooLarge { dimension, given })
                    })
                    .collect();
                let packed = BufferTensorDesc::new(desc.data_type(), &sizes?, None)?;
                return Self::try_from(packed).map_err(located("buffer_tensor_desc"));
            }
        };
        let sizes: Vec<u64> = sizes.into_iter().collect();
        let layout = (bits != 0).then(|| Layout::default_for_rank(sizes.len()).element_size(bits));
        let shape = Shape::new(descriptor.element_type(), sizes, layout)?;
        Self::try_from(shape).map_err(located("shape"))
    }

    /// Returns the name of the field that holds the tensor in `proto::Tensor`. A tensor of
    /// [`TensorForm::Digits`] has no such field, and uses the name of the field for strides.
    pub(super) fn kind(&self) -> &'static str {
        match self.form() {
            TensorForm::Shape(_) => "shape",
            TensorForm::Strided(_) | TensorForm::Digits => "strided",
            TensorForm::Buffer(_) => "buffer_tensor_desc",
        }
    }

    /// Returns the path of a field in the message of the tensor. `field` is its path in a shape,
    /// whose fields may have other names.
    pub(super) fn field(&self, field: FieldPath) -> FieldPath {
        match self.form() {
            TensorForm::Shape(_) => field,
            TensorForm::Strided(_) | TensorForm::Digits => {
                field.renamed(&[("dimensions", "sizes")])
            }
            TensorForm::Buffer(_) => {
                field.renamed(&[("dimensions", "sizes"), ("element_type", "data_type")])
            }
        }
    }
}

impl FromStr for Tensor {
    type Err = Error;

    /// Parses XLA's notation, or `KIND:TEXT` in the notation of another system; see [`notation`].
    ///
    /// Refuses [`TensorForm::Digits`], which [`notation::read`] accepts, because no operation
    /// accepts digits.
    fn from_str(text: &str) -> Result<Self, Error> {
        if !notation::is_other(text)? {
            return Ok(Self::try_from(text.parse::<crate::shape::Notation>()?)?);
        }
        let tensor = notation::read(text)?;
        if *tensor.form() == TensorForm::Digits {
            let reason = NotationError::Digits.to_string();
            return Err(ParseError::unsupported(0..text.len(), reason).into());
        }
        Ok(tensor)
    }
}
