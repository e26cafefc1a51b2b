//! The GPU room, with kernels written by hand: what runs, and what is refused with which error.
#![cfg(feature = "gpu")]

mod kernels;
mod programs;
mod refusals;
mod runs;
#[path = "../support/mod.rs"]
mod support;
