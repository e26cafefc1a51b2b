//! The memory that the buffers of a module take, and how much of it is padding. With the tiles of a
//! TPU, an array of 3 columns takes rows of 128, and this report shows such arrays and a better
//! order of their dimensions.

mod buffers;
mod difference;
mod footprint;
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
