//! Runs a [`CopyNest`](crate::nest::CopyNest) on the CPU, in parallel, for every element type.
//!
//! [`run`] divides the walk over the destination into shares, and a thread copies one share at a
//! time (`share`). A share owns slices of the destination (`pieces`). Its positions are divided
//! into boxes of one kind each (`boxes`, `task`). A box is filled with a value (`fill`) or copied
//! by a plan (`plan`): loops around tiles of a plane (`plane`, `box_copy`, `tile`, `micro`,
//! `shuffle`, `simd`), or around units that are smaller than a byte or change their width (`bits`,
//! `packed`). Short rows of several sources have their own modules (`weave`, `interleave`). Each of
//! these is a step (`step`), and a thread keeps the steps of its last small copies (`kept`).
//!
//! Nests that look up the source of every position or row, such as gathers, need no boxes
//! (`gathered`, `columns`, `lane`). Images beyond the caches are written with non-temporal stores
//! (`stream`, `strips`). Resharding walks the boxes of a nest itself (`reads`).

#![expect(clippy::inline_always)] // measured: the values stay in registers
#![expect(clippy::cast_possible_truncation)] // images fit the address space

mod bits;
mod box_copy;
mod boxes;
mod cache;
mod columns;
mod error;
mod fill;
mod gathered;
mod kept;
mod lane;
mod micro;
mod packed;
mod pattern;
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
mod tables;
mod task;
mod tile;

pub use error::HostError;
pub(crate) use reads::each_read_box;
pub use run::{run, run_sources};
