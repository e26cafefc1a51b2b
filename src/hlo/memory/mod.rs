//! The memory of a module's buffers, and the part of this memory that is padding.
//!
//! With the tiles of a TPU, a row of 3 elements takes as much memory as a row of 128. The report
//! lists the arrays with the most padding. If another order of an array's dimensions takes less
//! memory, the report names it.

mod buffers;
mod difference;
mod footprint;
#[cfg(feature = "json")]
mod json;
mod order;
mod proto;
mod report;
mod scan;
mod table;
mod text;
mod tiles;

pub use footprint::Footprint;
pub use order::cheapest_order;
pub use report::{InstructionMemory, MemoryReport};
pub use tiles::DefaultTiles;
