//! A [`Footprint`] is the memory that a shape takes, with and without padding.

use crate::{
    shape::{Shape, queries},
    stride::size,
};

/// The memory that a shape takes. The memory of a tuple is the sum over its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Footprint {
    /// The number of elements. The extent of a bounded dimension is its bound.
    pub elements: u64,
    /// The size of the elements alone, in bytes.
    pub unpadded_bytes: u64,
    /// The size of the allocation with all padding, in bytes.
    pub bytes: u64,
}

impl Footprint {
    /// Returns the memory of a shape. Returns `None` if it is not known, because an extent is
    /// unknown or because strides cannot describe the layout.
    ///
    /// ```
    /// use stridec::hlo::Footprint;
    /// let narrow = Footprint::of(&"f32[128,6]{1,0:T(8,128)}".parse()?).unwrap();
    /// assert_eq!((narrow.unpadded_bytes, narrow.bytes), (3072, 65_536));
    /// assert_eq!(narrow.padding_bytes(), 62_464);
    /// # Ok::<(), stridec::shape::ParseError>(())
    /// ```
    #[must_use]
    pub fn of(shape: &Shape) -> Option<Self> {
        if shape.is_array() {
            return Some(Self {
                elements: queries::elements_in(shape)?,
                unpadded_bytes: unpadded_bytes(shape)?,
                bytes: size::array_size(shape).ok()?,
            });
        }
        shape.tuple_shapes().iter().try_fold(Self::default(), |sum, part| {
            let part = Self::of(part)?;
            Some(Self {
                elements: sum.elements.saturating_add(part.elements),
                unpadded_bytes: sum.unpadded_bytes.saturating_add(part.unpadded_bytes),
                bytes: sum.bytes.saturating_add(part.bytes),
            })
        })
    }

    /// Returns the number of bytes that hold no element.
    #[must_use]
    pub fn padding_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.unpadded_bytes)
    }

    /// Returns the factor by which padding enlarges the array: the size of the allocation, divided
    /// by the size of its elements. The factor is 1 if there are no elements, because the quotient
    /// does not exist then.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a factor needs fewer than 53 bits
    pub fn expansion(&self) -> f64 {
        match self.unpadded_bytes {
            0 => 1.0,
            unpadded => self.bytes as f64 / unpadded as f64,
        }
    }
}

/// Returns the size of an array's elements in bytes, without padding. An element counts with the
/// bits in which the layout stores it, but with no more than the whole bytes that its type needs:
/// an `s4` counts with 4 bits under `E(4)`, and with 8 bits otherwise. Returns `None` if an extent
/// is unknown.
fn unpadded_bytes(shape: &Shape) -> Option<u64> {
    let bytes = size::byte_size_of(shape).ok()?;
    let bits = shape.element_type().storage_bits()?;
    let of_type = size::bytes_of(queries::elements_in(shape)?, bits);
    Some(of_type.map_or(bytes, |of_type| bytes.min(of_type)))
}
