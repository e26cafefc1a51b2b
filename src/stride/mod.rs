//! Where an element lies: [`StrideDescriptor`], a reversible program and strides.

mod descriptor;
mod error;
mod index;
mod lower;

pub use descriptor::{Axis, Step, StrideDescriptor};
pub use error::StrideError;
