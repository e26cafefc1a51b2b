//! What the integration tests share.
#![allow(dead_code, unreachable_pub, clippy::pedantic)] // each test binary uses a part

#[cfg(feature = "gpu")]
pub mod gpu;
pub mod nests;
pub mod oracle;
pub mod random;
pub mod scope;
