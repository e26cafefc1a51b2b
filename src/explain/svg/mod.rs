//! Draws pictures as SVG. The files are small, keep text as text, and are readable in light and
//! dark mode.

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
