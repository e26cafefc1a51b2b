//! Shardings and reshards: the cases of `tests/data/sharding_cases.jsonl`, with which XLA, Shardy
//! and JAX agree.

mod cases;
mod forms;
mod messages;
mod moves;
mod mutations;
mod plans;

use super::support::{self, base64};
