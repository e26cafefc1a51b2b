//! Text in general: a [`Cursor`] that every parser of the crate reads with, and what messages and
//! reports print.

mod cursor;
mod excerpt;
mod num_bytes;

pub(crate) use cursor::{Cursor, TextError};
pub(crate) use excerpt::excerpt;
pub use num_bytes::human_readable_num_bytes;
