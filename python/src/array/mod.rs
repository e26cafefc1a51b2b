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
use numpy::dtype;
pub(crate) use numpy::element_type;
