//! Text utilities: the [`Cursor`] with which all parsers of the crate read, and formats for
//! messages and reports. Each notation has a small parser of its own; what they share is here, so
//! that positions and errors are alike in all of them.

mod cursor;
mod excerpt;
mod num_bytes;

pub(crate) use cursor::{Cursor, TextError};
pub(crate) use excerpt::excerpt;
pub use num_bytes::human_readable_num_bytes;
