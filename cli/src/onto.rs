//! Reads the file of `--onto`, which contains the bytes of a destination before the operation.

use std::path::Path;

use stridec::{Tensor, stride::StrideDescriptor};

use super::{
    errors::{Failure, input_name},
    input::{Input, InputBytes},
    npy::{self, FileOf, Header},
};

/// A file whose bytes are the destination before the operation. It may be longer than the
/// destination.
pub(super) struct Onto {
    bytes: InputBytes,
    /// The offset of the image in the file, in bytes. It is the end of the header in a `.npy` file,
    /// and otherwise 0.
    start: usize,
}

impl Onto {
    /// Opens the file. Returns a failure if it does not fit the destination.
    pub(super) fn open(path: &Path, destination: &Tensor) -> Result<Self, Failure> {
        let mut input = Input::open(path)?;
        let name = input.name();
        let mut start = 0;
        if input.is_npy() {
            let invalid = |reason: String| Failure::invalid(reason).about(&name);
            let (header, data) = Header::read(input.read_start()?).map_err(invalid)?;
            let descriptor = destination.descriptor();
            if !npy::is_storage(&header, descriptor) {
                npy::check(&header, descriptor, FileOf::Source).map_err(invalid)?;
            }
            start = data;
        }
        let bytes = input.read_all(u64::MAX)?;
        let given = bytes.len().saturating_sub(start) as u64;
        let expected = destination.descriptor().image_bytes();
        if given < expected {
            let reason = format!(
                "expected at least {expected} bytes (the memory of {destination}), got {given} bytes"
            );
            return Err(Failure::invalid(reason).about(input_name(path)));
        }
        Ok(Self { bytes, start })
    }

    /// Returns the bytes of the file after its header.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Returns the header for a `.npy` output. This is the header of the file itself, if it has
    /// one. Otherwise it is the header of the destination, and the file must have the size of the
    /// destination's image.
    pub(super) fn header(
        &self,
        output: &Path,
        destination: &StrideDescriptor,
    ) -> Result<Vec<u8>, Failure> {
        let (given, expected) = (self.bytes().len() as u64, destination.image_bytes());
        if self.start > 0 {
            return Ok(self.bytes[..self.start].to_vec());
        }
        if given != expected {
            let reason = format!(
                "expected --onto with {expected} bytes, as the array has, or a .npy file, got {given} bytes; any other ending writes raw bytes"
            );
            return Err(Failure::invalid(reason).about(input_name(output)));
        }
        Ok(npy::header_of(destination).write())
    }
}
