//! Results: on stdout, or in a file that appears whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
};

use fs4::FileExt;
use memmap2::MmapMut;

use super::{
    errors::{Exit, Failure, name},
    map::map_to_write,
    replacement::Replacement,
};

/// Links that are followed from one to the next, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// Prints text on stdout.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut output = Output::open(Path::new("-"))?;
    output.write(text.as_bytes())?;
    output.finish()
}

/// A place for a result, opened before the work starts so that it fails early.
pub(super) struct Output {
    path: PathBuf,
    sink: Sink,
}

enum Sink {
    /// Stdout; a reader that has gone away is no error.
    Stdout,
    /// A pipe or a device, which no rename may replace.
    Through(File),
    /// A file in the destination's folder, which gets its name at the end.
    Replace(Replacement),
}

/// The bytes of a result while they are made: zero at first.
pub(super) enum Image {
    /// Those of the file itself, behind its header.
    Mapped { map: MmapMut, start: usize },
    /// Those of a pipe, or of a file that cannot be mapped.
    Memory(Vec<u8>),
}

impl Deref for Image {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped { map, start } => &map[*start..],
            Self::Memory(bytes) => bytes,
        }
    }
}

impl DerefMut for Image {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Mapped { map, start } => &mut map[*start..],
            Self::Memory(bytes) => bytes,
        }
    }
}

impl Output {
    /// Opens an output; a file that is already there stays untouched until [`finish`](Self::finish).
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::unwritable(path, &error);
        if path == Path::new("-") || path == Path::new("/dev/stdout") {
            return Ok(Self { path: path.into(), sink: Sink::Stdout });
        }
        let sink = match fs::metadata(path) {
            Ok(found) if found.is_file() && !is_descriptor(path) => {
                let target = fs::canonicalize(path).map_err(failed)?;
                // A file that its owner protected is not replaced either.
                OpenOptions::new().write(true).open(&target).map_err(failed)?;
                let file = Replacement::new(folder_of(&target)).map_err(failed)?;
                file.file().set_permissions(found.permissions()).map_err(failed)?;
                return Ok(Self { path: target, sink: Sink::Replace(file) });
            }
            Ok(_) => Sink::Through(OpenOptions::new().write(true).open(path).map_err(failed)?),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let target = followed(path).map_err(failed)?;
                let folder = folder_of(&target);
                if !folder.exists() {
                    let reason = format!("the folder {} does not exist", name(folder));
                    return Err(Failure::unwritable(path, &io::Error::other(reason)));
                }
                let file = Replacement::new(folder).map_err(failed)?;
                return Ok(Self { path: target, sink: Sink::Replace(file) });
            }
            Err(error) => return Err(failed(error)),
        };
        Ok(Self { path: path.into(), sink })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.sink {
            Sink::Stdout => io::stdout().write_all(bytes),
            Sink::Through(file) => file.write_all(bytes),
            Sink::Replace(file) => file.file().write_all(bytes),
        };
        self.checked(written)
    }

    /// Writes `header`, and gives room for an image of `bytes` bytes behind it: in the file itself, where that is one.
    ///
    /// A file gets all its blocks here, so that a full disk is found before the work starts.
    pub(super) fn image(&mut self, header: &[u8], bytes: u64) -> Result<Image, Failure> {
        self.write(header)?;
        if let Sink::Replace(file) = &self.sink
            && bytes > 0
        {
            let (file, start) = (file.file(), header.len());
            let length = (start as u64).saturating_add(bytes);
            // Blocks do not make a length everywhere.
            match file.allocate(length).and_then(|()| file.set_len(length)) {
                Ok(()) => {
                    if let Ok(map) = map_to_write(file) {
                        return Ok(Image::Mapped { map, start });
                    }
                }
                // Some file systems allocate nothing in advance.
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                Err(error) => return Err(Failure::unwritable(&self.path, &error)),
            }
        }
        zeroed(bytes).map(Image::Memory)
    }

    /// Writes an image that [`image`](Self::image) gave room for.
    pub(super) fn write_image(&mut self, image: Image) -> Result<(), Failure> {
        match image {
            // Unmapped, it is the file's: some systems rename no file that is mapped.
            Image::Mapped { map, .. } => {
                drop(map);
                Ok(())
            }
            Image::Memory(bytes) => self.write(&bytes),
        }
    }

    /// Makes the result appear.
    pub(super) fn finish(self) -> Result<(), Failure> {
        match self.sink {
            Sink::Stdout => self.checked(io::stdout().flush()),
            Sink::Through(_) => Ok(()),
            Sink::Replace(file) => {
                let appeared = file.appear(&self.path, folder_of(&self.path));
                appeared.map_err(|error| Failure::unwritable(&self.path, &error))
            }
        }
    }

    fn checked(&self, written: io::Result<()>) -> Result<(), Failure> {
        match (written, &self.sink) {
            (Ok(()), _) => Ok(()),
            (Err(error), Sink::Stdout) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            (Err(error), _) => Err(Failure::unwritable(&self.path, &error)),
        }
    }
}

/// Memory for an image; too little memory is an error, not the end of the process.
fn zeroed(bytes: u64) -> Result<Vec<u8>, Failure> {
    let no_memory = || {
        let message = format!("there is not enough memory for the destination, {bytes} bytes");
        Failure::new(Exit::Failed, message)
    };
    let length = usize::try_from(bytes).map_err(|_| no_memory())?;
    let mut image = Vec::new();
    image.try_reserve_exact(length).map_err(|_| no_memory())?;
    image.resize(length, 0);
    Ok(image)
}

/// Whether the path names an open descriptor, `/dev/fd/3` or `/proc/self/fd/3`, whatever that is open on.
fn is_descriptor(path: &Path) -> bool {
    let in_process = path.starts_with("/proc") && path.iter().any(|part| part == "fd");
    in_process || ["/dev/fd", "/dev/stderr"].iter().any(|folder| path.starts_with(folder))
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The path that a link, or a chain of links, leads to, where no file need be.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.with_file_name(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other(format!("expected at most {MAX_LINKS} symbolic links, one after another")))
}
