//! Failures of commands. A failure has a message, the position of the error in the input if it is
//! known, and an exit code by which scripts can distinguish failures.

use std::{
    borrow::Cow,
    fmt::{self, Write as _},
    io::{self, IsTerminal, Write as _},
    path::Path,
};

use stridec::{
    ErrorKind,
    shape::{ParseError, ShapeError},
};

/// The number of characters of the input that are shown before and after the marked ones.
const CONTEXT: usize = 50;

/// The maximum length of a printed message, in bytes. The middle of a longer message is left out.
const LONGEST_MESSAGE: usize = 1200;

/// The exit code of a command that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// The run failed: for example, a device was lost or an output could not be written.
    Failed = 1,
    /// The arguments, a shape, an operation or an input file are invalid.
    Invalid = 2,
    /// The input is valid, but stridec does not support it.
    Unsupported = 3,
    /// The requested device does not exist.
    NoDevice = 4,
}

#[cfg(feature = "mpi")]
impl Exit {
    /// Returns the exit code with this number, or `None` if there is none.
    pub(super) fn of(code: u8) -> Option<Self> {
        [Self::Failed, Self::Invalid, Self::Unsupported, Self::NoDevice]
            .into_iter()
            .find(|exit| *exit as u8 == code)
    }
}

/// The failure of a command.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    exit: Exit,
    /// A description of the problem, with the values that would be accepted.
    message: String,
    caret: Option<Caret>,
    /// True if the failure is an argument that no command expects. All arguments together may
    /// explain it better.
    is_unexpected: bool,
}

/// A text of the user in which `len` bytes, from byte `offset` on, are marked by carets.
#[derive(Clone, Debug)]
struct Caret {
    text: String,
    offset: usize,
    len: usize,
}

impl Failure {
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), caret: None, is_unexpected: false }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Exit::Invalid, message)
    }

    /// Returns the failure for an argument that no command expects.
    pub(super) fn unexpected(message: impl Into<String>) -> Self {
        Self { is_unexpected: true, ..Self::invalid(message) }
    }

    /// Returns true if the failure is an argument that no command expects.
    pub(super) fn is_unexpected(&self) -> bool {
        self.is_unexpected
    }

    /// Returns the failure for `text`, in which the parser found an error.
    pub(super) fn notation(text: &str, error: &ParseError) -> Self {
        let exit = match error.kind() {
            ErrorKind::Unsupported => Exit::Unsupported,
            _ => Exit::Invalid,
        };
        Self::new(exit, error.reason()).at(text, error.offset(), error.len())
    }

    /// Returns the failure for `text`, which has an error at byte `offset`.
    pub(super) fn in_text(text: &str, offset: usize, reason: &str) -> Self {
        let len = text[offset.min(text.len())..].chars().next().map_or(0, char::len_utf8);
        Self::invalid(reason).at(text, offset, len)
    }

    /// Returns the failure for `text`, the contents of a file with an invalid message. If the error
    /// has a line and a column, that line is shown with a caret.
    pub(super) fn message(text: &str, error: &ShapeError) -> Self {
        let failure = Self::invalid(error.to_string());
        let ShapeError::Text { line, column, .. } = error else { return failure };
        match text.lines().nth(line.saturating_sub(1)) {
            Some(text) => failure.at(text, column.saturating_sub(1), 1),
            None => failure,
        }
    }

    /// Returns the failure for an input that cannot be read.
    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::invalid(format!("{}: cannot be read: {error}", input_name(path)))
    }

    /// Returns the failure for an output that cannot be written.
    pub(super) fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self::new(Exit::Failed, format!("{}: cannot be written: {error}", name(path)))
    }

    /// Adds a subject before the message, such as the name of a file.
    pub(super) fn about(mut self, subject: impl fmt::Display) -> Self {
        self.message = format!("{subject}: {}", self.message);
        self
    }

    /// Adds a caret under `len` bytes of `text`, from byte `offset` on.
    fn at(mut self, text: &str, offset: usize, len: usize) -> Self {
        self.caret = Some(Caret { text: text.into(), offset, len });
        self
    }

    /// Returns true if the failure is that the requested device does not exist.
    pub(super) fn is_no_device(&self) -> bool {
        self.exit == Exit::NoDevice
    }

    /// Returns the exit code of the process, which the other ranks of MPI receive too.
    pub(super) fn exit_code(&self) -> u8 {
        self.exit as u8
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&excerpt(&printable(&self.message)))?;
        if let Some(caret) = &self.caret {
            write!(f, "\n{caret}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Caret {
    /// Writes the text and, on a second line, the carets. If the text is long, only the part around
    /// the carets is written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, rest) = split(&self.text, self.offset);
        let (marked, after) = split(rest, self.len);
        let (before, marked, after) = (ascii(before), ascii(marked), ascii(after));
        let cut = before.len().saturating_sub(CONTEXT);
        let before = match cut {
            0 => before,
            _ => format!("...{}", &before[cut..]),
        };
        let (marked, after) = match marked.len() {
            n if n > CONTEXT => (marked[..CONTEXT].to_owned(), "...".to_owned()),
            _ if after.len() > CONTEXT => (marked, format!("{}...", &after[..CONTEXT])),
            _ => (marked, after),
        };
        writeln!(f, "  {before}{marked}{after}")?;
        let (indent, carets) = (before.len(), marked.len().max(1));
        write!(f, "  {:indent$}{:^<carets$}", "", "")
    }
}

/// Splits a text at byte `at`. If the byte is inside a character, splits after this character.
fn split(text: &str, at: usize) -> (&str, &str) {
    let at = (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    text.split_at(at)
}

/// Escapes every character except printable ASCII. Each remaining character fills one column, so
/// that the caret is in the right column.
fn ascii(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            ' '..='~' => out.push(c),
            _ => out.extend(c.escape_default()),
        }
    }
    out
}

/// Escapes everything that a terminal interprets, except line breaks.
pub(super) fn printable(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            // Characters that reorder the text around them are as dangerous as escape sequences.
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => out.extend(c.escape_unicode()),
            _ if c.is_control() => out.extend(c.escape_default()),
            _ => out.push(c),
        }
    }
    out
}

/// Formats a path for messages.
pub(super) fn name(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// Formats the path of an input for messages.
pub(super) fn input_name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { name(path) }
}

/// Formats an argument for messages, on one line.
pub(super) fn quoted(text: &str) -> String {
    printable(text).replace('\n', "\\n")
}

/// Shortens a very long text to its beginning and its end.
fn excerpt(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_MESSAGE {
        return text.into();
    }
    let half = LONGEST_MESSAGE / 2;
    let (start, rest) = split(text, half);
    let (_, end) = split(rest, rest.len() - half);
    format!("{start} … {end}").into()
}

/// Prints a failure on stderr. Colours its label if stderr is a terminal and `NO_COLOR` is not set.
pub(super) fn report(failure: &Failure) {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|value| value == "dumb")
        || !io::stderr().is_terminal();
    let label = if plain { "error:" } else { "\u{1b}[1;31merror:\u{1b}[0m" };
    let mut text = String::new();
    // Writing to a string succeeds.
    let _ = writeln!(text, "{label} {failure}");
    // If stderr is closed, the exit code still reports the failure.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a remark on stderr.
pub(super) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caret(text: &str, offset: usize, len: usize) -> String {
        Failure::invalid("wrong").at(text, offset, len).to_string()
    }

    #[test]
    fn the_caret_stands_under_the_character() {
        assert_eq!(caret("f32[2,3]{1,1}", 11, 1), "wrong\n  f32[2,3]{1,1}\n             ^");
        assert_eq!(caret("f32[2", 5, 0), "wrong\n  f32[2\n       ^");
        assert_eq!(caret("f99[2]", 0, 3), "wrong\n  f99[2]\n  ^^^");
        assert_eq!(caret("ä\u{1b}x", 3, 1), "wrong\n  \\u{e4}\\u{1b}x\n              ^");
    }

    #[test]
    fn long_texts_are_cut_around_the_caret() {
        let text = format!("{}!{}", "a".repeat(500), "b".repeat(500));
        let shown = caret(&text, 500, 1);
        let mut lines = shown.lines().skip(1);
        let (line, caret) = (lines.next().unwrap(), lines.next().unwrap());
        assert!(line.len() < 120);
        assert_eq!(line.find('!'), caret.find('^'));
    }

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\u{202e}b\r"), "a\\u{1b}[31m\\u{202e}b\\r");
        assert_eq!(printable("a\u{61c}b"), "a\\u{61c}b");
        assert_eq!(name(Path::new("a\nb")), "a\\nb");
    }

    #[test]
    fn messages_are_a_few_lines() {
        let shown = Failure::invalid(format!("{}: accepted is b", "ä".repeat(100_000))).to_string();
        assert!(shown.len() < 1300 && shown.contains(" … ") && shown.ends_with(": accepted is b"));
    }
}
