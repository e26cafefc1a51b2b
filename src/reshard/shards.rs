//! [`Shards`]: the memory layout of shards before or after a reshard, which may differ from the
//! layout of the array.

use super::ReshardError;
use crate::{
    shape::{FieldPath, Layout, Shape},
    sharding::{Placement, Region, ShardingError},
};

/// The memory layout of the shards before or after a reshard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shards {
    /// The layout of every shard, or `None` for the layout of the array's shape.
    pub layout: Option<Layout>,
    /// True if every shard has the shape of a full tile, as XLA allocates shards. The elements of a
    /// partial tile are then at the front; the rest of the memory is not read, and it is filled
    /// with zeros. If false, a shard has exactly the shape of its part of the array.
    pub whole_tiles: bool,
}

impl Shards {
    /// Returns the shape of a device's shard, or `None` if the device has no shard.
    ///
    /// # Errors
    ///
    /// Returns an error if the layout does not match the shape, or if the layout's element size
    /// exceeds that of the element type.
    pub fn shape(
        &self,
        array: &Shape,
        placement: &Placement,
        device: u64,
    ) -> Result<Option<Shape>, ReshardError> {
        let Some(tile) = placement.region(device) else { return Ok(None) };
        let sizes = if self.whole_tiles { placement.tile_shape() } else { tile.sizes().collect() };
        let layout = self.layout.as_ref().or(array.layout());
        let bits = array.element_type().storage_bits().unwrap_or(0);
        if let Some(layout) = layout
            && layout.element_size_in_bits > bits.into()
        {
            return Err(ReshardError::from(ShardingError::Unsupported {
                field: FieldPath::new("layout").field("element_size_in_bits"),
                given: layout.element_size_in_bits.to_string(),
                reason: format!("messages have {bits} bits for an element"),
            }));
        }
        Ok(Some(Shape::new(array.element_type(), sizes, layout.cloned())?))
    }

    /// Returns the order of the shards' dimensions in memory, as a layout without tiles. Messages
    /// use this order.
    pub(super) fn order(&self, array: &Shape) -> Layout {
        match self.layout.as_ref().or(array.layout()) {
            Some(layout) => Layout::new(layout.minor_to_major.iter().copied()),
            None => Layout::default_for_rank(array.rank()),
        }
    }
}

/// The shape of one device's shard, and the region of the array that the shard holds.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    pub(super) shape: Shape,
    pub(super) region: Region,
}

impl Shard {
    /// Returns the shard of `device`, or `None` if the device has no elements of the array.
    pub(super) fn new(
        shards: &Shards,
        array: &Shape,
        placement: &Placement,
        device: u64,
    ) -> Result<Option<Self>, ReshardError> {
        let Some(shape) = shards.shape(array, placement, device)? else { return Ok(None) };
        let region = placement.region(device).filter(|region| !region.is_empty());
        Ok(region.map(|region| Self { shape, region }))
    }
}
