//! HLO modules: what XLA and JAX wrote is read, or refused for the right reason.

mod decode;
mod memory;
mod mutations;
mod text;

use super::support;
