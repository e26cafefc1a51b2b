//! The state of the parser: the next token, and the positions of the fields in the text.

use std::ops::Range;

use super::{
    ParseError,
    lexer::{self, ShapeCursor, Token},
};
use crate::shape::{FieldPath, MAX_INPUT_BYTES, MAX_SHAPES, ShapeError};

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// A recursive-descent parser with one token of lookahead.
pub(super) struct ShapeParser<'a> {
    cursor: ShapeCursor<'a>,
    token: Token<'a>,
    place: Range<usize>,
    /// The end of the last consumed token, as a byte offset.
    end: usize,
    /// The number of shapes around the next token. It is limited by
    /// [`MAX_DEPTH`](crate::shape::MAX_DEPTH).
    pub(super) depth: usize,
    /// The number of shapes whose parsing has begun.
    shapes: usize,
}

impl<'a> ShapeParser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self> {
        let mut cursor = ShapeCursor::limited(text, MAX_INPUT_BYTES)?;
        let (token, place) = lexer::next(&mut cursor)?;
        Ok(Self { cursor, token, place, end: 0, depth: 0, shapes: 0 })
    }

    /// Parses all of `text` with `read`. Returns an error if `read` does not consume the whole
    /// text.
    pub(super) fn whole<T>(text: &'a str, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mut parser = Self::new(text)?;
        let value = read(&mut parser)?;
        match parser.token {
            Token::End => Ok(value),
            _ => Err(parser.unexpected("the end")),
        }
    }

    pub(super) fn token(&self) -> Token<'a> {
        self.token
    }

    pub(super) fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// Returns the byte range from `start` to the end of the last consumed token.
    pub(super) fn since(&self, start: usize) -> Range<usize> {
        start..self.end.max(start)
    }

    pub(super) fn unexpected(&self, expected: &str) -> ParseError {
        ParseError::new(self.place(), format!("expected {expected}, got {}", self.token))
    }

    pub(super) fn advance(&mut self) -> Result<Range<usize>> {
        let place = self.place();
        self.end = place.end;
        (self.token, self.place) = lexer::next(&mut self.cursor)?;
        Ok(place)
    }

    /// Consumes the next token if it is `sign`, and returns true if it was.
    pub(super) fn eat(&mut self, sign: &str) -> Result<bool> {
        let there = self.token == Token::Sign(sign);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<Range<usize>> {
        match self.token {
            Token::Sign(there) if there == sign => self.advance(),
            _ => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        match self.token {
            Token::Word(there) if there == word => self.advance().map(drop),
            _ => Err(self.unexpected(&format!("`{word}`"))),
        }
    }

    pub(super) fn number(&mut self) -> Result<(i64, Range<usize>)> {
        match self.token {
            Token::Number(number) => Ok((number, self.advance()?)),
            _ => Err(self.unexpected("a number")),
        }
    }

    /// Consumes a natural number that is at least `least`. The error names `field` and the range
    /// `least` to `greatest`. `greatest` is only used for the error, and is not checked here.
    pub(super) fn natural(
        &mut self,
        field: impl FnOnce() -> FieldPath,
        least: i64,
        greatest: i64,
    ) -> Result<(u64, Range<usize>)> {
        let (given, place) = self.number()?;
        match u64::try_from(given) {
            Ok(number) if given >= least => Ok((number, place)),
            _ => {
                let error =
                    ShapeError::Range { field: field(), given: given.into(), least, greatest };
                Err(ParseError::invalid(place, error))
            }
        }
    }

    /// Parses a comma-separated list of items, through the bracket `close`. The list may be empty.
    pub(super) fn list(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        if self.eat(close)? {
            return Ok(());
        }
        for i in 0.. {
            item(self, i)?;
            if self.eat(close)? {
                break;
            }
            if !self.eat(",")? {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
        }
        Ok(())
    }

    /// Counts the shape that begins at the next token. Returns an error if there are too many
    /// shapes.
    pub(super) fn begin_shape(&mut self) -> Result<()> {
        self.shapes += 1;
        if self.shapes > MAX_SHAPES {
            let reason = format!("expected at most {MAX_SHAPES} shapes, got more");
            return Err(ParseError::new(self.place(), reason));
        }
        Ok(())
    }
}

/// The position of each field in the text, so that an error about a value can point at the text of
/// the value.
#[derive(Default)]
pub(super) struct FieldPlaces(Vec<(FieldPath, Range<usize>)>);

impl FieldPlaces {
    pub(super) fn add(&mut self, field: FieldPath, place: Range<usize>) {
        self.0.push((field, place));
    }

    /// Returns the position of `field`, or `None` if the text does not contain it.
    pub(super) fn place(&self, field: &FieldPath) -> Option<Range<usize>> {
        self.0.iter().find(|(known, _)| known == field).map(|(_, place)| place.clone())
    }

    /// Adds a position to `error`: that of its field, or of the innermost enclosing field in the
    /// text. If there is none, the position is `whole`.
    pub(super) fn locate(&self, error: ShapeError, whole: Range<usize>) -> ParseError {
        let mut field = error.field().cloned();
        while let Some(path) = field {
            if let Some(place) = self.place(&path) {
                return ParseError::invalid(place, error);
            }
            field = path.parent();
        }
        ParseError::invalid(whole, error)
    }
}
