//! [`StridedShape`]: an array with explicit strides, which XLA shapes cannot express.

use super::{Dimension, ElementType, FieldPath, Layout, Shape, ShapeError, validate};

/// An array described by sizes, strides and an offset, all in elements.
///
/// Element `(i, j, …)` is at the offset `offset + i·strides[0] + j·strides[1] + …`. A stride may be
/// negative. If a stride is 0, several elements share their memory; only a source can have such
/// strides, which lowering checks.
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
    /// Creates an array from its sizes, its strides, and the offset of the element at index 0. All
    /// are in elements.
    ///
    /// `element_size_in_bits` is the size of an element in memory. 0 means the width of the element
    /// type, rounded up to whole bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the type has no elements, if the numbers of sizes and strides differ, or
    /// if a value does not fit an int64.
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

    /// Returns the type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Returns the logical extents, in elements.
    #[must_use]
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Returns the distance between neighbours along each dimension, in elements.
    #[must_use]
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Returns the offset of the element at index 0 from the start of the memory, in elements.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the size of an element in memory, in bits. 0 means the width of the element type,
    /// rounded up to whole bytes.
    #[must_use]
    pub fn element_size_in_bits(&self) -> u64 {
        self.element_size_in_bits
    }

    /// Returns the number of logical dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// Converts the array to an XLA shape. This requires that the elements are contiguous, from
    /// offset 0 on, in some order of the dimensions; otherwise, returns `None`.
    ///
    /// The stride of a dimension with fewer than two elements has no effect, so its position in the
    /// layout is chosen here. If all other dimensions are in row-major order, the dimension keeps
    /// its row-major position; otherwise it becomes one of the most major dimensions.
    ///
    /// ```
    /// use stridec::shape::{ElementType::F32, StridedShape};
    /// let columns = StridedShape::new(F32, [2, 1, 3], [1, 7, 2], 0, 0)?;
    /// assert_eq!(columns.to_shape().unwrap().to_string(), "f32[2,1,3]{0,2,1}");
    /// assert_eq!(StridedShape::new(F32, [2, 3], [5, 1], 0, 0)?.to_shape(), None);
    /// # Ok::<(), stridec::shape::ShapeError>(())
    /// ```
    #[must_use]
    pub fn to_shape(&self) -> Option<Shape> {
        let mut order: Vec<usize> = (0..self.rank()).rev().collect();
        let is_empty = self.sizes.contains(&0);
        if !is_empty {
            let mut moving: Vec<usize> =
                order.iter().copied().filter(|&dimension| self.sizes[dimension] > 1).collect();
            moving.sort_by_key(|&dimension| self.strides[dimension]);
            let mut packed = 1;
            for &dimension in &moving {
                if self.strides[dimension] != packed {
                    return None;
                }
                packed = packed.checked_mul(i64::try_from(self.sizes[dimension]).ok()?)?;
            }
            if !moving.is_sorted_by(|a, b| a > b) {
                moving.extend(order.iter().filter(|&&dimension| self.sizes[dimension] == 1));
                order = moving;
            }
        }
        let layout = Layout::new(order).element_size(self.element_size_in_bits);
        (self.offset == 0 || is_empty)
            .then(|| Shape::new(self.element_type, self.sizes.iter().copied(), layout).ok())?
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
    fn dense_strides_are_a_layout() {
        use ElementType::F32;
        for (sizes, strides, expected) in [
            (&[2, 3][..], &[3, 1][..], Some("f32[2,3]{1,0}")),
            (&[2, 3], &[1, 2], Some("f32[2,3]{0,1}")),
            (&[1, 3], &[-9, 1], Some("f32[1,3]{1,0}")),
            (&[2, 1, 3, 4], &[12, 0, 1, 3], Some("f32[2,1,3,4]{2,3,0,1}")),
            (&[], &[], Some("f32[]")),
            (&[0, 3], &[-3, 7], Some("f32[0,3]{1,0}")),
            (&[2, 3], &[-3, 1], None),
            (&[2, 3], &[0, 1], None),
            (&[2, 3], &[1, 1], None),
            (&[2, 3], &[6, 2], None),
        ] {
            let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
            let shape = StridedShape::new(F32, sizes, strides.clone(), 0, 0).unwrap().to_shape();
            assert_eq!(shape.map(|shape| shape.to_string()).as_deref(), expected, "{strides:?}");
        }
        assert_eq!(StridedShape::new(F32, [2], [1], 3, 0).unwrap().to_shape(), None);
    }

    #[test]
    fn strides_may_broadcast_and_run_backwards() {
        let shape =
            StridedShape::new(ElementType::F32, [2, 3, 4], [-12, 0, i64::MIN], 12, 0).unwrap();
        assert_eq!(shape.strides(), [-12, 0, i64::MIN]);
    }
}
