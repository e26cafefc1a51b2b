//! [`Cursor`]: reads the texts of all notations, and keeps positions for error messages.

use std::ops::Range;

use crate::{
    shape::{ParseError, ShapeCursor},
    text::excerpt,
};

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// The maximum length of a text, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 20;

/// The maximum number of characters of the text that an error message quotes.
const MAX_PRINTED: usize = 40;

pub(super) type Cursor<'a> = ShapeCursor<'a>;

impl<'a> ShapeCursor<'a> {
    /// Creates a cursor that begins at byte `start` of `text`. Positions are counted from the start
    /// of `text`. Returns an error if `text` is too long.
    pub(super) fn starting_at(text: &'a str, start: usize) -> Result<Self> {
        let mut cursor = Self::limited(text, MAX_TEXT_BYTES)?;
        cursor.set_position(start);
        Ok(cursor)
    }

    /// Returns the next character without consuming it. It may be a blank.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Returns the byte range of the next character. The range is empty at the end of the text.
    pub(super) fn place(&self) -> Range<usize> {
        let start = self.position();
        start..start + self.peek().map_or(0, char::len_utf8)
    }

    /// Skips one character.
    pub(super) fn skip(&mut self) {
        self.set_position(self.place().end);
    }

    /// Parses a number that is at least `least`, and returns it with its byte range.
    pub(super) fn natural(&mut self, least: u64) -> Result<(u64, Range<usize>)> {
        let (given, place) = self.number()?;
        match u64::try_from(given) {
            Ok(number) if number >= least => Ok((number, place)),
            _ => {
                let reason = format!("expected a number from {least} on, got {given}");
                Err(ParseError::new(place, reason))
            }
        }
    }

    /// Parses a comma-separated list of at most `most` items, through the bracket `close`. `name`
    /// is the plural noun for the items in errors.
    pub(super) fn limited_list<T>(
        &mut self,
        close: &str,
        most: usize,
        name: &str,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        self.list(close, |cursor| {
            if items.len() == most {
                let reason = format!("expected at most {most} {name}, got more");
                return Err(ParseError::new(cursor.place(), reason));
            }
            items.push(read(cursor)?);
            Ok(())
        })?;
        Ok(items)
    }

    /// Returns the error that the text at `place` was found instead of `expected`.
    pub(super) fn wrong(&self, place: Range<usize>, expected: &str) -> ParseError {
        let got = excerpt(self.text(place.clone()), MAX_PRINTED).into_owned();
        ParseError::new(place, format!("expected {expected}, got {got:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_an_int64() {
        for (text, expected) in [
            ("-9223372036854775808", Ok((i64::MIN, 0..20))),
            (" 12x", Ok((12, 1..3))),
            ("9223372036854775808", Err((0, 19))),
            ("-x", Err((0, 1))),
            ("", Err((0, 0))),
        ] {
            let read = Cursor::starting_at(text, 0).unwrap().number();
            assert_eq!(read.map_err(|error| (error.offset(), error.len())), expected, "{text}");
        }
        assert!(Cursor::starting_at("-1", 0).unwrap().natural(0).is_err());
    }

    #[test]
    fn a_list_ends_where_its_bracket_closes() {
        let list = |text| {
            let mut cursor = Cursor::starting_at(text, 0).unwrap();
            cursor.limited_list("]", 3, "numbers", |cursor| Ok(cursor.number()?.0))
        };
        for (text, expected) in [
            ("]", Ok(vec![])),
            (" 1 , 2,3 ]", Ok(vec![1, 2, 3])),
            ("1 2]", Err("expected `,` or `]`, got '2'")),
            ("1,]", Err("expected a number, got ']'")),
            ("1,2,3,4]", Err("expected at most 3 numbers, got more")),
            ("1", Err("expected `,` or `]`, got the end")),
        ] {
            let given = list(text);
            assert_eq!(
                given.as_ref().map_err(ParseError::reason),
                expected.as_ref().map_err(|&e| e)
            );
        }
    }

    #[test]
    fn a_long_text_is_cut_in_messages() {
        let text = "ä".repeat(100);
        let cursor = Cursor::starting_at(&text, 0).unwrap();
        assert!(cursor.wrong(0..200, "b").reason().len() < 120);
        assert!(Cursor::starting_at(&" ".repeat(MAX_TEXT_BYTES + 1), 0).is_err());
    }
}
