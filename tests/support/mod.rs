//! What the integration tests share.
#![allow(dead_code, unreachable_pub, clippy::pedantic)] // each test binary uses a part

pub mod oracle;
pub mod random;
