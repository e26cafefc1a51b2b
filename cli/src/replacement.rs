//! A new file that gets its name when it is complete, and replaces another file of that name.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use tempfile::{Builder, NamedTempFile};

/// A new file that does not have its final name yet.
///
/// On systems with unnamed files it has no name at all, so that a killed process leaves no file. On
/// other systems it is a temporary file in the same folder.
pub(super) enum Replacement {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Temporary(NamedTempFile),
}

impl Replacement {
    /// Creates a file in a folder, with the permissions that new files have there.
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

    /// Returns the file, to which the contents are written.
    pub(super) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Temporary(file) => file.as_file(),
        }
    }

    /// Gives the file the name `path`, which must be in its folder. Replaces an existing file of
    /// that name.
    pub(super) fn appear(self, path: &Path, folder: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => match link(&file, path) {
                // Linking cannot replace a file, but renaming can.
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

/// Creates a file without a name. Returns `None` if the file system does not support this, or if
/// there is no `/proc`. The file gets its name later through `/proc`.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.read(true).write(true).mode(0o666);
    options.custom_flags(i32::try_from(rustix::fs::OFlags::TMPFILE.bits()).ok()?);
    let file = options.open(folder).ok()?;
    fs::metadata(descriptor(&file)).is_ok().then_some(file)
}

/// Returns the path of an open file in `/proc`.
#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Links an unnamed file to a name that no other file has.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Returns the error of the system without the name of the temporary file, which users do not know.
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
