//! Reads the input of a command, which is a mapped file or the contents of a pipe.

use std::{
    fs::File,
    io::{self, Read},
    ops::Deref,
    path::{Path, PathBuf},
};

use memmap2::Mmap;

use super::{
    errors::{Failure, input_name},
    map::map,
    npy::MAX_HEADER,
    stdin,
};

/// An input that is open, but whose image has not been read.
pub(super) struct Input {
    path: PathBuf,
    from: From,
    /// The bytes of a pipe that [`read_start`](Self::read_start) has read so far.
    start: Vec<u8>,
}

/// The file or pipe from which an input is read. A file that cannot be mapped is treated like a
/// pipe.
enum From {
    Mapped(Mmap),
    Pipe(Box<dyn Read>),
}

/// The contents of an input.
pub(super) enum InputBytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Deref for InputBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

impl Input {
    /// Opens a file, or stdin if the path is `-`.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        refuse_archive(path)?;
        let from = if path == Path::new("-") {
            From::Pipe(Box::new(stdin::take()?))
        } else {
            open_file(path).map_err(|error| Failure::unreadable(path, &error))?
        };
        Ok(Self { path: path.into(), from, start: Vec::new() })
    }

    /// Returns true if the name ends in `.npy`.
    pub(super) fn is_npy(&self) -> bool {
        is_npy(&self.path)
    }

    /// Returns the name by which messages refer to the input.
    pub(super) fn name(&self) -> String {
        input_name(&self.path)
    }

    /// Reads enough of the input to contain the longest `.npy` header. Returns the bytes, which are
    /// the whole contents if the input is a mapped file.
    pub(super) fn read_start(&mut self) -> Result<&[u8], Failure> {
        match &mut self.from {
            From::Mapped(map) => Ok(map),
            From::Pipe(pipe) => {
                let left = MAX_HEADER.saturating_sub(self.start.len()) as u64;
                pipe.take(left)
                    .read_to_end(&mut self.start)
                    .map_err(|error| Failure::unreadable(&self.path, &error))?;
                Ok(&self.start)
            }
        }
    }

    /// Reads an input that consists of `header` bytes and an image of `expected` bytes. Returns a
    /// failure if the length is different. `tensor` is the name of the image in the message.
    ///
    /// If `is_storage` is true, the input may be longer, because the tensor is a view of a larger
    /// storage. From a pipe, one byte more than expected is read, to detect an input that is too
    /// long.
    pub(super) fn read_image(
        self,
        header: usize,
        expected: u64,
        tensor: &str,
        is_storage: bool,
    ) -> Result<InputBytes, Failure> {
        let Self { path, from, start } = self;
        let mut more = "";
        let bytes = match from {
            From::Mapped(map) => InputBytes::Mapped(map),
            From::Pipe(mut pipe) => {
                let mut bytes = start;
                let limit = (header as u64).saturating_add(expected).saturating_add(1);
                let unreadable = |error: io::Error| Failure::unreadable(&path, &error);
                let left = limit.saturating_sub(bytes.len() as u64);
                (&mut pipe).take(left).read_to_end(&mut bytes).map_err(unreadable)?;
                if is_storage {
                    io::copy(&mut pipe, &mut io::sink()).map_err(unreadable)?;
                }
                more = " or more";
                InputBytes::Read(bytes)
            }
        };
        let given = bytes.len().saturating_sub(header) as u64;
        if given == expected || is_storage && given > expected {
            return Ok(bytes);
        }
        let more = if given > expected { more } else { "" };
        let least = if is_storage { "at least " } else { "" };
        let reason = format!(
            "expected {least}{expected} bytes (the memory of {tensor}), got {given} bytes{more}"
        );
        Err(Failure::invalid(reason).about(input_name(&path)))
    }
}

impl Input {
    /// Reads the whole input. Returns a failure if it has more than `limit` bytes.
    pub(super) fn read_all(self, limit: u64) -> Result<InputBytes, Failure> {
        let Self { path, from, start } = self;
        let bytes = match from {
            From::Mapped(map) => InputBytes::Mapped(map),
            From::Pipe(pipe) => {
                let mut bytes = start;
                pipe.take(limit.saturating_add(1))
                    .read_to_end(&mut bytes)
                    .map_err(|error| Failure::unreadable(&path, &error))?;
                InputBytes::Read(bytes)
            }
        };
        if bytes.len() as u64 > limit {
            let reason = format!("expected at most {limit} bytes");
            return Err(Failure::invalid(reason).about(input_name(&path)));
        }
        Ok(bytes)
    }
}

/// Returns true if a path ends in `.npy`.
pub(super) fn is_npy(path: &Path) -> bool {
    has_ending(path, "npy")
}

/// Returns a failure if the path names an archive of arrays, because it would be read as raw
/// memory.
pub(super) fn refuse_archive(path: &Path) -> Result<(), Failure> {
    if has_ending(path, "npz") {
        let reason = "a .npz file is a zip archive of .npy files; expected one .npy file, as `unzip` extracts them";
        return Err(Failure::invalid(reason).about(input_name(path)));
    }
    Ok(())
}

/// Returns true if a path has the extension `ending`, in upper or lower case.
fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|its| its.eq_ignore_ascii_case(ending))
}

/// Opens a file. Maps it if possible, and otherwise prepares to read it like a pipe.
fn open_file(path: &Path) -> io::Result<From> {
    let file = File::open(path)?;
    let kind = file.metadata()?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Some file systems cannot map files, and some have files without a length.
    if kind.is_file()
        && kind.len() > 0
        && let Ok(map) = map(&file)
    {
        return Ok(From::Mapped(map));
    }
    Ok(From::Pipe(Box::new(file)))
}
