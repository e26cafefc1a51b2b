//! CuTe's layouts and their algebra. A layout is a pair of nested tuples, `shape:stride`, such as
//! `((2,4),8):((1,16),2)`.
//!
//! A [`CuteLayout`] maps integers to integers. CuTe's word for a dimension is *mode*. Coordinates
//! are colexicographic: the first mode varies fastest, and so does the first part of each mode. To
//! describe an array, each outermost mode is one dimension of it, and the parts of the mode are the
//! digits of the dimension's index, the least significant first.
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
