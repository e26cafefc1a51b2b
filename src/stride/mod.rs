//! The location of each element in memory.
//!
//! A shape with its layout, such as `f32[3,5]{1,0:T(2,2)}`, is a notation for people.
//! [`StrideDescriptor`] has the same information in a form to compute with: a short list of steps
//! that split an index into coordinates, and a stride for each coordinate.
//!
//! Tiles, padding, explicit strides and the layouts of other systems are all converted to
//! descriptors, so that the rest of the crate does not depend on the notation of a layout. Every
//! step can be reversed, so that the index of an element can also be computed from its place in
//! memory.

mod descriptor;
mod digits;
mod error;
mod index;
mod linear;
mod lower;
mod outer;
mod padding_report;
pub(crate) mod size;
mod steps;

pub(crate) use descriptor::packed_elements;
pub use descriptor::{Axis, Step, StrideDescriptor};
pub(crate) use digits::{Digit, digits_of_terms};
pub use error::StrideError;
pub use padding_report::{DimensionPadding, PaddingReport};
pub(crate) use steps::{Coordinate, Coordinates, Forward, Undo};
