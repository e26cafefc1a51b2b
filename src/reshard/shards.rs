//! [`Shards`]: how the shards of one side lie in memory.

use super::ReshardError;
use crate::{
    shape::{FieldPath, Layout, Shape},
    sharding::{Placement, Region, ShardingError},
};

/// How the shards of one side lie in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shards {
    /// The layout of every shard; that of the whole array's shape where it is `None`.
    pub layout: Option<Layout>,
    /// Whether a shard has the tile's whole shape with its part of the array at the front, as XLA allocates it, and not that alone. What lies
    /// behind it is not read, and written as zero.
    pub whole_tiles: bool,
}

impl Shards {
    /// The shape of a device's shard; `None` where the device has none.
    ///
    /// # Errors
    ///
    /// Where the layout does not fit, or its elements are wider than the type's own.
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

    /// The order of the shards' dimensions in memory, as a layout without tiles.
    pub(super) fn order(&self, array: &Shape) -> Layout {
        match self.layout.as_ref().or(array.layout()) {
            Some(layout) => Layout::new(layout.minor_to_major.iter().copied()),
            None => Layout::default_for_rank(array.rank()),
        }
    }
}

/// The shard of one device: its shape, and its part of the whole array.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    pub(super) shape: Shape,
    pub(super) region: Region,
}

impl Shard {
    /// The shard of a device; `None` where it has no element.
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
