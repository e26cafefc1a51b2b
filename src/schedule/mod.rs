//! Chooses how the work of a nest is divided among the invocations of a kernel.
//!
//! The input is a [`CopyNest`](crate::nest::CopyNest), which defines the copy, and a [`Target`],
//! which describes the adapter as data. The output is a [`Schedule`], from which
//! [`wgsl`](crate::wgsl) writes the kernel. [`candidates()`] lists the possible divisions, a cost
//! model estimates the time of each, and [`schedule()`] takes the cheapest that the target's limits
//! allow. [`estimate()`] gives its traffic and its time, which can be compared between operations.
//!
//! For example, a nest with loops of 12544 and 64 steps is a transpose. If an invocation copied a
//! single element, neighbouring invocations would load or store at distant addresses. So each
//! invocation loads 4 rows of 4 elements, with accesses of 16 bytes, exchanges them in registers
//! and stores 4 columns.
//!
//! The files of this module use these words ([names](crate::guide::names) has more):
//!
//! - A *unit* is the data that one iteration of the nest copies: an element, a part of one, or a
//!   few contiguous ones. A *run* is several contiguous units.
//! - A *block* is the set of units that one invocation moves, such as 4 rows by 4 columns.
//! - A *word* is 32 bits, and an *access* is one load or store, of 4, 8 or 16 bytes. Kernels can
//!   address only whole words. If a row of the destination ends inside a word, a separate
//!   invocation therefore writes the word that two rows share, the *seam*.
//! - A *round* is the work of an invocation on one block. On a CPU, an invocation moves several
//!   blocks in sequence, one in each round.
//! - A *segment* is a part of every row that comes from one source, as in a concatenation of
//!   columns.
//! - A *lane* is one of the invocations that run together: the 32 of a warp, or the ones that a CPU
//!   puts into one vector.

mod accesses;
pub(crate) mod block;
pub(crate) mod candidates;
mod cost;
mod error;
mod estimate;
mod load;
mod model;
pub(crate) mod numbering;
mod rounds;
mod row_segments;
mod run_time_extents;
#[allow(clippy::module_inception)]
pub(crate) mod schedule;
pub(crate) mod seam;
mod steps;
mod target;
#[cfg(feature = "text-protos")]
mod target_json;
mod whole_rows;
mod word_runs;

pub(crate) use block::{Block, BlockAxis, Run};
pub(crate) use candidates::item_candidates;
pub use candidates::{Candidate, candidates};
pub use error::ScheduleError;
pub use estimate::{Estimate, estimate};
pub(crate) use load::{run_words, runs, shifted_accesses};
pub use model::CostModel;
pub(crate) use numbering::BlockDigit;
pub(crate) use rounds::VECTOR_LANES;
pub(crate) use row_segments::{RowSegment, RowSegments, source};
pub(crate) use run_time_extents::MOST_ARGUMENTS;
pub use run_time_extents::{ExtentError, OuterLoop, RunTimeExtents};
#[cfg(feature = "accessors")]
pub(crate) use schedule::check_words;
pub use schedule::{Schedule, Strategy, schedule};
pub(crate) use schedule::{schedule_items, schedule_with};
pub(crate) use seam::{RowAlignment, Seam};
pub use target::{AdapterKind, Target};
#[cfg(feature = "text-protos")]
pub use target_json::TargetError;
pub(crate) use whole_rows::WholeRows;
pub(crate) use word_runs::WordRuns;
