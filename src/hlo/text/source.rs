//! Parses the source lines of instructions, from the metadata of instructions and from the tables
//! of stack frames before the computations.
//!
//! Source lines only make errors more readable, so malformed ones are skipped instead of refused.

use std::fmt::{self, Write};

use crate::{
    hlo::{SourceLine, source_line::StackFrames},
    proto::hlo as proto,
};

/// Parses the table called `name`, and adds its entries to `frames`. Each line of `body` has the
/// index of an entry, followed by the entry. The indices are ignored, because XLA prints the
/// entries in order.
pub(super) fn read_table(name: &str, body: &str, frames: &mut StackFrames) {
    let entries = body.lines().filter_map(|line| line.trim().split_once(' '));
    for (_, entry) in entries {
        let number = |key| number(entry, key);
        match name {
            "FileNames" => frames.add_file(&unescaped(entry)),
            "FileLocations" => frames.add_location(number("file_name_id"), number("line")),
            "StackFrames" => frames.add_frame(number("file_location_id")),
            _ => {}
        }
    }
}

/// Parses the value of an instruction's attribute `metadata`, as far as it concerns the source
/// line.
pub(super) fn metadata(value: &str) -> proto::OpMetadata {
    proto::OpMetadata {
        source_file: field(value, "source_file").map(unescaped).unwrap_or_default(),
        source_line: number(value, "source_line"),
        stack_frame_id: number(value, "stack_frame_id"),
    }
}

/// Prints a source line as the attribute `metadata`, in the form that [`metadata`] parses.
pub(super) fn print(f: &mut impl Write, source: &SourceLine) -> fmt::Result {
    f.write_str(", metadata={source_file=\"")?;
    for letter in source.file().chars() {
        match letter {
            '"' | '\\' => write!(f, "\\{letter}")?,
            letter if letter.is_ascii_control() => write!(f, "\\{:03o}", u32::from(letter))?,
            letter => f.write_char(letter)?,
        }
    }
    write!(f, "\" source_line={}}}", source.line())
}

/// Returns the integer in the field `key`, or 0 if there is none, which is also the default value
/// in protos.
fn number(fields: &str, key: &str) -> i32 {
    field(fields, key).and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// Returns the value of the field `key` in a text such as `{key=value key="value"}`, or `None` if
/// there is no such field. A string is returned with its quotes, and may contain any character.
fn field<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = fields.trim_start_matches('{');
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        let (name, value) = rest.split_once('=')?;
        let length = match value.strip_prefix('"') {
            Some(inside) => string_length(inside)? + 2,
            None => value.find([' ', ',', '}']).unwrap_or(value.len()),
        };
        let (value, after) = value.split_at_checked(length)?;
        if name == key {
            return Some(value);
        }
        rest = after;
    }
}

/// Returns the number of bytes before the closing quote of a string whose opening quote was
/// consumed. Returns `None` if there is no closing quote.
fn string_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// Decodes a string that still has its quotes. A backslash is followed by a quote, another
/// backslash, the letter of a control character such as `n`, or the three octal digits of a byte.
fn unescaped(quoted: &str) -> String {
    let mut rest = quoted.trim_matches('"').as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let octal = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let (byte, length) = match (code, rest.first()) {
            (Some(code), _) => (code, 3),
            (None, Some(b'n')) => (b'\n', 1),
            (None, Some(b't')) => (b'\t', 1),
            (None, Some(b'r')) => (b'\r', 1),
            (None, Some(&letter)) => (letter, 1),
            (None, None) => break,
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_in_any_order() {
        let read = metadata(
            r#"{op_name="a source_line=3 \"b" source_file="/x/a\"b\\\303\274.py" source_line=7}"#,
        );
        assert_eq!((read.source_file.as_str(), read.source_line), ("/x/a\"b\\ü.py", 7));
        assert_eq!(metadata("{op_name=\"x\" stack_frame_id=2}").stack_frame_id, 2);
        for broken in
            ["{", "{source_line}", "{source_file=\"x", "{source_line=99999999999}", "\u{fc}="]
        {
            assert_eq!(metadata(broken), proto::OpMetadata::default(), "{broken}");
        }
    }

    #[test]
    fn what_is_printed_is_read() {
        let line = SourceLine::new("C:\\a \"b\"\n\u{fc}.py", 12);
        let mut text = String::new();
        print(&mut text, &line).unwrap();
        let value = text.strip_prefix(", metadata=").unwrap();
        assert_eq!(StackFrames::default().line(&metadata(value)), Some(line));
    }

    #[test]
    fn tables_lead_from_a_frame_to_a_line() {
        let mut frames = StackFrames::default();
        read_table("FileNames", "\n1 \"a.py\"\n2 \"b.py\"\n", &mut frames);
        read_table(
            "FileLocations",
            "\n1 {file_name_id=2 function_name_id=1 line=10 column=3}\n",
            &mut frames,
        );
        read_table(
            "StackFrames",
            "\n1 {file_location_id=1 parent_frame_id=1}\n2 {file_location_id=9}\n",
            &mut frames,
        );
        let line =
            |id| frames.line(&proto::OpMetadata { stack_frame_id: id, ..Default::default() });
        assert_eq!(line(1), Some(SourceLine::new("b.py", 10)));
        assert_eq!([0, 2, 3, -1].map(line), [None, None, None, None]);
    }
}
