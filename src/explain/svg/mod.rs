//! Pictures as SVG: small files, text as text, readable in light and dark.

mod document;
mod grid;
mod moves;
mod program;
mod scene;
mod strip;

pub(super) use document::documents;
pub use document::svg;
