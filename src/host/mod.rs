//! Runs a [`CopyNest`](crate::nest::CopyNest) on the CPU, in parallel, for every element type.
//!
//! [`run`] divides the walk over the destination into shares, one for a thread at a time (`share`). A share owns slices of
//! the destination (`pieces`). It is cut into boxes whose positions are all of one kind (`boxes`, `task`): filled (`fill`), or
//! copied by a plan (`plan`), which is loops around tiles of a plane (`plane`, `box_copy`, `tile`, `micro`, `shuffle`, `simd`), or around
//! units below a byte or of another width (`bits`, `packed`). Each of these is a step (`step`), and a thread keeps those of its last small
//! copies (`kept`). What looks up where each position or row comes from goes without boxes (`gathered`). Images beyond the caches
//! are written past them (`stream`, `strips`). Who walks a nest from its source to its destination asks for its boxes (`reads`).

#![expect(clippy::inline_always)] // what must stay in registers, measured
#![expect(clippy::cast_possible_truncation)] // images fit the address space

mod bits;
mod box_copy;
mod boxes;
mod cache;
mod columns;
mod error;
mod fill;
mod gathered;
mod interleave;
mod kept;
mod lane;
mod micro;
mod packed;
mod pieces;
mod plan;
mod plane;
mod reads;
mod repeat;
mod run;
mod share;
mod shuffle;
mod simd;
mod step;
mod stream;
mod strips;
mod task;
mod tile;
mod weave;

pub use error::HostError;
pub(crate) use reads::each_read_box;
pub use run::{run, run_sources};
