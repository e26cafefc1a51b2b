//! numpy's `.npy` files, as images of tensors in memory: never converted, never reinterpreted.

mod descr;
mod header;
mod image;

pub(super) use header::{Header, MAX_HEADER};
pub(super) use image::{check, header_of, is_array, is_storage, tensor_of};
