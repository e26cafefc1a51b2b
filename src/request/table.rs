//! [`Table`]: the elements that the values of a source become.

use super::Tensor;
use crate::{
    nest::{NestError, TableRead, table_entries},
    shape::{Dimension, ElementType, Shape},
    stride::StrideDescriptor,
};

/// The elements that the values of a source with elements of at most 8 bits become.
///
/// A table is an array of elements of the destination's type, in the default layout. It has an
/// entry for each bit pattern of a source element: entry 3 is for the bits `0b11`, and entry 255 of
/// a table for `s8` is for -1. `pred` has two entries, for false and for true. A table either
/// serves all elements, or there is one for each index along a dimension of the source, such as
/// the channels of an image.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    bytes: Vec<u8>,
    dimension: Option<usize>,
}

impl Table {
    /// Returns a table for all elements: the bytes of an array `[entries]` of the destination's
    /// type, numbers with the lowest byte first.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, dimension: None }
    }

    /// Returns tables for the indices along a dimension of the source: the bytes of an array
    /// `[extent, entries]`, where `extent` is the source's extent in that dimension.
    #[must_use]
    pub fn along(dimension: usize, bytes: Vec<u8>) -> Self {
        Self { bytes, dimension: Some(dimension) }
    }

    /// Returns the bytes of the table, which kernels read as their second source.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the dimension of the source whose indices have tables of their own.
    #[must_use]
    pub fn dimension(&self) -> Option<usize> {
        self.dimension
    }

    /// Returns the shape that a table must have: `[entries]`, or with a dimension
    /// `[extent, entries]`.
    ///
    /// # Errors
    ///
    /// Returns an error if the source has elements of more than 8 bits, or does not have the
    /// dimension.
    pub fn shape(
        source: &Tensor,
        to: ElementType,
        dimension: Option<usize>,
    ) -> Result<Shape, NestError> {
        let source = source.descriptor();
        let entries = table_entries(source.element_type())?;
        let Some(dimension) = dimension else {
            return Ok(Shape::array(to, [Dimension::Fixed(entries)], None)?);
        };
        let Some(&extent) = source.sizes().get(dimension) else {
            return Err(NestError::TableDimension { given: dimension, rank: source.rank() });
        };
        Ok(Shape::array(to, [extent, entries].map(Dimension::Fixed), None)?)
    }

    /// Returns the strides of the table between two tensors, after checking its size.
    pub(super) fn descriptor(
        &self,
        source: &Tensor,
        destination: &Tensor,
    ) -> Result<StrideDescriptor, NestError> {
        let to = destination.descriptor().element_type();
        let shape = Self::shape(source, to, self.dimension)?;
        let descriptor = StrideDescriptor::try_from(&shape)?;
        let (given, expected) = (self.bytes.len(), descriptor.image_bytes());
        if given as u64 != expected {
            return Err(NestError::TableSize { shape: shape.to_string(), given, expected });
        }
        Ok(descriptor)
    }

    /// Returns the reads of this table, whose strides are given.
    pub(super) fn reads<'a>(&self, descriptor: &'a StrideDescriptor) -> TableRead<'a> {
        TableRead { descriptor, dimension: self.dimension }
    }

    /// Returns the words for a table in the title of an operation.
    pub(super) fn words(&self) -> String {
        match self.dimension {
            None => " through a table".to_owned(),
            Some(dimension) => format!(" through a table for each index of d{dimension}"),
        }
    }
}
