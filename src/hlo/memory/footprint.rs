//! What one shape takes.

use crate::{shape::Shape, xla::shape_util};

/// What a shape takes in memory; of a tuple, what its parts take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Footprint {
    /// Elements, those of a bounded dimension at its bound.
    pub elements: u64,
    /// Bytes of the elements alone.
    pub unpadded_bytes: u64,
    /// Bytes of the allocation, every kind of padding included.
    pub bytes: u64,
}

impl Footprint {
    /// Measures a shape; `None` where an extent is not known, or the layout is one that has no strides.
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
                elements: shape_util::elements_in(shape)?,
                unpadded_bytes: shape_util::byte_size_of(shape).ok()?,
                bytes: shape_util::array_size(shape).ok()?,
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

    /// Bytes that hold no element.
    #[must_use]
    pub fn padding_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.unpadded_bytes)
    }

    /// How many times the bytes of the elements the allocation is; 1 where there are none.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a factor needs no 53 bits
    pub fn expansion(&self) -> f64 {
        match self.unpadded_bytes {
            0 => 1.0,
            unpadded => self.bytes as f64 / unpadded as f64,
        }
    }
}
