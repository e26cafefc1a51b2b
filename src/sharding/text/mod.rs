//! Parses shardings from XLA's text, through the `FromStr` implementation of
//! [`Sharding`](super::Sharding), and from Shardy's text.
//!
//! ```text
//! sharding = single | "{" [ single { "," single } ] "}"
//! single   = "{" word { word } "}" | named
//! word     = "replicated" | "manual" | "unknown" | "unreduced" | "maximal" "device=" n
//!          | "devices=[" ns "]" ( ns | "<=[" ns "]" [ "T(" ns ")" ] )   T if there are at least 2
//!          | "last_tile_dim_replicate" | "last_tile_dims={" type { "," type } "}"
//!          | ( "shard_as" | "shard_like" ) n | "metadata={" … "}"
//!          | "blocks=[" ns "]"   not XLA's: block sizes; not in tuples
//! named    = "{mesh[" [ name "=" n { "," name "=" n } ] "]" [ ids ] [ "," ]
//!            ( "replicated" | "manual" | "unreduced" [ "=" op ] [ "{" refs "}" ]
//!            | "[" [ dim { "," dim } ] "]" { lists } ) "}"
//!          | "{maximal_mesh[device_id=" n "]}"
//! ids      = ", device_ids=(" ( ns | "[" ns "]" [ "T(" ns ")" ] ) ")"
//! lists    = ", " list "=" [ op ] "{" refs "}"        op only of unreduced
//! op       = "sum" | "max" | "min"
//! dim      = "{" [ refs ] [ "?" ] "}"
//! list     = "replicated" | "unreduced" | "manual"
//! refs     = ref { "," ref };  ref = name [ ":(" n ")" n ]
//! ```
//!
//! A text is first converted to an `xla.OpSharding` message, so that the same code checks the rules
//! for texts and for messages.

mod cursor;
mod named;
mod shardy;
mod single;

pub use shardy::parse_shardy;

use std::str::FromStr;

use super::{Sharding, ShardingError, error::rule};
use crate::shape::{FieldPath, MAX_INPUT_BYTES};
use cursor::Cursor;

impl FromStr for Sharding {
    type Err = ShardingError;

    /// Parses XLA's text, or Shardy's text with an inline mesh, such as `<mesh<["x"=2]>, [{"x"}]>`.
    fn from_str(text: &str) -> Result<Self, ShardingError> {
        if text.trim_start().starts_with(['<', '#']) {
            return parse_shardy(text, None);
        }
        let mut cursor = whole(text)?;
        let (proto, blocks) = single::sharding(&mut cursor)?;
        cursor.end()?;
        let sharding = Self::try_from(&proto)?;
        let Some(blocks) = blocks else { return Ok(sharding) };
        // A negative size breaks the same rule as 0, but is checked here, because the error must
        // quote it as it was given.
        if let Some(at) = blocks.iter().position(|&block| block < 1) {
            return Err(rule(
                FieldPath::new("blocks").index(at),
                "1 to 2^63-1 indices",
                blocks[at],
            ));
        }
        sharding.cyclic(blocks.iter().map(|block| block.unsigned_abs()))
    }
}

/// Returns a cursor at the start of `text`, or an error if the text is too long.
fn whole(text: &str) -> Result<Cursor<'_>, ShardingError> {
    Cursor::limited(text, MAX_INPUT_BYTES)
}
