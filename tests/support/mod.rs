//! Code that the test programs share.
#![allow(dead_code, unreachable_pub, clippy::pedantic)] // each program uses a part

pub mod base64;
pub mod conversions;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod hlo_cases;
pub mod in_place;
pub mod nests;
pub mod oracle;
pub mod programs;
pub mod random;
pub mod scope;
pub mod scratch;
pub mod tables;
