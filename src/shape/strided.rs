//! An array with explicit strides.

use super::{Dimension, ElementType, FieldPath, ShapeError, validate};

/// An array with explicit strides, which no XLA shape can say: sizes, strides and an offset, all in elements.
///
/// Element `(i, j, …)` lies `offset + i·strides[0] + j·strides[1] + …` elements into memory. A stride may be 0, which
/// broadcasts, or negative; whether a destination may have it is decided when lowering.
///
/// ```
/// use stridec::shape::{ElementType, StridedShape};
/// let rows = StridedShape::new(ElementType::F32, [2, 3], [5, 1], 0, 0)?;
/// assert_eq!(rows.to_string(), "f32[2,3] strided<[5,1]>");
/// assert_eq!("f32[2,3] strided<[5,1]>".parse(), Ok(rows));
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StridedShape {
    element_type: ElementType,
    sizes: Vec<u64>,
    strides: Vec<i64>,
    offset: u64,
    element_size_in_bits: u64,
}

impl StridedShape {
    /// An array of `sizes`, its neighbours `strides` elements apart, its first element after `offset` others.
    ///
    /// `element_size_in_bits` is what an element takes in memory, 0 for the type's own in whole bytes.
    ///
    /// # Errors
    ///
    /// Where the type has no elements, strides are not as many as sizes, or a number does not fit an int64.
    pub fn new(
        element_type: ElementType,
        sizes: impl IntoIterator<Item = u64>,
        strides: impl IntoIterator<Item = i64>,
        offset: u64,
        element_size_in_bits: u64,
    ) -> Result<Self, ShapeError> {
        let sizes: Vec<u64> = sizes.into_iter().collect();
        let strides: Vec<i64> = strides.into_iter().collect();
        if element_type.bits().is_none() {
            return Err(ShapeError::NoElements {
                field: FieldPath::new("element_type"),
                element_type,
            });
        }
        let field = FieldPath::new("sizes");
        validate::extents(&field, sizes.iter().map(|&size| Dimension::Fixed(size).bound()))?;
        if strides.len() != sizes.len() {
            return Err(ShapeError::Count {
                field: FieldPath::new("strides"),
                given: strides.len(),
                rank: sizes.len(),
                accepted: "one for each dimension",
            });
        }
        for (name, number) in [("offset", offset), ("element_size_in_bits", element_size_in_bits)] {
            validate::int64(|| FieldPath::new(name), number, 0, i64::MAX)?;
        }
        Ok(Self { element_type, sizes, strides, offset, element_size_in_bits })
    }

    /// The type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Logical extents, in elements.
    #[must_use]
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Distances between neighbours, in elements, one per dimension.
    #[must_use]
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Elements before the element at index 0.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bits that an element takes in memory; 0 for the type's own, in whole bytes.
    #[must_use]
    pub fn element_size_in_bits(&self) -> u64 {
        self.element_size_in_bits
    }

    /// Number of logical dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_names_its_field() {
        use ElementType::{F32, Token};
        let big = 1 << 63;
        for (shape, message) in [
            (
                StridedShape::new(Token, [], [], 0, 0),
                "element_type: expected a type with elements, got token",
            ),
            (
                StridedShape::new(F32, [2, 3], [1], 0, 0),
                "strides: expected 2 entries, one for each dimension, got 1",
            ),
            (
                StridedShape::new(F32, [2, big], [1, 1], 0, 0),
                "sizes[1]: expected 0 to 2^63-1, got 9223372036854775808",
            ),
            (
                StridedShape::new(F32, [2], [1], big, 0),
                "offset: expected 0 to 2^63-1, got 9223372036854775808",
            ),
            (
                StridedShape::new(F32, [1; 65], [1; 65], 0, 0),
                "sizes: expected at most 64 dimensions, got 65",
            ),
        ] {
            assert_eq!(shape.unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn strides_may_broadcast_and_run_backwards() {
        let shape =
            StridedShape::new(ElementType::F32, [2, 3, 4], [-12, 0, i64::MIN], 12, 0).unwrap();
        assert_eq!(shape.strides(), [-12, 0, i64::MIN]);
    }
}
