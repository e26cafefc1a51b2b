//! [`Cursor`]: a text, read from the front a word, a number or a sign at a time.

use std::ops::Range;

use crate::shape::{ParseError, excerpt};

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// The longest text that is read, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 20;

/// Characters of a text that messages show.
const MAX_PRINTED: usize = 40;

/// A text and the position up to which it was read.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Cursor<'a> {
    /// Reads `text` from byte `start` on; places count from the start of the text.
    pub(super) fn new(text: &'a str, start: usize) -> Result<Self> {
        if text.len() > MAX_TEXT_BYTES {
            let reason = format!("expected at most {MAX_TEXT_BYTES} bytes, got {}", text.len());
            return Err(ParseError::new(0..0, reason));
        }
        Ok(Self { text, position: start })
    }

    /// Where the next character stands, as bytes of the text.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// What was not read yet.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    /// The text between two positions.
    pub(super) fn text(&self, place: Range<usize>) -> &'a str {
        &self.text[place]
    }

    /// The next character.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The place of the next character; empty at the end.
    pub(super) fn place(&self) -> Range<usize> {
        self.position..self.position + self.peek().map_or(0, char::len_utf8)
    }

    pub(super) fn skip_blanks(&mut self) {
        self.position += self.rest().len() - self.rest().trim_ascii_start().len();
    }

    /// Goes on behind the next character.
    pub(super) fn skip(&mut self) {
        self.position = self.place().end;
    }

    /// Reads `sign` where it stands next, blanks before it left out.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let start = self.rest().trim_ascii_start();
        let there = start.starts_with(sign);
        if there {
            self.position = self.text.len() - start.len() + sign.len();
        }
        there
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<()> {
        if self.eat(sign) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{sign}`")))
    }

    /// Characters that `is_part` accepts, from the next that is no blank on; none where that is another.
    pub(super) fn word(&mut self, is_part: impl Fn(char) -> bool) -> (&'a str, Range<usize>) {
        self.skip_blanks();
        let rest = self.rest();
        let len = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let place = self.position..self.position + len;
        self.position = place.end;
        (&rest[..len], place)
    }

    /// A decimal number with an optional minus that an int64 holds.
    pub(super) fn number(&mut self) -> Result<(i64, Range<usize>)> {
        self.skip_blanks();
        let digits = self.rest().strip_prefix('-').unwrap_or(self.rest());
        if !digits.starts_with(|digit: char| digit.is_ascii_digit()) {
            return Err(self.unexpected("a number"));
        }
        let start = self.position;
        self.position = self.text.len() - digits.len();
        self.word(|letter| letter.is_ascii_digit());
        let place = start..self.position;
        let number = self.text(place.clone()).parse().map_err(|_| {
            let reason =
                "expected a number from -2^63 to 2^63-1, got one that an int64 does not hold";
            ParseError::new(place.clone(), reason)
        })?;
        Ok((number, place))
    }

    /// A number that is not below `least`.
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

    /// What `read` reads between commas, up to `close`: at most `most` of what `name` names.
    pub(super) fn list<T>(
        &mut self,
        close: &str,
        most: usize,
        name: &str,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut list = Vec::new();
        while !self.eat(close) {
            if !list.is_empty() && !self.eat(",") {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
            if list.len() == most {
                let reason = format!("expected at most {most} {name}, got more");
                return Err(ParseError::new(self.place(), reason));
            }
            list.push(read(self)?);
        }
        Ok(list)
    }

    /// Refuses text after what was read.
    pub(super) fn end(&mut self) -> Result<()> {
        self.skip_blanks();
        if self.rest().is_empty() { Ok(()) } else { Err(self.unexpected("the end")) }
    }

    /// The error that something else stands next.
    pub(super) fn unexpected(&mut self, expected: &str) -> ParseError {
        self.skip_blanks();
        let got = match self.peek() {
            None => "the end".to_owned(),
            Some(letter) => format!("{letter:?}"),
        };
        ParseError::new(self.place(), format!("expected {expected}, got {got}"))
    }

    /// The error that the text at `place` is something else.
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
            let read = Cursor::new(text, 0).unwrap().number();
            assert_eq!(read.map_err(|error| (error.offset(), error.len())), expected, "{text}");
        }
        assert!(Cursor::new("-1", 0).unwrap().natural(0).is_err());
    }

    #[test]
    fn a_list_ends_where_its_bracket_closes() {
        let list = |text| {
            let mut cursor = Cursor::new(text, 0).unwrap();
            cursor.list("]", 3, "numbers", |cursor| Ok(cursor.number()?.0))
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
    fn what_is_wrong_is_shown_shortly() {
        let text = "ä".repeat(100);
        let cursor = Cursor::new(&text, 0).unwrap();
        assert!(cursor.wrong(0..200, "b").reason().len() < 120);
        assert!(Cursor::new(&" ".repeat(MAX_TEXT_BYTES + 1), 0).is_err());
    }
}
