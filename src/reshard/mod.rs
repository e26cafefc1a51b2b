//! Reshards: from any sharding of an array to any other.
//!
//! [`plan`] says which part of the array goes from which device to which. It is a pure function of the two placements, so that every
//! device computes the same plan without talking to another; [`rank_plan`] gives the part of one device alone, in time of its own
//! transfers. [`simulate`] runs a plan with all devices in one process, and [`Engine`] is what another transport implements.
//!
//! ```
//! use stridec::{reshard::plan, shape::Shape, sharding::Sharding};
//! let shape: Shape = "f32[8192,16384]".parse()?;
//! let rows: Sharding = "{devices=[4,1]<=[4]}".parse()?;
//! let columns: Sharding = "{devices=[1,4]<=[4]}".parse()?;
//! let plan = plan(&shape, &rows.place(&shape, None)?, &columns.place(&shape, None)?)?;
//! assert_eq!(plan.transfers().len(), 12);
//! assert_eq!(plan.transfers()[0].region.to_string(), "[0,2048)×[4096,8192)");
//! assert_eq!(plan.cost(), plan.bounds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who sends what
//!
//! The tiles of a sharding are a grid, so what a tile of the source shares with tiles of the destination is found dimension by
//! dimension: no pair of devices without a common element is looked at, and no element. Where blocks are dealt out, a part
//! of the array has several ranges of a dimension; it is one transfer all the same. What a device wants and
//! has already is a copy; everything else comes from one of the holders of the tile. So the bytes that are moved, and those that
//! each device receives, are the least that a plan without forwarding can have.
//!
//! The destinations of a tile stand in a line: by tile of the destination, row-major, then by holder. Its `h` holders send equal
//! parts of that line, each `⌈D / h⌉` elements, where `D` is its length. A box across the end of a part is split. Where an end
//! lies within 1/200 of a part from the edge of a box, or of rows of a box, it moves there, so that boxes stay whole where they can: the
//! busiest sender is within 1% of its bound.

mod bounds;
mod destinations;
mod engine;
mod error;
mod grid;
mod member;
mod message;
mod offsets;
mod plan;
mod proto;
mod rank;
mod runs;
mod shards;
mod simulate;
mod split;
mod staging;

pub use bounds::Cost;
pub use engine::{Engine, RunError};
pub use error::ReshardError;
pub use member::Member;
pub use plan::{MAX_DEVICES, MAX_TRANSFERS, ReshardPlan, Transfer, plan};
pub use rank::{RankPlan, rank_plan};
pub use runs::Runs;
pub use shards::Shards;
pub use simulate::simulate;
pub use staging::{Round, rounds};
