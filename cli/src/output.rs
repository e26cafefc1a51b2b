//! Writes results to stdout or to a file. A file gets its name only when it is complete, so that a
//! failed command does not leave a partial tensor behind.

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

/// The maximum number of symbolic links in a chain, as on Linux.
const MAX_LINKS: usize = 40;

/// Prints text on stdout.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut output = Output::open(Path::new("-"))?;
    output.write(text.as_bytes())?;
    output.finish()
}

/// The output that a command writes its result to. It is opened before the work starts, so that a
/// wrong path is reported early.
pub(super) struct Output {
    path: PathBuf,
    sink: Sink,
}

/// The open file or stream to which an [`Output`] writes.
enum Sink {
    /// Standard output. A closed pipe is not a failure.
    Stdout,
    /// A pipe or a device, which must not be replaced by a file.
    Through(File),
    /// A new file in the folder of the final path. It gets its name when it is complete.
    Replace(Replacement),
}

/// Zeroed memory, in which a command computes its result.
pub(super) enum Image {
    /// A mapped file. The image begins at byte `start`, after the header.
    Mapped { map: MmapMut, start: usize },
    /// Memory of the process, if the output is a pipe or a file that cannot be mapped.
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
    /// Opens an output. An existing file keeps its contents until [`finish`](Self::finish).
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |error| Failure::unwritable(path, &error);
        if path == Path::new("-") || path == Path::new("/dev/stdout") {
            return Ok(Self { path: path.into(), sink: Sink::Stdout });
        }
        let sink = match fs::metadata(path) {
            Ok(found) if found.is_file() && !is_descriptor(path) => {
                let target = fs::canonicalize(path).map_err(failed)?;
                // Open the existing file for writing, only to check that its owner has not
                // protected it.
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

    /// Appends bytes to the output.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match &mut self.sink {
            Sink::Stdout => io::stdout().write_all(bytes),
            Sink::Through(file) => file.write_all(bytes),
            Sink::Replace(file) => file.file().write_all(bytes),
        };
        self.checked(written)
    }

    /// Writes `header`, and returns memory for an image of `bytes` bytes that follows the header.
    /// If the output is a file, the memory is the mapped file.
    ///
    /// All blocks of the file are allocated here, so that a full disk is detected before the work
    /// starts.
    pub(super) fn image(&mut self, header: &[u8], bytes: u64) -> Result<Image, Failure> {
        self.write(header)?;
        if let Sink::Replace(file) = &self.sink
            && bytes > 0
        {
            let (file, start) = (file.file(), header.len());
            let length = (start as u64).saturating_add(bytes);
            // On some file systems, allocating blocks does not change the length of the file.
            match file.allocate(length).and_then(|()| file.set_len(length)) {
                Ok(()) => {
                    if let Ok(map) = map_to_write(file) {
                        return Ok(Image::Mapped { map, start });
                    }
                }
                // Some file systems cannot allocate blocks in advance.
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                Err(error) => return Err(Failure::unwritable(&self.path, &error)),
            }
        }
        zeroed(bytes).map(Image::Memory)
    }

    /// Writes an image that [`image`](Self::image) returned.
    pub(super) fn write_image(&mut self, image: Image) -> Result<(), Failure> {
        match image {
            // The bytes are in the file already. The map is dropped, because some systems cannot
            // rename a mapped file.
            Image::Mapped { map, .. } => {
                drop(map);
                Ok(())
            }
            Image::Memory(bytes) => self.write(&bytes),
        }
    }

    /// Makes the complete result visible under its final name.
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

    /// Converts the result of a write: an error becomes a failure, except if stdout is a closed
    /// pipe.
    fn checked(&self, written: io::Result<()>) -> Result<(), Failure> {
        match (written, &self.sink) {
            (Ok(()), _) => Ok(()),
            (Err(error), Sink::Stdout) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            (Err(error), _) => Err(Failure::unwritable(&self.path, &error)),
        }
    }
}

/// Allocates zeroed memory for an image. Returns a failure if there is not enough memory, because
/// `vec!` would end the process instead.
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

/// Returns true if the path names a descriptor that is already open, such as `/dev/fd/3` or
/// `/proc/self/fd/3`.
fn is_descriptor(path: &Path) -> bool {
    let in_process = path.starts_with("/proc") && path.iter().any(|part| part == "fd");
    in_process || ["/dev/fd", "/dev/stderr"].iter().any(|folder| path.starts_with(folder))
}

/// Returns the folder that contains a file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Follows a chain of symbolic links, and returns the path at its end. This path need not exist.
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
