//! Text utilities: the [`Cursor`] that all parsers of the crate share, and formatting for messages
//! and reports.

mod cursor;
mod excerpt;
mod num_bytes;

pub(crate) use cursor::{Cursor, TextError};
pub(crate) use excerpt::excerpt;
pub use num_bytes::human_readable_num_bytes;
