//! Drawing of pictures as SVG: small files in which text stays text, readable in light and dark
//! mode.

mod document;
mod flows;
mod grid;
mod moves;
mod program;
mod reshard;
mod scene;
mod strip;

pub(super) use document::documents;
pub use document::svg;
pub(super) use reshard::{MAX_GROUPS, ReshardParts};
