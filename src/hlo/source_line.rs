//! A [`SourceLine`] is the line of the user's Python program that produced an instruction.
//! Compilers record these lines in the metadata of a module. Errors show them, because a user
//! recognizes a line of a program more easily than an instruction.

use std::{fmt, sync::Arc};

use crate::proto::hlo as proto;

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    file: Arc<str>,
    line: u32,
}

impl SourceLine {
    /// Creates a source line from the path of a file and a line number, which counts from 1.
    #[must_use]
    pub fn new(file: impl Into<Arc<str>>, line: u32) -> Self {
        Self { file: file.into(), line }
    }

    /// Returns the path of the file, exactly as the compiler recorded it. The path may be absolute
    /// or relative.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the line number, which counts from 1.
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

/// The stack frames of a module. An instruction refers to the frame that produced it, a frame
/// refers to a location, and a location is a line and a reference to a file. XLA stores frames,
/// locations and files in separate tables, because many instructions share them.
///
/// All references are indices that count from 1. The index 0 means that there is no entry.
#[derive(Default)]
pub(super) struct StackFrames {
    files: Vec<Arc<str>>,
    /// The index of the file, and the line number, of each location.
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

    /// Returns the source line of an instruction. Its metadata either contains the line itself or
    /// refers to a stack frame. Returns `None` if it has neither, or if an index is out of range.
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

/// Returns the entry of a table with the index `number`, which counts from 1. Returns `None` for 0
/// and for an index past the end.
fn entry<T>(table: &[T], number: i32) -> Option<&T> {
    table.get(usize::try_from(number).ok()?.checked_sub(1)?)
}

/// Converts a line number. Returns `None` if the number is not positive, because a field that the
/// compiler did not set is 0.
fn line_number(number: i32) -> Option<u32> {
    u32::try_from(number).ok().filter(|&line| line > 0)
}
