//! The memory that the buffers of a module occupy, and the part of it that is padding. With the
//! tiles of a TPU, a row of 3 elements takes as much memory as a row of 128. The report lists such
//! arrays, and orders of their dimensions that occupy less memory.

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
