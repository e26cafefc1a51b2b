//! A place in a text, and the tokens that can stand there.

use crate::{
    hlo::{HloError, MAX_MODULE_BYTES},
    shape::{Shape, excerpt},
};

type Result<T> = std::result::Result<T, HloError>;

/// Characters of a token that messages show.
const MAX_PRINTED: usize = 40;

/// Reads tokens from the front of a text.
pub(in crate::hlo) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// Bytes up to `at` that constants took.
    literal_bytes: usize,
}

impl<'a> Cursor<'a> {
    pub(in crate::hlo) fn new(text: &'a str) -> Self {
        Self { text, at: 0, literal_bytes: 0 }
    }

    /// A cursor over a part of the same text, whose errors have their places in the whole.
    pub(in crate::hlo) fn over(&self, start: usize, part: &str) -> Self {
        Self { text: &self.text[..start + part.len()], at: start, literal_bytes: 0 }
    }

    pub(in crate::hlo) fn position(&self) -> usize {
        self.at
    }

    /// Where the next token begins.
    pub(in crate::hlo) fn start(&mut self) -> Result<usize> {
        self.skip_blanks()?;
        Ok(self.at)
    }

    /// Whether what follows is a module of MLIR, which JAX prints where nothing else is asked for.
    pub(in crate::hlo) fn is_mlir(&self) -> bool {
        let starts =
            ["module @", "module {", "module attributes ", "#loc", "#map", "builtin.module"];
        starts.iter().any(|start| self.rest().starts_with(start))
    }

    pub(in crate::hlo) fn go_back(&mut self, position: usize) {
        self.at = position;
    }

    /// The rest of the text.
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The line of a place, from 1.
    pub(in crate::hlo) fn line(&self, position: usize) -> usize {
        1 + self.text[..position].matches('\n').count()
    }

    /// The error of what stands at a place.
    pub(in crate::hlo) fn error(&self, position: usize, reason: impl Into<String>) -> HloError {
        let line_start = self.text[..position].rfind('\n').map_or(0, |end| end + 1);
        let (line, column) = (self.line(position), position - line_start + 1);
        HloError::Text { line, column, reason: reason.into() }
    }

    /// The error of what stands next.
    pub(in crate::hlo) fn unexpected(&self, expected: &str) -> HloError {
        let rest = self.rest();
        let word = rest.len() - rest.trim_start_matches(is_word).len();
        let given = match rest.chars().next() {
            None => "the end".to_owned(),
            Some(_) if word > 0 => format!("`{}`", excerpt(&rest[..word], MAX_PRINTED)),
            Some(letter) => format!("{letter:?}"),
        };
        self.error(self.at, format!("expected {expected}, got {given}"))
    }

    /// Skips blanks and comments.
    pub(in crate::hlo) fn skip_blanks(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let skipped = if rest.starts_with("/*") {
                let end = rest
                    .find("*/")
                    .ok_or_else(|| self.error(self.at, "the comment does not end; `*/` ends it"))?;
                end + 2
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else {
                rest.len() - rest.trim_ascii_start().len()
            };
            if skipped == 0 {
                return Ok(());
            }
            self.at += skipped;
        }
    }

    /// The next byte after blanks; `None` at the end.
    pub(in crate::hlo) fn peek(&mut self) -> Result<Option<u8>> {
        self.skip_blanks()?;
        Ok(self.rest().bytes().next())
    }

    /// Reads a sign where it stands next.
    pub(in crate::hlo) fn eat(&mut self, sign: &str) -> Result<bool> {
        self.skip_blanks()?;
        let there = self.rest().starts_with(sign);
        if there {
            self.at += sign.len();
        }
        Ok(there)
    }

    pub(in crate::hlo) fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign)? {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{sign}`")))
    }

    /// Reads a word where it stands next, not followed by more letters.
    pub(in crate::hlo) fn eat_word(&mut self, word: &str) -> Result<bool> {
        self.skip_blanks()?;
        let there = self.rest().strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_word));
        if there {
            self.at += word.len();
        }
        Ok(there)
    }

    /// Letters, digits, `_`, `.` and `-`; not the `-` of an arrow.
    pub(in crate::hlo) fn word(&mut self, expected: &str) -> Result<&'a str> {
        self.skip_blanks()?;
        let rest = self.rest();
        let letters = rest.len() - rest.trim_start_matches(is_word).len();
        let length = rest[..letters].find("->").unwrap_or(letters);
        let is_arrow = rest[..length].ends_with('-') && rest[length..].starts_with('>');
        let length = length - usize::from(is_arrow);
        if length == 0 {
            return Err(self.unexpected(expected));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// What a number is written with, `nan(0x1)` and `1e+10` too; empty where none is.
    pub(in crate::hlo) fn number_text(&mut self) -> &'a str {
        let rest = self.rest();
        let is_digit = |letter: char| is_word(letter) || letter == '+';
        let mut length = rest.len() - rest.trim_start_matches(is_digit).len();
        if rest[..length].ends_with("nan") && rest[length..].starts_with("(0x") {
            length += rest[length..].find(')').map_or(0, |end| end + 1);
        }
        self.at += length;
        &rest[..length]
    }

    /// Whether a sign stands right here.
    pub(in crate::hlo) fn at_sign(&self, sign: char) -> bool {
        self.rest().starts_with(sign)
    }

    /// The name of an instruction or a computation, with or without `%`.
    pub(in crate::hlo) fn name(&mut self) -> Result<&'a str> {
        self.skip_blanks()?;
        if self.rest().starts_with('%') {
            self.at += 1;
        }
        self.word("a name")
    }

    pub(in crate::hlo) fn number(&mut self, expected: &str) -> Result<i64> {
        self.skip_blanks()?;
        let start = self.at;
        let word = self.word(expected)?;
        word.parse().map_err(|_| {
            let given = excerpt(word, MAX_PRINTED);
            self.error(start, format!("expected {expected}, got `{given}`"))
        })
    }

    /// A shape, with or without layouts.
    pub(in crate::hlo) fn shape(&mut self) -> Result<Shape> {
        let (start, text) = self.shape_text()?;
        self.shape_at(start, text)
    }

    /// What a text that stands at a place says.
    pub(in crate::hlo) fn shape_at(&self, start: usize, text: &str) -> Result<Shape> {
        text.parse().map_err(|error: crate::shape::ParseError| {
            self.error(start + error.offset().min(text.len()), error.reason())
        })
    }

    /// The text of a shape, and where it begins.
    pub(in crate::hlo) fn shape_text(&mut self) -> Result<(usize, &'a str)> {
        let start = self.start()?;
        if self.rest().starts_with('(') {
            self.balanced()?;
        } else {
            let word = self.word("a shape")?;
            if word == "b" && self.rest().starts_with('(') {
                self.balanced()?;
            } else if self.rest().starts_with('[') {
                self.balanced()?;
                if self.layout_follows() {
                    self.balanced()?;
                }
            } else {
                self.at = start;
                return Err(self.unexpected("a shape"));
            }
        }
        Ok((start, &self.text[start..self.at]))
    }

    /// Whether a brace begins a layout and not a block.
    fn layout_follows(&self) -> bool {
        let Some(inside) = self.rest().strip_prefix('{') else { return false };
        let inside = inside.trim_ascii_start();
        inside.starts_with(|letter: char| letter.is_ascii_digit() || ":}".contains(letter))
    }

    /// What a bracket and the one that closes it enclose, with both. Strings may hold brackets.
    pub(in crate::hlo) fn balanced(&mut self) -> Result<&'a str> {
        let start = self.at;
        let mut depth = 0_usize;
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'"' => self.skip_string()?,
                b'/' if bytes.get(self.at) == Some(&b'*') => {
                    self.at -= 1;
                    self.skip_blanks()?;
                }
                _ => {}
            }
            if depth == 0 {
                return Ok(&self.text[start..self.at]);
            }
        }
        Err(self.error(start, "the bracket is not closed"))
    }

    /// Skips the rest of a string after its first quote.
    fn skip_string(&mut self) -> Result<()> {
        let start = self.at - 1;
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => return Ok(()),
                b'\\' if self.at < bytes.len() => self.at += 1,
                _ => {}
            }
        }
        self.at = bytes.len();
        Err(self.error(start, "the string does not end"))
    }

    /// An attribute's value: all up to a comma, a blank or a closing bracket that is its own.
    pub(in crate::hlo) fn value(&mut self) -> Result<(usize, &'a str)> {
        self.skip_blanks()?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b',' | b')' | b']' | b'}' => break,
                b'(' | b'[' | b'{' => drop(self.balanced()?),
                b'"' => {
                    self.at += 1;
                    self.skip_string()?;
                }
                byte if byte.is_ascii_whitespace() => break,
                _ => self.at += 1,
            }
        }
        Ok((start, &self.text[start..self.at]))
    }

    /// What stands before the next empty line.
    pub(in crate::hlo) fn paragraph(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find("\n\n").or_else(|| rest.find("\n\r\n")).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Counts what was read since `start` as a constant's.
    pub(in crate::hlo) fn count_literal(&mut self, start: usize) {
        self.literal_bytes += self.at - start;
    }

    /// Checks how much was read beside constants.
    pub(in crate::hlo) fn within_limit(&self) -> Result<()> {
        let (given, limit) = (self.at - self.literal_bytes, MAX_MODULE_BYTES);
        if given > limit {
            return Err(HloError::TooManyBytes { given, limit });
        }
        Ok(())
    }
}

/// Whether names and words have a letter.
pub(in crate::hlo) fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_.-".contains(letter)
}
