//! Parses and formats protos in their two text formats, textproto and protobuf's JSON.
//!
//! The texts are parsed by prost-reflect and `serde_json`. Before that, the length and the nesting
//! depth of the text are checked, so that untrusted texts cannot exhaust memory or the stack.

use std::{io, sync::LazyLock, thread};

use miette::Diagnostic as _;
use prost::{Message, Name};
use prost_reflect::{
    DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions, text_format::FormatOptions,
};

use super::{
    ShapeError,
    wire::{check_size, decode_error},
};
use crate::{proto::DESCRIPTORS, text::excerpt};

/// The maximum nesting depth of brackets in a text, which limits the recursion of the parsers.
///
/// prost-reflect's text parser has no limit, and `serde_json`'s limit is too low for the deepest
/// shape. The deepest message that prost decodes has 100 levels, each with at most two brackets:
/// `[{`.
const MAX_NESTING: usize = 200;

/// The maximum number of characters of the parser's message that an error includes. The parser's
/// message may quote the input, so without a limit an error could be as long as the input.
const MAX_REASON: usize = 300;

/// The stack size of the thread on which a parser runs, in bytes. In unoptimised builds,
/// [`MAX_NESTING`] levels need more than 2 MiB.
const STACK_BYTES: usize = 16 << 20;

/// Parses a message that is defined in `proto/` from a textproto.
///
/// ```
/// use stridec::{proto::xla, shape::{Shape, from_textproto}};
/// let text = "element_type: F32 dimensions: [2, 3] layout { minor_to_major: [0, 1] }";
/// let shape = Shape::try_from(from_textproto::<xla::Shape>(text)?)?;
/// assert_eq!(shape.to_string(), "f32[2,3]{0,1}");
/// # Ok::<(), stridec::shape::ShapeError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the text is longer than 16 MiB, is nested too deeply, or does not describe a
/// message of this type.
pub fn from_textproto<M: Message + Name + Default>(text: &str) -> Result<M, ShapeError> {
    check_text::<M>("textproto", text, Some(b'#'))?;
    let failed =
        |offset, reason: String| text_error::<M>("textproto", position(text, offset), &reason);
    let parse = || {
        let message =
            DynamicMessage::parse_text_format(descriptor::<M>()?, text).map_err(|error| {
                let label = error.labels().and_then(|mut labels| labels.next());
                failed(label.map_or(text.len(), |label| label.offset()), error.to_string())
            })?;
        typed(&message)
    };
    on_deep_stack(parse).unwrap_or_else(|error| Err(failed(0, error.to_string())))
}

/// Formats a message that is defined in `proto/` as a textproto, with one field on each line.
///
/// # Errors
///
/// Returns an error if `proto/` lacks the message.
pub fn to_textproto<M: Message + Name>(message: &M) -> Result<String, ShapeError> {
    let text = dynamic(message)?.to_text_format_with_options(&FormatOptions::new().pretty(true));
    Ok(text + "\n")
}

/// Parses a message that is defined in `proto/` from protobuf's JSON. Both the proto name and the
/// JSON name of a field are accepted.
///
/// # Errors
///
/// Returns an error if the text is longer than 16 MiB, is nested too deeply, or does not describe a
/// message of this type.
pub fn from_json<M: Message + Name + Default>(text: &str) -> Result<M, ShapeError> {
    check_text::<M>("JSON", text, None)?;
    let parse = || {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.disable_recursion_limit();
        let message = DynamicMessage::deserialize(descriptor::<M>()?, &mut deserializer)
            .and_then(|message| deserializer.end().map(|()| message))
            .map_err(|error| json_error::<M>(&error))?;
        typed(&message)
    };
    on_deep_stack(parse)
        .unwrap_or_else(|error| Err(text_error::<M>("JSON", (1, 1), &error.to_string())))
}

/// Runs `parse`, which is recursive, on a thread with a stack of [`STACK_BYTES`].
fn on_deep_stack<T: Send>(parse: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let parser = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, parse)?;
        parser.join().map_err(|_| io::Error::other("the parser failed"))
    })
}

/// Formats a message that is defined in `proto/` as protobuf's JSON, with one field on each line.
///
/// # Errors
///
/// Returns an error if `proto/` lacks the message.
pub fn to_json<M: Message + Name>(message: &M) -> Result<String, ShapeError> {
    let text = serde_json::to_string_pretty(&dynamic(message)?);
    text.map(|text| text + "\n").map_err(|error| json_error::<M>(&error))
}

/// Formats a message like [`to_json`], but also includes the fields that are zero or empty, and
/// writes 64-bit integers as numbers. Readers of protobuf's JSON accept both forms.
///
/// # Errors
///
/// Returns an error if `proto/` lacks the message.
pub fn to_json_with_zeros<M: Message + Name>(message: &M) -> Result<String, ShapeError> {
    let options =
        SerializeOptions::new().skip_default_fields(false).stringify_64_bit_integers(false);
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::pretty(&mut text);
    dynamic(message)?
        .serialize_with_options(&mut serializer, &options)
        .map_err(|error| json_error::<M>(&error))?;
    Ok(String::from_utf8_lossy(&text).into_owned() + "\n")
}

fn descriptor<M: Name>() -> Result<MessageDescriptor, ShapeError> {
    static POOL: LazyLock<Option<DescriptorPool>> =
        LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).ok());
    let message = M::full_name();
    let descriptor = POOL.as_ref().and_then(|pool| pool.get_message_by_name(&message));
    descriptor.ok_or(ShapeError::UnknownMessage { message })
}

fn typed<M: Message + Name + Default>(message: &DynamicMessage) -> Result<M, ShapeError> {
    message.transcode_to().map_err(|error| decode_error::<M>(&error))
}

fn dynamic<M: Message + Name>(message: &M) -> Result<DynamicMessage, ShapeError> {
    let mut dynamic = DynamicMessage::new(descriptor::<M>()?);
    dynamic.transcode_from(message).map_err(|error| decode_error::<M>(&error))?;
    Ok(dynamic)
}

/// Returns an error if a text is too long or nested too deeply for the parsers.
fn check_text<M: Name>(
    format: &'static str,
    text: &str,
    comment: Option<u8>,
) -> Result<(), ShapeError> {
    check_size(text.len())?;
    match too_deep(text, comment) {
        None => Ok(()),
        Some(offset) => {
            let reason = format!("nested deeper than {MAX_NESTING} brackets");
            Err(text_error::<M>(format, position(text, offset), &reason))
        }
    }
}

fn text_error<M: Name>(
    format: &'static str,
    (line, column): (usize, usize),
    reason: &str,
) -> ShapeError {
    let reason = excerpt(reason, MAX_REASON).into_owned();
    ShapeError::Text { format, line, column, reason, message: M::full_name() }
}

fn json_error<M: Name>(error: &serde_json::Error) -> ShapeError {
    let (place, text) = ((error.line(), error.column()), error.to_string());
    let suffix = format!(" at line {} column {}", place.0, place.1);
    text_error::<M>("JSON", place, text.strip_suffix(&suffix).unwrap_or(&text))
}

/// Returns the line and column of the byte at `offset`, both counted from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before.len() - line_start + 1)
}

/// Returns the offset of the first bracket that is nested too deeply. Brackets in strings and
/// comments are ignored. `comment` is the byte with which a comment begins.
fn too_deep(text: &str, comment: Option<u8>) -> Option<usize> {
    enum ScanState {
        Between,
        Comment,
        String { quote: u8, escaped: bool },
    }
    let (mut state, mut depth) = (ScanState::Between, 0_usize);
    for (offset, byte) in text.bytes().enumerate() {
        state = match (state, byte) {
            // A newline ends a comment. It also ends a string, because the parsers reject a string
            // that contains a newline.
            (ScanState::Comment | ScanState::String { .. }, b'\n') => ScanState::Between,
            (ScanState::String { quote, escaped: false }, _) if byte == quote => ScanState::Between,
            (ScanState::String { quote, escaped }, _) => {
                ScanState::String { quote, escaped: byte == b'\\' && !escaped }
            }
            (ScanState::Between, byte) if Some(byte) == comment => ScanState::Comment,
            (ScanState::Between, b'"' | b'\'') => ScanState::String { quote: byte, escaped: false },
            (ScanState::Between, b'{' | b'[' | b'<') => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Some(offset);
                }
                ScanState::Between
            }
            (ScanState::Between, b'}' | b']' | b'>') => {
                depth = depth.saturating_sub(1);
                ScanState::Between
            }
            (state, _) => state,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        proto::{stridec, xla},
        shape::{MAX_DEPTH, MAX_INPUT_BYTES, Shape},
    };

    const SHAPES: [&str; 4] = [
        "f32[2,3]{0,1:PAD(3,5,zero)}",
        "bf16[2,?,<=1004]{2,1,0:T(2,*,128)(2,1)L(2)E(16)S(1)SC(1:4)M(8)}",
        "((f32[], token[]), b(s4[8]{0:E(4)}), opaque[])",
        "f32[8,8]{1,0:D(C+,H+~)#(u32)*(u16)P(s32[2]{0})}",
    ];

    #[test]
    fn shapes_survive_textproto_and_json() {
        for text in SHAPES {
            let proto = xla::Shape::from(&text.parse::<Shape>().unwrap());
            assert_eq!(from_textproto(&to_textproto(&proto).unwrap()), Ok(proto.clone()), "{text}");
            assert_eq!(from_json(&to_json(&proto).unwrap()), Ok(proto), "{text}");
        }
    }

    #[test]
    fn a_shape_reads_as_people_write_it() {
        let expected: Shape = "f32[2,3]{0,1:PAD(3,5,zero)}".parse().unwrap();
        let text = "# a padded array
            element_type: F32 dimensions: 2 dimensions: 3
            layout { minor_to_major: [0, 1] padded_dimensions: [3, 5], padding_value: ZERO_PAD }";
        assert_eq!(
            from_textproto::<xla::Shape>(text).and_then(Shape::try_from),
            Ok(expected.clone())
        );
        let json = r#"{"element_type": "F32", "dimensions": ["2", 3],
            "layout": {"minorToMajor": [0, 1], "paddedDimensions": [3, 5], "paddingValue": 1}}"#;
        assert_eq!(from_json::<xla::Shape>(json).and_then(Shape::try_from), Ok(expected));
    }

    #[test]
    fn other_messages_survive_too() {
        let kernel = stridec::Kernel {
            wgsl: "fn main() {\n  // {{{ \"quoted\" # }\n}".to_string(),
            workgroup_size: vec![64, 1, 1],
            ..stridec::Kernel::default()
        };
        assert_eq!(from_textproto(&to_textproto(&kernel).unwrap()), Ok(kernel.clone()));
        assert_eq!(from_json(&to_json(&kernel).unwrap()), Ok(kernel));
        let request = r#"{"relayout": {"source": {"shape": {"element_type": 11}}}}"#;
        let request: stridec::CompileRequest = from_json(request).unwrap();
        assert!(request.operation.is_some());
    }

    #[test]
    fn errors_give_line_and_column() {
        for (text, says) in [
            (
                "element_type: F32\ndimensions: 2 oops: 3",
                "line 2, column 15: field 'oops' not found",
            ),
            ("element_type: F33", "line 1, column 15: value 'F33' was not found"),
            ("layout {\n", "line 2, column 1: expected"),
            ("\n dimensions: 99999999999999999999", "line 2, column 14: "),
        ] {
            let error = from_textproto::<xla::Shape>(text).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
            assert!(error.contains("expected the textproto of the message xla.Shape"), "{error}");
        }
        for (text, says) in [
            ("{\"oops\": 3}", "line 1, column 7: "),
            ("{\"dimensions\": [\n2.5]}", "line 2, column 3: "),
            ("{} {}", "line 1, column 4: trailing characters"),
            ("", "line 1, column 0: "),
        ] {
            let error = from_json::<xla::Shape>(text).unwrap_err().to_string();
            assert!(error.starts_with(says), "{error}");
        }
    }

    #[test]
    fn the_deepest_shapes_survive_text() {
        let nest = |shape, _| Shape::tuple([shape]).unwrap();
        let deepest = (1..MAX_DEPTH).fold("f32[2]{0:T(2)}".parse().unwrap(), nest);
        let proto = xla::Shape::from(&deepest);
        assert_eq!(from_textproto(&to_textproto(&proto).unwrap()), Ok(proto.clone()));
        assert_eq!(from_json(&to_json(&proto).unwrap()), Ok(proto));
        let physical = (1..MAX_DEPTH / 2)
            .fold("f32[2]{0:T(2)}".to_string(), |text, _| format!("f32[2]{{0:P({text})}}"));
        let proto = xla::Shape::from(&physical.parse::<Shape>().unwrap());
        assert_eq!(from_textproto(&to_textproto(&proto).unwrap()), Ok(proto));
    }

    #[test]
    fn hostile_nesting_is_an_error() {
        for open in ["tuple_shapes {", "tuple_shapes <", "tuple_shapes: [{", "dimensions: [", "{"] {
            let error = from_textproto::<xla::Shape>(&open.repeat(20_000)).unwrap_err().to_string();
            assert!(error.len() < 300, "{error}");
        }
        for open in ["{\"tuple_shapes\": [", "[", "{\"layout\": {\"physical_shape\":"] {
            assert!(from_json::<xla::Shape>(&open.repeat(20_000)).is_err());
        }
        // This is too deep for a message, but not for the parser.
        let text = "tuple_shapes { ".repeat(MAX_NESTING) + &"}".repeat(MAX_NESTING);
        let error = from_textproto::<xla::Shape>(&text).unwrap_err().to_string();
        assert!(error.contains("recursion limit reached") && error.len() < 300, "{error}");
        let json = "{\"layout\": {\"physical_shape\": ".repeat(MAX_NESTING / 2 - 1);
        let json = json + "{}" + &"}}".repeat(MAX_NESTING / 2 - 1);
        let error = from_json::<xla::Shape>(&json).unwrap_err().to_string();
        assert!(error.contains("recursion limit reached") && error.len() < 300, "{error}");
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_nest() {
        let textproto = |text: &str| too_deep(text, Some(b'#'));
        let braces = "{".repeat(1_000);
        let text = format!("wgsl: \"{braces}\\\"{braces}\" # {braces}\nwgsl: '{braces}'");
        assert_eq!(textproto(&text), None);
        assert_eq!(textproto(&format!("wgsl: \"\\\\\" {braces}")), Some(11 + MAX_NESTING));
        assert_eq!(textproto(&"{}".repeat(1_000)), None);
        assert_eq!(too_deep(&format!("#{braces}"), None), Some(1 + MAX_NESTING));
    }

    #[test]
    fn the_size_is_bounded() {
        let text = " ".repeat(MAX_INPUT_BYTES + 1);
        assert!(matches!(from_textproto::<xla::Shape>(&text), Err(ShapeError::TooMany { .. })));
        assert!(matches!(from_json::<xla::Shape>(&text), Err(ShapeError::TooMany { .. })));
    }
}
