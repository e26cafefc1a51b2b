//! [`rank_plan`]: computes the transfers of one device without the rest of the plan. With 65,536
//! devices, the whole plan would be too large to compute on every device.

use std::ops::ControlFlow;

use super::{
    Transfer,
    destinations::{TileDestinations, WantedPart},
    grid::OverlapGrid,
    plan::check,
};
use crate::sharding::{Placement, Region, ShardingError};

/// One device's part of a reshard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankPlan {
    /// The transfers that the device sends, in the order of the whole plan.
    pub sends: Vec<Transfer>,
    /// The transfers that the device receives.
    pub receives: Vec<Transfer>,
    /// The elements that stay on the device, or `None` if there are none.
    pub copy: Option<Region>,
}

/// Returns the transfers of [`plan`](super::plan) that `device` sends or receives. The time is
/// proportional to the number of these transfers and to the number of devices that hold their
/// tiles. It does not depend on the total number of devices.
///
/// ```
/// use stridec::{reshard::rank_plan, sharding::Sharding};
/// let shape = "f32[1048576,64]".parse()?;
/// let rows: Sharding = "{devices=[65536,1]<=[65536]}".parse()?;
/// let mixed: Sharding = "{devices=[16384,4]<=[65536]}".parse()?;
/// let part = rank_plan(&rows.place(&shape, None)?, &mixed.place(&shape, None)?, 40_000)?;
/// assert_eq!((part.sends.len(), part.receives.len()), (3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the shards of a placement are not parts of the array, or if a placement has
/// more than [`MAX_DEVICES`](super::MAX_DEVICES) devices.
pub fn rank_plan(from: &Placement, to: &Placement, device: u64) -> Result<RankPlan, ShardingError> {
    check(from, to)?;
    let mut part = RankPlan::default();
    for &tile in &from.tile_numbers(device) {
        let Some(own) = from.rank_in_tile(device, tile) else { continue };
        let Some(destinations) = TileDestinations::new(from, to, tile) else { continue };
        let end = destinations.end(own);
        _ = destinations.each_from(destinations.first_tile(own), |wanted| {
            if wanted.offset >= end {
                return ControlFlow::Break(());
            }
            destinations.pieces(wanted, |holder, region| {
                if holder == own {
                    part.sends.push(Transfer { from: device, to: wanted.device, region });
                }
            });
            ControlFlow::Continue(())
        });
    }
    let wanted = to.region(device).filter(|tile| !tile.is_empty());
    if let Some(tile) = &wanted {
        part.copy = from.region(device).and_then(|own| own.intersection(tile));
        let own = from.tile_numbers(device);
        let grid = OverlapGrid::new(from, tile);
        part.receives.reserve(grid.len().try_into().unwrap_or(0));
        let mut sources = grid.tiles(0);
        while let Some((source, region)) = sources.current() {
            // Elements in a tile that the device holds need no message.
            if own.binary_search(&source).is_err() {
                receive(&mut part, from, to, device, source, region);
            }
            sources.advance();
        }
    }
    Ok(part)
}

/// Adds to `part` the transfers that `device` receives from the holders of the tile `source`.
/// `device` must not hold the tile itself. `region` is the overlap of the tile with the elements
/// that `device` needs.
fn receive(
    part: &mut RankPlan,
    from: &Placement,
    to: &Placement,
    device: u64,
    source: u64,
    region: &Region,
) {
    let holders = from.holders(source);
    let tiles = to.tile_numbers(device);
    if holders.len() == 1 && tiles.len() == 1 {
        // A tile with a single holder is sent by this holder, whichever other devices need the
        // tile.
        let region = region.clone();
        part.receives.push(Transfer { from: holders.get(0), to: device, region });
        return;
    }
    let Some(destinations) = TileDestinations::new(from, to, source) else { return };
    for &tile in &tiles {
        let Some((region, offset)) = destinations.destination(device, tile) else { continue };
        destinations.pieces(WantedPart { device, region: &region, offset }, |holder, region| {
            let from = destinations.holders.get(holder);
            part.receives.push(Transfer { from, to: device, region });
        });
    }
}
