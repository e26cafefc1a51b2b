//! Parses shardings by tiles, such as `{devices=[2,2]<=[4]}`, shardings by a keyword, such as
//! `{replicated}`, and shardings of tuples.

use super::{cursor::Cursor, named::named};
use crate::{
    proto::xla::{
        OpSharding,
        op_sharding::{ShardGroupType, Type},
    },
    sharding::ShardingError,
};

type Result<T> = std::result::Result<T, ShardingError>;

/// Parses a sharding in braces, for an array or a tuple. Also returns the block sizes if the
/// sharding is cyclic.
pub(super) fn sharding(cursor: &mut Cursor<'_>) -> Result<(OpSharding, Option<Vec<i64>>)> {
    cursor.expect("{")?;
    if !cursor.sees("{") && !cursor.sees("}") {
        return single(cursor);
    }
    let mut tuple = OpSharding { r#type: Type::Tuple as i32, ..OpSharding::default() };
    cursor.list("}", |cursor| {
        cursor.expect("{")?;
        if cursor.sees("{") || cursor.sees("}") {
            return Err(cursor.unexpected("the sharding of one array"));
        }
        let place = cursor.place();
        let (leaf, None) = single(cursor)? else {
            let reason = "expected an array without blocks= in a tuple, got blocks=".to_owned();
            return Err(ShardingError::Syntax { offset: place, reason });
        };
        tuple.tuple_shardings.push(leaf);
        Ok(())
    })?;
    Ok((tuple, None))
}

/// Parses the sharding of a single array, through its closing brace, and the block sizes if the
/// sharding is cyclic. The caller has already consumed the opening brace.
fn single(cursor: &mut Cursor<'_>) -> Result<(OpSharding, Option<Vec<i64>>)> {
    if ["mesh", "maximal_mesh"].contains(&cursor.peek_keyword()) {
        return Ok((named(cursor)?, None));
    }
    let mut proto = OpSharding::default();
    let (mut kind, mut blocks) = (None, None);
    while !cursor.eat("}") {
        let (place, word) = (cursor.place(), cursor.keyword());
        let given = match word {
            "replicated" => Some(Type::Replicated),
            "manual" => Some(Type::Manual),
            "unknown" => Some(Type::Unknown),
            "unreduced" => Some(Type::Unreduced),
            "maximal" => {
                cursor.expect("device")?;
                cursor.expect("=")?;
                proto.tile_assignment_devices = vec![cursor.number()?];
                Some(Type::Maximal)
            }
            "devices" => {
                tiles(cursor, &mut proto)?;
                Some(Type::Other)
            }
            "last_tile_dim_replicate" => {
                proto.replicate_on_last_tile_dim = true;
                None
            }
            "last_tile_dims" => {
                last_tile_dims(cursor, &mut proto)?;
                None
            }
            "blocks" => {
                cursor.expect("=")?;
                cursor.expect("[")?;
                blocks = Some(cursor.numbers("]")?);
                None
            }
            "shard_as" | "shard_like" => {
                let like = word == "shard_like";
                let group = if like { ShardGroupType::Like } else { ShardGroupType::As };
                proto.is_shard_group = true;
                proto.shard_group_type = group as i32;
                proto.shard_group_id = cursor.number()?;
                None
            }
            "metadata" => {
                cursor.expect("=")?;
                cursor.expect("{")?;
                cursor.skip_braces()?;
                None
            }
            _ => {
                let words = "replicated, manual, unknown, unreduced, maximal, devices=, last_tile_dim_replicate, \
                             last_tile_dims=, blocks=, shard_as, shard_like, metadata= or `}`";
                return Err(cursor.unexpected(words));
            }
        };
        if kind.is_some() && given.is_some() {
            let reason = format!("expected one way to share the array, got {word} as a second");
            return Err(ShardingError::Syntax { offset: place, reason });
        }
        kind = kind.or(given);
    }
    let Some(kind) = kind else {
        return Err(cursor.unexpected("replicated, maximal, devices= or another way before `}`"));
    };
    let tiled = proto.replicate_on_last_tile_dim || !proto.last_tile_dims.is_empty();
    if tiled && kind != Type::Other {
        return Err(
            cursor.unexpected("devices= where the last tile dimensions have types, before `}`")
        );
    }
    if blocks.is_some() && kind != Type::Other {
        return Err(cursor.unexpected("devices= where there are blocks, before `}`"));
    }
    proto.r#type = kind as i32;
    Ok((proto, blocks))
}

/// Parses the tiles and the devices, `=[…]…`, and stores them in `proto`. The caller has already
/// consumed the word `devices`.
fn tiles(cursor: &mut Cursor<'_>, proto: &mut OpSharding) -> Result<()> {
    cursor.expect("=")?;
    cursor.expect("[")?;
    proto.tile_assignment_dimensions = cursor.numbers("]")?;
    if !cursor.eat("<=") {
        proto.tile_assignment_devices.push(cursor.number()?);
        while cursor.eat(",") {
            proto.tile_assignment_devices.push(cursor.number()?);
        }
        return Ok(());
    }
    cursor.expect("[")?;
    let (sizes, perm) = iota(cursor)?;
    let narrow = |axis: i64| i32::try_from(axis).map_err(|_| cursor.unexpected("axes below 2^31"));
    proto.iota_transpose_perm = perm.into_iter().map(narrow).collect::<Result<_>>()?;
    proto.iota_reshape_dims = sizes;
    Ok(())
}

/// Parses the rest of an iota, such as `8]` or `2,4]T(1,0)`, and returns its sizes and its
/// permutation. The caller has already consumed the opening bracket.
fn iota(cursor: &mut Cursor<'_>) -> Result<(Vec<i64>, Vec<i64>)> {
    let sizes = cursor.numbers("]")?;
    if sizes.len() < 2 {
        return Ok((sizes, vec![0]));
    }
    cursor.expect("T")?;
    cursor.expect("(")?;
    let perm = cursor.numbers(")")?;
    Ok((sizes, perm))
}

fn last_tile_dims(cursor: &mut Cursor<'_>, proto: &mut OpSharding) -> Result<()> {
    cursor.expect("=")?;
    cursor.expect("{")?;
    cursor.list("}", |cursor| {
        let kind = match cursor.peek_keyword() {
            "manual" => Type::Manual,
            "replicated" => Type::Replicated,
            "unreduced" => Type::Unreduced,
            _ => return Err(cursor.unexpected("manual, replicated or unreduced")),
        };
        cursor.keyword();
        proto.last_tile_dims.push(kind as i32);
        Ok(())
    })
}
