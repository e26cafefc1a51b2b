//! Reads the argument `@FILE`, which names a serialized message. The extension of the file selects
//! the format; `@-` is standard input.

use std::{fs::File, io::Read, path::Path};

use prost::{Message, Name};
use stridec::shape::{self, MAX_INPUT_BYTES};

use super::{
    errors::{Failure, input_name, name},
    stdin,
};

/// The serialization of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageFormat {
    Binary,
    Text,
    Json,
}

/// A file that contains a serialized message, read into memory.
pub(super) struct Serialized<'a> {
    path: &'a Path,
    format: MessageFormat,
    bytes: Vec<u8>,
}

impl<'a> Serialized<'a> {
    /// Reads a file, or stdin if the path is `-`.
    pub(super) fn read(path: &'a Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            let bytes = limited(path, stdin::take()?)?;
            return Ok(Self { path, format: detected(&bytes), bytes });
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let format = match ending {
            "pb" | "binpb" => MessageFormat::Binary,
            "textproto" | "pbtxt" | "txtpb" => MessageFormat::Text,
            "json" => MessageFormat::Json,
            _ => {
                return Err(Failure::invalid(format!(
                    "{}: expected a file name that ends in .pb or .binpb (binary), in .textproto, .pbtxt or .txtpb (text \
                     format), or in .json",
                    name(path)
                )));
            }
        };
        let file = File::open(path).map_err(|error| Failure::unreadable(path, &error))?;
        Ok(Self { path, format, bytes: limited(path, file)? })
    }

    /// Returns true if the file is empty. An empty file is a valid message without fields.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the contents as a JSON value, or `None` if the file has another format or is not
    /// valid JSON.
    pub(super) fn json(&self) -> Option<serde_json::Value> {
        if self.format == MessageFormat::Json {
            serde_json::from_slice(&self.bytes).ok()
        } else {
            None
        }
    }

    /// Decodes the message. Returns a failure if the file is not a valid message of this type.
    pub(super) fn message<M: Message + Name + Default>(&self) -> Result<M, Failure> {
        let about = |failure: Failure| failure.about(input_name(self.path));
        if self.format == MessageFormat::Binary {
            return shape::decode(&self.bytes)
                .map_err(|error| about(Failure::invalid(error.to_string())));
        }
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|error| about(Failure::invalid(format!("expected UTF-8, got {error}"))))?;
        let message = match self.format {
            MessageFormat::Json => shape::from_json(text),
            _ => shape::from_textproto(text),
        };
        message.map_err(|error| about(Failure::message(text, &error)))
    }
}

/// Reads a message, but at most one byte more than the limit. This byte lets the decoder detect a
/// message that is too long.
pub(super) fn limited(path: &Path, from: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    from.take(MAX_INPUT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::unreadable(path, &error))?;
    Ok(bytes)
}

/// Detects the format of a message that has no file name.
///
/// Every valid binary message has an element type or a data type. The tags of these fields, 0x10
/// and 0x08, do not occur in text. JSON begins with a brace, and a textproto does not.
fn detected(bytes: &[u8]) -> MessageFormat {
    let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    if !bytes.iter().all(is_text) || std::str::from_utf8(bytes).is_err() {
        return MessageFormat::Binary;
    }
    match bytes.trim_ascii_start().first() {
        Some(b'{') => MessageFormat::Json,
        _ => MessageFormat::Text,
    }
}

#[cfg(test)]
mod tests {
    use stridec::shape::Shape;

    use super::*;

    #[test]
    fn the_format_of_standard_input_is_detected() {
        for shape in ["f32[]", "pred[10]", "f32[100,11]{0,1:PAD(120,11,one)}", "(s4[3], b(f32[2]))"]
        {
            let bytes = shape.parse::<Shape>().unwrap().encode();
            assert_eq!(detected(&bytes), MessageFormat::Binary, "{shape}");
        }
        assert_eq!(detected(b"\n # a shape\r\nelement_type: F32\t"), MessageFormat::Text);
        assert_eq!(detected(b"\n {\"element_type\": \"F32\"}"), MessageFormat::Json);
        assert_eq!(detected(b"a\xff"), MessageFormat::Binary);
    }
}
