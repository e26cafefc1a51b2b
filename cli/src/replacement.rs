//! A new file that replaces an existing file of its final name when it is complete.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use tempfile::{Builder, NamedTempFile};

/// A new file that does not have its final name yet.
///
/// If the system supports files without a name, it has none, so that a killed process leaves no
/// file behind. Otherwise it is a temporary file in the same folder.
pub(super) enum Replacement {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Temporary(NamedTempFile),
}

impl Replacement {
    /// Creates a file in `folder`, with the same permissions as any new file in that folder.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed(folder) {
            return Ok(Self::Unnamed(file));
        }
        let mut builder = prefixed();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        Ok(Self::Temporary(builder.tempfile_in(folder).map_err(without_name)?))
    }

    /// Returns the file, so that contents can be written to it.
    pub(super) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Temporary(file) => file.as_file(),
        }
    }

    /// Gives the file the name `path`, which must be in `folder`. Replaces an existing file of that
    /// name.
    pub(super) fn appear(self, path: &Path, folder: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => match link(&file, path) {
                // Linking cannot replace a file but renaming can, so link the file to a temporary
                // name first.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let whole = prefixed().make_in(folder, |name| link(&file, name));
                    persist(whole.map_err(without_name)?, path)
                }
                linked => linked,
            },
            Self::Temporary(file) => {
                let _ = folder;
                persist(file, path)
            }
        }
    }
}

/// Returns a builder of temporary files whose names begin with `.stridec-`.
fn prefixed() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".stridec-");
    builder
}

/// Renames a temporary file to `path`. An existing file of that name is replaced.
fn persist<F>(file: NamedTempFile<F>, path: &Path) -> io::Result<()> {
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Creates a file without a name, which it gets later through `/proc`. Returns `None` if the file
/// system does not support such files, or if there is no `/proc`.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.read(true).write(true).mode(0o666);
    options.custom_flags(i32::try_from(rustix::fs::OFlags::TMPFILE.bits()).ok()?);
    let file = options.open(folder).ok()?;
    fs::metadata(descriptor(&file)).is_ok().then_some(file)
}

/// Returns the path in `/proc` that refers to an open file.
#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Links an unnamed file to a new name. Returns an error if the name exists already.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Removes the name of the temporary file from an error, because the user does not know this name.
fn without_name(error: io::Error) -> io::Error {
    let source = error.get_ref().and_then(|inner| inner.source());
    match source.and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(inner) => match inner.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => inner.kind().into(),
        },
        None => error,
    }
}
