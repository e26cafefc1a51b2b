//! A [`Literal`] is the value of a constant, stored as bytes in row-major order.

use smallvec::SmallVec;

use super::InstructionError;
use crate::shape::{Dimension, ElementType, FieldPath, Layout, Shape, ShapeError, queries};

/// The value of a constant: an array, or a tuple of values.
///
/// [`bytes`](Self::bytes) contains the elements of an array in row-major order, whatever the layout
/// in which the module stored the constant. Each element takes a whole number of bytes, in
/// little-endian order:
///
/// - A `pred` is 0 or 1.
/// - An element narrower than 8 bits takes one byte, with its value in the low bits and zeros
///   above.
/// - A complex number is its real part, followed by its imaginary part.
///
/// The bytes of a tuple are the bytes of its elements, one element after another.
///
/// ```
/// use stridec::hlo::Literal;
/// let literal = Literal::new(&"s16[2,2]".parse()?, vec![1, 0, 2, 0, 3, 0, 0xff, 0xff])?;
/// assert_eq!(literal.shape().to_string(), "s16[2,2]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    shape: Shape,
    bytes: Vec<u8>,
}

impl Literal {
    /// Creates a value from its bytes, which must be in the order that [`Literal`] describes.
    /// Layouts in `shape` are ignored. Bits that an element does not use are cleared.
    ///
    /// # Errors
    ///
    /// Returns an error if an extent is not fixed, or if the number of bytes does not match the
    /// shape.
    pub fn new(shape: &Shape, mut bytes: Vec<u8>) -> Result<Self, InstructionError> {
        let shape = without_layouts(shape)?;
        let expected = byte_count(&shape).unwrap_or(u64::MAX);
        if bytes.len() as u64 != expected {
            return Err(InstructionError::LiteralSize {
                field: FieldPath::new("literal"),
                what: "bytes",
                expected,
                given: bytes.len() as u64,
                shape: shape.into(),
            });
        }
        clear_unused_bits(&shape, &mut bytes);
        Ok(Self { shape, bytes })
    }

    /// Creates a value from bytes in the order in which the layout of `shape` stores the elements.
    /// Each element is encoded as [`Literal`] describes. Only the order of the dimensions matters,
    /// because literals have no tiles and no padding.
    pub(super) fn from_memory_order(
        shape: &Shape,
        bytes: Vec<u8>,
    ) -> Result<Self, InstructionError> {
        let literal = Self::new(shape, bytes)?;
        match shape.layout() {
            Some(layout) if !is_row_major(layout) => {
                let bytes = row_major(&literal, &layout.minor_to_major);
                Ok(Self { bytes, ..literal })
            }
            _ => Ok(literal),
        }
    }

    /// Creates a tuple from its elements.
    pub(super) fn tuple(parts: Vec<Self>) -> Result<Self, InstructionError> {
        let shape = Shape::tuple(parts.iter().map(|part| part.shape.clone()))?;
        Ok(Self { shape, bytes: parts.into_iter().flat_map(|part| part.bytes).collect() })
    }

    /// Returns the shape of the value. It has no layouts.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the bytes of the elements, in the order that [`Literal`] describes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the elements of a tuple, or an empty list if the value is an array.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let mut rest = self.bytes.as_slice();
        let parts = self.shape.tuple_shapes().iter().map(|part| {
            let size = byte_count(part).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
            let (bytes, after) = rest.split_at(size);
            rest = after;
            Self { shape: part.clone(), bytes: bytes.to_vec() }
        });
        parts.collect()
    }
}

/// Returns a shape without its layouts.
///
/// # Errors
///
/// Returns an error if an extent is not fixed, or if the shape contains a token, a buffer or an
/// opaque value.
fn without_layouts(shape: &Shape) -> Result<Shape, ShapeError> {
    if shape.element_type() == ElementType::Tuple {
        return Shape::tuple(
            shape.tuple_shapes().iter().map(without_layouts).collect::<Result<Vec<_>, _>>()?,
        );
    }
    if !shape.is_array() {
        let field = FieldPath::new("literal").field("shape").field("element_type");
        return Err(ShapeError::NoElements { field, element_type: shape.element_type() });
    }
    let mut extents: SmallVec<[u64; 8]> = SmallVec::new();
    for (dimension, extent) in shape.dimensions().iter().enumerate() {
        let Dimension::Fixed(extent) = *extent else {
            let field = FieldPath::new("literal").field("shape").field("is_dynamic_dimension");
            let field = field.index(dimension);
            return Err(ShapeError::Range { field, given: 1, least: 0, greatest: 0 });
        };
        extents.push(extent);
    }
    Shape::new(shape.element_type(), extents, None)
}

/// Returns the size in bytes of a literal with this shape, or `None` if the size does not fit in a
/// `u64`.
fn byte_count(shape: &Shape) -> Option<u64> {
    let mut parts = shape.tuple_shapes().iter();
    let own = match shape.element_type().storage_bits() {
        Some(bits) => queries::elements_in(shape)?.checked_mul(u64::from(bits / 8))?,
        None => 0,
    };
    parts.try_fold(own, |sum, part| sum.checked_add(byte_count(part)?))
}

/// Normalizes the bytes of a literal, because literals with equal values must compare as equal:
/// clears the bits that an element narrower than 8 bits does not use, and sets every nonzero `pred`
/// to 1.
fn clear_unused_bits(shape: &Shape, bytes: &mut [u8]) {
    let mut rest = bytes;
    for part in shape.tuple_shapes() {
        let size = byte_count(part).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
        let (own, after) = rest.split_at_mut(size);
        clear_unused_bits(part, own);
        rest = after;
    }
    match shape.element_type().bits() {
        Some(1) if shape.element_type() == ElementType::Pred => {
            for byte in rest {
                *byte = u8::from(*byte != 0);
            }
        }
        Some(bits @ 1..8) => {
            for byte in rest {
                *byte &= (1 << bits) - 1;
            }
        }
        _ => {}
    }
}

/// Returns true if the dimensions of the layout are in row-major order.
fn is_row_major(layout: &Layout) -> bool {
    layout.minor_to_major.iter().rev().copied().eq(0..layout.minor_to_major.len())
}

/// Reorders the elements of a literal from the dimension order `minor_to_major` to row-major order,
/// and returns their bytes.
fn row_major(literal: &Literal, minor_to_major: &[usize]) -> Vec<u8> {
    let extents = queries::bounds(&literal.shape).unwrap_or_default();
    let elements = extents.iter().product::<u64>();
    let Some(width) = (literal.bytes.len() as u64).checked_div(elements) else {
        return Vec::new();
    };
    let to_usize = |n: u64| usize::try_from(n).expect("no more than the bytes that are there");
    let width = to_usize(width);
    let mut strides = vec![0; extents.len()];
    let mut stride = width;
    for &dimension in minor_to_major {
        strides[dimension] = stride;
        stride *= to_usize(extents[dimension]);
    }
    let mut index = vec![0; extents.len()];
    let mut bytes = Vec::with_capacity(literal.bytes.len());
    for _ in 0..elements {
        let offset: usize =
            index.iter().zip(&strides).map(|(&i, stride)| to_usize(i) * stride).sum();
        bytes.extend_from_slice(&literal.bytes[offset..offset + width]);
        for dimension in (0..extents.len()).rev() {
            index[dimension] += 1;
            if index[dimension] < extents[dimension] {
                break;
            }
            index[dimension] = 0;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_in_row_major_order() {
        let shape: Shape = "u8[2,3]{0,1}".parse().unwrap();
        let literal = Literal::from_memory_order(&shape, vec![1, 4, 2, 5, 3, 6]).unwrap();
        assert_eq!(literal.bytes(), [1, 2, 3, 4, 5, 6]);
        let shape: Shape = "u16[2,1,2]{1,0,2}".parse().unwrap();
        let literal = Literal::from_memory_order(&shape, vec![1, 0, 3, 0, 2, 0, 4, 0]).unwrap();
        assert_eq!(literal.bytes(), [1, 0, 2, 0, 3, 0, 4, 0]);
        let empty: Shape = "u8[2,0]{0,1}".parse().unwrap();
        assert!(Literal::from_memory_order(&empty, Vec::new()).unwrap().bytes().is_empty());
    }

    #[test]
    fn bits_that_a_type_lacks_are_cleared() {
        let small = Literal::new(&"s4[2]".parse().unwrap(), vec![0xf8, 7]).unwrap();
        assert_eq!(small.bytes(), [8, 7]);
        let pred = Literal::new(&"pred[2]".parse().unwrap(), vec![2, 0]).unwrap();
        assert_eq!(pred.bytes(), [1, 0]);
    }

    #[test]
    fn a_tuple_has_its_parts_bytes() {
        let shape: Shape = "(u8[2], (pred[], s4[1]), u16[])".parse().unwrap();
        let literal = Literal::new(&shape, vec![1, 2, 3, 0xff, 4, 5]).unwrap();
        assert_eq!(literal.bytes(), [1, 2, 1, 0xf, 4, 5]);
        let parts = literal.parts();
        assert_eq!(parts[1].parts()[1].bytes(), [0xf]);
        assert_eq!(Literal::tuple(parts), Ok(literal));
    }

    #[test]
    fn the_bytes_are_those_of_the_shape() {
        let error = Literal::new(&"s16[3]".parse().unwrap(), vec![0; 5]).unwrap_err();
        assert_eq!(error.to_string(), "literal: expected 6 bytes, those of s16[3], got 5");
        assert!(Literal::new(&"s16[<=3]".parse().unwrap(), vec![0; 6]).is_err());
    }
}
