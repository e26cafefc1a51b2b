//! A file with the image of one tensor: a parameter of a program, or a shard.

use std::path::Path;

use stridec::stride::StrideDescriptor;

use super::{
    errors::Failure,
    input::{Bytes, Input},
    npy::{self, Header},
};

/// The image of a tensor, in a `.npy` file or alone.
pub(super) struct ImageFile {
    bytes: Bytes,
    /// Where the image starts: behind the header of a `.npy` file.
    start: usize,
}

impl ImageFile {
    /// Opens the file of a tensor, which messages call `shape`; of a program's parameter, with its number.
    pub(super) fn open(
        path: &Path,
        tensor: &StrideDescriptor,
        shape: &str,
        parameter: Option<usize>,
    ) -> Result<Self, Failure> {
        let mut input = Input::open(path)?;
        let name = input.name();
        let mut start = 0;
        if input.is_npy() {
            let invalid = |reason: String| Failure::invalid(reason).about(&name);
            let (header, length) = Header::read(input.read_start()?).map_err(invalid)?;
            npy::check(&header, tensor, parameter).map_err(invalid)?;
            start = length;
        }
        let bytes = input.read_image(start, tensor.image_bytes(), shape)?;
        Ok(Self { bytes, start })
    }

    pub(super) fn image(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}
