//! The lexer, which splits XLA's notation into words, numbers and signs.

use std::{fmt, ops::Range};

use super::ParseError;
use crate::text::{Cursor, excerpt};

/// The maximum number of characters of a word that an error message quotes.
const MAX_PRINTED: usize = 40;

/// A token of XLA's notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A letter or `_`, followed by letters, digits and `_`.
    Word(&'a str),
    /// A decimal number with an optional minus sign, which fits an int64.
    Number(i64),
    /// A sign of a single character, or `<=`.
    Sign(&'a str),
    /// The end of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Sign(text) => write!(f, "`{}`", excerpt(text, MAX_PRINTED)),
            Self::Number(number) => write!(f, "`{number}`"),
            Self::End => f.write_str("the end"),
        }
    }
}

const SIGNS: &str = "[](){}<>,:*?#+~";

/// A cursor over a text in XLA's notation, or in any other notation of
/// [`notation`](crate::notation).
pub(crate) type ShapeCursor<'a> = Cursor<'a, ParseError>;

impl ShapeCursor<'_> {
    /// Reads a decimal number with an optional minus sign, which must fit an int64.
    pub(crate) fn number(&mut self) -> Result<(i64, Range<usize>), ParseError> {
        let place = self.digits().ok_or_else(|| self.unexpected("a number"))?;
        let number = self.text(place.clone()).parse().map_err(|_| {
            let reason =
                "expected a number from -2^63 to 2^63-1, got one that an int64 does not hold";
            ParseError::new(place.clone(), reason)
        })?;
        Ok((number, place))
    }
}

/// Consumes the next token, and returns it with its byte range.
pub(super) fn next<'a>(
    cursor: &mut ShapeCursor<'a>,
) -> Result<(Token<'a>, Range<usize>), ParseError> {
    cursor.skip_whole_blanks()?;
    let start = cursor.position();
    let rest = cursor.rest();
    let Some(first) = rest.chars().next() else {
        return Ok((Token::End, start..start));
    };
    let is_number =
        rest.strip_prefix('-').unwrap_or(rest).starts_with(|digit: char| digit.is_ascii_digit());
    let length = match first {
        'a'..='z' | 'A'..='Z' | '_' => {
            let (word, place) =
                cursor.word(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            return Ok((Token::Word(word), place));
        }
        '0'..='9' | '-' if is_number => {
            let (number, place) = cursor.number()?;
            return Ok((Token::Number(number), place));
        }
        '<' if rest.starts_with("<=") => 2,
        sign if SIGNS.contains(sign) => 1,
        other => {
            let place = start..start + other.len_utf8();
            let reason = format!("expected letters, digits and {SIGNS}, got {other:?}");
            return Err(ParseError::new(place, reason));
        }
    };
    cursor.set_position(start + length);
    Ok((Token::Sign(&rest[..length]), start..start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
        let mut cursor = Cursor::new(text);
        std::iter::from_fn(|| match next(&mut cursor) {
            Ok((Token::End, _)) => None,
            token => Some(token.map(|(token, _)| token)),
        })
        .collect()
    }

    #[test]
    fn blanks_and_comments_lie_between_tokens() {
        use Token::{Number, Sign, Word};
        let expected = [Word("f32"), Sign("["), Sign("<="), Number(23), Sign("]")];
        assert_eq!(tokens("f32[<=23]"), Ok(expected.to_vec()));
        assert_eq!(tokens(" f32 /*index=5*/ [\t<= // bound\n23\n]"), Ok(expected.to_vec()));
    }

    #[test]
    fn the_error_points_at_what_is_no_token() {
        for (text, offset, len) in
            [("f32[é]", 4, 2), ("f32 /* 1", 4, 2), ("[9223372036854775808]", 1, 19), ("T(-)", 2, 1)]
        {
            let error = tokens(text).unwrap_err();
            assert_eq!((error.offset(), error.len()), (offset, len), "{text}: {error}");
        }
        assert_eq!(tokens("-9223372036854775808"), Ok(vec![Token::Number(i64::MIN)]));
    }
}
