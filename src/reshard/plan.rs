//! [`plan`]: every transfer of a reshard.

use std::{collections::HashMap, ops::ControlFlow};

use super::{Cost, destinations::TileDestinations};
use crate::{
    shape::{FieldPath, Shape},
    sharding::{Placement, Region, ShardingError},
};

/// How many transfers a plan of all devices may have.
pub const MAX_TRANSFERS: usize = 1 << 24;

/// How many devices a side may have.
pub const MAX_DEVICES: u64 = 1 << 24;

/// A part of the array that goes from one device to another; a copy, where they are the same.
///
/// It is a box where no side deals out blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The device that has the part.
    pub from: u64,
    /// The device that wants it.
    pub to: u64,
    /// Indices of the whole array.
    pub region: Region,
}

/// Which part goes from which device to which: plain data.
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

/// The plan that takes an array of `shape` from one placement to another.
///
/// # Errors
///
/// Where the shape is no array, the shards of a side are no parts of it, or there are more devices or transfers than a plan of all of them has room for.
pub fn plan(shape: &Shape, from: &Placement, to: &Placement) -> Result<ReshardPlan, ShardingError> {
    let element_bytes = element_bytes(shape)?;
    check(from, to)?;
    let mut transfers = Vec::new();
    let mut bounds = Cost::default();
    for tile in 0..from.tile_count() {
        let Some(line) = TileDestinations::new(from, to, tile) else { continue };
        bounds.total_bytes += line.length;
        let share = line.length.div_ceil(line.holders.len().into());
        bounds.send_bytes = bounds.send_bytes.max(share);
        let planned = line.destinations(0, |wanted| {
            line.pieces(wanted, |holder, region| {
                let from = line.holders.get(holder);
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

/// The shards are parts of the array, and the devices few enough to be counted one by one.
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

/// What the transfers move.
fn cost(transfers: &[Transfer], element_bytes: u64) -> Cost {
    let elements = |transfer: &Transfer| u128::from(transfer.region.elements());
    // A device holds one tile, and sends its share of it in one run of transfers.
    let sent = transfers.chunk_by(|one, other| one.from == other.from);
    let sent = sent.map(|run| run.iter().map(elements).sum());
    let mut received = HashMap::<u64, u128>::new();
    for transfer in transfers {
        *received.entry(transfer.to).or_default() += elements(transfer);
    }
    let bytes = u128::from(element_bytes);
    Cost {
        total_bytes: received.values().sum::<u128>() * bytes,
        receive_bytes: received.into_values().max().unwrap_or(0) * bytes,
        send_bytes: sent.max().unwrap_or(0) * bytes,
    }
}

/// Bytes of an element in a message: whole bytes, also where a layout packs several elements into one.
pub(super) fn element_bytes(shape: &Shape) -> Result<u64, ShardingError> {
    let bits = shape.element_type().storage_bits().ok_or_else(|| ShardingError::Rule {
        field: FieldPath::new("shape"),
        rule: "an array".to_owned(),
        given: shape.element_type().to_string(),
    })?;
    Ok(u64::from(bits.div_ceil(8)))
}

impl ReshardPlan {
    /// The whole array.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Bytes of an element in a message.
    #[must_use]
    pub fn element_bytes(&self) -> u64 {
        self.element_bytes
    }

    /// Where the shards lie before.
    #[must_use]
    pub fn from(&self) -> &Placement {
        &self.from
    }

    /// Where the shards lie after.
    #[must_use]
    pub fn to(&self) -> &Placement {
        &self.to
    }

    /// What goes from one device to another: by tile of the source, then by tile of the destination, row-major.
    #[must_use]
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    /// What devices want and have already.
    #[must_use]
    pub fn copies(&self) -> &[Transfer] {
        &self.copies
    }

    /// The bytes that the transfers move.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The least that any plan without forwarding can move; a busiest sender of this plan sends at most 1.01 times its bound.
    #[must_use]
    pub fn bounds(&self) -> Cost {
        self.bounds
    }

    /// Bytes of a part in a message.
    #[must_use]
    pub fn bytes(&self, region: &Region) -> u64 {
        region.elements() * self.element_bytes
    }
}
