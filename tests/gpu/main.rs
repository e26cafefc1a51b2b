//! Tests of everything that runs on a GPU: random and named operations, copies in parts, programs,
//! accessors, kernels written by hand, and errors. Results are compared with the host.
//!
//! Without a GPU the tests say that they are skipped; with `STRIDEC_REQUIRE_GPU=1` they fail
//! instead.

#[cfg(feature = "accessors")]
mod accessors;
mod at_run_time;
mod conversions;
mod dispatch_program;
mod gaps;
mod handwritten;
mod host;
mod operations;
mod parts;
mod programs;
mod random_programs;
mod recording;
mod refusals;
mod runs;
#[path = "../support/mod.rs"]
mod support;
mod tables;
