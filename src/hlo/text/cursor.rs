//! A [`Cursor`] is a position in HLO text. Its methods parse one token at a time, and their errors
//! name the line and the column. The methods that all grammars of stridec share are in
//! `text::cursor`.

use std::ops::Range;

use crate::{
    hlo::HloError,
    shape::Shape,
    text::{self, TextError, excerpt},
};

type Result<T> = std::result::Result<T, HloError>;

/// The maximum length of a token in an error message, in characters. Longer tokens are shortened.
const MAX_PRINTED: usize = 40;

/// A cursor whose errors are [`HloError`]s.
pub(in crate::hlo) type Cursor<'a> = text::Cursor<'a, HloError>;

impl TextError for HloError {
    fn in_text(text: &str, range: Range<usize>, reason: String) -> Self {
        let before = &text[..range.start];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = 1 + before.matches('\n').count();
        Self::Text { line, column: range.start - line_start + 1, reason }
    }

    fn quoted(rest: &str) -> String {
        let word = rest.len() - rest.trim_start_matches(is_word).len();
        match rest.chars().next() {
            Some(letter) if word == 0 => format!("{letter:?}"),
            _ => format!("`{}`", excerpt(&rest[..word], MAX_PRINTED)),
        }
    }
}

impl<'a> text::Cursor<'a, HloError> {
    /// Returns a cursor over `part`, the part of the text that begins at `start`. Errors of the new
    /// cursor still name positions in the whole text.
    pub(in crate::hlo) fn over(&self, start: usize, part: &str) -> Self {
        self.part(start..start + part.len())
    }

    /// Skips blanks and comments, and returns the position of the next token, for use in errors.
    pub(in crate::hlo) fn start(&mut self) -> Result<usize> {
        self.skip_whole_blanks()?;
        Ok(self.position())
    }

    /// Returns true if the text continues with MLIR, such as a StableHLO module, instead of HLO.
    /// Users often pass MLIR, because JAX prints modules in this form by default.
    pub(in crate::hlo) fn is_mlir(&self) -> bool {
        let starts = ["#", "!", "\"", "{-#", "builtin.module", "func.func "];
        let module = self.rest().strip_prefix("module").map(str::trim_ascii_start);
        let is_module =
            |rest: &str| ["@", "{", "attributes"].iter().any(|start| rest.starts_with(start));
        module.is_some_and(is_module) || starts.iter().any(|start| self.rest().starts_with(start))
    }

    /// Returns the number of the line with this position. Lines are counted from 1.
    pub(in crate::hlo) fn line(&self, position: usize) -> usize {
        1 + self.text(0..position).matches('\n').count()
    }

    /// Returns an error with the line and the column of a position.
    pub(in crate::hlo) fn error(&self, position: usize, reason: impl Into<String>) -> HloError {
        HloError::in_text(self.text(0..position), position..position, reason.into())
    }

    /// Skips the given number of bytes.
    fn advance(&mut self, bytes: usize) {
        self.set_position(self.position() + bytes);
    }

    /// Consumes `word` if it is the next whole word of the text. Returns true if it was consumed.
    pub(in crate::hlo) fn eat_word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_word));
        if found {
            self.advance(word.len());
        }
        found
    }

    /// Parses a word of letters, digits, `_`, `.` and `-`. A word ends before an arrow `->`,
    /// although a word may contain `-`. `expected` describes the word in the error if there is
    /// none.
    pub(in crate::hlo) fn expect_word(&mut self, expected: &str) -> Result<&'a str> {
        self.skip_blanks();
        let rest = self.rest();
        let letters = rest.len() - rest.trim_start_matches(is_word).len();
        let length = rest[..letters].find("->").unwrap_or(letters);
        let is_arrow = rest[..length].ends_with('-') && rest[length..].starts_with('>');
        let length = length - usize::from(is_arrow);
        if length == 0 {
            return Err(self.unexpected(expected));
        }
        self.advance(length);
        Ok(&rest[..length])
    }

    /// Consumes a number, such as `-1`, `1e+10` or `nan(0x1)`, and returns its text. Returns an
    /// empty text if there is no number.
    pub(in crate::hlo) fn number_text(&mut self) -> &'a str {
        let rest = self.rest();
        let is_digit = |letter: char| is_word(letter) || letter == '+';
        let mut length = rest.len() - rest.trim_start_matches(is_digit).len();
        if rest[..length].ends_with("nan") && rest[length..].starts_with("(0x") {
            length += rest[length..].find(')').map_or(0, |end| end + 1);
        }
        self.advance(length);
        &rest[..length]
    }

    /// Parses the name of an instruction or a computation. Skips a `%` before the name and a `:`
    /// after it, which XLA accepts.
    pub(in crate::hlo) fn name(&mut self) -> Result<&'a str> {
        self.skip_blanks();
        if self.rest().starts_with('%') {
            self.advance(1);
        }
        let name = self.expect_word("a name")?;
        if self.rest().starts_with(':') {
            self.advance(1);
        }
        Ok(name)
    }

    /// Parses an integer. `expected` describes the integer in the error if there is none.
    pub(in crate::hlo) fn number(&mut self, expected: &str) -> Result<i64> {
        let start = self.start()?;
        let word = self.expect_word(expected)?;
        word.parse().map_err(|_| {
            let given = excerpt(word, MAX_PRINTED);
            self.error(start, format!("expected {expected}, got `{given}`"))
        })
    }

    /// Parses a shape, with or without layouts.
    pub(in crate::hlo) fn shape(&mut self) -> Result<Shape> {
        let (start, text) = self.shape_text()?;
        self.shape_at(start, text)
    }

    /// Parses `text` as a shape. `start` is its position in the whole text, for errors.
    pub(in crate::hlo) fn shape_at(&self, start: usize, text: &str) -> Result<Shape> {
        text.parse().map_err(|error: crate::shape::ParseError| {
            self.error(start + error.offset().min(text.len()), error.reason())
        })
    }

    /// Returns true if the text continues with a shape, and false if it continues with a name. The
    /// parser must look ahead to tell, because a text may omit the shape before a name.
    pub(in crate::hlo) fn sees_shape(&mut self) -> bool {
        if self.sees("(") {
            return true;
        }
        let start = self.position();
        let word = self.word(is_word).0;
        let is_shape =
            self.sees("[") && !word.is_empty() || word == "b" && self.rest().starts_with('(');
        self.set_position(start);
        is_shape
    }

    /// Consumes a shape without parsing it, and returns its position and its text. So the caller
    /// can look up shapes that it has parsed before.
    pub(in crate::hlo) fn shape_text(&mut self) -> Result<(usize, &'a str)> {
        let start = self.start()?;
        if !self.sees_shape() {
            return Err(self.unexpected("a shape"));
        }
        if !self.sees("(") {
            self.expect_word("a shape")?;
        }
        let is_array = self.sees("[");
        self.balanced()?;
        if is_array && self.layout_follows() {
            self.balanced()?;
        }
        Ok((start, self.text(start..self.position())))
    }

    /// Returns true if the next brace opens a layout, and false if it opens the body of a
    /// computation, because either can follow a shape. A layout begins with a digit or a colon. It
    /// may follow after blanks, except if it is empty.
    fn layout_follows(&self) -> bool {
        let mut ahead = self.clone();
        if self.rest().starts_with("{}") {
            return true;
        }
        ahead.eat("{") && {
            ahead.skip_blanks();
            ahead.rest().starts_with(|letter: char| letter.is_ascii_digit() || letter == ':')
        }
    }

    /// Consumes the text from an opening bracket through the matching closing bracket, and returns
    /// it with the brackets. Brackets inside strings and comments are ignored, and kinds of
    /// brackets are not told apart.
    pub(in crate::hlo) fn balanced(&mut self) -> Result<&'a str> {
        let (start, bytes) = (self.start()?, self.rest().as_bytes());
        let (mut depth, mut at) = (0_usize, 0);
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' | b'\'' => {
                    self.set_position(start + at);
                    self.skip_string()?;
                    at = self.position() - start;
                }
                b'/' if matches!(bytes.get(at + 1), Some(b'*' | b'/')) => {
                    self.set_position(start + at);
                    at = self.start()? - start;
                }
                _ => {
                    at += 1;
                    match byte {
                        b'(' | b'[' | b'{' => depth += 1,
                        b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                }
            }
            if depth == 0 {
                self.set_position(start + at);
                return Ok(self.text(start..start + at));
            }
        }
        Err(self.error(start, "the bracket is not closed"))
    }

    /// Skips a string in single or double quotes. The cursor must be at the opening quote.
    fn skip_string(&mut self) -> Result<()> {
        let (start, bytes) = (self.position(), self.rest().as_bytes());
        let quote = bytes[0];
        let mut at = 1;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'\\' => at += 1,
                _ if byte == quote => {
                    self.set_position(start + at);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(self.error(start, "the string does not end"))
    }

    /// Consumes the value of an attribute, which consists of words, numbers, strings and brackets.
    /// The value ends before a comma, before an unmatched closing bracket, or before a blank that
    /// no opening bracket follows. Returns its position and its text.
    pub(in crate::hlo) fn value(&mut self) -> Result<(usize, &'a str)> {
        let start = self.start()?;
        self.value_from(start)
    }

    /// Consumes the rest of a value that began at `start`. Returns its position and its text.
    fn value_from(&mut self, start: usize) -> Result<(usize, &'a str)> {
        loop {
            let rest = self.rest();
            let is_end =
                |letter: char| ",)]}([{\"'".contains(letter) || letter.is_ascii_whitespace();
            self.advance(rest.find(is_end).unwrap_or(rest.len()));
            let end = self.position();
            match self.rest().bytes().next() {
                Some(b'"' | b'\'') => self.skip_string()?,
                _ if ["(", "[", "{"].iter().any(|bracket| self.sees(bracket)) => {
                    self.balanced()?;
                }
                _ => {
                    self.set_position(end);
                    return Ok((start, self.text(start..end)));
                }
            }
        }
    }

    /// Consumes a literal with its shape, such as `s32[] 1`. [`value`](Self::value) would stop at
    /// the blank after the shape. Returns the position and the text of the literal.
    pub(in crate::hlo) fn literal_value(&mut self) -> Result<(usize, &'a str)> {
        let start = self.start()?;
        if self.sees("(") {
            self.balanced()?;
        } else {
            self.shape_text()?;
            self.skip_blanks();
        }
        self.value_from(start)
    }

    /// Consumes the entries of a table of source locations, and returns their text. An entry is an
    /// integer, followed by a string or braces.
    pub(in crate::hlo) fn table_body(&mut self) -> Result<&'a str> {
        let start = self.start()?;
        loop {
            let end = self.position();
            self.skip_blanks();
            if !self.rest().starts_with(|letter: char| letter.is_ascii_digit()) {
                self.set_position(end);
                return Ok(self.text(start.min(end)..end));
            }
            self.expect_word("a number")?;
            self.value()?;
        }
    }
}

/// Returns true for a character that can be part of a name or word.
pub(in crate::hlo) fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_.-".contains(letter)
}
