//! HLO modules: what XLA and JAX wrote is read, or refused for the right reason.

#[path = "../support/base64.rs"]
mod base64;
mod cases;
mod decode;
mod memory;
mod mutations;
mod text;
