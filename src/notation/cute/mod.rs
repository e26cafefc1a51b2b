//! CuTe's layouts, `shape:stride`, nested: `((2,4),8):((1,16),2)`; and their algebra.
//!
//! A [`CuteLayout`] maps integers to integers. Coordinates are colexicographic: the first mode is
//! the fastest, and so is the first part of each mode. Written as an array, each mode at the top is
//! a dimension, and its parts are the digits of its index, the least significant first.
//!
//! ```
//! use stridec::notation::CuteLayout;
//! let tile: CuteLayout = "((2,4),8):((1,16),2)".parse()?;
//! assert_eq!((tile.size(), tile.cosize(), tile.at(9)), (64, 64, 3));
//! let quarters: CuteLayout = "4:2".parse()?;
//! assert_eq!(quarters.complement(24)?.to_string(), "(2,3):(1,8)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algebra;
mod composition;
mod layout;
#[cfg(test)]
mod samples;
mod tensor;
mod text;

pub use layout::{CuteError, CuteLayout, Mode};
pub(super) use tensor::{read, write};
