//! Reads and writes numpy's `.npy` files as the memory of tensors. The bytes are never converted,
//! so an array of another type or order is refused.

mod descr;
mod header;
mod image;

pub(super) use header::{Header, MAX_HEADER};
pub(super) use image::{FileOf, check, header_of, is_array, is_storage, tensor_of};
