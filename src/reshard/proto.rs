//! Converts plans to `stridec.ReshardPlan`, for engines in other languages.

use super::{Cost, ReshardPlan, Transfer};
use crate::{
    proto::{
        stridec::{self as proto, reshard_plan as part},
        xla,
    },
    sharding::{Placement, Region},
};

impl From<&ReshardPlan> for proto::ReshardPlan {
    fn from(plan: &ReshardPlan) -> Self {
        let transfer = |transfer: &Transfer| {
            let (r#box, ranges) = region(&transfer.region);
            let bytes = plan.bytes(&transfer.region);
            part::Transfer { from: transfer.from, to: transfer.to, r#box, bytes, ranges }
        };
        Self {
            shape: Some(xla::Shape::from(plan.shape())),
            element_bytes: plan.element_bytes(),
            from: shards(plan.from()),
            to: shards(plan.to()),
            transfers: plan.transfers().iter().map(transfer).collect(),
            copies: plan.copies().iter().map(transfer).collect(),
            cost: Some(cost(plan.cost())),
            bounds: Some(cost(plan.bounds())),
        }
    }
}

/// Converts a region to a box if it is one, and otherwise to a list of ranges for each dimension.
/// Exactly one of the two results is present.
fn region(region: &Region) -> (Option<part::Box>, Vec<part::Ranges>) {
    if let Some(tile) = region.as_box() {
        let (start, limit) = tile.ranges().iter().copied().unzip();
        return (Some(part::Box { start, limit }), Vec::new());
    }
    let ranges = |ranges: &[(u64, u64)]| {
        let (start, limit) = ranges.iter().copied().unzip();
        part::Ranges { start, limit }
    };
    (None, region.dimensions().map(ranges).collect())
}

fn shards(placement: &Placement) -> Vec<part::Shard> {
    let shard = |(device, of): (u64, Region)| {
        let (r#box, ranges) = region(&of);
        part::Shard { device, r#box, ranges }
    };
    placement.regions().map(shard).collect()
}

/// Converts the byte counts of a cost. Numbers above 2^64-1 become 2^64-1.
fn cost(cost: Cost) -> part::Cost {
    let bytes = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
    part::Cost {
        total_bytes: bytes(cost.total_bytes),
        receive_bytes: bytes(cost.receive_bytes),
        send_bytes: bytes(cost.send_bytes),
    }
}
