//! [`DeviceRegions`]: a sharding that lists the part of the array on each device.
//!
//! The listed parts may overlap in any way. The rest of the code expects that devices hold whole
//! tiles of a grid, so the array is cut into tiles such that each tile is either wholly inside or
//! wholly outside each part.

use std::collections::{BTreeMap, HashMap};

use super::{MAX_RANGES, Region, ShardingError, cuts::Cuts, error::rule};
use crate::shape::{Count, FieldPath};

/// The part of the array on each device. A part is a product of lists of ranges, one list for each
/// dimension.
///
/// Each dimension is cut into pieces at the ends of all ranges. All pieces that belong to the same
/// parts form one tile of the dimension, and a tile of the array is a product of such tiles. A
/// device holds every tile inside its part. If no two different parts overlap, each device holds
/// exactly one tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeviceRegions {
    /// The part of the array on each device, with the row-major indices of the tiles in that part,
    /// in ascending order.
    pub(super) of_device: BTreeMap<u64, (Region, Vec<u64>)>,
    /// The devices that hold each tile, in ascending order. Tiles are numbered row-major.
    pub(super) of_tile: Vec<Vec<u64>>,
    pub(super) cuts: Vec<Cuts>,
}

impl DeviceRegions {
    #[expect(clippy::cast_possible_truncation)] // there are at most `MAX_RANGES` tiles
    pub(super) fn new(
        regions: impl IntoIterator<Item = (u64, Region)>,
    ) -> Result<Self, ShardingError> {
        let path = || FieldPath::new("boxes");
        let mut of_device = BTreeMap::new();
        for (device, region) in regions {
            if i64::try_from(device).is_err() {
                return Err(rule(path(), "devices below 2^63", device));
            }
            if of_device.insert(device, (region, Vec::new())).is_some() {
                return Err(rule(path(), "each device once", format!("{device} twice")));
            }
        }
        let Some((_, (first, _))) = of_device.first_key_value() else {
            return Err(rule(path(), "a box for at least one device", "none"));
        };
        let rank = first.dimensions().len();
        if let Some((device, (region, _))) =
            of_device.iter().find(|(_, (region, _))| region.dimensions().len() != rank)
        {
            let expected =
                format!("boxes of {}, as the first has", Count(rank as u64, "dimension"));
            return Err(rule(path(), expected, format!("{region} on device {device}")));
        }
        let parts: Vec<&Region> =
            of_device.values().map(|(region, _)| region).filter(|part| !part.is_empty()).collect();
        let mut cuts = Vec::with_capacity(rank);
        // The tiles of each part along each dimension, as indices: `along[part][dimension]`.
        let mut along: Vec<Vec<Vec<u64>>> = vec![Vec::new(); parts.len()];
        for dimension in 0..rank {
            if parts.is_empty() {
                // There are no nonempty parts, so the extent is the greatest limit of the empty
                // ones.
                let limits = of_device.values().filter_map(|(region, _)| {
                    region.dimensions().nth(dimension)?.last().map(|range| range.1)
                });
                cuts.push(Cuts::At(vec![limits.max().unwrap_or(0)]));
                continue;
            }
            let (cut, tiles) = cut(&parts, dimension)?;
            cuts.push(cut);
            for (along, tiles) in along.iter_mut().zip(tiles) {
                along.push(tiles);
            }
        }
        let of_tile = if parts.is_empty() {
            if cuts.iter().all(|cuts| cuts.size() > 0) {
                return Err(rule(path(), "a box for every index", "none with an index"));
            }
            Vec::new()
        } else {
            let tiles = cuts.iter().try_fold(1_u64, |tiles, cuts| tiles.checked_mul(cuts.tiles()));
            let tiles = tiles.filter(|&tiles| tiles <= MAX_RANGES).ok_or_else(too_many)?;
            vec![Vec::new(); tiles as usize]
        };
        let mut regions = Self { of_device, of_tile, cuts };
        regions.assign(&along)?;
        if let Some(tile) = regions.of_tile.iter().position(Vec::is_empty) {
            let region = regions.tile(tile as u64);
            return Err(rule(path(), "a box for every index", format!("none with {region}")));
        }
        Ok(regions)
    }

    /// Records the tiles that each device holds. `along` contains the indices of each nonempty
    /// part's tiles along each dimension.
    #[expect(clippy::cast_possible_truncation)] // there are at most `MAX_RANGES` tiles
    fn assign(&mut self, along: &[Vec<Vec<u64>>]) -> Result<(), ShardingError> {
        let mut held = 0_u64;
        let parts = self.of_device.iter_mut().filter(|(_, (region, _))| !region.is_empty());
        for ((device, (_, tiles)), along) in parts.zip(along) {
            let count = along.iter().map(|tiles| tiles.len() as u64).product::<u64>();
            held = held.saturating_add(count);
            if held > MAX_RANGES {
                return Err(too_many());
            }
            tiles.push(0);
            for (cuts, along) in self.cuts.iter().zip(along) {
                let next = |tile: &u64| {
                    let outer = *tile * cuts.tiles();
                    along.iter().map(move |inner| outer + inner)
                };
                *tiles = tiles.iter().flat_map(next).collect();
            }
            for &tile in tiles.iter() {
                self.of_tile[tile as usize].push(*device);
            }
        }
        Ok(())
    }

    fn tile(&self, tile: u64) -> Region {
        let at = super::coordinates(tile, self.cuts.iter().map(Cuts::tiles));
        Region::new(self.cuts.iter().zip(at).map(|(cuts, at)| cuts.ranges(at)))
    }

    /// Returns one more than the greatest device id, which is the number of devices.
    pub(super) fn devices(&self) -> u64 {
        self.of_device.last_key_value().map_or(0, |(device, _)| device + 1)
    }

    /// Returns the greatest number of coordinates that any part has in each dimension, which is the
    /// extent of a full shard.
    pub(super) fn sides(&self) -> Vec<u64> {
        let mut sides = vec![0; self.cuts.len()];
        for (region, _) in self.of_device.values() {
            for (side, size) in sides.iter_mut().zip(region.sizes()) {
                *side = size.max(*side);
            }
        }
        sides
    }
}

/// Cuts a dimension at both ends of each range of the parts. Also returns, for each part, the
/// indices of its tiles along the dimension.
#[expect(clippy::cast_possible_truncation)] // numbers of parts and pieces
fn cut(parts: &[&Region], dimension: usize) -> Result<(Cuts, Vec<Vec<u64>>), ShardingError> {
    let ranges = |part: &Region| part.ranges(dimension);
    let mut limits: Vec<u64> = parts
        .iter()
        .flat_map(|part| ranges(part).list().to_vec())
        .flat_map(|(start, limit)| [start, limit])
        .filter(|&limit| limit > 0)
        .collect();
    limits.sort_unstable();
    limits.dedup();
    // The indices of the parts that contain each piece.
    let mut holders: Vec<Vec<u32>> = vec![Vec::new(); limits.len()];
    let mut held = 0_u64;
    for (number, part) in parts.iter().enumerate() {
        for &(start, limit) in ranges(part).list() {
            let first = limits.partition_point(|&end| end <= start);
            let end = limits.partition_point(|&end| end < limit) + 1;
            held += (end - first) as u64;
            if held > MAX_RANGES {
                return Err(too_many());
            }
            holders[first..end].iter_mut().for_each(|holders| holders.push(number as u32));
        }
    }
    let mut numbers: HashMap<&[u32], u64> = HashMap::new();
    let mut tiles = Vec::with_capacity(limits.len());
    let mut of_part = vec![Vec::new(); parts.len()];
    for (piece, holders) in holders.iter().enumerate() {
        if holders.is_empty() {
            let index = if piece == 0 { 0 } else { limits[piece - 1] };
            let cover = format!("boxes that cover dimension {dimension}");
            return Err(rule(FieldPath::new("boxes"), cover, format!("none with index {index}")));
        }
        let next = numbers.len() as u64;
        let tile = *numbers.entry(holders).or_insert(next);
        if tile == next {
            for &part in holders {
                of_part[part as usize].push(tile);
            }
        }
        tiles.push(tile);
    }
    let is_even = tiles.iter().copied().eq(0..limits.len() as u64);
    let cuts = if is_even { Cuts::At(limits) } else { Cuts::Listed { limits, tiles } };
    Ok((cuts, of_part))
}

fn too_many() -> ShardingError {
    ShardingError::Unsupported {
        field: FieldPath::new("boxes"),
        given: "boxes that cut one another into more".to_owned(),
        reason: format!("all devices may have at most {MAX_RANGES} ranges between cuts"),
    }
}
