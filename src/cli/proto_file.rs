//! `@FILE`: a serialized message, read by its ending.

use std::{fs::File, io::Read, path::Path};

use prost::{Message, Name};
use stridec::shape::{self, MAX_INPUT_BYTES};

use super::errors::{Failure, name};

/// Reads a message from a `.pb`, `.textproto` or `.json` file.
pub(super) fn read_message<M: Message + Name + Default>(path: &Path) -> Result<M, Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !matches!(ending, "pb" | "textproto" | "json") {
        return Err(Failure::invalid(format!(
            "{}: the ending says how a message is written; .pb, .textproto and .json are accepted",
            name(path)
        )));
    }
    let bytes = read(path)?;
    if ending == "pb" {
        return shape::decode(&bytes)
            .map_err(|error| Failure::invalid(error.to_string()).about(name(path)));
    }
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| Failure::invalid(format!("{}: {error}; UTF-8 is accepted", name(path))))?;
    let message = match ending {
        "json" => shape::from_json(text),
        _ => shape::from_textproto(text),
    };
    message.map_err(|error| Failure::message(text, &error).about(name(path)))
}

/// Reads a file up to one byte past the limit, for the decoder to refuse.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let limit = MAX_INPUT_BYTES as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| Failure::unreadable(path, &error))?;
    Ok(bytes)
}
