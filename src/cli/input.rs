//! The input of a run: a file mapped into memory, or what a pipe gives.

use std::{
    fs::File,
    io::{self, Read},
    ops::Deref,
    path::{Path, PathBuf},
};

use memmap2::Mmap;

use super::{
    errors::{Failure, name},
    map::map,
};

/// An input that is open, and not yet read.
pub(super) struct Input {
    path: PathBuf,
    from: From,
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
        let from = if path == Path::new("-") {
            From::Pipe(Box::new(io::stdin()))
        } else {
            open_file(path).map_err(|error| Failure::unreadable(path, &error))?
        };
        Ok(Self { path: path.into(), from })
    }

    /// Whether the name says that it is numpy's.
    pub(super) fn is_npy(&self) -> bool {
        is_npy(&self.path)
    }

    /// What messages call it.
    pub(super) fn name(&self) -> String {
        name(&self.path)
    }

    /// Reads everything.
    pub(super) fn read(self) -> Result<Bytes, Failure> {
        self.take(u64::MAX)
    }

    /// Reads an image of `expected` bytes, no more and no fewer.
    pub(super) fn read_exactly(self, expected: u64) -> Result<Bytes, Failure> {
        let name = self.name();
        let piped = matches!(self.from, From::Pipe(_));
        let bytes = self.take(expected.saturating_add(1))?;
        let given = bytes.len() as u64;
        if given == expected {
            return Ok(bytes);
        }
        let more = if piped && given > expected { "or more " } else { "" };
        Err(Failure::invalid(format!(
            "{name}: {given} bytes {more}of input; the image of the source takes {expected}, and just as many are accepted"
        )))
    }

    /// Reads everything, or the first `limit` bytes of a pipe.
    fn take(self, limit: u64) -> Result<Bytes, Failure> {
        match self.from {
            From::Mapped(map) => Ok(Bytes::Mapped(map)),
            From::Pipe(pipe) => {
                let mut bytes = Vec::new();
                match pipe.take(limit).read_to_end(&mut bytes) {
                    Ok(_) => Ok(Bytes::Read(bytes)),
                    Err(error) => Err(Failure::unreadable(&self.path, &error)),
                }
            }
        }
    }
}

/// Whether a path has numpy's ending.
pub(super) fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy"))
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
