//! The tests that need no device, as one program.
//!
//! With `--cfg one_program` they are also a module of the library, for cargo-mutants; see
//! `tests/MUTANTS.md`.

#[cfg(feature = "accessors")]
mod accessors;
#[cfg(feature = "backends")]
mod backends;
mod bad_input;
mod blocks;
#[cfg(feature = "explain")]
mod browser;
mod checker;
mod conversions;
mod documents;
mod embedding;
mod estimates;
#[cfg(feature = "explain")]
mod explain;
mod extremes;
mod facts;
mod gaps;
mod header;
mod hlo;
mod host_large;
mod host_oracle;
mod host_shapes;
mod kernels;
mod notations;
mod passes;
mod programs;
mod prose;
mod random_programs;
mod requests;
mod rooms;
mod saved;
mod several_sources;
mod sharding;
mod small_scope;
mod snapshots;
mod split;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod worked_examples;
