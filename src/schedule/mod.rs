//! How a nest becomes invocations: [`Target`], and the choice of a [`Strategy`].

mod block;
mod candidates;
mod cost;
mod error;
mod model;
#[allow(clippy::module_inception)]
mod schedule;
mod target;
#[cfg(feature = "text-protos")]
mod target_json;

pub use block::{Block, Lane};
pub use candidates::{Candidate, candidates};
pub use error::ScheduleError;
pub use model::CostModel;
pub use schedule::{Schedule, Strategy, schedule};
pub use target::{AdapterKind, Target};
