//! Chooses how a nest is divided among invocations: [`Target`], [`Strategy`] and [`Schedule`].

mod accesses;
pub(crate) mod block;
pub(crate) mod candidates;
mod cost;
mod error;
mod load;
mod model;
pub(crate) mod numbering;
mod rounds;
mod row_segments;
#[allow(clippy::module_inception)]
pub(crate) mod schedule;
pub(crate) mod seam;
mod steps;
mod target;
#[cfg(feature = "text-protos")]
mod target_json;

pub(crate) use block::{Block, BlockAxis, Run};
pub use candidates::{Candidate, candidates};
pub use error::ScheduleError;
pub(crate) use load::{run_words, runs, shifted_accesses};
pub use model::CostModel;
pub(crate) use numbering::BlockDigit;
pub(crate) use rounds::VECTOR_LANES;
pub(crate) use row_segments::{RowSegment, RowSegments, source};
pub(crate) use schedule::{MAX_SOURCES, schedule_with};
pub use schedule::{Schedule, Strategy, schedule};
pub(crate) use seam::{RowAlignment, Seam};
pub use target::{AdapterKind, Target};
#[cfg(feature = "text-protos")]
pub use target_json::TargetError;
