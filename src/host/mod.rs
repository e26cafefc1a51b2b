//! Runs a [`CopyNest`](crate::nest::CopyNest) on the CPU, in parallel, for every element type.
//!
//! A nest defines, for each place of the destination, the element that is copied there. Evaluating
//! this definition place by place would be slow, so a copy is divided into parts that are moved
//! many bytes at a time. The transpose of `f32[1024,1024]`, as an example:
//!
//! 1. The destination is divided into *shares*. A thread fills one share at a time (`share`).
//! 2. A share is divided into *boxes*: ranges of the nest's loops in which all places are filled in
//!    the same way (`boxes`). This transpose has no padding, so that a share is one box.
//! 3. A box is copied by a *plan*: loops around *tiles* that fit the cache, such as 512 by 128
//!    elements (`plan`).
//! 4. A tile is copied by a *mover*. The mover of this plan transposes small squares in registers
//!    (`tile`, `simd`).
//!
//! All files use these words, together with those of [`nest`](crate::nest):
//!
//! - A *unit* is the data that the nest moves at a time, often one element.
//! - An *image* is the whole memory of a tensor, as bytes.
//! - The *walk* is the order in which the nest's loops visit the destination, place by place. A
//!   *position* is one step of the walk: a combination of steps of the loops. It fills one place of
//!   the destination with one unit.
//! - A *case* of the nest says what a position takes: a unit of a source, or a constant. It applies
//!   if all its *guards* hold, which are conditions on affine forms of the loops. Forms may contain
//!   *quotients*, which are divisions, and *lookups*, which are integers loaded from a source.
//! - A *run* is a sequence of units that are contiguous on both sides.
//! - A share consists of *slices* of the destination, which need not be next to each other. The
//!   *address* of a unit is a number with the index of the slice in its high bits, and the offset
//!   inside that slice in its low bits (`pieces`).
//! - A *pattern* is a block of a few hundred bytes that is put together in the same way at every
//!   step of the loops around it, such as four RGB pixels with a padding byte each (`pattern`).
//! - A *line* is a cache line of 64 bytes.
//! - To *stream* is to write whole lines with non-temporal stores. Such a store does not read the
//!   old contents of a line first, which pays off for destinations that are too large for the
//!   caches (`stream`).
//!
//! `task` decides how each box is filled. The decision is a *step* (`step`), an object that can be
//! run, printed, and kept for the next copy of the same nest if the copy is small (`kept`). Several
//! boxes that form one block, or that follow each other at equal distances, get a step together.
//!
//! | step | file of its code | chosen if |
//! |---|---|---|
//! | a value | `fill` | the box takes a constant, or one unit of a source |
//! | rows again | `step` | a broadcast repeats rows that are not long runs |
//! | runs | `step` | the box is small and its runs are long |
//! | rows in parts | `rows` | each row is divided at another place, as in a triangle |
//! | a pattern | `pattern` | short units that are not transposed, or boxes that form one block |
//! | a pattern through a buffer | `expanded` | boxes form one block of distant units |
//! | a plan through a buffer | `staged` | units of one line go far apart; runs of bits |
//! | a plan | `plan` | all other boxes of units of whole bytes |
//! | a plan of bits | `bits`, `packed` | units below a byte, or of two sizes |
//! | selected bits | `bit_pattern` | units below a byte in short rows |
//! | a conversion | `converted`, `conversions` | the element type changes |
//!
//! A plan uses the code in `plane`, `box_copy`, `tile`, `micro`, `shuffle` and `strips`.
//!
//! `stridec explain relayout … --plan` prints the steps of a copy (also for `slice` and `hlo`), and
//! [`plan`] returns them as text. To add a way to fill a box, add a variant to `CopyStep` in
//! `step`, or to `Mover` in `plan` if it moves tiles of rows and columns. Then choose it in
//! `Filling::fill` or `Filling::copy` of `task`, and describe it in `Display`. `simd` contains the
//! instructions that movers use, for each instruction set.
//!
//! Two kinds of nests take other paths:
//!
//! - A nest that looks up the source of every position or row, such as a gather, is not divided
//!   into boxes, because every row would be a box of its own (`gathered`, `tables`, `columns`,
//!   `lane`). If the nest only chooses between two values by a predicate of each position, the
//!   values are copied without the predicate first (`chosen`).
//! - Resharding copies from the destination of a nest back to its source. It reads the boxes of the
//!   nest and moves their bytes itself (`reads`).
//!
//! A build with `--cfg stridec_plain_host` copies all nests position by position (`plain`). The web
//! page is built in this way: it copies little more than constants, and the movers would be a
//! fifteenth of its WebAssembly.

#![expect(clippy::inline_always)] // measured: the values stay in registers
#![expect(clippy::cast_possible_truncation)] // images fit the address space

mod bit_pattern;
mod bits;
mod box_copy;
mod boxes;
mod chosen;
mod columns;
mod conversions;
mod converted;
mod error;
mod expanded;
mod fill;
mod gathered;
mod kept;
mod lane;
mod looked_up;
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
mod rows;
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
mod windows;
mod zeroed;

pub use error::HostError;
pub(crate) use reads::each_read_box;
pub use run::{plan, run, run_sources};
pub use zeroed::zeroed;
