//! stridec for a page: the compiler as a WebAssembly module.

pub mod exports;
