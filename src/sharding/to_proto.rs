//! Converts shardings to protos, which are byte for byte as XLA writes them.

use prost::Message as _;

use super::{
    Sharding, ShardingError,
    kind::ShardingKind,
    mesh::{AxisRef, Mesh},
    named::{Named, NamedAxes, ReductionOp},
    tiling::{Ids, Subgroup, Tiling},
};
use crate::{
    proto::xla::{
        AxisRefProto, MeshProto, NamedShardingProto, OpSharding,
        axis_ref_proto::SubAxis,
        mesh_proto::{IotaTransform, MeshAxis},
        named_sharding_proto::{DimensionSharding, ReductionOpProto},
        op_sharding::{ShardGroupType, Type},
    },
    shape::FieldPath,
};

impl Sharding {
    /// Encodes the sharding as a serialized `xla.OpSharding`.
    ///
    /// # Errors
    ///
    /// Returns an error for cyclic shardings, and for shardings that list parts, because
    /// `xla.OpSharding` cannot express them.
    pub fn encode(&self) -> Result<Vec<u8>, ShardingError> {
        Ok(OpSharding::try_from(self)?.encode_to_vec())
    }
}

impl TryFrom<&Sharding> for OpSharding {
    type Error = ShardingError;

    fn try_from(sharding: &Sharding) -> Result<Self, ShardingError> {
        let mut proto = match &sharding.kind {
            ShardingKind::Replicated => of_type(Type::Replicated),
            ShardingKind::Manual => of_type(Type::Manual),
            ShardingKind::Unreduced => of_type(Type::Unreduced),
            ShardingKind::Unknown => of_type(Type::Unknown),
            ShardingKind::Maximal(device) => {
                Self { tile_assignment_devices: vec![signed(*device)], ..of_type(Type::Maximal) }
            }
            ShardingKind::Tiles(tiling) => tiles(tiling),
            ShardingKind::Named(sharding) => {
                Self { named_sharding: Some(Box::new(named(sharding))), ..Self::default() }
            }
            ShardingKind::Tuple(leaves) => Self {
                tuple_shardings: leaves.iter().map(Self::try_from).collect::<Result<_, _>>()?,
                ..of_type(Type::Tuple)
            },
            ShardingKind::Regions(boxes) => {
                return Err(no_form(format!("a sharding by {} boxes", boxes.of_device.len())));
            }
            ShardingKind::Cyclic(_) => return Err(no_form(sharding.to_string())),
        };
        if let Some(group) = sharding.group {
            let kind = if group.like { ShardGroupType::Like } else { ShardGroupType::As };
            proto.is_shard_group = true;
            proto.shard_group_id = signed(group.id);
            proto.shard_group_type = kind as i32;
        }
        Ok(proto)
    }
}

/// Returns the error for a sharding that `xla.OpSharding` cannot express.
fn no_form(given: String) -> ShardingError {
    let reason = "xla.OpSharding has no such form".to_owned();
    ShardingError::Unsupported { field: FieldPath::new("sharding"), given, reason }
}

fn of_type(kind: Type) -> OpSharding {
    OpSharding { r#type: kind as i32, ..OpSharding::default() }
}

fn tiles(tiling: &Tiling) -> OpSharding {
    let trailing = tiling.subgroups.iter().map(|(_, extent)| extent);
    let mut proto = of_type(Type::Other);
    proto.tile_assignment_dimensions =
        tiling.tiles.iter().chain(trailing).copied().map(signed).collect();
    match &tiling.ids {
        Ids::Iota(digits) => {
            let (sizes, perm) = digits.transposition();
            proto.iota_reshape_dims = sizes.into_iter().map(signed).collect();
            // There are at most 63 axes, so every axis number fits an `i32`.
            proto.iota_transpose_perm =
                perm.into_iter().filter_map(|axis| axis.try_into().ok()).collect();
        }
        Ids::List { ids, .. } => {
            proto.tile_assignment_devices = ids.iter().copied().map(signed).collect();
        }
    }
    match tiling.subgroups[..] {
        [(Subgroup::Replicated, _)] => proto.replicate_on_last_tile_dim = true,
        ref subgroups => {
            let kind = |(subgroup, _): &(Subgroup, u64)| match subgroup {
                Subgroup::Manual => Type::Manual as i32,
                Subgroup::Unreduced => Type::Unreduced as i32,
                Subgroup::Replicated => Type::Replicated as i32,
            };
            proto.last_tile_dims = subgroups.iter().map(kind).collect();
        }
    }
    proto
}

fn named(sharding: &Named) -> NamedShardingProto {
    let mesh = |mesh| NamedShardingProto { mesh: Some(mesh), ..NamedShardingProto::default() };
    match sharding {
        Named::Empty(dimensions) => NamedShardingProto {
            dim_shardings: dimensions
                .iter()
                .map(|&is_closed| DimensionSharding { axes: Vec::new(), is_closed })
                .collect(),
            ..mesh(MeshProto::default())
        },
        Named::Maximal(device) => {
            mesh(MeshProto { device_ids: vec![signed(*device)], ..MeshProto::default() })
        }
        Named::Axes(axes) => named_axes(axes),
    }
}

fn named_axes(sharding: &NamedAxes) -> NamedShardingProto {
    let list = |subgroup: Subgroup| axis_refs(&sharding.lists[subgroup as usize]);
    let dimensions = sharding.dimensions.iter();
    NamedShardingProto {
        mesh: Some(mesh(&sharding.mesh)),
        dim_shardings: dimensions
            .map(|(axes, closed)| DimensionSharding { axes: axis_refs(axes), is_closed: *closed })
            .collect(),
        replicated_axes: list(Subgroup::Replicated),
        unreduced_axes: list(Subgroup::Unreduced),
        manual_axes: list(Subgroup::Manual),
        reduction_op: match sharding.reduction {
            ReductionOp::Sum => ReductionOpProto::Sum,
            ReductionOp::Max => ReductionOpProto::Max,
            ReductionOp::Min => ReductionOpProto::Min,
        }
        .into(),
    }
}

fn mesh(mesh: &Mesh) -> MeshProto {
    let axis = |(name, size): &(String, u64)| MeshAxis { name: name.clone(), size: signed(*size) };
    let mut proto =
        MeshProto { axes: mesh.axes.iter().map(axis).collect(), ..MeshProto::default() };
    match &mesh.ids {
        Ids::Iota(digits) if digits.is_identity() => {}
        Ids::Iota(digits) => {
            let (sizes, perm) = digits.transposition();
            proto.iota_transform = Some(IotaTransform {
                reshape_dims: sizes.into_iter().map(signed).collect(),
                transpose_perm: perm.into_iter().map(|axis| signed(axis as u64)).collect(),
            });
        }
        Ids::List { ids, .. } => proto.device_ids = ids.iter().copied().map(signed).collect(),
    }
    proto
}

fn axis_refs(axes: &[AxisRef]) -> Vec<AxisRefProto> {
    let part = |(pre, size): (u64, u64)| SubAxis { pre_size: signed(pre), size: signed(size) };
    axes.iter()
        .map(|axis| AxisRefProto {
            mesh_axis_index: signed(axis.axis as u64),
            sub_axis_info: axis.part.map(part),
        })
        .collect()
}

/// Converts an integer to the type of the proto's fields. In a valid sharding, every integer fits
/// an `i64`.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
