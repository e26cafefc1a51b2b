//! Reads pieces from the front of a text; blanks and comments lie between them.

use crate::{shape::excerpt, sharding::ShardingError};

type Result<T> = std::result::Result<T, ShardingError>;

/// Characters that an error quotes.
const MAX_QUOTED: usize = 20;

pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// What is left, from the next piece on.
    pub(super) fn rest(&mut self) -> &'a str {
        loop {
            let rest = &self.text[self.at..];
            let blanks = rest.len() - rest.trim_start().len();
            let comment = match rest[blanks..].strip_prefix("/*").and_then(|text| text.find("*/")) {
                Some(length) => length + 4,
                None => 0,
            };
            if blanks + comment == 0 {
                return rest;
            }
            self.at += blanks + comment;
        }
    }

    /// The byte of the next piece.
    pub(super) fn place(&mut self) -> usize {
        self.rest();
        self.at
    }

    pub(super) fn unexpected(&mut self, expected: &str) -> ShardingError {
        let rest = self.rest();
        let given = match excerpt(rest, MAX_QUOTED) {
            text if text.is_empty() => "the end".to_owned(),
            text => format!("`{text}`"),
        };
        let reason = format!("expected {expected}, got {given}");
        ShardingError::Syntax { offset: self.at, reason }
    }

    /// Whether `piece` stands next.
    pub(super) fn sees(&mut self, piece: &str) -> bool {
        self.rest().starts_with(piece)
    }

    /// Reads `piece` where it stands next.
    pub(super) fn eat(&mut self, piece: &str) -> bool {
        let there = self.sees(piece);
        if there {
            self.at += piece.len();
        }
        there
    }

    pub(super) fn expect(&mut self, piece: &str) -> Result<()> {
        if self.eat(piece) { Ok(()) } else { Err(self.unexpected(&format!("`{piece}`"))) }
    }

    pub(super) fn end(&mut self) -> Result<()> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.unexpected("the end")) }
    }

    /// Letters and underscores; empty where none stand next.
    pub(super) fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
        let word = &rest[..rest.bytes().take_while(letter).count()];
        self.at += word.len();
        word
    }

    /// The word that stands next, which is read only by [`Cursor::word`].
    pub(super) fn peek_word(&mut self) -> &'a str {
        let at = self.place();
        let word = self.word();
        self.at = at;
        word
    }

    pub(super) fn number(&mut self) -> Result<i64> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
        let number = rest[..sign + digits].parse();
        if digits == 0 {
            return Err(self.unexpected("a number"));
        }
        let number = number.map_err(|_| self.unexpected("a number from -2^63 to 2^63-1"))?;
        self.at += sign + digits;
        Ok(number)
    }

    /// Numbers with commas between them, none where `close` stands next; `close` is read too.
    pub(super) fn numbers(&mut self, close: &str) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        self.list(close, |cursor| {
            numbers.push(cursor.number()?);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// Items with commas between them, none where `close` stands next; `close` is read too.
    pub(super) fn list(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
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

    /// A name in single or double quotes.
    pub(super) fn name(&mut self) -> Result<String> {
        let rest = self.rest();
        let quote = rest.chars().next().filter(|quote| ['\'', '"'].contains(quote));
        let Some(quote) = quote else {
            return Err(self.unexpected("a name in quotes"));
        };
        let Some(length) = rest[1..].find(quote) else {
            return Err(self.unexpected(&format!("a name that ends in {quote}")));
        };
        self.at += length + 2;
        Ok(rest[1..=length].to_owned())
    }

    /// Skips what stands up to the brace that closes one already read; braces in strings are none.
    pub(super) fn skip_braces(&mut self) -> Result<()> {
        let (mut depth, mut quoted, mut escaped) = (1, false, false);
        for (at, byte) in self.text.bytes().enumerate().skip(self.at) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' if !quoted => depth += 1,
                b'}' if !quoted => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.at = at + 1;
                return Ok(());
            }
        }
        self.at = self.text.len();
        Err(self.unexpected("`}`"))
    }
}
