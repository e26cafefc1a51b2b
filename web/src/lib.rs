//! stridec for a page: the compiler as a WebAssembly module.
//!
//! ```text
//! exports ─┬─► stridec::service   requests and responses, as every other binding has them
//!          └─► page ─┬─► asked      what the page asks
//!                    ├─► fields     a layout as the page's controls have it
//!                    ├─► languages  a kernel in other languages
//!                    ├─► memory     what buffers take
//!                    └─► fault      an error, and where in the reader's text it stands
//! ```

mod asked;
pub mod exports;
mod fault;
mod fields;
mod languages;
mod memory;
mod page;
