//! XLA's utilities for layouts, shapes and indices, with the names that XLA uses. They are for
//! users who know XLA and port code from it; no other module of stridec uses them.
//!
//! The modules are named after XLA's headers. XLA's functions often consider only the order of the
//! dimensions. The functions here lower the shapes, so their results are also correct for padded
//! and tiled arrays.
//!
//! ```
//! use stridec::xla::{layout_util, shape_util};
//! let (nchw, nhwc) = ("f32[8,64,1,1]{3,2,1,0}".parse()?, "f32[8,64,1,1]{1,3,2,0}".parse()?);
//! assert!(shape_util::reshape_is_bitcast(&nchw, &nhwc, false)?); // no element moves
//! assert_eq!(layout_util::major_to_minor(&"{1,3,2,0}".parse()?), [0, 2, 3, 1]);
//! # Ok::<(), stridec::Error>(())
//! ```

pub mod index_util;
mod layout_field;
pub mod layout_util;
pub mod permutation_util;
pub mod shape_util;

pub use crate::text::human_readable_num_bytes;
