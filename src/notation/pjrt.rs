//! [`PjrtMemoryLayout`]: the layout of a buffer in PJRT, the interface between frameworks and XLA's
//! devices.

use super::strides::{plain_strides, refusal};
use crate::{
    shape::{Shape, TileDimension},
    stride::{StrideDescriptor, StrideError},
};

/// PJRT's `PJRT_Buffer_MemoryLayout`: XLA's order of dimensions with tiles, or else byte strides.
///
/// ```
/// use stridec::notation::PjrtMemoryLayout;
/// let shape: stridec::shape::Shape = "bf16[16,256]{1,0:T(8,128)(2,1)}".parse()?;
/// let layout = PjrtMemoryLayout::try_from(&shape)?;
/// assert_eq!(layout, PjrtMemoryLayout::Tiled {
///     minor_to_major: vec![1, 0],
///     tile_dims: vec![8, 128, 2, 1],
///     tile_dim_sizes: vec![2, 2],
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PjrtMemoryLayout {
    /// `PJRT_Buffer_MemoryLayout_Type_Tiled`.
    Tiled {
        /// The dimension numbers, the most minor first.
        minor_to_major: Vec<i64>,
        /// The extents of all tiles in one list, from major to minor for each tile. The smallest
        /// int64 represents `*`.
        tile_dims: Vec<i64>,
        /// The number of extents of each tile.
        tile_dim_sizes: Vec<usize>,
    },
    /// `PJRT_Buffer_MemoryLayout_Type_Strides`.
    Strides {
        /// The distance between neighbours along each dimension, in bytes.
        byte_strides: Vec<i64>,
    },
}

impl TryFrom<&Shape> for PjrtMemoryLayout {
    type Error = StrideError;

    /// Returns byte strides if the shape has padded dimensions, and otherwise a tiled layout.
    ///
    /// PJRT has no fields for `E(n)`, `L(n)` and `M(n)`. It always packs types smaller than a byte,
    /// so both element sizes are accepted for such types: packed, and a whole byte.
    fn try_from(shape: &Shape) -> Result<Self, StrideError> {
        let tensor = StrideDescriptor::try_from(shape)?;
        if shape.is_padded() {
            return Self::try_from(&tensor);
        }
        let layout = shape.layout_or_default();
        let own = tensor.element_type().storage_bits();
        let packed = tensor.element_type().bits();
        if ![own, packed].contains(&Some(tensor.element_bits())) {
            return Err(element_size(&tensor));
        }
        let accepted = "PJRT's memory layout has no place for it";
        let tail = layout.tail_padding_alignment_in_elements;
        if tail != 1 {
            let field = "tail_padding_alignment_in_elements";
            return Err(refusal(field, format!("L({tail})"), accepted));
        }
        if tensor.prefix_bytes() != 0 {
            let field = "dynamic_shape_metadata_prefix_bytes";
            return Err(refusal(field, format!("M({})", tensor.prefix_bytes()), accepted));
        }
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let extents = layout.tiles.iter().flat_map(|tile| &tile.dimensions);
        Ok(Self::Tiled {
            minor_to_major: layout.minor_to_major.iter().map(|&d| number(d as u64)).collect(),
            tile_dims: extents
                .map(|extent| match *extent {
                    TileDimension::Size(size) => number(size),
                    TileDimension::Combine => i64::MIN,
                })
                .collect(),
            tile_dim_sizes: layout.tiles.iter().map(|tile| tile.dimensions.len()).collect(),
        })
    }
}

impl TryFrom<&StrideDescriptor> for PjrtMemoryLayout {
    type Error = StrideError;

    /// Returns the byte strides of a tensor. Returns an error if a dimension has more than one
    /// stride.
    fn try_from(tensor: &StrideDescriptor) -> Result<Self, StrideError> {
        let bits = tensor.element_bits();
        if !bits.is_multiple_of(8) || tensor.element_type().storage_bits() != Some(bits) {
            return Err(element_size(tensor));
        }
        let byte_strides = plain_strides(tensor)?
            .into_iter()
            .map(|stride| stride.checked_mul(i64::from(bits / 8)))
            .collect::<Option<_>>()
            .ok_or(StrideError::TooLarge { what: "strides" })?;
        Ok(Self::Strides { byte_strides })
    }
}

fn element_size(tensor: &StrideDescriptor) -> StrideError {
    let value = format!("E({})", tensor.element_bits());
    refusal("element_size_in_bits", value, "PJRT's byte strides and tiles take the type's own size")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pjrt(text: &str) -> Result<PjrtMemoryLayout, StrideError> {
        PjrtMemoryLayout::try_from(&text.parse::<Shape>().unwrap())
    }

    fn tiled(m2m: &[i64], dims: &[i64], sizes: &[usize]) -> PjrtMemoryLayout {
        PjrtMemoryLayout::Tiled {
            minor_to_major: m2m.to_vec(),
            tile_dims: dims.to_vec(),
            tile_dim_sizes: sizes.to_vec(),
        }
    }

    #[test]
    fn layouts_in_both_forms() {
        assert_eq!(pjrt("f32[2,3]"), Ok(tiled(&[1, 0], &[], &[])));
        assert_eq!(pjrt("s4[3,4]{0,1:E(4)}"), Ok(tiled(&[0, 1], &[], &[])));
        let starred = tiled(&[2, 1, 0], &[2, i64::MIN, 128], &[3]);
        assert_eq!(pjrt("bf16[2,3,1004]{2,1,0:T(2,*,128)}"), Ok(starred));
        let strides = PjrtMemoryLayout::Strides { byte_strides: vec![4, 12] };
        assert_eq!(pjrt("f32[2,3]{0,1:PAD(3,5,zero)}"), Ok(strides));
        for refused in ["f32[3]{0:L(8)}", "f32[3]{0:M(8)}", "s8[3]{0:E(16)}", "token[]"] {
            assert!(pjrt(refused).is_err(), "{refused}");
        }
    }
}
