//! The compiler as two WebAssembly modules for the page, and as one for the JavaScript package.
//!
//! The page starts with `stridec.wasm`. The code of translations would make this module a third
//! larger, and few readers ask for one, so the page loads `languages.wasm` for the first
//! translation. The feature `languages` selects the second module. The feature `package` selects
//! the module of the package in `js/`, which has no pictures.
//!
//! ```text
//! exports ─┬─► page ─┬─► asked      the questions of the page
//!          │         ├─► fields     a layout for the page's controls
//!          │         ├─► kernel     the kernel of a slice
//!          │         ├─► memory     the memory of buffers
//!          │         ├─► plain      a kernel as plain data
//!          │         └─► fault      an error, and its position in the reader's text
//!          ├─► package              the questions of the JavaScript package
//!          └─► languages            kernels in other languages, and requests of the other bindings
//! ```

mod asked;
pub mod exports;
mod fault;
#[cfg(feature = "languages")]
mod languages;
#[cfg(feature = "package")]
#[path = "page/memory.rs"]
#[allow(dead_code)] // the table of the page
mod memory;
#[cfg(feature = "package")]
mod package;
#[cfg(not(any(feature = "languages", feature = "package")))]
mod page;
#[cfg(not(feature = "languages"))]
mod plain;
