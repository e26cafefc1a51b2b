//! [`Table`]: the destination element for each possible value of a source element.

use super::Tensor;
use crate::{
    nest::{NestError, TableRead, table_entries},
    shape::{Dimension, ElementType, Shape},
    stride::StrideDescriptor,
};

/// The destination element for each possible value of a source element of at most 8 bits.
///
/// A table is an array of elements of the destination's type, in the default layout. It has an
/// entry for each bit pattern of a source element: entry 3 is for the bits `0b11`, and entry 255 of
/// a table for `s8` is for -1. `pred` has two entries, for false and for true. There is either one
/// table for all elements, or a table for each index along a dimension of the source, such as the
/// channels of a picture.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    bytes: Vec<u8>,
    dimension: Option<usize>,
}

impl Table {
    /// Creates a table from the bytes of an array of the destination's type, in little-endian
    /// order. Without a dimension, the array is `[entries]` and serves all elements. With a
    /// dimension of the source, it is `[extent, entries]`, a table for each index along that
    /// dimension.
    #[must_use]
    pub fn new(bytes: Vec<u8>, dimension: Option<usize>) -> Self {
        Self { bytes, dimension }
    }

    /// Returns the bytes of the table, which kernels read as their second source.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the dimension of the source if each of its indices has a table, or `None` for a
    /// single table.
    #[must_use]
    pub fn dimension(&self) -> Option<usize> {
        self.dimension
    }

    /// Returns the shape that a table must have: `[entries]` for a single table, or
    /// `[extent, entries]` for a table for each index along `dimension`.
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

    /// Checks that the table has the size for these tensors, and returns its description for
    /// lowering.
    pub(super) fn reads(
        &self,
        source: &Tensor,
        destination: &Tensor,
    ) -> Result<TableRead, NestError> {
        let to = destination.descriptor().element_type();
        let shape = Self::shape(source, to, self.dimension)?;
        let descriptor = StrideDescriptor::try_from(&shape)?;
        let (given, expected) = (self.bytes.len(), descriptor.image_bytes());
        if given as u64 != expected {
            return Err(NestError::TableSize { shape: shape.to_string(), given, expected });
        }
        Ok(TableRead { descriptor, dimension: self.dimension })
    }

    /// Returns the words that mention the table in the title of an operation.
    pub(super) fn words(&self) -> String {
        match self.dimension {
            None => " through a table".to_owned(),
            Some(dimension) => format!(" through a table for each index of d{dimension}"),
        }
    }
}
