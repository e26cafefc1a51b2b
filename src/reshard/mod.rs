//! Plans and performs a reshard: an exchange of messages that changes the sharding of an array.
//!
//! For example, an array is divided into rows on 4 devices, and the next step of a computation
//! needs it divided into columns. Each device then sends a block to each of the 3 others. [`plan`]
//! lists the blocks of all devices. A plan depends only on the two placements, so every device
//! computes the same plan without communication. [`rank_plan`] computes only the messages of one
//! device, in time proportional to their number. [`simulate`] performs a plan with all devices in
//! one process. To use another transport, implement [`Engine`]. A *shard* is the part of the array
//! on one device. A parameter with the name `image` is the whole memory of a shard, padding
//! included.
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
//! # Choice of the sender
//!
//! A *tile* is a part of the array that lies on one device, and a *holder* of a tile is a device
//! that has a copy of it. The tiles of a sharding form a grid, so the planner computes the overlap
//! of a source tile with the destination tiles one dimension at a time. It never visits a single
//! element, or a pair of devices without common elements. In a cyclic sharding, a region may
//! consist of several ranges in a dimension, but it is still one transfer. A device copies the
//! elements that it both needs and holds locally. All other elements are sent by a holder of their
//! source tile. Therefore the total number of bytes sent, and the number of bytes that each device
//! receives, are the minimum for a plan without forwarding.
//!
//! If a source tile has several holders, they divide the work. The destinations of the tile are
//! ordered by destination tile, row-major, and then by device. The elements that these destinations
//! need form a sequence of `D` elements, and each of the `h` holders sends an equal share of
//! `⌈D / h⌉` elements. A box that crosses the end of a share is split. To keep most boxes in one
//! piece, the end of a share is moved to the edge of a box, or of a row of a box, if that edge is
//! within 1/200 of a share. The busiest sender therefore stays within 1% of its lower bound.

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
pub use plan::{MAX_DEVICES, ReshardPlan, Transfer, plan};
pub use rank::{RankPlan, rank_plan};
pub use runs::Runs;
pub use shards::Shards;
pub use simulate::simulate;
pub use staging::{Round, rounds};
