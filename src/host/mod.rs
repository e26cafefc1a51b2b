//! Runs a [`CopyNest`](crate::nest::CopyNest) on the CPU, in parallel, for every element type.
//!
//! A nest says place by place which element to copy. That would be slow, so a copy is divided into
//! parts that are moved many bytes at a time. For example, the transpose of `f32[4096,4096]` is
//! divided into *shares*, one for a thread at a time (`share`). A share is divided into *boxes* of
//! the nest's loops, in which all places are filled in the same way (`boxes`). A box is copied by a
//! *plan* (`plan`): loops around *tiles* that fit the cache, such as 256 by 128 elements. A *mover*
//! copies a tile; this one transposes small squares in registers.
//!
//! These words are used in all files, together with those of [`nest`](crate::nest):
//!
//! - A *unit* is the data that the nest moves at a time, often an element. An *image* is the whole
//!   memory of a tensor.
//! - A share owns *slices* of the destination, which need not be contiguous. The *address* of a
//!   unit names its slice in the high bits and the offset in it in the low bits (`pieces`).
//! - A *pattern* is a block of a few hundred bytes that is put together in the same way at every
//!   step of loops around it, such as four pixels with a padding byte each (`pattern`).
//! - To *stream* is to write whole cache lines with non-temporal stores, which do not read the old
//!   contents first (`stream`). It pays off for destinations that are too large for the caches.
//!   *Line* means a cache line of 64 bytes.
//!
//! `task` chooses a step for each box, or for several boxes that make one block (`step`). A thread
//! keeps the steps of its last small copies (`kept`).
//!
//! | step | mover | taken if |
//! |---|---|---|
//! | a value | `fill` | the positions of the box read nothing, or all read one unit |
//! | the same bytes again | `step` | an outer axis reads rows again that are no long runs |
//! | runs | `step` | the box is small and its runs are long |
//! | a pattern | `pattern` | units shorter than a register, not transposed; boxes make one block |
//! | a pattern through a buffer | `expanded` | the units of a block are distant in the source |
//! | through a buffer | `staged` | units of a line go to distant places; short runs below a byte |
//! | a plan | `plan`, with `plane`, `box_copy`, `tile`, `micro`, `shuffle`, `strips` | all other boxes |
//! | a plan | `bits`, `packed` | units are smaller than a byte or change their width |
//! | a conversion | `converted`, `conversions` | the element type changes |
//!
//! `stridec explain relayout … --plan` prints the steps of a copy (also for `slice` and `hlo`), and
//! [`plan`] returns them. To add a mover, add a variant to `CopyStep` in `step` (or to `Mover` in
//! `plan`, if it moves tiles of rows and columns), choose it in `Filling::fill` or `Filling::copy`
//! of `task`, and describe it in `Display`. The instructions of movers are in `simd`, for each
//! instruction set.
//!
//! Nests that look up the source of every position or row, such as gathers, need no boxes
//! (`gathered`, `tables`, `columns`, `lane`). Images beyond the caches are written with
//! non-temporal stores (`stream`, `strips`). Resharding walks the boxes of a nest itself (`reads`).
//!
//! A build with `--cfg stridec_plain_host` copies all nests position by position (`plain`). The
//! page is built in this way: it copies little more than constants, and a fifteenth of its
//! WebAssembly would be movers.

#![expect(clippy::inline_always)] // measured: the values stay in registers
#![expect(clippy::cast_possible_truncation)] // images fit the address space

mod bits;
mod box_copy;
mod boxes;
mod columns;
mod conversions;
mod converted;
mod error;
mod expanded;
mod fill;
mod gathered;
mod kept;
mod lane;
mod machine;
mod micro;
mod packed;
mod pattern;
mod pieces;
mod plain;
mod plan;
mod plane;
mod reads;
mod repeat;
mod run;
mod share;
mod shuffle;
mod simd;
mod staged;
mod step;
mod stream;
mod strips;
mod tables;
mod task;
mod tile;

pub use error::HostError;
pub(crate) use reads::each_read_box;
pub use run::{plan, run, run_sources};
