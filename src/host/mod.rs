//! Runs a [`CopyNest`](crate::nest::CopyNest) on the CPU, in parallel, for every element type.
//!
//! [`run`] cuts the walk over the destination into parts, one for each thread at a time (`part`); a part owns slices of the
//! destination (`pieces`). It is cut into boxes in which every cell is of one kind (`regions`, `task`): filled (`fill`), or
//! copied by a plan, loops around tiles of a plane (`plan`, `box_copy`, `tile`, `micro`, `shuffle`, `simd`), or around units
//! below a byte or of another width (`bits`). Images beyond the caches are written past them (`stream`).

#![expect(clippy::inline_always)] // what must stay in registers, measured
#![expect(clippy::cast_possible_truncation)] // images fit the address space

mod bits;
mod box_copy;
mod cache;
mod error;
mod fill;
mod micro;
mod part;
mod pieces;
mod plan;
mod regions;
mod repeat;
mod run;
mod shuffle;
mod simd;
mod stream;
mod task;
mod tile;

pub use error::HostError;
pub use run::run;
