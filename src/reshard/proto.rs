//! Plans as `stridec.ReshardPlan`, for engines in other languages.

use super::{Cost, ReshardPlan, Transfer};
use crate::{
    proto::{
        stridec::{self as proto, reshard_plan as part},
        xla,
    },
    sharding::{Placement, TileBox},
};

impl From<&ReshardPlan> for proto::ReshardPlan {
    fn from(plan: &ReshardPlan) -> Self {
        let transfer = |transfer: &Transfer| part::Transfer {
            from: transfer.from,
            to: transfer.to,
            r#box: Some(region(&transfer.region)),
            bytes: plan.bytes(&transfer.region),
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

fn region(region: &TileBox) -> part::Box {
    let (start, limit) = region.ranges().iter().copied().unzip();
    part::Box { start, limit }
}

fn shards(placement: &Placement) -> Vec<part::Shard> {
    let shard = |(device, tile)| part::Shard { device, r#box: Some(region(&tile)) };
    placement.tiles().map(shard).collect()
}

/// Bytes; those past 2^64, which no machine moves, are the greatest number.
fn cost(cost: Cost) -> part::Cost {
    let bytes = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
    part::Cost {
        total_bytes: bytes(cost.total_bytes),
        receive_bytes: bytes(cost.receive_bytes),
        send_bytes: bytes(cost.send_bytes),
    }
}
