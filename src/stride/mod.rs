//! [`StrideDescriptor`]: the location of each element in memory, as reversible steps and strides.

mod descriptor;
mod digits;
mod error;
mod index;
mod linear;
mod lower;
mod padding_report;
pub(crate) mod size;
mod steps;

pub(crate) use descriptor::packed_elements;
pub use descriptor::{Axis, Step, StrideDescriptor};
pub(crate) use digits::{Digit, digits_of_terms};
pub use error::StrideError;
pub use padding_report::{DimensionPadding, PaddingReport};
pub(crate) use steps::{Coordinate, Coordinates, Forward, Undo};
