//! The tests that cargo-mutants runs beside those of `src/`, as modules of the library: one program for every change.

#[path = "../bad_input.rs"]
mod bad_input;
#[path = "../blocks.rs"]
mod blocks;
#[path = "../checker/main.rs"]
mod checker;
#[path = "../extremes.rs"]
mod extremes;
#[path = "../facts/main.rs"]
mod facts;
#[path = "../host_oracle.rs"]
mod host_oracle;
#[path = "../kernels.rs"]
mod kernels;
#[path = "../passes.rs"]
mod passes;
#[path = "../snapshots.rs"]
mod snapshots;
#[path = "../split.rs"]
mod split;
#[path = "../worked_examples.rs"]
mod worked_examples;
