//! [`DeviceBoxes`]: a sharding that lists the box of each device.

use std::collections::{BTreeMap, BTreeSet};

use super::{ShardingError, TileBox, cuts::Cuts, error::rule};
use crate::shape::FieldPath;

/// The box of each device. The boxes form a grid: each dimension is cut at the same coordinates for
/// all of its boxes. Several devices may hold the same box.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeviceBoxes {
    /// The box of each device, paired with the number of its tile if the box is not empty.
    pub(super) of_device: BTreeMap<u64, (TileBox, Option<u64>)>,
    /// The devices that hold each tile. Tiles are numbered row-major.
    pub(super) of_tile: Vec<Vec<u64>>,
    pub(super) cuts: Vec<Cuts>,
}

impl DeviceBoxes {
    #[expect(clippy::cast_possible_truncation)] // there are at most as many tiles as boxes
    pub(super) fn new(
        boxes: impl IntoIterator<Item = (u64, TileBox)>,
    ) -> Result<Self, ShardingError> {
        let path = || FieldPath::new("boxes");
        let mut of_device = BTreeMap::new();
        for (device, tile) in boxes {
            if i64::try_from(device).is_err() {
                return Err(rule(path(), "devices below 2^63", device));
            }
            if of_device.insert(device, (tile, None)).is_some() {
                return Err(rule(path(), "each device once", format!("{device} twice")));
            }
        }
        let Some((_, (first, _))) = of_device.first_key_value() else {
            return Err(rule(path(), "a box for at least one device", "none"));
        };
        let rank = first.ranges().len();
        if let Some((device, (tile, _))) =
            of_device.iter().find(|(_, (tile, _))| tile.ranges().len() != rank)
        {
            let expected = format!("boxes of {rank} dimensions, as the first has");
            return Err(rule(path(), expected, format!("{tile} on device {device}")));
        }
        let full: Vec<&TileBox> =
            of_device.values().map(|(tile, _)| tile).filter(|tile| !tile.is_empty()).collect();
        let distinct: BTreeSet<&TileBox> = full.iter().copied().collect();
        let mut cuts = Vec::with_capacity(rank);
        for dimension in 0..rank {
            let of = |tile: &&TileBox| tile.ranges()[dimension];
            let ranges: BTreeSet<(u64, u64)> = full.iter().map(of).collect();
            let mut limits = vec![];
            let mut end = 0;
            for (start, limit) in ranges {
                if start > end {
                    let cover = format!("boxes that cover dimension {dimension}");
                    return Err(rule(path(), cover, format!("none with index {end}")));
                }
                if start < end {
                    return Err(ShardingError::Unsupported {
                        field: path(),
                        given: format!("a box that starts at {start} in dimension {dimension}"),
                        reason: format!(
                            "boxes must be those that cuts of each dimension make, and another ends at {end}"
                        ),
                    });
                }
                limits.push(limit);
                end = limit;
            }
            if limits.is_empty() {
                // All boxes are empty, so the extent is the greatest limit.
                let all = of_device.values().map(|(tile, _)| tile.ranges()[dimension].1);
                limits.push(all.max().unwrap_or(0));
            }
            cuts.push(Cuts::At(limits));
        }
        let tiles = cuts.iter().try_fold(1_u64, |tiles, cuts| tiles.checked_mul(cuts.tiles()));
        let whole = cuts.iter().all(|cuts| cuts.size() > 0);
        if (whole || !distinct.is_empty()) && tiles != Some(distinct.len() as u64) {
            let expected = format!("a box for every index, {} for these cuts", TileCount(tiles));
            return Err(rule(path(), expected, distinct.len()));
        }
        let mut of_tile = vec![Vec::new(); distinct.len()];
        for (device, (tile, number)) in &mut of_device {
            if tile.is_empty() {
                continue;
            }
            let mut at = 0;
            for (cuts, range) in cuts.iter().zip(tile.ranges()) {
                at = at * cuts.tiles() + cuts.covering(*range).0;
            }
            *number = Some(at);
            of_tile[at as usize].push(*device);
        }
        Ok(Self { of_device, of_tile, cuts })
    }

    /// Returns the number of devices, which is one more than the greatest device id.
    pub(super) fn devices(&self) -> u64 {
        self.of_device.last_key_value().map_or(0, |(device, _)| device + 1)
    }
}

/// A number of tiles for error messages, or `None` if it does not fit a `u64`.
struct TileCount(Option<u64>);

impl std::fmt::Display for TileCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(tiles) => write!(f, "{tiles}"),
            None => f.write_str("more than 2^64"),
        }
    }
}
