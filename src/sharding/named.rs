//! [`Named`]: a sharding by the axes of a mesh, as JAX writes it. It names the axes that divide
//! each dimension.

use super::{
    MAX_LISTED_DEVICES, NotWhole, ShardingError,
    digits::DigitPermutation,
    error::rule,
    kind::{ShardingKind, field},
    mesh::{AxisRef, Mesh},
    tiling::{Ids, Subgroup, Tiling},
};

/// A sharding by the named axes of a mesh.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Named {
    /// A sharding on a mesh without axes, in which every device has the whole array. The list has
    /// one entry for each dimension: true if propagation must not divide it further. The list is
    /// empty if the sharding has no dimensions.
    Empty(Vec<bool>),
    /// A mesh without axes that consists of this one device, which has the whole array.
    Maximal(u64),
    Axes(Box<NamedAxes>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NamedAxes {
    pub(super) mesh: Mesh,
    /// The axes that divide each dimension, major to minor, paired with true if the dimension is
    /// closed, so that propagation must not divide it further.
    pub(super) dimensions: Vec<(Vec<AxisRef>, bool)>,
    /// The axes of the manual, the unreduced and the replicated subgroup, indexed as
    /// [`Subgroup::ALL`]. The axes of a subgroup are in mesh order.
    pub(super) lists: [Vec<AxisRef>; 3],
    pub(super) reduction: ReductionOp,
}

/// The reduction that combines the values of devices along unreduced axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReductionOp {
    Sum,
    Max,
    Min,
}

impl ReductionOp {
    /// Returns the name of the reduction in XLA's and Shardy's texts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Max => "max",
            Self::Min => "min",
        }
    }
}

impl NamedAxes {
    /// Returns true if `subgroup` covers the whole mesh: its list contains every axis, and the
    /// sharding has no dimensions.
    pub(super) fn is_wholly(&self, subgroup: Subgroup) -> bool {
        let list = &self.lists[subgroup as usize];
        self.dimensions.is_empty()
            && list.len() == self.mesh.axes.len()
            && list.iter().enumerate().all(|(at, axis)| axis.axis == at && axis.part.is_none())
    }

    /// Returns all references to axes: first of the dimensions, then of the subgroups.
    fn used(&self) -> Vec<AxisRef> {
        let dimensions = self.dimensions.iter().map(|(axes, _)| axes);
        dimensions.chain(&self.lists).flatten().copied().collect()
    }

    /// Returns the number of tiles along each dimension.
    pub(super) fn tiles(&self) -> Vec<u64> {
        let tiles = |axes: &[AxisRef]| axes.iter().map(|axis| axis.size(&self.mesh)).product();
        self.dimensions.iter().map(|(axes, _)| tiles(axes)).collect()
    }

    /// Returns the order in which devices are assigned to tiles, as a permutation of the positions
    /// in the mesh. The order is row-major over the tiles, and the devices of one tile are
    /// adjacent.
    pub(super) fn order(&self) -> DigitPermutation {
        let dimensions = self.dimensions.iter().flat_map(|(axes, _)| axes).copied();
        let lists = self.lists.iter().flatten().copied();
        let rest = self.mesh.rest(&self.used());
        DigitPermutation::new(dimensions.chain(lists).chain(rest).map(|axis| self.mesh.digit(axis)))
    }
}

impl Named {
    pub(super) fn devices(&self) -> Option<u64> {
        match self {
            Self::Axes(axes) => Some(axes.mesh.devices()),
            _ => None,
        }
    }

    pub(super) fn not_whole(&self) -> Vec<NotWhole> {
        let Self::Axes(axes) = self else { return Vec::new() };
        let has = |subgroup: Subgroup| {
            axes.lists[subgroup as usize].iter().any(|axis| axis.size(&axes.mesh) > 1)
                || axes.is_wholly(subgroup)
        };
        let kinds =
            [(Subgroup::Manual, NotWhole::Manual), (Subgroup::Unreduced, NotWhole::Unreduced)];
        kinds.into_iter().filter(|(subgroup, _)| has(*subgroup)).map(|(_, kind)| kind).collect()
    }

    /// Converts the sharding to one with tiles instead of named axes.
    pub(super) fn tiles(&self) -> Result<ShardingKind, ShardingError> {
        let axes = match self {
            Self::Empty(_) => return Ok(ShardingKind::Replicated),
            Self::Maximal(device) => return Ok(ShardingKind::Maximal(*device)),
            Self::Axes(axes) => axes,
        };
        if axes.is_wholly(Subgroup::Manual) {
            return Ok(ShardingKind::Manual);
        }
        if axes.is_wholly(Subgroup::Unreduced) {
            return Ok(ShardingKind::Unreduced);
        }
        let order = axes.order();
        let sizes = |list: &[AxisRef]| list.iter().map(|axis| axis.size(&axes.mesh)).product();
        let mut subgroups: Vec<(Subgroup, u64)> = Subgroup::ALL
            .into_iter()
            .map(|subgroup| (subgroup, sizes(&axes.lists[subgroup as usize])))
            .collect();
        subgroups.push((Subgroup::Replicated, sizes(&axes.mesh.rest(&axes.used()))));
        let both = match &axes.mesh.ids {
            Ids::Iota(ids) => order.then(ids),
            Ids::List { .. } => None,
        };
        let ids = match both {
            Some(both) => Ids::Iota(both),
            None if order.count() <= MAX_LISTED_DEVICES => {
                Ids::list((0..order.count()).map(|at| axes.mesh.ids.at(order.at(at))).collect())
            }
            None => {
                let limit = format!("at most {MAX_LISTED_DEVICES} devices where they need a list");
                return Err(rule(field("named_sharding").field("mesh"), limit, order.count()));
            }
        };
        Tiling::canonical(axes.tiles(), &subgroups, ids)
    }
}
