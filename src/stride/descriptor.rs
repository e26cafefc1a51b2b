//! [`StrideDescriptor`]: the steps, axes and strides of a tensor's memory.

use std::convert::Infallible;

use smallvec::SmallVec;

use super::{Coordinate, Coordinates, Forward, StrideError};
use crate::shape::ElementType;

/// Bytes of a coordinate's name up to which others spell it out: each fold may name a coordinate twice.
const LONGEST_NAME: usize = 60;

/// One reversible step from a logical index towards memory.
///
/// Coordinates are numbered: the logical dimensions first, then what each step makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Makes two coordinates, `of / by` and `of % by`; undone by `quotient · by + remainder`.
    Split {
        /// The coordinate that is split.
        of: usize,
        /// Values of the remainder; at least 1.
        by: u64,
    },
    /// Makes one coordinate, `major · extent(minor) + minor`; undone by a division.
    Fold {
        /// The coordinate that changes slowly.
        major: usize,
        /// The coordinate that changes fast.
        minor: usize,
    },
    /// Makes one coordinate that is always 0: a tile of higher rank than its array.
    Unit,
}

/// One dimension of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// The coordinate that runs along it.
    pub coordinate: usize,
    /// Places along it, at least the coordinate's values; the places past those are padding.
    pub extent: u64,
    /// Distance between neighbours, in elements; 0 broadcasts, a negative one walks back.
    pub stride: i64,
}

/// Maps a logical index to a linear offset, in elements, and back: [`Step`]s, then a dot product with strides.
///
/// Dense, padded and explicitly strided arrays need no step: they are sizes and strides, as in DirectML's
/// `DML_BUFFER_TENSOR_DESC`. Each XLA tile splits the coordinates that it covers, whatever earlier tiles made of them.
/// `f32[3,5]{1,0:T(2,2)}`, figure 1 of XLA's *Tiled layout*, places element (2,3) so:
///
/// ```text
/// axis    d0/2   d1/2   d0%2   d1%2
/// stride    12      4      2      1
/// (2,3)      1      1      0      1      12 + 4 + 0 + 1 = 17
/// ```
///
/// The *image* is what lies in a buffer or a file: [`prefix_bytes`](Self::prefix_bytes) bytes, then
/// [`physical_elements`](Self::physical_elements) elements of [`element_bits`](Self::element_bits) bits each, packed low
/// bits first. Offsets count elements from the end of the prefix.
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
    /// The type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Bits that an element takes in memory: 1, 2, 4, 8, 16, 32, 64 or 128.
    #[must_use]
    pub fn element_bits(&self) -> u32 {
        self.element_bits
    }

    /// Logical extents, in elements.
    #[must_use]
    pub fn sizes(&self) -> &[u64] {
        &self.extents[..self.rank]
    }

    /// Number of logical dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The steps from an index towards memory, first to last.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Number of values of each coordinate: the logical extents, then what each step makes.
    ///
    /// The remainder of a partial tile counts as whole.
    #[must_use]
    pub fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// The dimensions of memory, major to minor.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Where index 0 lies, in elements from the end of the prefix.
    #[must_use]
    pub fn base_offset(&self) -> u64 {
        self.offset
    }

    /// Bytes before the data: `M(n)`.
    #[must_use]
    pub fn prefix_bytes(&self) -> u64 {
        self.prefix_bytes
    }

    /// Elements that the memory holds after the prefix, padding and gaps included.
    #[must_use]
    pub fn physical_elements(&self) -> u64 {
        self.physical_elements
    }

    /// Bytes of the whole image, the prefix included; not rounded up.
    #[must_use]
    pub fn image_bytes(&self) -> u64 {
        // Lowering has checked that the bits of the image fit in 63.
        self.prefix_bytes + (self.physical_elements * u64::from(self.element_bits)).div_ceil(8)
    }

    /// Number of elements: the product of the logical extents.
    #[must_use]
    pub fn elements(&self) -> u64 {
        if self.sizes().contains(&0) { 0 } else { self.sizes().iter().product() }
    }

    /// The bits of a padded cell, in the low [`element_bits`](Self::element_bits).
    ///
    /// Only cells of `padded_dimensions` take it; the padding of tiles, gaps and the tail are zero.
    #[must_use]
    pub fn padding(&self) -> u128 {
        self.padding
    }

    /// Whether every place of memory is used by exactly one element.
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

    /// Extents of the memory, major to minor, where every place of it is a cell of them: no prefix, no tail, and no gap
    /// between strides.
    ///
    /// `f32[2,3]{0,1:PAD(3,5)}` has `[5, 3]`, `f32[3,5]{1,0:T(2,2)}` has `[2, 3, 2, 2]`.
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

    /// Linear offset of `index`, in elements from the end of the prefix.
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
    /// Where `index` has not one value per dimension, or a value is not below its extent.
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

    /// The same memory, each element taken apart into `parts` equal ones along a new minor-most logical dimension.
    ///
    /// `parts` divides the element's bits; offsets and sizes count parts from here on.
    pub(crate) fn split_elements(&self, parts: u32) -> Self {
        let shift = |coordinate: usize| coordinate + usize::from(coordinate >= self.rank);
        let mut extents = self.extents.clone();
        extents.insert(self.rank, parts.into());
        let mut axes: SmallVec<[Axis; 8]> = self
            .axes
            .iter()
            .map(|axis| Axis {
                coordinate: shift(axis.coordinate),
                // Only a stride over fewer than two elements is past the memory.
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
            physical_elements: self.physical_elements * u64::from(parts),
            ..self.clone()
        }
    }

    /// How a coordinate reads: `d1` for a dimension, `d0/2` and `d0%2` for what a tile makes of it, `(d0*7+d1)` for a fold.
    ///
    /// A name of more than 60 bytes is not put into others: they call its coordinate by its number, `c9`.
    #[must_use]
    pub fn coordinate_name(&self, coordinate: usize) -> String {
        let names = self.coordinate_names();
        names.into_iter().nth(coordinate).unwrap_or_else(|| format!("c{coordinate}"))
    }

    /// The [names](Self::coordinate_name) of all coordinates.
    pub(crate) fn coordinate_names(&self) -> Coordinates<String> {
        let mut names = (0..self.rank).map(|dimension| format!("d{dimension}")).collect();
        let Ok(()) = self.forward(&mut CoordinateNames, &mut names);
        names
    }
}

/// Coordinates by their names.
struct CoordinateNames;

impl Coordinate<'_, String> {
    /// How other names call the coordinate.
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
            // A tile of 1 changes nothing.
            1 => [name, "0".into()],
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

/// The elements that strides over these sizes cover without a gap or an overlap, in whatever order of dimensions; `None`
/// where there is either.
pub(crate) fn packed_elements(dimensions: impl Iterator<Item = (i64, u64)>) -> Option<u64> {
    let mut dimensions: SmallVec<[(i64, u64); 8]> =
        dimensions.filter(|&(_, size)| size != 1).collect();
    dimensions.sort_unstable();
    dimensions.into_iter().try_fold(1, |covered, (stride, size)| {
        (u64::try_from(stride) == Ok(covered)).then(|| covered * size)
    })
}

/// A lowered shape holds fewer than 2^63 bits, so that every extent and offset of it fits.
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
