//! Shardings and reshards: the cases of `tests/data/sharding_cases.jsonl`, which XLA, Shardy and JAX agree with.

#[path = "../support/base64.rs"]
mod base64;
mod cases;
mod forms;
mod messages;
mod moves;
mod mutations;
mod plans;
