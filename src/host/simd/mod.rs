//! The processor's shuffles of bytes, found at run time.
//!
//! `set` says which instruction sets there are, `x86` and `neon` know their instructions, and three files use them: `transpose`
//! for matrices of small units (`columns` is where they are written, `lines` moves whole lines,
//! `narrow` few rows or columns), `joined` for those whose columns
//! begin anywhere in a line, `select` for rows put together from a few loads.

#[macro_use]
mod select;
#[macro_use]
mod transpose;
mod columns;
mod joined;
#[cfg(target_arch = "x86_64")]
mod lines;
#[cfg(target_arch = "x86_64")]
mod narrow;
#[cfg(target_arch = "aarch64")]
mod neon;
mod set;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use columns::Columns;
pub(super) use joined::SHORT_UNIT;
pub(super) use select::{NONE, Place, Selection, TRIPLE};
pub(super) use set::Simd;
pub(super) use transpose::Inner;
