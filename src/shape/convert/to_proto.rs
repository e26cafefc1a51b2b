//! Converts shapes to protos. The protos are equal to the output of today's XLA, or of TensorFlow
//! 1.x if the layout has padding.

use super::UNBOUNDED;
use crate::{
    proto::xla,
    shape::{Dimension, ElementType, Layout, Shape, SplitConfig, Tile, TileDimension},
};

/// Converts a shape as today's XLA does: `is_dynamic_dimension` has an entry for each dimension,
/// and the tail alignment is at least 1. If the layout has padding, these two fields are omitted
/// when they have default values, because TensorFlow 1.x did not have them.
impl From<&Shape> for xla::Shape {
    fn from(shape: &Shape) -> Self {
        let dynamic = |dimension: &Dimension| !matches!(dimension, Dimension::Fixed(_));
        let padded = shape.layout().is_some_and(Layout::has_padding);
        let is_dynamic_dimension: Vec<bool> = match shape.dimensions() {
            dimensions if padded && !dimensions.iter().any(dynamic) => Vec::new(),
            dimensions => dimensions.iter().map(dynamic).collect(),
        };
        Self {
            element_type: shape.element_type() as i32,
            dimensions: shape
                .dimensions()
                .iter()
                .map(|dimension| dimension.bound().map_or(UNBOUNDED, int64))
                .collect(),
            tuple_shapes: shape.tuple_shapes().iter().map(Self::from).collect(),
            layout: shape.layout().map(|layout| Box::new(layout.into())),
            is_dynamic_dimension,
        }
    }
}

impl From<&Layout> for xla::Layout {
    fn from(layout: &Layout) -> Self {
        let sparse = layout.sparse.as_deref().cloned().unwrap_or_default();
        let kind = |kind: Option<ElementType>| kind.map_or(0, |kind| kind as i32);
        let alignment = match layout.tail_padding_alignment_in_elements {
            1 if layout.has_padding() => 0,
            alignment => int64(alignment),
        };
        Self {
            minor_to_major: layout.minor_to_major.iter().map(|&n| int64(n as u64)).collect(),
            padded_dimensions: layout.padded_dimensions.iter().copied().map(int64).collect(),
            padding_value: layout.padding_value.map(|value| value as i32),
            padding_number: layout.padding_number,
            format: layout.format as i32,
            max_sparse_elements: int64(sparse.max_sparse_elements),
            tiles: layout.tiles.iter().map(tile_proto).collect(),
            element_size_in_bits: int64(layout.element_size_in_bits),
            memory_space: layout.memory_space,
            dim_level_types: sparse.dim_level_types.iter().map(|&level| level as i32).collect(),
            physical_shape: sparse.physical_shape.map(|shape| Box::new((&shape).into())),
            index_primitive_type: kind(sparse.index_primitive_type),
            pointer_primitive_type: kind(sparse.pointer_primitive_type),
            dim_unique: sparse.dim_unique,
            dim_ordered: sparse.dim_ordered,
            dynamic_shape_metadata_prefix_bytes: int64(layout.dynamic_shape_metadata_prefix_bytes),
            tail_padding_alignment_in_elements: alignment,
            split_configs: layout.split_configs.iter().map(split_proto).collect(),
        }
    }
}

fn tile_proto(tile: &Tile) -> xla::Tile {
    let extent = |extent: &TileDimension| match *extent {
        TileDimension::Size(size) => int64(size),
        TileDimension::Combine => UNBOUNDED,
    };
    xla::Tile { dimensions: tile.dimensions.iter().map(extent).collect() }
}

fn split_proto(config: &SplitConfig) -> xla::SplitConfig {
    let split_indices = config.split_indices.iter().copied().map(int64).collect();
    xla::SplitConfig { dimension: int64(config.dimension), split_indices }
}

/// Converts a number to an int64. A valid shape has no number above 2^63-1. A `Layout` that is not
/// part of a shape may have one, which becomes 2^63-1.
fn int64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
