//! [`Tiling`]: the number of tiles in each dimension and the order of the devices, in XLA's
//! canonical form, so that equal shardings compare equal.

use super::{
    MAX_LISTED_DEVICES, NotWhole, ShardingError,
    digits::{DigitPermutation, RadixDigit},
    error::rule,
    kind::{ShardingKind, field},
};

/// The relation between devices that have the same tile. XLA's tile assignment has a trailing
/// dimension for each group of such devices. They have separate arrays (manual), summands of the
/// tile (unreduced), or copies of it (replicated). The variants are in canonical order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Subgroup {
    Manual,
    Unreduced,
    Replicated,
}

impl Subgroup {
    pub(super) const ALL: [Self; 3] = [Self::Manual, Self::Unreduced, Self::Replicated];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Unreduced => "unreduced",
            Self::Replicated => "replicated",
        }
    }
}

/// The order of the devices in a tile assignment: a permutation that maps each position to a
/// device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ids {
    Iota(DigitPermutation),
    List {
        ids: Vec<u64>,
        /// The position of each device in `ids`. This list is the inverse of `ids`.
        positions: Vec<u64>,
    },
}

impl Ids {
    /// Creates the order from `ids`, the device at each position. `ids` must be a permutation of
    /// `0..ids.len()`.
    #[expect(clippy::cast_possible_truncation)] // devices are below the length
    pub(super) fn list(ids: Vec<u64>) -> Self {
        let mut positions = vec![0; ids.len()];
        for (position, &id) in ids.iter().enumerate() {
            positions[id as usize] = position as u64;
        }
        Self::List { ids, positions }
    }

    #[expect(clippy::cast_possible_truncation)] // positions are below the length
    pub(super) fn at(&self, position: u64) -> u64 {
        match self {
            Self::Iota(digits) => digits.at(position),
            Self::List { ids, .. } => ids[position as usize],
        }
    }

    #[expect(clippy::cast_possible_truncation)] // devices are below the length
    pub(super) fn position(&self, id: u64) -> u64 {
        match self {
            Self::Iota(digits) => digits.position(id),
            Self::List { positions, .. } => positions[id as usize],
        }
    }

    pub(super) fn all(&self) -> Vec<u64> {
        match self {
            Self::Iota(digits) => (0..digits.count()).map(|position| digits.at(position)).collect(),
            Self::List { ids, .. } => ids.clone(),
        }
    }
}

/// A sharding by tiles: the number of tiles, their subgroups, and the order of the devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tiling {
    /// The number of tiles along each dimension.
    pub(super) tiles: Vec<u64>,
    /// Each subgroup with its number of devices, in the order of [`Subgroup::ALL`]. A subgroup
    /// occurs at most once and has at least two devices.
    pub(super) subgroups: Vec<(Subgroup, u64)>,
    /// The device at each position. Positions are row-major over the tiles and then the subgroups.
    /// The replicated copies of a tile are in ascending order of devices.
    pub(super) ids: Ids,
}

/// A block-cyclic sharding: the array is cut into blocks, which are assigned to the tiles
/// round-robin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cyclic {
    pub(super) tiling: Tiling,
    /// The extent of a block in each dimension, at least 1.
    pub(super) blocks: Vec<u64>,
}

impl Tiling {
    /// Creates a sharding in canonical form, so that equal shardings compare equal. `tiles` is the
    /// number of tiles in each dimension, and `subgroups` are the trailing dimensions of the tile
    /// assignment. The product of all their extents must be the number of devices and fit an `i64`.
    pub(super) fn canonical(
        tiles: Vec<u64>,
        subgroups: &[(Subgroup, u64)],
        ids: Ids,
    ) -> Result<ShardingKind, ShardingError> {
        let (merged, order) = merge(subgroups);
        if tiles.iter().all(|&tiles| tiles == 1) {
            match merged[..] {
                [] | [(Subgroup::Replicated, _)] => return Ok(ShardingKind::Replicated),
                [(Subgroup::Manual, _)] => return Ok(ShardingKind::Manual),
                _ => {}
            }
        }
        let mut extents = tiles.clone();
        extents.extend(subgroups.iter().map(|(_, extent)| extent));
        let order: Vec<usize> =
            (0..tiles.len()).chain(order.iter().map(|at| tiles.len() + at)).collect();
        let copies = match merged.last() {
            Some((Subgroup::Replicated, copies)) => *copies,
            _ => 1,
        };
        let ids = match ids {
            Ids::Iota(digits) => match arranged(&digits, &extents, &order, copies) {
                Some(digits) => Ids::Iota(digits),
                None if digits.count() <= MAX_LISTED_DEVICES => {
                    let ids = Ids::Iota(digits).all();
                    Ids::list(arranged_list(&ids, &extents, &order, copies))
                }
                None => {
                    let limit =
                        format!("at most {MAX_LISTED_DEVICES} devices where copies need a list");
                    return Err(rule(field("iota_reshape_dims"), limit, digits.count()));
                }
            },
            Ids::List { ids, .. } => Ids::list(arranged_list(&ids, &extents, &order, copies)),
        };
        Ok(ShardingKind::Tiles(Self { tiles, subgroups: merged, ids }))
    }

    pub(super) fn devices(&self) -> u64 {
        self.tile_count() * self.copies()
    }

    pub(super) fn tile_count(&self) -> u64 {
        self.tiles.iter().product()
    }

    /// Returns the number of devices for each tile, counting all subgroups.
    pub(super) fn copies(&self) -> u64 {
        self.subgroups.iter().map(|(_, extent)| extent).product()
    }

    pub(super) fn not_whole(&self) -> Vec<NotWhole> {
        let subgroups = self.subgroups.iter();
        subgroups
            .filter_map(|(subgroup, _)| match subgroup {
                Subgroup::Manual => Some(NotWhole::Manual),
                Subgroup::Unreduced => Some(NotWhole::Unreduced),
                Subgroup::Replicated => None,
            })
            .collect()
    }
}

/// Drops subgroups of one device, and merges subgroups of the same kind. Returns the merged
/// subgroups in canonical order, and, in the same order, the indices in `subgroups` of all
/// subgroups that were not dropped.
fn merge(subgroups: &[(Subgroup, u64)]) -> (Vec<(Subgroup, u64)>, Vec<usize>) {
    let (mut merged, mut order) = (Vec::new(), Vec::new());
    for kind in Subgroup::ALL {
        let mut total = 1;
        for (at, (_, extent)) in
            subgroups.iter().enumerate().filter(|(_, (of, extent))| *of == kind && *extent > 1)
        {
            order.push(at);
            total *= extent;
        }
        if total > 1 {
            merged.push((kind, total));
        }
    }
    (merged, order)
}

/// Reorders the dimensions of a device assignment to `order`, and then sorts each group of `copies`
/// adjacent devices, because these devices have copies of one tile. `extents` contains the extent
/// of each dimension before the change. Dimensions that `order` omits must have extent 1. Returns
/// `None` if the result cannot be written as a reshaped and transposed sequence.
fn arranged(
    digits: &DigitPermutation,
    extents: &[u64],
    order: &[usize],
    copies: u64,
) -> Option<DigitPermutation> {
    let digits = if order.iter().copied().eq(0..extents.len()) {
        digits.clone()
    } else {
        let groups = digits.groups(extents)?;
        DigitPermutation::new(order.iter().flat_map(|&dimension| groups[dimension].iter().copied()))
    };
    if copies == 1 {
        return Some(digits);
    }
    let mut groups = digits.groups(&[digits.count() / copies, copies])?;
    groups[1].sort_by_key(|digit: &RadixDigit| std::cmp::Reverse(digit.stride));
    Some(DigitPermutation::new(groups.concat()))
}

/// Reorders `ids`, a list of devices, as [`arranged`] reorders digits.
#[expect(clippy::cast_possible_truncation)] // the product of the extents is the length of the list
fn arranged_list(ids: &[u64], extents: &[u64], order: &[usize], copies: u64) -> Vec<u64> {
    let mut arranged = if order.windows(2).all(|pair| pair[0] < pair[1]) {
        ids.to_vec() // dropped dimensions have extent 1
    } else {
        let mut strides = vec![1; extents.len()];
        for dimension in (1..extents.len()).rev() {
            strides[dimension - 1] = strides[dimension] * extents[dimension] as usize;
        }
        let mut starts = vec![0];
        for &dimension in order {
            let steps = 0..extents[dimension] as usize;
            starts = starts
                .iter()
                .flat_map(|start| steps.clone().map(move |step| (start, step)))
                .map(|(start, step)| start + step * strides[dimension])
                .collect();
        }
        starts.into_iter().map(|start| ids[start]).collect()
    };
    if copies > 1 {
        arranged.chunks_mut(copies as usize).for_each(<[u64]>::sort_unstable);
    }
    arranged
}
