//! [`Placement`]: a sharding applied to an array, which determines the indices of the array on each
//! device.

use smallvec::{SmallVec, smallvec};

use super::{
    MAX_RANGES, NotWhole, Region, Sharding, ShardingError, TileBox,
    cuts::Cuts,
    device_regions::DeviceRegions,
    digits::DigitPermutation,
    error::rule,
    kind::{ShardingKind, field},
    named::Named,
    tiling::{Cyclic, Ids, Subgroup, Tiling},
};
use crate::shape::{Count, FieldPath, Shape};

/// The indices of an array that lie on each device. A placement is a sharding that has been checked
/// against the array and the number of devices.
///
/// The array is cut into a grid of tiles, numbered row-major. The devices that have a tile are its
/// *holders*; a tile of a replicated array has several. Usually a tile is a single box, and a
/// device has a single tile. In a cyclic sharding, and in one that lists the part of each device, a
/// tile may consist of several boxes. If listed parts overlap, a device may have several tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    cuts: Vec<Cuts>,
    holders: Owners,
    devices: u64,
    not_whole: Vec<NotWhole>,
}

/// The devices that hold each tile.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Owners {
    /// A grid in which each tile has `copies` holders. Sort the devices by tile: then the holders
    /// of tile `t` are at the positions `t·copies` to `(t+1)·copies - 1`. `order` maps such a
    /// position to an index in `ids`, or directly to a device if `ids` is `None`.
    Grid {
        copies: u64,
        order: DigitPermutation,
        ids: Option<Ids>,
    },
    /// A single tile, whose only holder is this device.
    One(u64),
    Listed(DeviceRegions),
}

/// The devices that hold a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holders<'a> {
    placement: &'a Placement,
    tile: u64,
    len: u64,
}

impl Placement {
    pub(super) fn new(
        sharding: &Sharding,
        shape: &Shape,
        devices: Option<u64>,
    ) -> Result<Self, ShardingError> {
        let sizes = sizes(shape)?;
        let count = device_count(sharding, devices)?;
        let whole = || sizes.iter().map(|&size| Cuts::even(size, 1)).collect::<Vec<_>>();
        let one = |device: u64| {
            if device >= count {
                let expected = format!("a device of 0 to {}", count - 1);
                return Err(rule(field("tile_assignment_devices"), expected, device));
            }
            Ok((whole(), Owners::One(device)))
        };
        let replicated = || {
            let order = DigitPermutation::identity(count);
            (whole(), Owners::Grid { copies: count, order, ids: None })
        };
        let tiled = |tiles: &[u64], name: &'static str| -> Result<Vec<Cuts>, ShardingError> {
            if tiles.len() != sizes.len() {
                let expected =
                    format!("{}, as {shape} has", Count(sizes.len() as u64, "dimension"));
                return Err(rule(field(name), expected, tiles.len()));
            }
            Ok(sizes.iter().zip(tiles).map(|(&size, &tiles)| Cuts::even(size, tiles)).collect())
        };
        let grid = |tiling: &Tiling| {
            let order = match &tiling.ids {
                Ids::Iota(digits) => digits.clone(),
                Ids::List { .. } => DigitPermutation::identity(tiling.devices()),
            };
            let ids = matches!(tiling.ids, Ids::List { .. }).then(|| tiling.ids.clone());
            Owners::Grid { copies: tiling.copies(), order, ids }
        };
        let (cuts, holders) = match &sharding.kind {
            ShardingKind::Named(Named::Empty(dimensions))
                if !dimensions.is_empty() && dimensions.len() != sizes.len() =>
            {
                let expected =
                    format!("{}, as {shape} has", Count(sizes.len() as u64, "dimension"));
                return Err(rule(
                    field("named_sharding.dim_shardings"),
                    expected,
                    dimensions.len(),
                ));
            }
            ShardingKind::Replicated
            | ShardingKind::Unreduced
            | ShardingKind::Named(Named::Empty(_)) => replicated(),
            ShardingKind::Maximal(device) | ShardingKind::Named(Named::Maximal(device)) => {
                one(*device)?
            }
            ShardingKind::Tiles(tiling) => {
                (tiled(&tiling.tiles, "tile_assignment_dimensions")?, grid(tiling))
            }
            ShardingKind::Cyclic(Cyclic { tiling, blocks }) => {
                let even = tiled(&tiling.tiles, "tile_assignment_dimensions")?;
                let dealt = |(cuts, &block): (&Cuts, _)| cuts.dealt(block);
                let cuts: Vec<Cuts> = even.iter().zip(blocks).map(dealt).collect();
                few_ranges(&cuts, count)?;
                (cuts, grid(tiling))
            }
            ShardingKind::Named(Named::Axes(axes)) if axes.is_wholly(Subgroup::Unreduced) => {
                replicated()
            }
            ShardingKind::Named(Named::Axes(axes)) if !axes.is_wholly(Subgroup::Manual) => {
                let tiles = axes.tiles();
                let cuts = if tiles.is_empty() {
                    whole()
                } else {
                    tiled(&tiles, "named_sharding.dim_shardings")?
                };
                let copies = axes.mesh.devices() / tiles.iter().product::<u64>();
                let ids = (!axes.mesh.is_plain()).then(|| axes.mesh.ids.clone());
                (cuts, Owners::Grid { copies, order: axes.order(), ids })
            }
            ShardingKind::Regions(boxes) => {
                let own: Vec<u64> = boxes.cuts.iter().map(Cuts::size).collect();
                if own != sizes {
                    let expected = format!("boxes of an array of {sizes:?}, as {shape} is");
                    return Err(rule(FieldPath::new("boxes"), expected, format!("{own:?}")));
                }
                (boxes.cuts.clone(), Owners::Listed(boxes.clone()))
            }
            ShardingKind::Tuple(leaves) => {
                let given = format!("a tuple of {}", leaves.len());
                return Err(rule(field("type"), "the sharding of one array", given));
            }
            ShardingKind::Manual | ShardingKind::Unknown | ShardingKind::Named(Named::Axes(_)) => {
                return Err(not_whole(&sharding.not_whole()));
            }
        };
        Ok(Self { cuts, holders, devices: count, not_whole: sharding.not_whole() })
    }

    /// Returns the number of devices in the program, including devices without elements.
    #[must_use]
    pub fn devices(&self) -> u64 {
        self.devices
    }

    /// Returns the extents of the largest tile. XLA allocates every shard with these extents, and
    /// stores the elements of a partial tile at the front.
    #[must_use]
    pub fn tile_shape(&self) -> Vec<u64> {
        if let Owners::Listed(regions) = &self.holders {
            return regions.sides();
        }
        self.cuts.iter().map(Cuts::side).collect()
    }

    /// Returns the part of the array on `device`, which may be empty. Returns `None` if the device
    /// has no part.
    #[must_use]
    pub fn region(&self, device: u64) -> Option<Region> {
        if let Owners::Listed(boxes) = &self.holders {
            return boxes.of_device.get(&device).map(|(region, _)| region.clone());
        }
        self.tile_numbers(device).first().map(|&tile| self.tile_region(tile))
    }

    /// Returns every device that has a part of the array, with its part, in ascending order of
    /// devices.
    pub fn regions(&self) -> impl Iterator<Item = (u64, Region)> + '_ {
        self.owners().filter_map(|device| Some((device, self.region(device)?)))
    }

    /// Returns the devices that may have a part, in ascending order. The time does not depend on
    /// the numbers of the devices.
    pub(crate) fn owners(&self) -> impl Iterator<Item = u64> + '_ {
        let (range, listed) = match &self.holders {
            Owners::Grid { .. } => (0..self.devices, None),
            Owners::One(device) => (*device..device + 1, None),
            Owners::Listed(regions) => (0..0, Some(regions.of_device.keys().copied())),
        };
        range.chain(listed.into_iter().flatten())
    }

    /// Returns the number of devices that have a part of the array, which may be empty.
    #[must_use]
    pub fn owner_count(&self) -> u64 {
        match &self.holders {
            Owners::Grid { .. } => self.devices,
            Owners::One(_) => 1,
            Owners::Listed(regions) => regions.of_device.len() as u64,
        }
    }

    /// Returns the part of the array on `device` as a box, which may be empty. Returns `None` if
    /// the device has no part, or if the part has several ranges in a dimension (see
    /// [`region`](Self::region)).
    #[must_use]
    pub fn tile(&self, device: u64) -> Option<TileBox> {
        self.region(device)?.as_box()
    }

    /// Returns every device whose part is a box, with this box, in ascending order of devices.
    pub fn tiles(&self) -> impl Iterator<Item = (u64, TileBox)> + '_ {
        self.owners().filter_map(|device| Some((device, self.tile(device)?)))
    }

    /// Returns an error if the shards are not parts of the array, for example if each device has a
    /// summand of the array. Moving data cannot change such a sharding.
    pub(crate) fn check_whole(&self) -> Result<(), ShardingError> {
        if self.not_whole.is_empty() { Ok(()) } else { Err(not_whole(&self.not_whole)) }
    }

    pub(crate) fn cuts(&self) -> &[Cuts] {
        &self.cuts
    }

    /// Returns the number of tiles, including empty ones.
    pub(crate) fn tile_count(&self) -> u64 {
        self.cuts.iter().map(Cuts::tiles).product()
    }

    /// Returns the number of holders of each tile, or `None` if tiles may have different numbers of
    /// holders.
    pub(crate) fn copies(&self) -> Option<u64> {
        match &self.holders {
            Owners::Grid { copies, .. } => Some(*copies),
            Owners::One(_) => Some(1),
            Owners::Listed(_) => None,
        }
    }

    /// Returns the row-major indices of the tiles on `device`, in ascending order.
    pub(crate) fn tile_numbers(&self, device: u64) -> SmallVec<[u64; 1]> {
        match &self.holders {
            _ if device >= self.devices => SmallVec::new(),
            Owners::Grid { copies, order, ids } => {
                let position = ids.as_ref().map_or(device, |ids| ids.position(device));
                smallvec![order.position(position) / copies]
            }
            Owners::One(only) if *only == device => smallvec![0],
            Owners::One(_) => SmallVec::new(),
            Owners::Listed(regions) => regions
                .of_device
                .get(&device)
                .map_or(SmallVec::new(), |(_, tiles)| tiles[..].into()),
        }
    }

    /// Returns true if `device` is a holder of `tile`.
    #[expect(clippy::cast_possible_truncation)] // the tiles of boxes are listed
    pub(crate) fn holds(&self, device: u64, tile: u64) -> bool {
        match &self.holders {
            Owners::Listed(regions) => {
                let holders = regions.of_tile.get(tile as usize);
                holders.is_some_and(|holders| holders.binary_search(&device).is_ok())
            }
            _ => self.tile_numbers(device).first() == Some(&tile),
        }
    }

    /// Returns the indices of the array that lie in `tile`.
    pub(crate) fn tile_region(&self, tile: u64) -> Region {
        let at = coordinates(tile, self.cuts.iter().map(Cuts::tiles));
        Region::new(self.cuts.iter().zip(at).map(|(cuts, at)| cuts.ranges(at)))
    }

    /// Returns the devices that hold `tile`.
    #[expect(clippy::cast_possible_truncation)] // the tiles of boxes are listed
    pub(crate) fn holders(&self, tile: u64) -> Holders<'_> {
        let len = match &self.holders {
            Owners::Grid { copies, .. } => *copies,
            Owners::One(_) => 1,
            Owners::Listed(boxes) => boxes.of_tile.get(tile as usize).map_or(0, Vec::len) as u64,
        };
        Holders { placement: self, tile, len }
    }

    /// Returns the index of `device` among the holders of `tile`, which must be a tile of the
    /// device. Returns `None` if the device holds no tile.
    #[expect(clippy::cast_possible_truncation)] // the tiles of boxes are listed
    pub(crate) fn rank_in_tile(&self, device: u64, tile: u64) -> Option<u64> {
        match &self.holders {
            _ if device >= self.devices => None,
            Owners::Grid { copies, order, ids } => {
                let position = ids.as_ref().map_or(device, |ids| ids.position(device));
                Some(order.position(position) % copies)
            }
            Owners::One(only) => (*only == device).then_some(0),
            Owners::Listed(regions) => {
                let holders = regions.of_tile.get(tile as usize)?;
                holders.binary_search(&device).ok().map(|at| at as u64)
            }
        }
    }
}

impl Holders<'_> {
    /// Returns the number of holders.
    #[must_use]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the holder at an index, which must be below [`Holders::len`].
    #[must_use]
    #[expect(clippy::cast_possible_truncation)] // the tiles of boxes are listed
    pub(crate) fn get(&self, at: u64) -> u64 {
        match &self.placement.holders {
            Owners::Grid { copies, order, ids } => {
                let position = order.at(self.tile * copies + at);
                ids.as_ref().map_or(position, |ids| ids.at(position))
            }
            Owners::One(device) => *device,
            Owners::Listed(boxes) => boxes.of_tile[self.tile as usize][at as usize],
        }
    }
}

/// Returns the number of devices in the program: `devices` if given, and otherwise the number that
/// the sharding determines. Returns an error if the two numbers contradict each other, or if
/// neither is present.
fn device_count(sharding: &Sharding, devices: Option<u64>) -> Result<u64, ShardingError> {
    let count = match (sharding.devices(), devices) {
        (Some(own), Some(given))
            if own != given && !matches!(sharding.kind, ShardingKind::Regions(_)) =>
        {
            let expected = format!("{given} devices, as the program has");
            return Err(rule(FieldPath::new("sharding"), expected, own));
        }
        (Some(own), Some(given)) if own > given => {
            let expected = format!("devices below {given}");
            return Err(rule(FieldPath::new("boxes"), expected, own - 1));
        }
        (_, Some(given)) => given,
        (Some(own), None) => own,
        (None, None) => {
            let expected = "the number of devices, which this sharding does not say";
            return Err(rule(FieldPath::new("devices"), expected, "none"));
        }
    };
    if count == 0 || i64::try_from(count).is_err() {
        return Err(rule(FieldPath::new("devices"), "1 to 2^63-1 devices", count));
    }
    Ok(count)
}

/// Converts `number`, the row-major index of a tile, to the index of the tile along each dimension.
/// `tiles` yields the number of tiles along each dimension.
pub(crate) fn coordinates(
    number: u64,
    tiles: impl Iterator<Item = u64> + Clone,
) -> impl Iterator<Item = u64> {
    let (mut rest, mut weight) = (number, tiles.clone().product::<u64>());
    tiles.map(move |tiles| {
        weight /= tiles;
        let at = rest / weight;
        rest %= weight;
        at
    })
}

/// Returns the extents of an array. Returns an error if `shape` is not an array, or if an extent is
/// not fixed.
fn sizes(shape: &Shape) -> Result<Vec<u64>, ShardingError> {
    let array = || FieldPath::new("shape");
    if !shape.is_array() {
        return Err(rule(array(), "an array", shape.element_type()));
    }
    let fixed = shape.dimensions().iter().map(|dimension| match dimension {
        crate::shape::Dimension::Fixed(size) => Ok(*size),
        _ => Err(rule(array(), "fixed extents", shape)),
    });
    fixed.collect()
}

/// Checks that the devices of a cyclic sharding have at most [`MAX_RANGES`] ranges in total. The
/// planner visits every range, so this limits its time.
fn few_ranges(cuts: &[Cuts], devices: u64) -> Result<(), ShardingError> {
    let of = |cuts: &Cuts| {
        let pieces = cuts.dealt_pieces()?;
        Some(u128::from(devices / cuts.tiles()) * u128::from(pieces))
    };
    let ranges: u128 = cuts.iter().filter_map(of).sum();
    if ranges > u128::from(MAX_RANGES) {
        let expected = format!("blocks that give all devices at most {MAX_RANGES} ranges");
        return Err(rule(FieldPath::new("blocks"), expected, ranges));
    }
    Ok(())
}

/// Returns the error for shards that are not parts of the array.
fn not_whole(kinds: &[NotWhole]) -> ShardingError {
    let words = kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    let reasons = kinds.iter().map(|kind| kind.reason()).collect::<Vec<_>>().join(", and ");
    ShardingError::Unsupported { field: FieldPath::new("sharding"), given: words, reason: reasons }
}
