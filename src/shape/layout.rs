//! [`Layout`]: the order of an array's dimensions in memory, its tiles, padding and packing.

use std::fmt;

use smallvec::SmallVec;

use super::{ElementType, Shape};

/// The layout of an array in memory: XLA's `Layout`, extended by the padding of TensorFlow 1.x.
///
/// [`Shape::new`] checks the layout against the rank and the extents of the array.
///
/// ```
/// use stridec::shape::{ElementType, Layout, Shape};
/// let layout = Layout::new([1, 0]).tiled([8, 128]).tiled([2, 1]);
/// let shape = Shape::new(ElementType::Bf16, [16, 256], Some(layout))?;
/// assert_eq!(shape.to_string(), "bf16[16,256]{1,0:T(8,128)(2,1)}");
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Layout {
    /// The dimension numbers, the most minor first. Each dimension occurs once, but the list may be
    /// empty if `format` is [`Format::Sparse`].
    pub minor_to_major: SmallVec<[usize; 8]>,
    /// The extent of each dimension in memory, as in TensorFlow 1.x. Empty if the array has no
    /// padding.
    pub padded_dimensions: SmallVec<[u64; 8]>,
    /// The value that fills the padding, or `None` if it is not specified.
    pub padding_value: Option<PaddingValue>,
    /// The number that fills the padding, such as the zero point of a quantized network. The number
    /// is the value of an integer, or the bits of an element of another type. It takes precedence
    /// over `padding_value`. XLA has no such field.
    pub padding_number: Option<i64>,
    /// The tiles, in the order in which they are applied.
    pub tiles: Vec<Tile>,
    /// The size of an element in memory, in bits, written `E(n)`. 0 means the width of the element
    /// type, rounded up to whole bytes.
    pub element_size_in_bits: u64,
    /// The alignment of the end of the array, in elements, written `L(n)`: the memory is padded to
    /// a multiple of this number. It is at least 1, which means no padding.
    pub tail_padding_alignment_in_elements: u64,
    /// The number of bytes of metadata before the first element, written `M(n)`.
    pub dynamic_shape_metadata_prefix_bytes: u64,
    /// The memory space, written `S(n)`. It has no effect on addresses.
    pub memory_space: i64,
    /// The dimensions that are split between memories, written `SC(…)`.
    pub split_configs: Vec<SplitConfig>,
    /// The storage format. Only TensorFlow from 1.7 on, and XLA up to 2022, wrote this field.
    pub format: Format,
    /// The fields for sparse arrays, or `None` if all of them are unset.
    pub sparse: Option<Box<Sparse>>,
}

impl Layout {
    /// Creates a layout from the dimension numbers, the most minor first. All other fields have
    /// default values.
    #[must_use]
    pub fn new(minor_to_major: impl IntoIterator<Item = usize>) -> Self {
        Self {
            minor_to_major: minor_to_major.into_iter().collect(),
            padded_dimensions: SmallVec::new(),
            padding_value: None,
            padding_number: None,
            tiles: Vec::new(),
            element_size_in_bits: 0,
            tail_padding_alignment_in_elements: 1,
            dynamic_shape_metadata_prefix_bytes: 0,
            memory_space: 0,
            split_configs: Vec::new(),
            format: Format::Unspecified,
            sparse: None,
        }
    }

    /// Returns the default layout, which is row-major: its dimension numbers are N-1, …, 1, 0.
    #[must_use]
    pub fn default_for_rank(rank: usize) -> Self {
        Self::new((0..rank).rev())
    }

    /// Sets the extent of each dimension in memory, and the value that fills the padding.
    #[must_use]
    pub fn padded(
        mut self,
        padded_dimensions: impl IntoIterator<Item = u64>,
        value: Option<PaddingValue>,
    ) -> Self {
        self.padded_dimensions = padded_dimensions.into_iter().collect();
        (self.padding_value, self.padding_number) = (value, None);
        self
    }

    /// Sets the extent of each dimension in memory, and the number that fills the padding.
    ///
    /// ```
    /// use stridec::shape::{ElementType, Layout, Shape};
    /// let layout = Layout::new([1, 0]).tiled([4, 4]).padded_with_number([5, 3], -3);
    /// let shape = Shape::new(ElementType::S8, [5, 3], Some(layout))?;
    /// assert_eq!(shape.to_string(), "s8[5,3]{1,0:T(4,4)PAD(5,3,value(-3))}");
    /// # Ok::<(), stridec::shape::ShapeError>(())
    /// ```
    #[must_use]
    pub fn padded_with_number(
        mut self,
        padded_dimensions: impl IntoIterator<Item = u64>,
        number: i64,
    ) -> Self {
        self.padded_dimensions = padded_dimensions.into_iter().collect();
        (self.padding_value, self.padding_number) = (None, Some(number));
        self
    }

    /// Appends a tile with the given extents, from major to minor. The tile is applied after all
    /// earlier ones.
    #[must_use]
    pub fn tiled(mut self, extents: impl IntoIterator<Item = impl Into<TileDimension>>) -> Self {
        self.tiles.push(Tile::new(extents));
        self
    }

    /// Sets the size of an element in memory, in bits. 0 means the width of the element type,
    /// rounded up to whole bytes.
    #[must_use]
    pub fn element_size(mut self, bits: u64) -> Self {
        self.element_size_in_bits = bits;
        self
    }

    /// Returns true if every dimension is stored densely and all other fields for sparse arrays are
    /// unset.
    ///
    /// ```
    /// use stridec::shape::Layout;
    /// let dense: Layout = "{1,0:D(D,D)}".parse()?;
    /// let sparse: Layout = "{1,0:D(D,C)}".parse()?;
    /// assert!(dense.is_dense() && !sparse.is_dense());
    /// # Ok::<(), stridec::shape::ParseError>(())
    /// ```
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.format != Format::Sparse && self.sparse.as_ref().is_none_or(|fields| fields.is_dense())
    }

    /// Returns true if the layout has padded dimensions or a padding value, as in TensorFlow 1.x.
    #[must_use]
    pub(crate) fn has_padding(&self) -> bool {
        !self.padded_dimensions.is_empty()
            || self.padding_value.is_some()
            || self.padding_number.is_some()
    }
}

/// The value that fills the space between the logical extents of an array and its padded
/// dimensions.
///
/// [`ElementType::padding_bits`] returns the bit pattern of the value in each type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are XLA's
pub enum PaddingValue {
    Invalid = 0,
    Zero = 1,
    One = 2,
    Lowest = 3,
    Highest = 4,
    Unknown = 5,
}

impl PaddingValue {
    /// All values, in the order of XLA's numbers.
    pub const ALL: [Self; 6] =
        [Self::Invalid, Self::Zero, Self::One, Self::Lowest, Self::Highest, Self::Unknown];

    /// Returns the word for this value in `PAD(…)`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Zero => "zero",
            Self::One => "one",
            Self::Lowest => "lowest",
            Self::Highest => "highest",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the value whose word in `PAD(…)` is `name`, or `None` for an unknown word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.name() == name)
    }
}

impl fmt::Display for PaddingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One level of tiling, given by the extents of a box of elements that are contiguous in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// The extents of the tile, the most major first.
    pub dimensions: SmallVec<[TileDimension; 4]>,
}

impl Tile {
    /// Creates a tile from its extents, the most major first.
    #[must_use]
    pub fn new(extents: impl IntoIterator<Item = impl Into<TileDimension>>) -> Self {
        Self { dimensions: extents.into_iter().map(Into::into).collect() }
    }
}

/// One extent of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileDimension {
    /// The number of elements along this dimension of the tile, which is at least 1.
    Size(u64),
    /// `*`, which combines the dimension with the next more minor one. It is never the last extent
    /// of a tile.
    Combine,
}

impl From<u64> for TileDimension {
    fn from(extent: u64) -> Self {
        Self::Size(extent)
    }
}

/// A dimension of memory that is split between memories.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SplitConfig {
    /// The number of the dimension, from 0 for the most major one.
    pub dimension: u64,
    /// The indices at which the dimension is split, in ascending order.
    pub split_indices: Vec<u64>,
}

/// The storage format of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are XLA's
pub enum Format {
    Unspecified = 0,
    Dense = 1,
    Sparse = 2,
}

/// The storage format of one dimension of a sparse array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are XLA's
pub enum DimLevelType {
    Dense = 0,
    Compressed = 1,
    Singleton = 2,
    LooseCompressed = 3,
}

impl DimLevelType {
    /// All types, in the order of XLA's numbers.
    pub const ALL: [Self; 4] =
        [Self::Dense, Self::Compressed, Self::Singleton, Self::LooseCompressed];

    /// Returns the letter of this type in `D(…)`.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Self::Dense => "D",
            Self::Compressed => "C",
            Self::Singleton => "S",
            Self::LooseCompressed => "H",
        }
    }
}

/// The fields of a layout that only sparse arrays use. They are parsed, printed and encoded, but a
/// sparse array cannot be an operand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Sparse {
    /// The maximum number of elements that the array can hold (TensorFlow 1.x).
    pub max_sparse_elements: u64,
    /// The storage format of each dimension. Empty if not specified.
    pub dim_level_types: Vec<DimLevelType>,
    /// True for each dimension whose coordinates are unique. Empty if not specified.
    pub dim_unique: Vec<bool>,
    /// True for each dimension whose coordinates are ordered. Empty if not specified.
    pub dim_ordered: Vec<bool>,
    /// The type of the indices, such as `#(u32)`.
    pub index_primitive_type: Option<ElementType>,
    /// The type of the pointers to index lists, such as `*(u32)`.
    pub pointer_primitive_type: Option<ElementType>,
    /// The shape of the physical representation, written `P(…)`.
    pub physical_shape: Option<Shape>,
}

impl Sparse {
    /// Returns true if every dimension is dense and no other field is set.
    fn is_dense(&self) -> bool {
        // A dense dimension is always unique and ordered, as `validate` requires, so these flags
        // need no check.
        self.dim_level_types.iter().all(|&level| level == DimLevelType::Dense)
            && self.max_sparse_elements == 0
            && self.index_primitive_type.is_none()
            && self.pointer_primitive_type.is_none()
            && self.physical_shape.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_by_format_or_by_levels() {
        let sparse = Layout { format: Format::Sparse, ..Layout::new([1, 0]) };
        assert!(!sparse.is_dense());
        for (text, dense) in [("{1,0}", true), ("{1,0:D(D,D)}", true), ("{1,0:D(D,C)}", false)] {
            assert_eq!(text.parse::<Layout>().unwrap().is_dense(), dense, "{text}");
        }
    }
}
