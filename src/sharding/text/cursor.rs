//! [`Cursor`]: reads tokens from the text of a sharding, and keeps the position for error messages.

use std::ops::Range;

use crate::{
    sharding::ShardingError,
    text::{self, TextError, excerpt},
};

type Result<T> = std::result::Result<T, ShardingError>;

/// The maximum number of characters of the text that an error message quotes.
const MAX_QUOTED: usize = 20;

pub(super) type Cursor<'a> = text::Cursor<'a, ShardingError>;

impl TextError for ShardingError {
    fn in_text(_: &str, range: Range<usize>, reason: String) -> Self {
        Self::Syntax { offset: range.start, reason }
    }

    fn quoted(rest: &str) -> String {
        format!("`{}`", excerpt(rest, MAX_QUOTED))
    }
}

impl<'a> text::Cursor<'a, ShardingError> {
    /// Skips blanks and returns the byte offset of the next token.
    pub(super) fn place(&mut self) -> usize {
        self.skip_blanks();
        self.position()
    }

    /// Reads a word of letters and underscores. Returns an empty word if the next character is
    /// neither.
    pub(super) fn keyword(&mut self) -> &'a str {
        self.word(|letter| letter.is_ascii_alphabetic() || letter == '_').0
    }

    /// Returns the next word without consuming it.
    pub(super) fn peek_keyword(&self) -> &'a str {
        self.clone().keyword()
    }

    pub(super) fn number(&mut self) -> Result<i64> {
        let start = self.place();
        let place = self.digits().ok_or_else(|| self.unexpected("a number"))?;
        self.text(place).parse().map_err(|_| {
            self.set_position(start);
            self.unexpected("a number from -2^63 to 2^63-1")
        })
    }

    /// Parses integers separated by commas, through the bracket `close`.
    pub(super) fn numbers(&mut self, close: &str) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        self.list(close, |cursor| {
            numbers.push(cursor.number()?);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// Parses a name in single or double quotes.
    pub(super) fn name(&mut self) -> Result<String> {
        let start = self.place();
        let rest = self.rest();
        let quote = rest.chars().next().filter(|quote| ['\'', '"'].contains(quote));
        let Some(quote) = quote else {
            return Err(self.unexpected("a name in quotes"));
        };
        let Some(length) = rest[1..].find(quote) else {
            return Err(self.unexpected(&format!("a name that ends in {quote}")));
        };
        self.set_position(start + length + 2);
        Ok(rest[1..=length].to_owned())
    }

    /// Skips the rest of a block in braces, through its closing brace. The caller has already
    /// consumed the opening brace. Braces inside strings are ignored.
    pub(super) fn skip_braces(&mut self) -> Result<()> {
        let (mut depth, mut quoted, mut escaped) = (1, false, false);
        let start = self.position();
        for (i, byte) in self.rest().bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' if !quoted => depth += 1,
                b'}' if !quoted => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.set_position(start + i + 1);
                return Ok(());
            }
        }
        self.set_position(start + self.rest().len());
        Err(self.unexpected("`}`"))
    }
}
