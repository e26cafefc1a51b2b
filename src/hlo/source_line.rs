//! Where in a program's own source an instruction comes from, as the metadata of modules say it.

use std::{fmt, sync::Arc};

use crate::proto::xla;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    file: Arc<str>,
    line: u32,
}

impl SourceLine {
    /// A line of a file, the first being 1.
    #[must_use]
    pub fn new(file: impl Into<Arc<str>>, line: u32) -> Self {
        Self { file: file.into(), line }
    }

    /// The file's path, as the compiler that wrote the module had it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }
}

/// `layers.py:12`
impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The lines of a module's stack frames. In tables, numbers count from 1.
#[derive(Default)]
pub(super) struct StackFrames {
    files: Vec<Arc<str>>,
    /// A file and a line.
    locations: Vec<(i32, i32)>,
    /// A location each.
    frames: Vec<i32>,
}

impl StackFrames {
    pub(super) fn add_file(&mut self, name: &str) {
        self.files.push(name.into());
    }

    pub(super) fn add_location(&mut self, file: i32, line: i32) {
        self.locations.push((file, line));
    }

    pub(super) fn add_frame(&mut self, location: i32) {
        self.frames.push(location);
    }

    /// The line that the metadata of an instruction say: their own, or that of a frame.
    pub(super) fn line(&self, metadata: &xla::OpMetadata) -> Option<SourceLine> {
        if !metadata.source_file.is_empty() {
            return line(metadata.source_line)
                .map(|line| SourceLine::new(metadata.source_file.as_str(), line));
        }
        let &location = numbered(&self.frames, metadata.stack_frame_id)?;
        let &(file, number) = numbered(&self.locations, location)?;
        Some(SourceLine { file: numbered(&self.files, file)?.clone(), line: line(number)? })
    }
}

impl From<xla::StackFrameIndexProto> for StackFrames {
    fn from(index: xla::StackFrameIndexProto) -> Self {
        let locations = index.file_locations.iter();
        Self {
            files: index.file_names.into_iter().map(Arc::from).collect(),
            locations: locations.map(|at| (at.file_name_id, at.line)).collect(),
            frames: index.stack_frames.iter().map(|frame| frame.file_location_id).collect(),
        }
    }
}

/// The entry of a table with this number; 0 is none.
fn numbered<T>(table: &[T], number: i32) -> Option<&T> {
    table.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// The number of a line; 0 is none.
fn line(number: i32) -> Option<u32> {
    u32::try_from(number).ok().filter(|&line| line > 0)
}
