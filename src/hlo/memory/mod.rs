//! Measures the memory of a module's buffers, and the part of this memory that is padding.
//!
//! Padding can dominate: with the tiles of a TPU, a row of 3 elements takes as much memory as a row
//! of 128. The report therefore lists the arrays with the most padding first. If another order of
//! an array's dimensions takes less memory, the report shows that order.
//!
//! A report is made in three steps. `proto` and `text` collect the instructions of a module in a
//! [`ScannedModule`](scan::ScannedModule), without checking the rules of their opcodes. `buffers`
//! finds the instructions that write to separate buffers. `report` holds the result, which `table`,
//! `json` and `difference` print.

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
