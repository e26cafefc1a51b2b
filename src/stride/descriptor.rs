//! [`StrideDescriptor`]: the map from the index of an element to its offset in memory. A *place* is
//! the room for one element, and the padding of an array consists of places that hold none.

use std::convert::Infallible;

use smallvec::SmallVec;

use super::{Coordinate, Coordinates, Forward, StrideError, size::bytes_of};
use crate::shape::ElementType;

/// The maximum length, in bytes, of a coordinate's name that is repeated inside the names of other
/// coordinates. Without this limit, names would grow exponentially if tiles join dimensions again
/// and again.
const LONGEST_NAME: usize = 60;

/// A reversible step of the computation that finds the offset of an element from its index.
///
/// A step computes new coordinates from existing ones. Coordinates are numbered from 0: first the
/// dimensions of the array, then the results of the steps in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Computes two coordinates, `of / by` and `of % by`. The inverse is `quotient · by +
    /// remainder`.
    Split {
        /// The coordinate to split.
        of: usize,
        /// The divisor, which is at least 1.
        by: u64,
    },
    /// Joins two coordinates into one, `major · extent(minor) + minor`. The inverse is a division
    /// by `extent(minor)`.
    Fold {
        /// The more significant coordinate.
        major: usize,
        /// The less significant coordinate.
        minor: usize,
    },
    /// Adds a coordinate that is always 0. It is needed if a tile has more dimensions than its
    /// array.
    Unit,
}

/// A dimension of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// The coordinate that is multiplied by the stride.
    pub coordinate: usize,
    /// The number of elements for which memory has room along the axis. If the coordinate has fewer
    /// values, the rest is padding.
    pub extent: u64,
    /// The distance between neighbours along the axis, in elements. If it is 0, all elements along
    /// the axis share one place, as in a broadcast. If it is negative, the axis is stored
    /// backwards.
    pub stride: i64,
}

/// A reversible map from the index of an element to its offset in memory, in elements. It consists
/// of [`Step`]s, which compute coordinates from the index, and of the dot product of these
/// coordinates with strides.
///
/// Dense, padded and explicitly strided arrays have no steps. Their sizes and strides are enough,
/// as in DirectML's `DML_BUFFER_TENSOR_DESC`. Each XLA tile splits the coordinates that it covers,
/// which may be results of earlier tiles. For example, `f32[3,5]{1,0:T(2,2)}`, figure 1 of XLA's
/// *Tiled layout*, places element (2,3) as follows:
///
/// ```text
/// axis    d0/2   d1/2   d0%2   d1%2
/// stride    12      4      2      1
/// (2,3)      1      1      0      1      12 + 4 + 0 + 1 = 17
/// ```
///
/// The *image* of a tensor is its content in a buffer or file. It consists of
/// [`prefix_bytes`](Self::prefix_bytes) bytes, and of
/// [`physical_elements`](Self::physical_elements) *places* with
/// [`element_bits`](Self::element_bits) bits each, packed from the low bits up. Offsets count
/// places from the end of the prefix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StrideDescriptor {
    pub(super) element_type: ElementType,
    pub(super) element_bits: u32,
    pub(super) rank: usize,
    pub(super) steps: SmallVec<[Step; 4]>,
    pub(super) extents: SmallVec<[u64; 12]>,
    pub(super) axes: SmallVec<[Axis; 8]>,
    pub(super) offset: u64,
    pub(super) prefix_bytes: u64,
    pub(super) physical_elements: u64,
    pub(super) padding: u128,
}

impl StrideDescriptor {
    /// Returns the element type.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Returns the size of an element in memory, in bits: 1, 2, 4, 8, 16, 32, 64 or 128.
    #[must_use]
    pub fn element_bits(&self) -> u32 {
        self.element_bits
    }

    /// Returns the logical extents, in elements.
    #[must_use]
    pub fn sizes(&self) -> &[u64] {
        &self.extents[..self.rank]
    }

    /// Returns the number of logical dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the steps from a logical index to memory, in the order of their evaluation.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the number of values of each coordinate: the extents of the array, and then the
    /// number of values of the results of each step.
    ///
    /// The remainder of a split by 8 has 8 values, even if the last tile is partial.
    #[must_use]
    pub fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// Returns the dimensions of memory, from the one with the greatest stride to the one with the
    /// least.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the offset of the element at index 0, in elements from the end of the prefix.
    #[must_use]
    pub fn base_offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes of metadata before the first element, `M(n)`.
    #[must_use]
    pub fn prefix_bytes(&self) -> u64 {
        self.prefix_bytes
    }

    /// Returns the size of the memory after the prefix, in elements, including padding and gaps.
    #[must_use]
    pub fn physical_elements(&self) -> u64 {
        self.physical_elements
    }

    /// Returns the size of the tensor in memory in bytes, including the prefix. A partial last byte
    /// counts as whole.
    #[must_use]
    pub fn image_bytes(&self) -> u64 {
        // The sum cannot saturate, because lowering has checked that the tensor has at most 2^63-1
        // bytes.
        let places = bytes_of(self.physical_elements, self.element_bits).unwrap_or(u64::MAX);
        self.prefix_bytes.saturating_add(places)
    }

    /// Returns the size of the prefix as a number of elements, or `None` if the prefix is not a
    /// whole number of elements.
    pub(crate) fn prefix_elements(&self) -> Option<u64> {
        let (bits, element) = (u128::from(self.prefix_bytes) * 8, u128::from(self.element_bits));
        let is_whole = bits.is_multiple_of(element);
        is_whole.then(|| u64::try_from(bits / element).unwrap_or(u64::MAX))
    }

    /// Returns the number of elements: the product of the extents.
    #[must_use]
    pub fn elements(&self) -> u64 {
        if self.sizes().contains(&0) { 0 } else { self.sizes().iter().product() }
    }

    /// Returns the bit pattern of the padding, in the lowest [`element_bits`](Self::element_bits)
    /// bits.
    ///
    /// If the layout has `padded_dimensions`, their padding and the padding of tiles have this
    /// value. Without `padded_dimensions`, the padding of tiles is zero. Gaps and the tail are
    /// always zero.
    #[must_use]
    pub fn padding(&self) -> u128 {
        self.padding
    }

    /// Returns true if the memory of the tensor consists of its elements alone, without padding,
    /// gaps, a prefix, or elements that share a place.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        if self.image_bytes() == 0 {
            return true;
        }
        let covered = packed_elements(self.axes.iter().map(|axis| (axis.stride, axis.extent)));
        self.prefix_bytes == 0
            && self.offset == 0
            && covered == Some(self.physical_elements)
            && self.elements() == self.physical_elements
    }

    /// Returns the extents of the memory, from major to minor, if the memory is one dense array of
    /// places. Returns `None` if it has a prefix, a tail, or gaps between strides.
    ///
    /// For example, the extents are `[5, 3]` for `f32[2,3]{0,1:PAD(3,5)}`, and `[2, 3, 2, 2]` for
    /// `f32[3,5]{1,0:T(2,2)}`.
    #[must_use]
    pub fn physical_dimensions(&self) -> Option<Vec<u64>> {
        let extents: Vec<u64> = self.axes().iter().map(|axis| axis.extent).collect();
        let cells = extents.iter().try_fold(1_u64, |cells, &extent| cells.checked_mul(extent))?;
        let mut stride = 1;
        let dense = self.axes().iter().rev().all(|axis| {
            let expected = stride;
            stride *= i64::try_from(axis.extent.max(1)).unwrap_or(0);
            axis.stride == expected || axis.extent <= 1
        });
        let whole = self.prefix_bytes() == 0 && self.base_offset() == 0;
        (whole && cells == self.physical_elements() && (dense || cells == 0)).then_some(extents)
    }

    /// Returns the extents of [`physical_dimensions`](Self::physical_dimensions) without the
    /// extents of 1 that exist only because of tiles: remainders of divisions by 1, and dimensions
    /// that a tile adds before the first one. The most significant part of each dimension is kept,
    /// even if its extent is 1.
    ///
    /// ```
    /// use stridec::{shape::Shape, stride::StrideDescriptor};
    /// let shape: Shape = "f32[2,24,1,5]{3,2,1,0:T(8,1,1)}".parse()?;
    /// let blocked = StrideDescriptor::try_from(&shape)?;
    /// assert_eq!(blocked.physical_dimensions(), Some(vec![2, 3, 1, 5, 8, 1, 1]));
    /// assert_eq!(blocked.array_dimensions(), Some(vec![2, 3, 1, 5, 8]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn array_dimensions(&self) -> Option<Vec<u64>> {
        let mut tops: Vec<usize> = (0..self.rank).collect();
        let mut next = self.rank;
        for step in &self.steps {
            if let Step::Split { of, .. } = step {
                tops.iter_mut().filter(|top| **top == *of).for_each(|top| *top = next);
                next += 1;
            }
            next += 1;
        }
        let extents = self.physical_dimensions()?;
        let is_kept =
            |&(extent, axis): &(u64, &Axis)| extent != 1 || tops.contains(&axis.coordinate);
        let kept = extents.into_iter().zip(&self.axes).filter(is_kept);
        Some(kept.map(|(extent, _)| extent).collect())
    }

    /// Returns the linear offset of the element at `index`, in elements from the end of the prefix.
    ///
    /// ```
    /// use stridec::stride::StrideDescriptor;
    /// let tiled: stridec::shape::Shape = "f32[3,5]{1,0:T(2,2)}".parse()?;
    /// assert_eq!(StrideDescriptor::try_from(&tiled)?.offset(&[2, 3])?, 17);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if `index` does not have one value for each dimension, or if a value is not
    /// below the extent of its dimension.
    pub fn offset(&self, index: &[u64]) -> Result<u64, StrideError> {
        if index.len() != self.rank {
            return Err(StrideError::Count { field: "index", given: index.len(), rank: self.rank });
        }
        for (dimension, (&given, &limit)) in index.iter().zip(self.sizes()).enumerate() {
            if given >= limit {
                return Err(StrideError::Index { dimension, given, limit });
            }
        }
        let values = self.coordinates(index);
        let strided: i64 =
            self.axes.iter().map(|axis| axis.stride * signed(values[axis.coordinate])).sum();
        Ok(self.offset.wrapping_add_signed(strided))
    }

    /// Returns a view of the same memory in which each element is split into `parts` smaller
    /// elements along a new innermost dimension. For example, `f32[3]` in 2 parts is an array of 3
    /// by 2 elements of 16 bits.
    ///
    /// `parts` must divide the element size in bits. The offsets and sizes of the result are
    /// counted in parts.
    pub(crate) fn split_elements(&self, parts: u32) -> Self {
        let shift = |coordinate: usize| coordinate + usize::from(coordinate >= self.rank);
        let mut extents = self.extents.clone();
        extents.insert(self.rank, parts.into());
        let mut axes: SmallVec<[Axis; 8]> = self
            .axes
            .iter()
            .map(|axis| Axis {
                coordinate: shift(axis.coordinate),
                // If this saturates, no offset changes: a stride can exceed the memory only along
                // an axis with fewer than two elements.
                stride: axis.stride.saturating_mul(parts.into()),
                ..*axis
            })
            .collect();
        axes.push(Axis { coordinate: self.rank, extent: parts.into(), stride: 1 });
        Self {
            element_bits: self.element_bits / parts,
            rank: self.rank + 1,
            steps: self.steps.iter().map(|step| step.renumbered(shift)).collect(),
            extents,
            axes,
            offset: self.offset.saturating_mul(parts.into()),
            // If this saturates, the tensor is too large for a nest, and building the nest returns
            // an error.
            physical_elements: self.physical_elements.saturating_mul(parts.into()),
            ..self.clone()
        }
    }

    /// Returns the name of a coordinate, such as `d1` for a dimension, `d0/2` and `d0%2` for the
    /// results of a tile, and `(d0*7+d1)` for two dimensions that a `*` in a tile joins.
    ///
    /// The name of a coordinate contains the names of the coordinates from which it is computed. To
    /// keep names short, a name of more than 60 bytes is replaced there by the coordinate's number,
    /// such as `c9`.
    #[must_use]
    pub fn coordinate_name(&self, coordinate: usize) -> String {
        let names = self.coordinate_names();
        names.into_iter().nth(coordinate).unwrap_or_else(|| format!("c{coordinate}"))
    }

    /// Returns the [names](Self::coordinate_name) of all coordinates.
    pub(crate) fn coordinate_names(&self) -> Coordinates<String> {
        let mut names = (0..self.rank).map(|dimension| format!("d{dimension}")).collect();
        let Ok(()) = self.forward(&mut CoordinateNames, &mut names);
        names
    }
}

/// Runs the steps with names, to compute the name of each coordinate.
struct CoordinateNames;

impl Coordinate<'_, String> {
    /// Returns the text that represents this coordinate inside other names: its name, or its number
    /// if the name is too long.
    fn name(&self) -> String {
        if self.value.len() > LONGEST_NAME {
            format!("c{}", self.number)
        } else {
            self.value.clone()
        }
    }
}

impl Forward for CoordinateNames {
    type Value = String;
    type Error = Infallible;

    fn split(&mut self, of: Coordinate<'_, String>, by: u64) -> Result<[String; 2], Infallible> {
        let name = of.name();
        Ok(match by {
            // A division by 1 does not change the coordinate.
            1 => [name, "0".into()],
            // Of two operations in a row, brackets show which comes first.
            _ if name.ends_with(|last: char| last.is_ascii_digit())
                && name.contains(['/', '%']) =>
            {
                [format!("({name})/{by}"), format!("({name})%{by}")]
            }
            _ => [format!("{name}/{by}"), format!("{name}%{by}")],
        })
    }

    fn fold(
        &mut self,
        major: Coordinate<'_, String>,
        minor: Coordinate<'_, String>,
    ) -> Result<String, Infallible> {
        Ok(format!("({}*{}+{})", major.name(), minor.extent, minor.name()))
    }

    fn unit(&mut self) -> String {
        "0".into()
    }
}

/// Returns the number of elements if dimensions with these strides and sizes, in some order, cover
/// memory without gaps or overlaps. Otherwise returns `None`.
pub(crate) fn packed_elements(dimensions: impl Iterator<Item = (i64, u64)>) -> Option<u64> {
    let mut dimensions: SmallVec<[(i64, u64); 8]> =
        dimensions.filter(|&(_, size)| size != 1).collect();
    dimensions.sort_unstable();
    dimensions.into_iter().try_fold(1, |covered, (stride, size)| {
        (u64::try_from(stride) == Ok(covered)).then(|| covered * size)
    })
}

/// Converts an extent or an offset to an `i64`. The number always fits, because lowering limits a
/// tensor to 2^63-1 places.
pub(super) fn signed(n: u64) -> i64 {
    i64::try_from(n).expect("a lowered tensor holds fewer than 2^63 elements")
}

#[cfg(test)]
mod tests {
    use super::StrideDescriptor;
    use crate::shape::Shape;

    #[test]
    fn coordinates_are_named_by_what_made_them() {
        for (text, expected) in [
            ("f32[8,6]{1,0:T(2,3)}", &["d0/2", "d0%2", "d1/3", "d1%3"][..]),
            ("f32[8,6]{1,0:T(1,3)}", &["d0", "0", "d1/3", "d1%3"]),
            ("f32[2,3]{1,0:T(*,4)}", &["(d0*3+d1)", "(d0*3+d1)/4", "(d0*3+d1)%4"]),
            ("f32[8,9]{1,0:T(2,4,3)}", &["0", "0/2", "0%2", "d0/4", "d0%4", "d1/3", "d1%3"]),
        ] {
            let descriptor = StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap();
            let names: Vec<String> =
                (2..2 + expected.len()).map(|n| descriptor.coordinate_name(n)).collect();
            assert_eq!(names, expected, "{text}");
        }
    }

    #[test]
    fn the_memory_of_a_layout_is_an_array() {
        for (shape, dimensions) in [
            ("f32[2,3]{0,1:PAD(3,5,zero)}", Some(vec![5, 3])),
            ("f32[3,5]{1,0:T(2,2)}", Some(vec![2, 3, 2, 2])),
            ("f32[2,3,4]{1,2,0}", Some(vec![2, 4, 3])),
            ("f32[]", Some(vec![])),
            ("f32[0,3]", Some(vec![0, 3])),
            ("f32[3]{0:L(8)}", None),
            ("f32[3]{0:M(4)}", None),
        ] {
            let shape: Shape = shape.parse().unwrap();
            let tensor = StrideDescriptor::try_from(&shape).unwrap();
            assert_eq!(tensor.physical_dimensions(), dimensions, "{shape}");
        }
    }
}
