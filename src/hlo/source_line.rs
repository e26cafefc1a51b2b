//! [`SourceLine`]: the line of the user's Python program that produced an instruction. The metadata
//! of a module records these lines. Errors show them, because a user recognizes lines of a program
//! more easily than instructions.

use std::{fmt, sync::Arc};

use crate::proto::hlo as proto;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    file: Arc<str>,
    line: u32,
}

impl SourceLine {
    /// Creates a source line from the path of a file and a line, counted from 1.
    #[must_use]
    pub fn new(file: impl Into<Arc<str>>, line: u32) -> Self {
        Self { file: file.into(), line }
    }

    /// Returns the path of the file, as the compiler that wrote the module recorded it.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line, counted from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.line
    }
}

/// Prints the path and the line number, such as `layers.py:12`.
impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The tables of a module's stack frames, from which the source lines of instructions are found.
/// Entries refer to each other by indices that count from 1.
#[derive(Default)]
pub(super) struct StackFrames {
    files: Vec<Arc<str>>,
    /// The index of the file, and the line, of each location.
    locations: Vec<(i32, i32)>,
    /// The index of the location of each frame.
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

    /// Returns the source line of an instruction. The metadata contains the line itself, or refers
    /// to a stack frame. Returns `None` if there is no line, or if an index is invalid.
    pub(super) fn line(&self, metadata: &proto::OpMetadata) -> Option<SourceLine> {
        if !metadata.source_file.is_empty() {
            return line_number(metadata.source_line)
                .map(|line| SourceLine::new(metadata.source_file.as_str(), line));
        }
        let &location = entry(&self.frames, metadata.stack_frame_id)?;
        let &(file, number) = entry(&self.locations, location)?;
        Some(SourceLine { file: entry(&self.files, file)?.clone(), line: line_number(number)? })
    }
}

impl From<proto::StackFrameIndexProto> for StackFrames {
    fn from(index: proto::StackFrameIndexProto) -> Self {
        let locations = index.file_locations.iter();
        Self {
            files: index.file_names.into_iter().map(Arc::from).collect(),
            locations: locations.map(|at| (at.file_name_id, at.line)).collect(),
            frames: index.stack_frames.iter().map(|frame| frame.file_location_id).collect(),
        }
    }
}

/// Returns an entry of a table by its index, counted from 1. Returns `None` for 0 and for an index
/// past the end.
fn entry<T>(table: &[T], number: i32) -> Option<&T> {
    table.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// Converts the number of a line. Returns `None` if the number is not positive, which means that
/// the line is unknown.
fn line_number(number: i32) -> Option<u32> {
    u32::try_from(number).ok().filter(|&line| line > 0)
}
