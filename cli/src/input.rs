//! The input of a run: a file mapped into memory, or what a pipe gives.

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

/// An input that is open, and not yet read.
pub(super) struct Input {
    path: PathBuf,
    from: From,
    /// What [`read_start`](Self::read_start) has read of a pipe.
    start: Vec<u8>,
}

enum From {
    Mapped(Mmap),
    Pipe(Box<dyn Read>),
}

/// The bytes of an input.
pub(super) enum Bytes {
    Mapped(Mmap),
    Read(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

impl Input {
    /// Opens a file, or stdin for `-`.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        refuse_archive(path)?;
        let from = if path == Path::new("-") {
            From::Pipe(Box::new(stdin::take()?))
        } else {
            open_file(path).map_err(|error| Failure::unreadable(path, &error))?
        };
        Ok(Self { path: path.into(), from, start: Vec::new() })
    }

    /// Whether the name says that it is numpy's.
    pub(super) fn is_npy(&self) -> bool {
        is_npy(&self.path)
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        input_name(&self.path)
    }

    /// Reads the start of the input, as much as the longest header of a `.npy` file; all of it where it is mapped.
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

    /// Reads the input, which is to have `header` bytes, then an image of `expected` bytes and nothing more. A pipe is
    /// read up to one byte past these.
    pub(super) fn read_image(
        self,
        header: usize,
        expected: u64,
        tensor: &str,
    ) -> Result<Bytes, Failure> {
        let Self { path, from, start } = self;
        let mut more = "";
        let bytes = match from {
            From::Mapped(map) => Bytes::Mapped(map),
            From::Pipe(pipe) => {
                let mut bytes = start;
                let limit = (header as u64).saturating_add(expected).saturating_add(1);
                pipe.take(limit.saturating_sub(bytes.len() as u64))
                    .read_to_end(&mut bytes)
                    .map_err(|error| Failure::unreadable(&path, &error))?;
                more = " or more";
                Bytes::Read(bytes)
            }
        };
        let given = bytes.len().saturating_sub(header) as u64;
        if given == expected {
            return Ok(bytes);
        }
        let more = if given > expected { more } else { "" };
        let reason =
            format!("expected {expected} bytes (the memory of {tensor}), got {given} bytes{more}");
        Err(Failure::invalid(reason).about(input_name(&path)))
    }
}

impl Input {
    /// Reads all of the input, at most `limit` bytes.
    pub(super) fn read_all(self, limit: u64) -> Result<Bytes, Failure> {
        let Self { path, from, start } = self;
        let bytes = match from {
            From::Mapped(map) => Bytes::Mapped(map),
            From::Pipe(pipe) => {
                let mut bytes = start;
                pipe.take(limit.saturating_add(1))
                    .read_to_end(&mut bytes)
                    .map_err(|error| Failure::unreadable(&path, &error))?;
                Bytes::Read(bytes)
            }
        };
        if bytes.len() as u64 > limit {
            let reason = format!("expected at most {limit} bytes");
            return Err(Failure::invalid(reason).about(input_name(&path)));
        }
        Ok(bytes)
    }
}

/// Whether a path has numpy's ending.
pub(super) fn is_npy(path: &Path) -> bool {
    has_ending(path, "npy")
}

/// Refuses the name of an archive, which would otherwise be taken for raw memory.
pub(super) fn refuse_archive(path: &Path) -> Result<(), Failure> {
    if has_ending(path, "npz") {
        let reason = "a .npz file is a zip archive of .npy files; expected one .npy file, as `unzip` extracts them";
        return Err(Failure::invalid(reason).about(input_name(path)));
    }
    Ok(())
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|its| its.eq_ignore_ascii_case(ending))
}

fn open_file(path: &Path) -> io::Result<From> {
    let file = File::open(path)?;
    let kind = file.metadata()?;
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // Some file systems map nothing, and some of their files have no length.
    if kind.is_file()
        && kind.len() > 0
        && let Ok(map) = map(&file)
    {
        return Ok(From::Mapped(map));
    }
    Ok(From::Pipe(Box::new(file)))
}
