//! A file that contains the whole memory of a tensor, such as a parameter of a program or a shard.

use std::path::Path;

use stridec::stride::StrideDescriptor;

use super::{
    errors::Failure,
    input::{Input, InputBytes},
    npy::{self, FileOf, Header},
    reshard::ShardFile,
};

/// The file of a tensor's image, either a `.npy` file or raw memory.
pub(super) struct ImageFile {
    bytes: InputBytes,
    /// The offset of the image in the file, in bytes. It is the end of the header in a `.npy` file,
    /// and otherwise 0.
    start: usize,
}

impl ImageFile {
    /// Opens the file of a tensor. `shape` is the name of the tensor in messages.
    pub(super) fn open(
        path: &Path,
        tensor: &StrideDescriptor,
        shape: &str,
        of: FileOf,
    ) -> Result<Self, Failure> {
        let mut input = Input::open(path)?;
        let name = input.name();
        let mut start = 0;
        if input.is_npy() {
            let invalid = |reason: String| Failure::invalid(reason).about(&name);
            let (header, length) = Header::read(input.read_start()?).map_err(invalid)?;
            npy::check(&header, tensor, of).map_err(invalid)?;
            start = length;
        }
        let bytes = input.read_image(start, tensor.image_bytes(), shape, false)?;
        Ok(Self { bytes, start })
    }

    /// Opens the file of a shard. If the shard has no elements, the file may be missing, and the
    /// image is zeros.
    pub(super) fn of_shard(file: &ShardFile) -> Result<Self, Failure> {
        let ShardFile { path, tensor, name, is_empty, .. } = file;
        if *is_empty && !path.exists() {
            let bytes = usize::try_from(tensor.image_bytes()).unwrap_or(usize::MAX);
            return Ok(Self { bytes: InputBytes::Read(vec![0; bytes]), start: 0 });
        }
        Self::open(path, tensor, name, FileOf::Source)
    }

    /// Returns the image, without the header of the file.
    pub(super) fn image(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}
