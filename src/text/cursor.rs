//! [`Cursor`]: a position in a text, with the parts that all grammars share: blanks, comments,
//! signs, words and lists.

use std::{marker::PhantomData, ops::Range};

/// The error type of a parser that reads with a [`Cursor`]. Every error has a position in the text.
pub(crate) trait TextError: Sized {
    /// Creates an error about the bytes in `range` of `text`.
    fn in_text(text: &str, range: Range<usize>, reason: String) -> Self;

    /// Returns the start of `rest`, the unread text, as an error message quotes it, including the
    /// quotation marks. `rest` is not empty.
    fn quoted(rest: &str) -> String;
}

/// A text that is read from front to back, and the position of the next byte. Blanks and comments,
/// `/*…*/` and `//…`, may precede each sign and word.
///
/// An unterminated comment is an error: it is not skipped as a blank, no grammar accepts its `/*`,
/// and [`unexpected`](Self::unexpected) reports it.
#[derive(Clone)]
pub(crate) struct Cursor<'a, E> {
    text: &'a str,
    position: usize,
    error: PhantomData<fn() -> E>,
}

impl<'a, E: TextError> Cursor<'a, E> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0, error: PhantomData }
    }

    /// Returns a cursor over `text`, or an error if `text` is longer than `limit` bytes.
    pub(crate) fn limited(text: &'a str, limit: usize) -> Result<Self, E> {
        if text.len() > limit {
            let reason = format!("expected at most {limit} bytes, got {}", text.len());
            return Err(E::in_text(text, 0..0, reason));
        }
        Ok(Self::new(text))
    }

    /// Returns a cursor that reads only the bytes in `range`. Its positions are still counted from
    /// the start of the whole text.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        Self { text: &self.text[..range.end], position: range.start, error: PhantomData }
    }

    /// Returns the offset of the next byte to read.
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    /// Sets the offset of the next byte to read.
    pub(crate) fn set_position(&mut self, position: usize) {
        self.position = position;
    }

    /// Returns the text of the bytes in `range`.
    pub(crate) fn text(&self, range: Range<usize>) -> &'a str {
        &self.text[range]
    }

    /// Returns the unread text, including leading blanks.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    /// Returns the position after any blanks and comments that come next.
    fn after_blanks(&self) -> usize {
        let mut position = self.position;
        loop {
            let rest = &self.text[position..];
            position += match rest.as_bytes() {
                [b'/', b'*', ..] => match rest[2..].find("*/") {
                    Some(length) => length + 4,
                    None => return position,
                },
                [b'/', b'/', ..] => rest.find('\n').unwrap_or(rest.len()),
                [first, ..] if first.is_ascii_whitespace() => {
                    rest.len() - rest.trim_ascii_start().len()
                }
                _ => return position,
            };
        }
    }

    /// Skips blanks and comments.
    pub(crate) fn skip_blanks(&mut self) {
        self.position = self.after_blanks();
    }

    /// Skips blanks and comments, and returns an error for an unterminated comment.
    pub(crate) fn skip_whole_blanks(&mut self) -> Result<(), E> {
        self.skip_blanks();
        if self.rest().starts_with("/*") { Err(self.unexpected("")) } else { Ok(()) }
    }

    /// Returns true if nothing but blanks and comments is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.after_blanks() == self.text.len()
    }

    /// Returns true if `sign` is next, after any blanks. Consumes nothing.
    pub(crate) fn sees(&self, sign: &str) -> bool {
        self.text[self.after_blanks()..].starts_with(sign)
    }

    /// Consumes `sign` and returns true if it is next, after any blanks. Otherwise, returns false,
    /// and the position does not change.
    pub(crate) fn eat(&mut self, sign: &str) -> bool {
        let start = self.after_blanks();
        let found = self.text[start..].starts_with(sign);
        if found {
            self.position = start + sign.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, sign: &str) -> Result<(), E> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    /// Returns an error if anything but blanks and comments is left.
    pub(crate) fn end(&mut self) -> Result<(), E> {
        self.skip_blanks();
        if self.rest().is_empty() { Ok(()) } else { Err(self.unexpected("the end")) }
    }

    /// Skips blanks and reads all characters up to the first one that `is_part` rejects. The
    /// returned word may be empty.
    pub(crate) fn word(&mut self, is_part: impl Fn(char) -> bool) -> (&'a str, Range<usize>) {
        self.skip_blanks();
        let rest = self.rest();
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let range = self.position..self.position + length;
        self.position = range.end;
        (&rest[..length], range)
    }

    /// Reads decimal digits with an optional minus sign, and returns their byte range. Returns
    /// `None` if the next token is not a number.
    pub(crate) fn digits(&mut self) -> Option<Range<usize>> {
        let start = self.after_blanks();
        let rest = &self.text[start..];
        let sign = usize::from(rest.starts_with('-'));
        let length = rest.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return None;
        }
        self.position = start + sign + length;
        Some(start..self.position)
    }

    /// Reads a comma-separated list of items, which may be empty, up to and including `close`.
    pub(crate) fn list(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.eat(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.eat(close) {
                return Ok(());
            }
            if !self.eat(",") {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// Returns an error which says that `expected` was expected, and quotes the text that comes
    /// next instead.
    pub(crate) fn unexpected(&self, expected: &str) -> E {
        let start = self.after_blanks();
        let rest = &self.text[start..];
        if rest.starts_with("/*") {
            let reason = "the comment does not end; `*/` ends it".to_owned();
            return E::in_text(self.text, start..start + 2, reason);
        }
        let (length, got) = match rest.chars().next() {
            None => (0, "the end".to_owned()),
            Some(letter) => (letter.len_utf8(), E::quoted(rest)),
        };
        E::in_text(self.text, start..start + length, format!("expected {expected}, got {got}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Refused(Range<usize>, String);

    impl TextError for Refused {
        fn in_text(_: &str, range: Range<usize>, reason: String) -> Self {
            Self(range, reason)
        }

        fn quoted(rest: &str) -> String {
            rest[..1].to_owned()
        }
    }

    fn cursor(text: &str) -> Cursor<'_, Refused> {
        Cursor::new(text)
    }

    #[test]
    fn blanks_and_comments_come_between_signs() {
        for text in ["a b", " a/**/b ", "a /* ä */ // b\n\tb//", "a/*/*/b"] {
            let mut cursor = cursor(text);
            assert!(cursor.eat("a") && !cursor.eat("c") && cursor.sees("b"), "{text}");
            assert!(cursor.eat("b") && cursor.is_at_end(), "{text}");
            assert_eq!(cursor.end(), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_comment_without_an_end_is_an_error() {
        for text in ["a /* b", "a /*/ b", "a // c\n/* b"] {
            let mut cursor = cursor(text);
            cursor.expect("a").unwrap();
            let start = text.find("/*").unwrap();
            let expected =
                Refused(start..start + 2, "the comment does not end; `*/` ends it".into());
            assert!(!cursor.is_at_end());
            assert_eq!(cursor.clone().skip_whole_blanks(), Err(expected.clone()));
            assert_eq!(cursor.expect("b"), Err(expected.clone()));
            assert_eq!(cursor.end(), Err(expected));
        }
    }

    #[test]
    fn words_and_digits_have_ranges() {
        let mut cursor = cursor(" ab -12-");
        assert_eq!(cursor.word(char::is_alphabetic), ("ab", 1..3));
        assert_eq!(cursor.word(char::is_alphabetic), ("", 4..4));
        assert_eq!(cursor.digits(), Some(4..7));
        assert_eq!((cursor.digits(), cursor.position()), (None, 7));
        assert_eq!(cursor.part(4..7).rest(), "-12");
    }

    #[test]
    fn a_list_ends_where_its_bracket_closes() {
        for (text, expected) in [
            ("]", Ok(0)),
            (" 1 , 2,3 ]", Ok(3)),
            ("1 2]", Err("expected `,` or `]`, got 2")),
            ("1,]", Err("expected a number, got ]")),
            ("1", Err("expected `,` or `]`, got the end")),
        ] {
            let mut items = 0;
            let read = cursor(text).list("]", |cursor| {
                items += 1;
                cursor.digits().map(drop).ok_or_else(|| cursor.unexpected("a number"))
            });
            assert_eq!(
                read.map(|()| items).map_err(|error| error.1),
                expected.map_err(str::to_owned)
            );
        }
    }
}
