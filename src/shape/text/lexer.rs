//! Splits the notation into words, numbers and signs; blanks and comments lie between them.

use std::{fmt, ops::Range};

use super::ParseError;
use crate::shape::excerpt;

/// Characters of a word that messages show.
const MAX_PRINTED: usize = 40;

/// One piece of the notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A letter, then letters and digits.
    Word(&'a str),
    /// A decimal number with an optional minus; it fits an int64.
    Number(i64),
    /// One character, or `<=`.
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

/// Reads tokens from the front of a text.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

const SIGNS: &str = "[](){}<>,:*?#+~";

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// The next token and the bytes that it takes.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, Range<usize>), ParseError> {
        self.skip_blanks()?;
        let start = self.position;
        let rest = &self.text[start..];
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, start..start));
        };
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let len = match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
            }
            '0'..='9' => digits(rest),
            '-' if digits(&rest[1..]) > 0 => 1 + digits(&rest[1..]),
            '<' if rest.starts_with("<=") => 2,
            sign if SIGNS.contains(sign) => 1,
            other => {
                let place = start..start + other.len_utf8();
                let reason = format!("expected letters, digits and {SIGNS}, got {other:?}");
                return Err(ParseError::new(place, reason));
            }
        };
        self.position += len;
        let (place, text) = (start..self.position, &rest[..len]);
        let token = match first {
            '0'..='9' | '-' => Token::Number(text.parse().map_err(|_| {
                let reason =
                    "expected a number from -2^63 to 2^63-1, got one that an int64 does not hold";
                ParseError::new(place.clone(), reason)
            })?),
            letter if letter.is_ascii_alphabetic() || letter == '_' => Token::Word(text),
            _ => Token::Sign(text),
        };
        Ok((token, place))
    }

    fn skip_blanks(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = &self.text[self.position..];
            let skipped = if rest.starts_with("/*") {
                let end = rest.find("*/").ok_or_else(|| {
                    let place = self.position..self.position + 2;
                    ParseError::new(place, "the comment does not end; `*/` ends it")
                })?;
                end + 2
            } else if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else {
                rest.bytes().take_while(u8::is_ascii_whitespace).count()
            };
            if skipped == 0 {
                return Ok(());
            }
            self.position += skipped;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| match lexer.next() {
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
    fn what_is_no_token_is_pointed_at() {
        for (text, offset, len) in
            [("f32[é]", 4, 2), ("f32 /* 1", 4, 2), ("[9223372036854775808]", 1, 19), ("T(-)", 2, 1)]
        {
            let error = tokens(text).unwrap_err();
            assert_eq!((error.offset(), error.len()), (offset, len), "{text}: {error}");
        }
        assert_eq!(tokens("-9223372036854775808"), Ok(vec![Token::Number(i64::MIN)]));
    }
}
