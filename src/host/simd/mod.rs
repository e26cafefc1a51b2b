//! Transposes matrices and selects bytes with instructions that are detected at run time.
//!
//! `set` detects the instruction sets, and `x86` and `neon` wrap their instructions. `transpose`
//! transposes matrices of small units into the columns of `columns`. It uses `lines` for whole
//! cache lines and for units of 3 or 5 bytes, for example, and `narrow` for few rows or columns.
//! `joined` transposes into columns that are not aligned to cache lines. `select` fills rows with
//! bytes from a few loads, and `registers` fills blocks with any bytes of several sources.
//! `packed` unpacks, packs and exchanges units of less than a byte, `bit_lines` joins lines of
//! them and spreads runs, and `bit_blocks` puts blocks of any bits together. A *unit* is the data
//! that is moved at a time, often one element.

#[macro_use]
mod columns;
#[macro_use]
mod registers;
#[macro_use]
mod select;
#[macro_use]
mod transpose;
mod bit_blocks;
mod bit_lines;
mod joined;
#[cfg(target_arch = "x86_64")]
mod lines;
mod loops;
#[cfg(target_arch = "x86_64")]
mod narrow;
#[cfg(target_arch = "aarch64")]
mod neon;
mod packed;
mod set;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use bit_blocks::{BitBlock, BitLane, BitRegister, BitTerm, ByteTable, WIDTH};
pub(super) use bit_lines::{INTERLEAVED_PAST, LINES_PAST};
pub(super) use columns::ColumnPointers;
pub(super) use joined::SHORT_UNIT;
pub(super) use loops::{choose_units, each_unit, gather_units, look_up_bytes, vectorized};
pub(super) use registers::{
    CYCLES_OF_LOAD, PatternByte, PatternLoop, PatternSource, RegisterReads, Registers, span,
};
pub(super) use select::{NO_BYTE, Selection, TRIPLE};
pub(super) use set::Simd;
pub(super) use transpose::Inner;
