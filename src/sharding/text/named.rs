//! Parses shardings that name the axes of a mesh of devices, such as `{mesh['x'=2,'y'=4], [{'x'},
//! {'y'}]}`.
//!
//! In this example, 8 devices form a mesh of 2 by 4. The axis `x` divides the rows of an array, and
//! `y` divides its columns.

use std::collections::HashMap;

use super::cursor::Cursor;
use crate::{
    proto::xla::{
        AxisRefProto, MeshProto, NamedShardingProto, OpSharding,
        axis_ref_proto::SubAxis,
        mesh_proto::{IotaTransform, MeshAxis},
        named_sharding_proto::{DimensionSharding, ReductionOpProto},
    },
    sharding::ShardingError,
};

type Result<T> = std::result::Result<T, ShardingError>;

/// The axes of a mesh by name, with which references such as `'x'` are resolved.
pub(super) struct Axes(HashMap<String, i64>);

impl Axes {
    pub(super) fn of(mesh: &MeshProto) -> Self {
        Self(mesh.axes.iter().map(|axis| axis.name.clone()).zip(0..).collect())
    }

    fn all(&self) -> Vec<AxisRefProto> {
        (0..).take(self.0.len()).map(whole).collect()
    }

    /// Parses a reference to an axis, such as `'x'`, or to a part of an axis, such as `'x':(2)4`:
    /// the part of size 4 that follows a part of size 2.
    fn reference(&self, cursor: &mut Cursor<'_>) -> Result<AxisRefProto> {
        let offset = cursor.place();
        let name = cursor.name()?;
        // An integer that is not the name of an axis is the index of an axis.
        let Some(axis) = self.0.get(&name).copied().or_else(|| name.parse().ok()) else {
            let reason = format!("expected an axis of the mesh, got {name:?}");
            return Err(ShardingError::Syntax { offset, reason });
        };
        let mut reference = whole(axis);
        if cursor.eat(":") {
            cursor.expect("(")?;
            let pre_size = cursor.number()?;
            cursor.expect(")")?;
            reference.sub_axis_info = Some(SubAxis { pre_size, size: cursor.number()? });
        }
        Ok(reference)
    }

    /// Parses a list of references to axes, in braces.
    pub(super) fn references(&self, cursor: &mut Cursor<'_>) -> Result<Vec<AxisRefProto>> {
        cursor.expect("{")?;
        let mut axes = Vec::new();
        cursor.list("}", |cursor| {
            axes.push(self.reference(cursor)?);
            Ok(())
        })?;
        Ok(axes)
    }

    /// Parses the axes that divide each dimension of the array, in brackets, such as `[{'x'}, {'y',
    /// ?}]`. If `has_priorities` is true, a priority such as `p1` may follow a dimension, as in
    /// Shardy's text.
    pub(super) fn dimensions(
        &self,
        cursor: &mut Cursor<'_>,
        has_priorities: bool,
    ) -> Result<Vec<DimensionSharding>> {
        cursor.expect("[")?;
        let mut dimensions = Vec::new();
        cursor.list("]", |cursor| {
            let mut dimension = DimensionSharding { axes: Vec::new(), is_closed: true };
            cursor.expect("{")?;
            cursor.list("}", |cursor| {
                if !dimension.is_closed {
                    return Err(cursor.unexpected("`}` after `?`"));
                }
                if cursor.eat("?") {
                    dimension.is_closed = false;
                } else {
                    dimension.axes.push(self.reference(cursor)?);
                }
                Ok(())
            })?;
            if has_priorities {
                priority(cursor, &dimension)?;
            }
            dimensions.push(dimension);
            Ok(())
        })?;
        Ok(dimensions)
    }
}

/// Skips a priority such as `p1`, if there is one. Priorities guide Shardy when it propagates
/// shardings, and do not affect which device holds which element.
fn priority(cursor: &mut Cursor<'_>, dimension: &DimensionSharding) -> Result<()> {
    cursor.skip_blanks();
    if !cursor.rest().starts_with('p') {
        return Ok(());
    }
    if dimension.axes.is_empty() && dimension.is_closed {
        return Err(cursor.unexpected("no priority for a dimension that is empty and closed"));
    }
    let digits: &str = &cursor.rest()[1..];
    let len = digits.bytes().take_while(u8::is_ascii_digit).count();
    let digits = &digits[..len];
    if digits.parse::<i64>().is_err() || (len > 1 && digits.starts_with('0')) {
        return Err(cursor.unexpected("a priority without leading zeros, such as p1"));
    }
    cursor.set_position(cursor.position() + 1 + len);
    Ok(())
}

fn whole(mesh_axis_index: i64) -> AxisRefProto {
    AxisRefProto { mesh_axis_index, sub_axis_info: None }
}

/// Parses the names and sizes of a mesh's axes, such as `['x'=2,'y'=4]`.
pub(super) fn mesh_axes(cursor: &mut Cursor<'_>) -> Result<MeshProto> {
    cursor.expect("[")?;
    let mut mesh = MeshProto::default();
    cursor.list("]", |cursor| {
        let name = cursor.name()?;
        cursor.expect("=")?;
        mesh.axes.push(MeshAxis { name, size: cursor.number()? });
        Ok(())
    })?;
    Ok(mesh)
}

/// Parses the text of a sharding after its opening brace, up to and including the closing brace.
pub(super) fn named(cursor: &mut Cursor<'_>) -> Result<OpSharding> {
    let mut proto = NamedShardingProto::default();
    if cursor.eat("maximal_mesh") {
        for piece in ["[", "device_id", "="] {
            cursor.expect(piece)?;
        }
        let mesh = MeshProto { device_ids: vec![cursor.number()?], ..MeshProto::default() };
        cursor.expect("]")?;
        proto.mesh = Some(mesh);
    } else {
        cursor.expect("mesh")?;
        let mut mesh = mesh_axes(cursor)?;
        // The comma after the mesh is optional, as in XLA's parser.
        if cursor.eat(",") && cursor.eat("device_ids") {
            cursor.expect("=")?;
            cursor.expect("(")?;
            if cursor.eat("[") {
                let reshape_dims = cursor.numbers("]")?;
                let mut transpose_perm: Vec<i64> = (0..).take(reshape_dims.len()).collect();
                if cursor.eat("T") {
                    cursor.expect("(")?;
                    transpose_perm = cursor.numbers(")")?;
                }
                mesh.iota_transform = Some(IotaTransform { reshape_dims, transpose_perm });
                cursor.expect(")")?;
            } else {
                mesh.device_ids = cursor.numbers(")")?;
            }
            cursor.eat(",");
        }
        let axes = Axes::of(&mesh);
        match cursor.peek_keyword() {
            "replicated" => _ = cursor.keyword(),
            "manual" => {
                cursor.keyword();
                proto.manual_axes = axes.all();
            }
            "unreduced" => {
                cursor.keyword();
                if cursor.eat("=") {
                    let reduction = reduction(cursor);
                    let words = || cursor.unexpected("sum, max or min");
                    proto.reduction_op = reduction.ok_or_else(words)?.into();
                }
                let is_listed = cursor.sees("{");
                proto.unreduced_axes =
                    if is_listed { axes.references(cursor)? } else { axes.all() };
            }
            _ => {
                proto.dim_shardings = axes.dimensions(cursor, false)?;
                lists(cursor, &axes, &mut proto)?;
            }
        }
        proto.mesh = Some(mesh);
    }
    if cursor.eat(",") {
        cursor.expect("metadata")?;
        metadata(cursor)?;
    }
    cursor.expect("}")?;
    Ok(OpSharding { named_sharding: Some(Box::new(proto)), ..OpSharding::default() })
}

/// Parses the lists that may follow the dimensions, in any order, such as `replicated={'z'}`.
pub(super) fn lists(
    cursor: &mut Cursor<'_>,
    axes: &Axes,
    proto: &mut NamedShardingProto,
) -> Result<()> {
    while cursor.eat(",") {
        let (offset, word) = (cursor.place(), cursor.keyword());
        let list = match word {
            "replicated" => &mut proto.replicated_axes,
            "unreduced" => &mut proto.unreduced_axes,
            "manual" => &mut proto.manual_axes,
            "metadata" => {
                metadata(cursor)?;
                continue;
            }
            _ => return Err(cursor.unexpected("replicated=, unreduced= or manual=")),
        };
        if !list.is_empty() {
            let reason = format!("expected each list once, got {word} again");
            return Err(ShardingError::Syntax { offset, reason });
        }
        // As in Shardy's parser, the `=` of `unreduced={…}` may be missing.
        if word != "unreduced" || !cursor.sees("{") {
            cursor.expect("=")?;
        }
        if word == "unreduced"
            && let Some(op) = reduction(cursor)
        {
            proto.reduction_op = op.into();
        }
        *list = axes.references(cursor)?;
    }
    Ok(())
}

/// Parses the name of a reduction, `sum`, `max` or `min`. If another word follows, returns `None`
/// and does not consume it.
fn reduction(cursor: &mut Cursor<'_>) -> Option<ReductionOpProto> {
    let op = match cursor.peek_keyword() {
        "sum" => ReductionOpProto::Sum,
        "max" => ReductionOpProto::Max,
        "min" => ReductionOpProto::Min,
        _ => return None,
    };
    cursor.keyword();
    Some(op)
}

fn metadata(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.expect("=")?;
    cursor.expect("{")?;
    cursor.skip_braces()
}
