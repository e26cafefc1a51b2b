//! Where an element lies: [`StrideDescriptor`], a reversible program and strides.

mod descriptor;
mod digits;
mod dml;
mod error;
mod index;
pub mod interchange;
mod linear;
mod lower;
mod padding_report;
mod steps;

pub use descriptor::{Axis, Step, StrideDescriptor};
pub use digits::Digit;
pub(crate) use digits::digits_of_terms;
pub use dml::{
    BufferTensorDesc, DmlError, MAX_DIMENSION_COUNT, MINIMUM_BUFFER_TENSOR_ALIGNMENT,
    TensorDataType, calc_buffer_tensor_size, interleaved_channel_minor_to_major,
    minor_to_major_from_letters, strides_from_letters, strides_from_minor_to_major,
};
pub use error::StrideError;
pub use padding_report::{DimensionPadding, PaddingReport};
pub(crate) use steps::{Coordinate, Coordinates, Forward, Undo};
