//! How a nest becomes invocations: [`Target`], and the choice of a [`Strategy`].

mod accesses;
mod block;
mod candidates;
mod cost;
mod error;
mod load;
mod model;
mod numbering;
mod pieces;
mod rounds;
#[allow(clippy::module_inception)]
mod schedule;
mod seam;
mod steps;
mod target;
#[cfg(feature = "text-protos")]
mod target_json;

pub use block::{Block, Run, Side};
pub use candidates::{Candidate, candidates};
pub use error::ScheduleError;
pub use load::{run_words, runs, shifted_accesses};
pub use model::CostModel;
pub use numbering::Lane;
pub(crate) use pieces::{Piece, Pieces, source};
pub(crate) use rounds::NEIGHBOURS;
pub(crate) use schedule::MAX_SOURCES;
#[cfg(feature = "gpu")]
pub(crate) use schedule::WIDEST_ACCESS;
pub use schedule::{Schedule, Strategy, schedule};
pub use seam::{Seam, Start};
pub use target::{AdapterKind, Target};
