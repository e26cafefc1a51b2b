//! The memory of a module's buffers, and the cost of their padding.

mod buffers;
mod difference;
mod footprint;
mod order;
mod proto;
mod report;
mod scan;
mod table;
mod text;

pub use footprint::Footprint;
pub use order::cheapest_order;
pub use report::{InstructionMemory, MemoryReport};
