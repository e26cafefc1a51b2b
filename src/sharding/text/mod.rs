//! Parses shardings from XLA's text, through the `FromStr` implementation of
//! [`Sharding`](super::Sharding), and from Shardy's text.
//!
//! ```text
//! sharding = single | parts | "{" [ single { "," single } ] "}"
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
//! parts    = "{" part { "," part } "}"        not XLA's: the part of each device, as JSON
//! part     = '"' n '"' ":" "[" [ side { "," side } ] "]"
//! side     = range | "[" [ range { "," range } ] "]";  range = "[" n "," n "]"
//! ```
//!
//! A text is first converted to an `xla.OpSharding` message, so that the same code checks the rules
//! for texts and for messages.

mod cursor;
mod named;
mod parts;
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
    /// The part of each device is written as JSON:
    ///
    /// ```
    /// use stridec::sharding::Sharding;
    /// let text = r#"{"0": [[0, 2], [0, 6]], "1": [[2, 5], [0, 6]]}"#;
    /// assert_eq!(text.parse::<Sharding>()?.to_string(), text);
    /// # Ok::<(), stridec::sharding::ShardingError>(())
    /// ```
    fn from_str(text: &str) -> Result<Self, ShardingError> {
        if text.trim_start().starts_with(['<', '#']) {
            return parse_shardy(text, None);
        }
        if is_parts(text) {
            return parts::parts(&mut whole(text)?);
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

/// Returns true if a text lists parts: an opening brace and a name in double quotes.
fn is_parts(text: &str) -> bool {
    let inside = text.trim_start().strip_prefix('{');
    inside.is_some_and(|inside| inside.trim_start().starts_with('"'))
}

/// Returns a cursor at the start of `text`, or an error if the text is too long.
fn whole(text: &str) -> Result<Cursor<'_>, ShardingError> {
    Cursor::limited(text, MAX_INPUT_BYTES)
}
