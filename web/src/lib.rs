//! The compiler as a WebAssembly module for the page.
//!
//! ```text
//! exports ─┬─► stridec::service   requests and responses, as in every other binding
//!          └─► page ─┬─► asked      the questions of the page
//!                    ├─► fields     a layout for the page's controls
//!                    ├─► languages  a kernel in other languages
//!                    ├─► memory     the memory of buffers
//!                    └─► fault      an error, and its position in the reader's text
//! ```

mod asked;
pub mod exports;
mod fault;
mod fields;
mod languages;
mod memory;
mod page;
