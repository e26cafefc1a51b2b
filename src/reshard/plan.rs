//! [`plan`]: computes every transfer of a reshard as plain data, for tests, tools and engines in
//! other languages.

use std::{collections::HashMap, ops::ControlFlow};

use super::{Cost, destinations::TileDestinations};
use crate::{
    shape::{FieldPath, Shape},
    sharding::{Placement, Region, ShardingError},
};

/// The maximum number of transfers in a plan of all devices, which limits the memory for the plan.
const MAX_TRANSFERS: usize = 1 << 24;

/// The maximum number of devices before or after a reshard.
pub const MAX_DEVICES: u64 = 1 << 24;

/// A region of the array that the device `from` sends to the device `to`. If both are the same
/// device, it copies the region locally.
///
/// The region is a single box, unless a sharding is cyclic or lists parts with several ranges.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The device that holds the elements before the reshard and sends them.
    pub from: u64,
    /// The device that needs the elements after the reshard and receives them.
    pub to: u64,
    /// The elements, by their indices in the whole array.
    pub region: Region,
}

/// A plan of a reshard: the transfers between all devices, as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReshardPlan {
    shape: Shape,
    element_bytes: u64,
    from: Placement,
    to: Placement,
    transfers: Vec<Transfer>,
    copies: Vec<Transfer>,
    cost: Cost,
    bounds: Cost,
}

/// Plans a reshard of an array of `shape` from the placement `from` to the placement `to`.
///
/// # Errors
///
/// Returns an error if the shape is not an array, if the shards of a placement are not parts of the
/// array, or if there are more than [`MAX_DEVICES`] devices or 2^24 transfers.
pub fn plan(shape: &Shape, from: &Placement, to: &Placement) -> Result<ReshardPlan, ShardingError> {
    let element_bytes = element_bytes(shape)?;
    check(from, to)?;
    let mut transfers = Vec::new();
    let mut bounds = Cost::default();
    for tile in 0..from.tile_count() {
        let Some(destinations) = TileDestinations::new(from, to, tile) else { continue };
        bounds.total_bytes += destinations.length;
        let share = destinations.length.div_ceil(destinations.holders.len().into());
        bounds.send_bytes = bounds.send_bytes.max(share);
        let planned = destinations.each_from(0, |wanted| {
            destinations.pieces(wanted, |holder, region| {
                let from = destinations.holders.get(holder);
                transfers.push(Transfer { from, to: wanted.device, region });
            });
            if transfers.len() > MAX_TRANSFERS {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if planned.is_break() {
            return Err(too_many("transfers", MAX_TRANSFERS as u64));
        }
    }
    let mut copies = Vec::new();
    for device in 0..to.devices() {
        let Some(tile) = to.region(device) else { continue };
        let kept = from.region(device).and_then(|own| own.intersection(&tile));
        let lacking = tile.elements() - kept.as_ref().map_or(0, Region::elements);
        bounds.receive_bytes = bounds.receive_bytes.max(lacking.into());
        copies.extend(kept.map(|region| Transfer { from: device, to: device, region }));
    }
    for bytes in [&mut bounds.total_bytes, &mut bounds.receive_bytes, &mut bounds.send_bytes] {
        *bytes *= u128::from(element_bytes);
    }
    let cost = cost(&transfers, element_bytes);
    Ok(ReshardPlan {
        shape: shape.clone(),
        element_bytes,
        from: from.clone(),
        to: to.clone(),
        transfers,
        copies,
        cost,
        bounds,
    })
}

/// Returns an error if a reshard is impossible: if the shards of a placement are not parts of the
/// array, or if there are more than [`MAX_DEVICES`] devices.
pub(super) fn check(from: &Placement, to: &Placement) -> Result<(), ShardingError> {
    for (side, name) in [(from, "from"), (to, "to")] {
        side.check_whole().map_err(|error| error.below(&FieldPath::new(name)))?;
    }
    if from.devices().max(to.devices()) > MAX_DEVICES {
        return Err(too_many("devices", MAX_DEVICES));
    }
    Ok(())
}

fn too_many(what: &str, limit: u64) -> ShardingError {
    ShardingError::Unsupported {
        field: FieldPath::new("sharding"),
        given: format!("a plan of more than {limit} {what}"),
        reason: format!("at most {limit} {what} are planned"),
    }
}

/// Returns the number of bytes that `transfers` move, in total and for the busiest devices.
fn cost(transfers: &[Transfer], element_bytes: u64) -> Cost {
    let elements = |transfer: &Transfer| u128::from(transfer.region.elements());
    // The transfers of one sender are mostly adjacent in the list. Adding up adjacent ones first
    // takes fewer lookups in the map.
    let mut sent = HashMap::<u64, u128>::new();
    for run in transfers.chunk_by(|one, other| one.from == other.from) {
        *sent.entry(run[0].from).or_default() += run.iter().map(elements).sum::<u128>();
    }
    let mut received = HashMap::<u64, u128>::new();
    for transfer in transfers {
        *received.entry(transfer.to).or_default() += elements(transfer);
    }
    let bytes = u128::from(element_bytes);
    Cost {
        total_bytes: received.values().sum::<u128>() * bytes,
        receive_bytes: received.into_values().max().unwrap_or(0) * bytes,
        send_bytes: sent.into_values().max().unwrap_or(0) * bytes,
    }
}

/// Returns the size of an element in a message, in bytes. An element occupies whole bytes there,
/// even if a layout packs several elements into a byte.
pub(super) fn element_bytes(shape: &Shape) -> Result<u64, ShardingError> {
    let bits = shape.element_type().storage_bits().ok_or_else(|| ShardingError::Rule {
        field: FieldPath::new("shape"),
        rule: "an array".to_owned(),
        given: shape.element_type().to_string(),
    })?;
    Ok(u64::from(bits.div_ceil(8)))
}

impl ReshardPlan {
    /// Returns the shape of the whole array.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the size of an element in a message, in bytes.
    #[must_use]
    pub fn element_bytes(&self) -> u64 {
        self.element_bytes
    }

    /// Returns the placement before the reshard.
    #[must_use]
    pub fn from(&self) -> &Placement {
        &self.from
    }

    /// Returns the placement after the reshard.
    #[must_use]
    pub fn to(&self) -> &Placement {
        &self.to
    }

    /// Returns the transfers between different devices, ordered by the row-major index of the
    /// source tile and then by that of the destination tile.
    #[must_use]
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// Returns the local copies: for each device, the elements that stay on it.
    #[must_use]
    pub fn copies(&self) -> &[Transfer] {
        &self.copies
    }

    /// Returns the number of bytes that the plan's transfers move, in total and for the busiest
    /// devices.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Returns a lower bound on the cost of any plan in which no device passes on elements that it
    /// received. The busiest sender of this plan sends at most 1.01 times the bound. There is one
    /// exception: if a sharding lists parts that overlap, the holders of each tile share it evenly,
    /// so a device that holds many tiles may send more.
    #[must_use]
    pub fn bounds(&self) -> Cost {
        self.bounds
    }

    /// Returns the number of bytes that `region` takes in a message.
    #[must_use]
    pub fn bytes(&self, region: &Region) -> u64 {
        region.elements() * self.element_bytes
    }
}
