//! Reads files that contain modules: serialized protos, HLO text or StableHLO text.

use std::path::Path;

use stridec::{
    Error,
    hlo::{DefaultTiles, HloError, MemoryReport, Module},
};

use super::{
    errors::{Failure, input_name},
    input::{Input, InputBytes},
};

/// The maximum size of a module, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// A file that contains a module or another text, read into memory.
pub(super) struct ModuleFile<'a> {
    path: &'a Path,
    bytes: InputBytes,
    /// True if the extension of the file means text, false if it means a serialized message, and
    /// `None` if it means neither.
    is_text: Option<bool>,
}

/// The contents of a file, interpreted as a message or as text.
pub(super) enum Contents<'a> {
    /// A serialized message.
    Proto(&'a [u8]),
    /// HLO text, StableHLO text, or a report of XLA.
    Text(&'a str),
}

impl<'a> ModuleFile<'a> {
    /// Reads a file, or standard input if the path is `-`.
    pub(super) fn read(path: &'a Path) -> Result<Self, Failure> {
        let bytes = Input::open(path)?.read_all(MAX_BYTES)?;
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_text = match ending {
            "txt" | "hlo" => Some(true),
            "pb" | "binpb" => Some(false),
            // MLIR's bytecode has the same ending as its text, but is not UTF-8.
            "mlir" => Some(std::str::from_utf8(&bytes).is_ok()),
            _ => None,
        };
        Ok(Self { path, bytes, is_text })
    }

    /// Interprets the contents by the extension of the file: text for `.txt`, `.hlo` and `.mlir`,
    /// and a message for `.pb` and `.binpb`. If the extension is another one, contents without
    /// control characters are text.
    pub(super) fn contents(&self) -> Result<Contents<'_>, Failure> {
        let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
        if !self.is_text.unwrap_or_else(|| self.bytes.iter().all(is_text)) {
            return Ok(Contents::Proto(&self.bytes));
        }
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => Ok(Contents::Text(text)),
            Err(error) if self.is_text.is_some() => Err(self.about(Failure::invalid(format!(
                "expected a module's text in UTF-8, got {error}"
            )))),
            Err(_) => Ok(Contents::Proto(&self.bytes)),
        }
    }

    /// Returns the whole file as text, or `None` if it is not UTF-8.
    pub(super) fn utf8(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// Decodes or parses the module in the file.
    pub(super) fn module(&self) -> Result<Module, Failure> {
        self.checked(match self.contents()? {
            Contents::Proto(bytes) => Module::decode(bytes),
            Contents::Text(text) => Module::parse(text),
        })
    }

    /// Computes the memory that the module in the file occupies.
    pub(super) fn memory(&self, tiles: DefaultTiles) -> Result<MemoryReport, Failure> {
        self.checked(match self.contents()? {
            Contents::Proto(bytes) => MemoryReport::of_proto_tiled(bytes, tiles),
            Contents::Text(text) => MemoryReport::of_text_tiled(text, tiles),
        })
    }

    fn checked<T>(&self, result: Result<T, HloError>) -> Result<T, Failure> {
        result.map_err(|error| self.about(Failure::from(Error::from(error))))
    }

    /// Adds the name of the file to a failure.
    fn about(&self, failure: Failure) -> Failure {
        failure.about(input_name(self.path))
    }
}
