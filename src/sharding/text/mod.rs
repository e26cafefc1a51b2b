//! Shardings from text: XLA's, which [`Sharding`](super::Sharding)'s `FromStr` reads, and Shardy's.
//!
//! ```text
//! sharding = single | "{" [ single { "," single } ] "}"
//! single   = "{" word { word } "}" | named
//! word     = "replicated" | "manual" | "unknown" | "unreduced" | "maximal" "device=" n
//!          | "devices=[" ns "]" ( ns | "<=[" ns "]" [ "T(" ns ")" ] )       T exactly where there are two or more
//!          | "last_tile_dim_replicate" | "last_tile_dims={" type { "," type } "}"
//!          | ( "shard_as" | "shard_like" ) n | "metadata={" … "}"
//! named    = "{mesh[" [ name "=" n { "," name "=" n } ] "]" [ ", device_ids=(" ( ns | "[" ns "]" [ "T(" ns ")" ] ) ")" ]
//!            ( ", replicated" | ", manual" | ", unreduced" | ", [" [ dim { "," dim } ] "]" { ", " list "={" refs "}" } ) "}"
//!          | "{maximal_mesh[device_id=" n "]}"
//! dim      = "{" [ refs ] [ "?" ] "}"
//! list     = "replicated" | "unreduced" | "manual"
//! refs     = ref { "," ref };  ref = name [ ":(" n ")" n ]
//! ```
//!
//! A text is read into the message of `xla.OpSharding`, whose rules are then checked in one place.

mod cursor;
mod named;
mod shardy;
mod single;

pub use shardy::parse_shardy;

use std::str::FromStr;

use super::{Sharding, ShardingError};
use crate::shape::MAX_INPUT_BYTES;
use cursor::Cursor;

impl FromStr for Sharding {
    type Err = ShardingError;

    /// Reads XLA's text, or Shardy's with the mesh in it: `<mesh<["x"=2]>, [{"x"}]>`.
    fn from_str(text: &str) -> Result<Self, ShardingError> {
        if text.trim_start().starts_with(['<', '#']) {
            return parse_shardy(text, None);
        }
        let mut cursor = whole(text)?;
        let proto = single::sharding(&mut cursor)?;
        cursor.end()?;
        Self::try_from(&proto)
    }
}

/// The cursor of a text that is not too long.
fn whole(text: &str) -> Result<Cursor<'_>, ShardingError> {
    if text.len() > MAX_INPUT_BYTES {
        let reason = format!("expected at most {MAX_INPUT_BYTES} bytes, got {}", text.len());
        return Err(ShardingError::Syntax { offset: 0, reason });
    }
    Ok(Cursor::new(text))
}
