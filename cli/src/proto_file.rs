//! `@FILE`: a serialized message, in the format that the ending of the name says; `@-` is standard input.

use std::{fs::File, io::Read, path::Path};

use prost::{Message, Name};
use stridec::shape::{self, MAX_INPUT_BYTES};

use super::{
    errors::{Failure, input_name, name},
    stdin,
};

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Binary,
    Text,
    Json,
}

/// The bytes of a file that holds a message.
pub(super) struct Serialized<'a> {
    path: &'a Path,
    format: Format,
    bytes: Vec<u8>,
}

impl<'a> Serialized<'a> {
    /// Reads a file, or stdin for `-`.
    pub(super) fn read(path: &'a Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            let bytes = limited(path, stdin::take()?)?;
            return Ok(Self { path, format: detected(&bytes), bytes });
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let format = match ending {
            "pb" | "binpb" => Format::Binary,
            "textproto" | "pbtxt" | "txtpb" => Format::Text,
            "json" => Format::Json,
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

    /// Whether there is nothing in it, which is a message without any field.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What a JSON file holds, whatever it is; `None` where the file is none.
    pub(super) fn json(&self) -> Option<serde_json::Value> {
        if self.format == Format::Json { serde_json::from_slice(&self.bytes).ok() } else { None }
    }

    /// The message.
    pub(super) fn message<M: Message + Name + Default>(&self) -> Result<M, Failure> {
        let about = |failure: Failure| failure.about(input_name(self.path));
        if self.format == Format::Binary {
            return shape::decode(&self.bytes)
                .map_err(|error| about(Failure::invalid(error.to_string())));
        }
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|error| about(Failure::invalid(format!("expected UTF-8, got {error}"))))?;
        let message = match self.format {
            Format::Json => shape::from_json(text),
            _ => shape::from_textproto(text),
        };
        message.map_err(|error| about(Failure::message(text, &error)))
    }
}

/// Reads up to one byte past the limit, for the decoder to refuse.
pub(super) fn limited(path: &Path, from: impl Read) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    from.take(MAX_INPUT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::unreadable(path, &error))?;
    Ok(bytes)
}

/// The format of a message without a name.
///
/// A binary message that is valid here says an element type or a data type, and the bytes before these, 0x10 and 0x08,
/// stand in no text. JSON begins with a brace, which begins no textproto.
fn detected(bytes: &[u8]) -> Format {
    let is_text = |byte: &u8| !byte.is_ascii_control() || byte.is_ascii_whitespace();
    if !bytes.iter().all(is_text) || std::str::from_utf8(bytes).is_err() {
        return Format::Binary;
    }
    match bytes.trim_ascii_start().first() {
        Some(b'{') => Format::Json,
        _ => Format::Text,
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
            assert_eq!(detected(&bytes), Format::Binary, "{shape}");
        }
        assert_eq!(detected(b"\n # a shape\r\nelement_type: F32\t"), Format::Text);
        assert_eq!(detected(b"\n {\"element_type\": \"F32\"}"), Format::Json);
        assert_eq!(detected(b"a\xff"), Format::Binary);
    }
}
