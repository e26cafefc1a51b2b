//! Plans and runs a reshard: the messages that change the sharding of an array into any other.
//!
//! For example, an array lies in rows on 4 devices, and the next step of a computation needs it in
//! columns. Each device then sends a block to each of the 3 others. [`plan`] lists all of these
//! blocks. A plan depends only on the two placements, so every device computes the same plan
//! without communication. [`rank_plan`] computes only the messages of one device, in time
//! proportional to their number. [`simulate`] runs a plan with all devices in one process. Other
//! transports implement [`Engine`]. A *shard* is the part of the array on one device. In names,
//! *image* means the whole memory of a shard, padding included.
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
//! # Who sends each element
//!
//! A *holder* is a device that has a copy of a tile, the part of the array that lies on one device.
//! The tiles of a sharding form a grid, so the overlap of a source tile with the tiles of the
//! destination is computed one dimension at a time. The planner never visits a pair of devices
//! without common elements, nor any single element. With a cyclic sharding, a region may consist of
//! several ranges in a dimension, but it is still one transfer. Elements that a device needs and
//! already holds are copied locally. All other elements are sent by a holder of their source tile.
//! So the total number of bytes sent, and the number of bytes that each device receives, are the
//! minimum for a plan without forwarding.
//!
//! If a source tile has several holders, they divide the work. The destinations of the tile are
//! ordered by destination tile, row-major, and then by device. The elements that they need form a
//! sequence of `D` elements, and each of the `h` holders sends an equal share of `⌈D / h⌉`
//! elements. A box that crosses the end of a share is split. If the end of a share lies within
//! 1/200 of a share from the edge of a box, or from the edge of a row of a box, it is moved to that
//! edge, so that most boxes stay in one piece. The busiest sender therefore stays within 1% of its
//! lower bound.

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
