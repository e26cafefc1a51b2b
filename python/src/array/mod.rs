//! Arrays in host memory, which are read and passed on by the protocols that Python's libraries
//! share.

mod class;
mod dlpack;
mod export;
mod host_array;
mod image;
mod interface;
mod numpy;

pub(crate) use class::Array;
pub(crate) use host_array::HostArray;
pub(crate) use image::{Image, Room, lies_as};
pub(crate) use numpy::{dtype, element_type, numpy};
