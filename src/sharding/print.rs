//! Prints shardings in XLA's notation.

use std::fmt::{self, Display, Formatter};

use super::{
    Sharding,
    device_regions::DeviceRegions,
    kind::ShardingKind,
    mesh::{AxisRef, Mesh},
    named::{Named, NamedAxes, ReductionOp},
    tiling::{Cyclic, Ids, Subgroup, Tiling},
};

/// The number of leaves of a tuple between two comments such as `/*index=5*/`. XLA writes such a
/// comment before every fifth leaf.
const NUMBERED_LEAVES: usize = 5;

impl Display for Sharding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ShardingKind::Replicated => f.write_str("{replicated")?,
            ShardingKind::Manual => f.write_str("{manual")?,
            ShardingKind::Unreduced => f.write_str("{unreduced")?,
            ShardingKind::Unknown => f.write_str("{unknown")?,
            ShardingKind::Maximal(device) => write!(f, "{{maximal device={device}")?,
            ShardingKind::Tiles(tiling) => write!(f, "{{devices={tiling}")?,
            ShardingKind::Cyclic(Cyclic { tiling, blocks }) => {
                write!(f, "{{devices={tiling} blocks=[{}]", list(blocks))?;
            }
            ShardingKind::Named(named) => write!(f, "{{{named}")?,
            ShardingKind::Regions(regions) => return regions.fmt(f),
            ShardingKind::Tuple(leaves) => {
                f.write_str("{")?;
                for (at, leaf) in leaves.iter().enumerate() {
                    if at > 0 {
                        f.write_str(", ")?;
                        if at % NUMBERED_LEAVES == 0 {
                            write!(f, "/*index={at}*/")?;
                        }
                    }
                    leaf.fmt(f)?;
                }
            }
        }
        if let Some(group) = self.group {
            write!(f, " shard_{} {}", if group.like { "like" } else { "as" }, group.id)?;
        }
        f.write_str("}")
    }
}

impl Display for Tiling {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let trailing = self.subgroups.iter().map(|(_, extent)| extent);
        write!(f, "[{}]", list(self.tiles.iter().chain(trailing)))?;
        match &self.ids {
            Ids::Iota(_) => write!(f, "<={}", self.ids)?,
            Ids::List { .. } => self.ids.fmt(f)?,
        }
        match self.subgroups[..] {
            [] => Ok(()),
            [(Subgroup::Replicated, _)] => f.write_str(" last_tile_dim_replicate"),
            ref subgroups => {
                let names: Vec<_> = subgroups.iter().map(|(subgroup, _)| subgroup.name()).collect();
                write!(f, " last_tile_dims={{{}}}", names.join(", "))
            }
        }
    }
}

impl Display for Ids {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::List { ids, .. } => f.write_str(&list(ids)),
            Self::Iota(digits) => {
                let (sizes, perm) = digits.transposition();
                write!(f, "[{}]", list(&sizes))?;
                if perm.len() > 1 {
                    write!(f, "T({})", list(&perm))?;
                }
                Ok(())
            }
        }
    }
}

impl Display for Named {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(dimensions) if dimensions.is_empty() => f.write_str("mesh[], replicated"),
            Self::Empty(dimensions) => {
                let dimensions = dimensions.iter().map(|closed| if *closed { "{}" } else { "{?}" });
                write!(f, "mesh[], [{}]", list_with(", ", dimensions))
            }
            Self::Maximal(device) => write!(f, "maximal_mesh[device_id={device}]"),
            Self::Axes(axes) => axes.fmt(f),
        }
    }
}

impl Display for NamedAxes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.mesh.fmt(f)?;
        if self.dimensions.is_empty() && self.lists.iter().all(Vec::is_empty) {
            return f.write_str(", replicated");
        }
        for (subgroup, word) in
            [(Subgroup::Unreduced, ", unreduced"), (Subgroup::Manual, ", manual")]
        {
            if self.is_wholly(subgroup) {
                f.write_str(word)?;
                if subgroup == Subgroup::Unreduced && self.reduction != ReductionOp::Sum {
                    write!(f, "={}", self.reduction.name())?;
                }
                return Ok(());
            }
        }
        let refs = |axes: &[AxisRef]| {
            let one = |axis: &AxisRef| {
                let name = quoted(&self.mesh.axes[axis.axis].0);
                match axis.part {
                    Some((pre, size)) => format!("{name}:({pre}){size}"),
                    None => name,
                }
            };
            axes.iter().map(one).collect::<Vec<_>>()
        };
        let dimension = |(axes, closed): &(Vec<AxisRef>, bool)| {
            let mut parts = refs(axes);
            parts.extend((!closed).then(|| "?".to_owned()));
            format!("{{{}}}", parts.join(", "))
        };
        let dimensions: Vec<String> = self.dimensions.iter().map(dimension).collect();
        write!(f, ", [{}]", dimensions.join(", "))?;
        for subgroup in [Subgroup::Replicated, Subgroup::Unreduced, Subgroup::Manual] {
            let axes = refs(&self.lists[subgroup as usize]);
            let reduction = match (subgroup, self.reduction) {
                (Subgroup::Unreduced, ReductionOp::Max | ReductionOp::Min) => self.reduction.name(),
                _ => "",
            };
            if !axes.is_empty() {
                write!(f, ", {}={reduction}{{{}}}", subgroup.name(), axes.join(", "))?;
            }
        }
        Ok(())
    }
}

impl Display for Mesh {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let axes = self.axes.iter().map(|(name, size)| format!("{}={size}", quoted(name)));
        write!(f, "mesh[{}]", axes.collect::<Vec<_>>().join(","))?;
        if !self.is_plain() {
            write!(f, ", device_ids=({})", self.ids)?;
        }
        Ok(())
    }
}

/// Prints the parts as JSON, because XLA has no notation for them. The parser of shardings reads
/// it.
impl Display for DeviceRegions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, (device, (region, _))) in self.of_device.iter().enumerate() {
            let is_box = region.as_box().is_some();
            let dimension = |ranges: &[(u64, u64)]| {
                let ranges = ranges.iter().map(|(start, limit)| format!("[{start}, {limit}]"));
                let ranges = list_with(", ", ranges);
                if is_box { ranges } else { format!("[{ranges}]") }
            };
            let dimensions = list_with(", ", region.dimensions().map(dimension));
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}\"{device}\": [{dimensions}]")?;
        }
        f.write_str("}")
    }
}

/// Returns `name` in quotes: in double quotes if it contains a single quote, and otherwise in
/// single quotes.
fn quoted(name: &str) -> String {
    let quote = if name.contains('\'') { '"' } else { '\'' };
    format!("{quote}{name}{quote}")
}

fn list(numbers: impl IntoIterator<Item = impl ToString>) -> String {
    list_with(",", numbers)
}

fn list_with(separator: &str, items: impl IntoIterator<Item = impl ToString>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(separator)
}
