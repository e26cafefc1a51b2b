//! Converts protos to shardings. Every field is checked, because protos are untrusted input.

use super::{
    Sharding, ShardingError,
    error::rule,
    kind::{ShardGroup, ShardingKind, field},
    mesh::{AxisRef, CheckedAxes, Mesh, iota, listed, product},
    named::{Named, NamedAxes, ReductionOp},
    tiling::{Ids, Subgroup, Tiling},
};
use crate::{
    proto::xla::{
        AxisRefProto, MeshProto, NamedShardingProto, OpSharding,
        named_sharding_proto::ReductionOpProto,
        op_sharding::{ShardGroupType, Type},
    },
    shape::{self, FieldPath},
};

type Result<T> = std::result::Result<T, ShardingError>;

impl Sharding {
    /// Decodes a serialized `xla.OpSharding`. The empty message means `{replicated}`.
    ///
    /// ```
    /// use stridec::sharding::Sharding;
    /// let bytes = [0x08, 3, 0x1a, 2, 2, 2, 0x4a, 1, 4, 0x52, 1, 0];
    /// assert_eq!(Sharding::decode(&bytes)?.to_string(), "{devices=[2,2]<=[4]}");
    /// # Ok::<(), stridec::sharding::ShardingError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not an `xla.OpSharding`, or if the sharding breaks one of
    /// XLA's rules.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        Self::try_from(&shape::decode::<OpSharding>(bytes)?)
    }
}

impl TryFrom<&OpSharding> for Sharding {
    type Error = ShardingError;

    fn try_from(proto: &OpSharding) -> Result<Self> {
        if let Some(named) = &proto.named_sharding {
            let named = named_sharding(named);
            let named = named.map_err(|error| error.below(&field("named_sharding")))?;
            return Ok(ShardingKind::Named(named).into());
        }
        let types = "a number of xla.OpSharding.Type, 0 to 6";
        let kind =
            Type::try_from(proto.r#type).map_err(|_| rule(field("type"), types, proto.r#type))?;
        let kind = match kind {
            Type::Replicated => ShardingKind::Replicated,
            Type::Manual => ShardingKind::Manual,
            Type::Unknown => ShardingKind::Unknown,
            Type::Unreduced => ShardingKind::Unreduced,
            Type::Maximal => ShardingKind::Maximal(maximal(proto)?),
            Type::Other => tiles(proto)?,
            Type::Tuple => ShardingKind::Tuple(tuple(proto)?),
        };
        Ok(Self { kind, group: group(proto)? })
    }
}

impl TryFrom<OpSharding> for Sharding {
    type Error = ShardingError;

    fn try_from(proto: OpSharding) -> Result<Self> {
        Self::try_from(&proto)
    }
}

fn maximal(proto: &OpSharding) -> Result<u64> {
    let path = field("tile_assignment_devices");
    match proto.tile_assignment_devices[..] {
        [device] => natural(path.index(0), device),
        ref devices => Err(rule(path, "one device", devices.len())),
    }
}

fn tuple(proto: &OpSharding) -> Result<Vec<Sharding>> {
    let leaf = |(at, leaf): (usize, &OpSharding)| {
        let path = field("tuple_shardings").index(at);
        let sharding = Sharding::try_from(leaf).map_err(|error| error.below(&path))?;
        match sharding.kind {
            ShardingKind::Tuple(_) => {
                Err(rule(path, "the sharding of one array", "a tuple in a tuple"))
            }
            _ => Ok(sharding),
        }
    };
    // Refuse nested tuples before their elements are converted.
    if let Some(at) = proto
        .tuple_shardings
        .iter()
        .position(|leaf| leaf.named_sharding.is_none() && leaf.r#type == Type::Tuple as i32)
    {
        let path = field("tuple_shardings").index(at);
        return Err(rule(path, "the sharding of one array", "a tuple in a tuple"));
    }
    proto.tuple_shardings.iter().enumerate().map(leaf).collect()
}

fn group(proto: &OpSharding) -> Result<Option<ShardGroup>> {
    if !proto.is_shard_group {
        return Ok(None);
    }
    let kinds = "0 or 1 of xla.OpSharding.ShardGroupType";
    let kind = ShardGroupType::try_from(proto.shard_group_type)
        .map_err(|_| rule(field("shard_group_type"), kinds, proto.shard_group_type))?;
    let id = natural(field("shard_group_id"), proto.shard_group_id)?;
    Ok(Some(ShardGroup { like: kind == ShardGroupType::Like, id }))
}

fn tiles(proto: &OpSharding) -> Result<ShardingKind> {
    let path = || field("tile_assignment_dimensions");
    let dimensions = &proto.tile_assignment_dimensions;
    if dimensions.is_empty() {
        return Err(rule(path(), "one entry for each dimension", "none"));
    }
    let natural = |(at, &extent): (usize, &i64)| natural(path().index(at), extent);
    let extents: Vec<u64> = dimensions.iter().enumerate().map(natural).collect::<Result<_>>()?;
    let count = product(&extents, |at| path().index(at))?;
    let types = subgroup_types(proto)?;
    let Some(rank) = extents.len().checked_sub(types.len()) else {
        let most = format!("at most {} types, one for each dimension", extents.len());
        return Err(rule(field("last_tile_dims"), most, types.len()));
    };
    let (tiles, trailing) = extents.split_at(rank);
    let subgroups: Vec<(Subgroup, u64)> = types.into_iter().zip(trailing.iter().copied()).collect();
    let what = "the product of tile_assignment_dimensions";
    let listed_path = field("tile_assignment_devices");
    let ids = match (&proto.tile_assignment_devices[..], &proto.iota_reshape_dims[..]) {
        ([], []) => {
            return Err(rule(listed_path, "the devices, or iota_reshape_dims", "neither"));
        }
        ([], sizes) => {
            let perm: Vec<i64> =
                proto.iota_transpose_perm.iter().map(|&axis| axis.into()).collect();
            let paths = [&field("iota_reshape_dims"), &field("iota_transpose_perm")];
            Ids::Iota(iota(sizes, &perm, count, paths, what)?)
        }
        (devices, []) => Ids::list(listed(devices, count, &listed_path, what)?),
        _ => return Err(rule(listed_path, "the devices, or iota_reshape_dims", "both")),
    };
    Tiling::canonical(tiles.to_vec(), &subgroups, ids)
}

fn subgroup_types(proto: &OpSharding) -> Result<Vec<Subgroup>> {
    let path = |at| field("last_tile_dims").index(at);
    if proto.replicate_on_last_tile_dim {
        if !proto.last_tile_dims.is_empty() {
            let alone = "none beside replicate_on_last_tile_dim";
            return Err(rule(field("last_tile_dims"), alone, proto.last_tile_dims.len()));
        }
        return Ok(vec![Subgroup::Replicated]);
    }
    let subgroup = |(at, &kind): (usize, &i32)| match Type::try_from(kind) {
        Ok(Type::Replicated) => Ok(Subgroup::Replicated),
        Ok(Type::Manual) => Ok(Subgroup::Manual),
        Ok(Type::Unreduced) => Ok(Subgroup::Unreduced),
        Ok(kind) => Err(rule(path(at), "MANUAL, REPLICATED or UNREDUCED", kind.as_str_name())),
        Err(_) => Err(rule(path(at), "MANUAL, REPLICATED or UNREDUCED", kind)),
    };
    proto.last_tile_dims.iter().enumerate().map(subgroup).collect()
}

fn named_sharding(proto: &NamedShardingProto) -> Result<Named> {
    let none = MeshProto::default();
    let mesh = proto.mesh.as_ref().unwrap_or(&none);
    let lists = [&proto.manual_axes, &proto.unreduced_axes, &proto.replicated_axes];
    let names = ["manual_axes", "unreduced_axes", "replicated_axes"];
    if mesh.axes.is_empty() {
        return without_axes(proto, mesh);
    }
    let mesh = self::mesh(mesh)?;
    let mut seen = CheckedAxes::new(&mesh);
    let mut dimensions = Vec::with_capacity(proto.dim_shardings.len());
    for (at, dimension) in proto.dim_shardings.iter().enumerate() {
        let path = field("dim_shardings").index(at).field("axes");
        let axes = axis_refs(&mesh, &mut seen, &path, &dimension.axes)?;
        if let Some(at) = axes.windows(2).position(|pair| pair[0].continues_in(pair[1])) {
            let one = "neighbours that are not one part of an axis";
            return Err(rule(path.index(at + 1), one, "a part that continues the one before it"));
        }
        dimensions.push((axes, dimension.is_closed));
    }
    let mut checked: [Vec<AxisRef>; 3] = Default::default();
    for ((list, name), checked) in lists.into_iter().zip(names).zip(&mut checked) {
        let path = field(name);
        let axes = axis_refs(&mesh, &mut seen, &path, list)?;
        let ordered = |pair: &[AxisRef]| pair[0].order(&mesh) < pair[1].order(&mesh);
        if let Some(at) = axes.windows(2).position(|pair| !ordered(pair)) {
            return Err(rule(
                path.index(at + 1),
                "axes in the order of the mesh",
                "an earlier one",
            ));
        }
        if let Some(at) = axes.windows(2).position(|pair| pair[0].continues_in(pair[1])) {
            let one = "neighbours that are not one part of an axis";
            return Err(rule(path.index(at + 1), one, "a part that continues the one before it"));
        }
        *checked = axes;
    }
    let reduction = reduction(proto)?;
    Ok(Named::Axes(Box::new(NamedAxes { mesh, dimensions, lists: checked, reduction })))
}

fn reduction(proto: &NamedShardingProto) -> Result<ReductionOp> {
    let given = proto.reduction_op;
    match ReductionOpProto::try_from(given) {
        Ok(ReductionOpProto::Sum) => Ok(ReductionOp::Sum),
        Ok(ReductionOpProto::Max) => Ok(ReductionOp::Max),
        Ok(ReductionOpProto::Min) => Ok(ReductionOp::Min),
        Err(_) => Err(rule(field("reduction_op"), "0 to 2 of ReductionOpProto", given)),
    }
}

/// Converts a named sharding whose mesh has no axes. Any reference to an axis is then an error.
fn without_axes(proto: &NamedShardingProto, mesh: &MeshProto) -> Result<Named> {
    let lists = [&proto.replicated_axes, &proto.unreduced_axes, &proto.manual_axes];
    let used = proto.dim_shardings.iter().any(|dimension| !dimension.axes.is_empty());
    if used || lists.iter().any(|list| !list.is_empty()) {
        return Err(rule(field("mesh").field("axes"), "the axes that are referred to", "none"));
    }
    if mesh.iota_transform.is_some() {
        let none = "none for a mesh without axes";
        return Err(rule(field("mesh").field("iota_transform"), none, "one"));
    }
    let path = field("mesh").field("device_ids");
    match mesh.device_ids[..] {
        [] => {
            let closed = proto.dim_shardings.iter().map(|dimension| dimension.is_closed);
            Ok(Named::Empty(closed.collect()))
        }
        [_] if !proto.dim_shardings.is_empty() => {
            let none = "none where one device has everything";
            Err(rule(field("dim_shardings"), none, proto.dim_shardings.len()))
        }
        [device] => Ok(Named::Maximal(natural(path.index(0), device)?)),
        ref ids => Err(rule(path, "at most one device for a mesh without axes", ids.len())),
    }
}

fn mesh(proto: &MeshProto) -> Result<Mesh> {
    let path = |name| field("mesh").field(name);
    let mut axes = Vec::with_capacity(proto.axes.len());
    for (at, axis) in proto.axes.iter().enumerate() {
        let path = path("axes").index(at).field("size");
        axes.push((axis.name.clone(), natural(path, axis.size)?));
    }
    let what = "the product of the axes";
    Mesh::new(axes, |devices| match (&proto.device_ids[..], &proto.iota_transform) {
        ([], None) => Ok(Ids::Iota(super::digits::DigitPermutation::identity(devices))),
        ([], Some(transform)) => {
            let inner = path("iota_transform");
            let paths =
                [&inner.clone().field("reshape_dims"), &inner.clone().field("transpose_perm")];
            let (sizes, perm) = (&transform.reshape_dims, &transform.transpose_perm);
            Ok(Ids::Iota(iota(sizes, perm, devices, paths, what)?))
        }
        (ids, None) => {
            let listed = listed(ids, devices, &path("device_ids"), what)?;
            if listed.windows(2).all(|pair| pair[0] < pair[1]) {
                let other = "another order than 0, 1, 2, …, which needs no list";
                return Err(rule(path("device_ids"), other, "that order"));
            }
            Ok(Ids::list(listed))
        }
        (_, Some(_)) => Err(rule(path("device_ids"), "device_ids or iota_transform", "both")),
    })
}

fn axis_refs(
    mesh: &Mesh,
    seen: &mut CheckedAxes<'_>,
    path: &FieldPath,
    refs: &[AxisRefProto],
) -> Result<Vec<AxisRef>> {
    let mut axes = Vec::with_capacity(refs.len());
    for (at, proto) in refs.iter().enumerate() {
        let path = path.clone().index(at);
        let index = usize::try_from(proto.mesh_axis_index).ok();
        let Some(axis) = index.filter(|&axis| axis < mesh.axes.len()) else {
            let known = format!("an axis of 0 to {}", mesh.axes.len() - 1);
            return Err(rule(path.field("mesh_axis_index"), known, proto.mesh_axis_index));
        };
        let part = match &proto.sub_axis_info {
            None => None,
            Some(part) => {
                let info = path.clone().field("sub_axis_info");
                let least = |name, given: i64, least: u64| {
                    let path = info.clone().field(name);
                    u64::try_from(given)
                        .ok()
                        .filter(|&number| number >= least)
                        .ok_or_else(|| rule(path, format!("at least {least}"), given))
                };
                Some((least("pre_size", part.pre_size, 1)?, least("size", part.size, 2)?))
            }
        };
        let axis = AxisRef { axis, part };
        seen.add(path, axis)?;
        axes.push(axis);
    }
    Ok(axes)
}

fn natural(path: FieldPath, given: i64) -> Result<u64> {
    u64::try_from(given).map_err(|_| rule(path, "0 to 2^63-1", given))
}
