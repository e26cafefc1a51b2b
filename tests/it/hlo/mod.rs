//! HLO modules that XLA and JAX wrote are read, or refused for the right reason.

mod aliases;
mod decode;
mod memory;
mod mutations;
mod text;
mod xla_text;

use super::support;
