//! Parses Shardy's text, as JAX writes it into StableHLO.

use super::{
    cursor::Cursor,
    named::{Axes, lists, mesh_axes},
    whole,
};
use crate::{
    proto::xla::{MeshProto, NamedShardingProto, OpSharding},
    sharding::{Sharding, ShardingError},
};

type Result<T> = std::result::Result<T, ShardingError>;

/// Parses Shardy's text, such as `#sdy.sharding<@mesh, [{"x"}, {"y", ?}]>`. If the text refers to a
/// mesh by name, `mesh` must be the text of that mesh, such as `sdy.mesh @mesh = <["x"=2, "y"=4]>`,
/// or only the part after `=`. The text of a mesh may end with attributes in braces.
///
/// ```
/// use stridec::sharding::parse_shardy;
/// let sharding = parse_shardy(r#"<@mesh, [{"x"}, {"y":(1)2, ?}p1]>"#, Some(r#"<["x"=2, "y"=4]>"#))?;
/// assert_eq!(sharding.to_string(), "{mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2, ?}]}");
/// # Ok::<(), stridec::sharding::ShardingError>(())
/// ```
///
/// # Errors
///
/// Returns an error if a text cannot be parsed, if the mesh is missing, or if the sharding breaks
/// one of XLA's rules.
pub fn parse_shardy(text: &str, mesh: Option<&str>) -> Result<Sharding> {
    let mut cursor = whole(text)?;
    cursor.eat("#sdy.sharding");
    cursor.expect("<")?;
    let offset = cursor.place();
    let mesh = if cursor.eat("@") {
        let name = name(&mut cursor);
        let Some(mesh) = mesh else {
            let reason = format!(
                "expected the mesh itself, as in <mesh<[\"x\"=2]>, …>, got the name {name:?}"
            );
            return Err(ShardingError::Syntax { offset, reason });
        };
        named_mesh(mesh, name)?
    } else {
        cursor.expect("mesh")?;
        self::mesh(&mut cursor)?
    };
    cursor.expect(",")?;
    let axes = Axes::of(&mesh);
    let mut proto = NamedShardingProto {
        dim_shardings: axes.dimensions(&mut cursor, true)?,
        ..NamedShardingProto::default()
    };
    lists(&mut cursor, &axes, &mut proto)?;
    proto.mesh = Some(mesh);
    cursor.expect(">")?;
    cursor.end()?;
    Sharding::try_from(&OpSharding {
        named_sharding: Some(Box::new(proto)),
        ..OpSharding::default()
    })
}

/// Parses the name of a mesh. The caller has already consumed the `@` before the name.
fn name<'a>(cursor: &mut Cursor<'a>) -> &'a str {
    cursor.word(|letter| letter.is_ascii_alphanumeric() || "_$.-".contains(letter)).0
}

/// Parses the whole text of a mesh. If the text gives a name for the mesh, the name must be
/// `wanted`.
fn named_mesh(text: &str, wanted: &str) -> Result<MeshProto> {
    let mut cursor = whole(text)?;
    if cursor.eat("sdy.mesh") {
        cursor.expect("@")?;
        let offset = cursor.place();
        let given = name(&mut cursor);
        if given != wanted {
            let reason = format!("expected the mesh {wanted:?}, got {given:?}");
            return Err(ShardingError::Syntax { offset, reason });
        }
        cursor.expect("=")?;
    }
    let mesh = mesh(&mut cursor)?;
    // Attributes of the mesh operation only repeat the axes, so they are skipped.
    if cursor.eat("{") {
        cursor.skip_braces()?;
    }
    cursor.end()?;
    Ok(mesh)
}

/// Returns the number of devices of a mesh, or 0 if there are more than 2^63-1.
fn devices(mesh: &MeshProto) -> i64 {
    let product = |count: i64, size: i64| count.checked_mul(size);
    mesh.axes.iter().map(|axis| axis.size).try_fold(1, product).unwrap_or(0)
}

/// Parses a mesh, such as `<["x"=2, "y"=4], device_ids=[…]>`.
fn mesh(cursor: &mut Cursor<'_>) -> Result<MeshProto> {
    cursor.expect("<")?;
    let mut mesh = mesh_axes(cursor)?;
    if cursor.eat(",") {
        for piece in ["device_ids", "=", "["] {
            cursor.expect(piece)?;
        }
        mesh.device_ids = cursor.numbers("]")?;
        // Shardy drops the list of device ids if it is 0, 1, 2, and so on.
        if !mesh.axes.is_empty() && mesh.device_ids.iter().copied().eq(0..devices(&mesh)) {
            mesh.device_ids.clear();
        }
    }
    cursor.expect(">")?;
    Ok(mesh)
}
