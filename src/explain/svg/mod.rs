//! Pictures as SVG: small files, text as text, readable in light and dark.

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
