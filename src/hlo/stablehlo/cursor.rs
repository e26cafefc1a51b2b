//! Parses the tokens of MLIR, such as `%0`, `@main` and `dense<1>`. The methods extend the
//! [`Cursor`] of HLO text, because both texts have the same blanks, comments and errors.

use std::ops::Range;

use crate::{
    hlo::{
        HloError,
        text::cursor::{Cursor, is_word},
    },
    text::{self, excerpt},
};

type Result<T> = std::result::Result<T, HloError>;

/// A range of bytes in the text of the module. The syntax tree has ranges instead of parsed
/// attributes, because most attributes are never needed.
pub(super) type TextRange = Range<usize>;

impl<'a> text::Cursor<'a, HloError> {
    /// Returns the error for a construct that is valid MLIR, but that stridec does not support.
    pub(super) fn not_supported(&self, position: usize, reason: impl Into<String>) -> HloError {
        match self.error(position, reason) {
            HloError::Text { line, column, reason } => {
                HloError::NotSupported { line, column, reason }
            }
            error => error,
        }
    }

    /// Consumes a keyword, or the name of an operation or an attribute, such as `public` or
    /// `stablehlo.add`. Returns an empty text if there is none.
    pub(super) fn keyword(&mut self) -> &'a str {
        self.skip_blanks();
        if !self.rest().starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
            return "";
        }
        self.word(|letter| letter.is_ascii_alphanumeric() || "_.$".contains(letter)).0
    }

    /// Consumes `keyword` if it is the next whole word of the text. Returns true if it was
    /// consumed.
    pub(super) fn eat_keyword(&mut self, keyword: &str) -> bool {
        let start = self.position();
        let found = self.keyword() == keyword;
        if !found {
            self.set_position(start);
        }
        found
    }

    /// Parses the name after the sign of a value, block, alias or symbol, such as `0` in `%0`. The
    /// caller has already consumed the sign. `expected` describes the name in the error if there is
    /// none.
    pub(super) fn suffix(&mut self, expected: &str) -> Result<&'a str> {
        let rest = self.rest();
        let is_part = |letter: char| is_word(letter) || letter == '$';
        let length = rest.len() - rest.trim_start_matches(is_part).len();
        let length = rest[..length].find("->").unwrap_or(length);
        if length == 0 {
            return Err(self.unexpected(expected));
        }
        self.set_position(self.position() + length);
        Ok(&rest[..length])
    }

    /// Parses a symbol, which refers to a function or a mesh, such as `@main` or `@"<lambda>"`.
    /// Returns its name, decoded and without the `@`.
    pub(super) fn symbol(&mut self) -> Result<String> {
        self.expect("@")?;
        if self.rest().starts_with('"') {
            let range = self.string()?;
            return Ok(decoded(self.text(range)));
        }
        Ok(self.suffix("the name of a symbol")?.to_owned())
    }

    /// Consumes a string in double quotes, and returns its range with the quotes.
    pub(super) fn string(&mut self) -> Result<TextRange> {
        let start = self.start()?;
        let bytes = self.rest().as_bytes();
        if bytes.first() != Some(&b'"') {
            return Err(self.unexpected("a string"));
        }
        let mut at = 1;
        loop {
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') if bytes.get(at + 1).is_some_and(|&byte| byte != b'\n') => at += 2,
                None | Some(b'\n' | b'\\') => {
                    return Err(self.error(start, "expected `\"` at the end of the string"));
                }
                Some(_) => at += 1,
            }
        }
        let range = start..start + at + 1;
        // The byte after a backslash was skipped. It may be the first of several bytes of a
        // character, and the end of the range must not be inside this character.
        if !self.rest().is_char_boundary(at + 1) {
            return Err(self.error(start, "expected `\"` at the end of the string"));
        }
        self.set_position(range.end);
        Ok(range)
    }

    /// Consumes the text from an opening bracket, one of `([{<`, through the matching closing
    /// bracket, and returns its range with the brackets. Brackets inside strings and comments and
    /// in arrows `->` are ignored.
    pub(super) fn group(&mut self) -> Result<TextRange> {
        let start = self.start()?;
        let whole = self.rest();
        if !whole.starts_with(['(', '[', '{', '<']) {
            return Err(self.unexpected("a bracket"));
        }
        let mut open: Vec<(u8, usize)> = Vec::new();
        let mut at = 0;
        while let Some(&byte) = whole.as_bytes().get(at) {
            let closing = match byte {
                b'"' => {
                    self.set_position(start + at);
                    at = self.string()?.end - start;
                    continue;
                }
                b'/' if whole[at..].starts_with("//") => {
                    at += whole[at..].find('\n').unwrap_or(whole.len() - at);
                    continue;
                }
                b'-' if whole[at..].starts_with("->") => {
                    at += 2;
                    continue;
                }
                b'(' => b')',
                b'[' => b']',
                b'{' => b'}',
                b'<' => b'>',
                b')' | b']' | b'}' | b'>' => {
                    let (expected, _) = open.pop().unwrap_or_default();
                    if byte != expected {
                        let (expected, given) = (char::from(expected), char::from(byte));
                        let reason = format!("expected `{expected}`, got `{given}`");
                        return Err(self.error(start + at, reason));
                    }
                    at += 1;
                    if open.is_empty() {
                        self.set_position(start + at);
                        return Ok(start..start + at);
                    }
                    continue;
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            open.push((closing, start + at));
            at += 1;
        }
        let (closing, position) = open.pop().unwrap_or((b'>', start));
        Err(self.error(position, format!("expected `{}` after this", char::from(closing))))
    }

    /// Consumes the value of an attribute without its type, and returns its range. Values have many
    /// forms. Examples are `1`, `[0, 1]`, `@f`, `array<i64: 1>`, `loc("x")`, the type `(i1) -> i1`,
    /// and `[1] x [0]` in the syntax of some operations.
    pub(super) fn attribute_value(&mut self) -> Result<TextRange> {
        let start = self.start()?;
        if self.rest().starts_with('"') {
            return self.string();
        }
        if self.rest().starts_with('(') {
            return self.type_text();
        }
        if self.rest().starts_with(['[', '{', '<']) {
            self.group()?;
            loop {
                let end = self.position();
                self.skip_blanks();
                let rest = self.rest();
                let joined = rest.strip_prefix("->").or_else(|| rest.strip_prefix('x'));
                let Some(joined) =
                    joined.map(str::trim_ascii_start).filter(|rest| rest.starts_with('['))
                else {
                    self.set_position(end);
                    return Ok(start..end);
                };
                self.set_position(end + rest.len() - joined.len());
                self.group()?;
            }
        }
        let is_part = |letter: char| is_word(letter) || "$#@!+:".contains(letter);
        let (word, range) = self.word(is_part);
        // A single colon precedes a type, which does not belong to the value. The two colons of
        // `@f::@g` do belong to it.
        let length = word.find(':').filter(|&colon| !word[colon..].starts_with("::"));
        let end = start + length.unwrap_or(word.len());
        self.set_position(end);
        if word.ends_with('@') && self.rest().starts_with('"') {
            self.string()?;
        } else if end == range.start {
            return Err(self.unexpected("an attribute"));
        }
        if self.rest().starts_with(['<', '(']) {
            self.group()?;
        }
        Ok(start..self.position())
    }

    /// Consumes the value of an attribute with its type, if it has one, such as `1 : i64`. Returns
    /// the range of both.
    pub(super) fn typed_attribute(&mut self) -> Result<TextRange> {
        let start = self.attribute_value()?.start;
        if self.sees(":") && !self.sees("::") {
            self.expect(":")?;
            self.type_text()?;
        }
        Ok(start..self.position())
    }

    /// Consumes a type without parsing it, and returns its range. Examples are `tensor<2xf32>`,
    /// `!stablehlo.token` and `(i32) -> i32`.
    pub(super) fn type_text(&mut self) -> Result<TextRange> {
        let start = self.start()?;
        if self.rest().starts_with('(') {
            self.group()?;
            if self.eat("->") {
                self.skip_blanks();
                if self.rest().starts_with('(') {
                    self.group()?;
                } else {
                    self.type_text()?;
                }
            }
            return Ok(start..self.position());
        }
        let (word, _) =
            self.word(|letter| is_word(letter) && letter != '-' || "!$".contains(letter));
        if !word.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '!') {
            return Err(self.error(start, format!("expected a type, got `{}`", excerpt(word, 40))));
        }
        if self.rest().starts_with('<') {
            self.group()?;
        }
        Ok(start..self.position())
    }

    /// Parses the entries of a dictionary or of a structured attribute, through `close`. An entry
    /// is `name`, `name = value` or `"name" = value`. Calls `entry` with each name and the range of
    /// its value, which is empty if the entry has no value.
    pub(super) fn entries(
        &mut self,
        close: &str,
        mut entry: impl FnMut(&'a str, TextRange) -> Result<()>,
    ) -> Result<()> {
        self.list(close, |cursor| {
            let name = if cursor.sees("\"") {
                let range = cursor.string()?;
                cursor.text(range.start + 1..range.end - 1)
            } else {
                match cursor.keyword() {
                    "" => return Err(cursor.unexpected("the name of an attribute")),
                    name => name,
                }
            };
            let value = if cursor.eat("=") {
                cursor.typed_attribute()?
            } else {
                cursor.position()..cursor.position()
            };
            entry(name, value)
        })
    }

    /// Consumes a dictionary, which is written in `{…}`, or in `<{…}>` if it has the properties of
    /// an operation in the generic form. The returned range begins after the opening brace and
    /// includes the closing one, as [`find_entry`] expects.
    pub(super) fn dictionary(&mut self) -> Result<TextRange> {
        let is_of_properties = self.eat("<{");
        if !is_of_properties {
            self.expect("{")?;
        }
        let start = self.position();
        self.entries("}", |_, _| Ok(()))?;
        let end = self.position();
        if is_of_properties {
            self.expect(">")?;
        }
        Ok(start..end)
    }
}

/// Returns the range of the value of the entry `name` in a dictionary, or `None` if there is no
/// such entry. `dictionary` is the result of [`Cursor::dictionary`](text::Cursor::dictionary).
pub(super) fn find_entry(
    cursor: &Cursor<'_>,
    dictionary: &TextRange,
    name: &str,
) -> Option<TextRange> {
    let mut found = None;
    let mut part = cursor.part(dictionary.clone());
    let read = part.entries("}", |entry, range| {
        if entry == name {
            found.get_or_insert(range);
        }
        Ok(())
    });
    read.ok().and(found)
}

/// Decodes a string that still has its quotes. A backslash is followed by the two hexadecimal
/// digits of a byte, by the letter of a control character such as `n`, or by a character that means
/// itself.
pub(super) fn decoded(quoted: &str) -> String {
    let mut rest = quoted.strip_prefix('"').unwrap_or(quoted);
    rest = rest.strip_suffix('"').unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut at = 0;
    let inner = rest.as_bytes();
    while let Some(&byte) = inner.get(at) {
        at += 1;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (byte, length) = match (digits, inner.get(at)) {
            (Some(byte), _) => (byte, 2),
            (None, Some(b'n')) => (b'\n', 1),
            (None, Some(b't')) => (b'\t', 1),
            (None, Some(&letter)) => (letter, 1),
            (None, None) => break,
        };
        bytes.push(byte);
        at += length;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_decoded() {
        assert_eq!(decoded(r#""a \22b\22 \C3\BC\\\n""#), "a \"b\" \u{fc}\\\n");
        for text in [r#""a"#, "\"a\n\"", r#""a\"#, "\"\\\u{fc}"] {
            assert!(Cursor::new(text).string().is_err(), "{text}");
        }
    }

    #[test]
    fn groups_end_where_their_bracket_closes() {
        for (text, length) in [("<(d0) -> (d0)> x", 14), ("{\"}\" // }\n}}", 11), ("(a<[b]>)", 8)] {
            assert_eq!(Cursor::new(text).group(), Ok(0..length), "{text}");
        }
        for text in ["(", "(]", "{<}", "<\"\n\">"] {
            assert!(Cursor::new(text).group().is_err(), "{text}");
        }
    }

    #[test]
    fn attributes_end_before_what_follows() {
        for (text, attribute, typed) in [
            ("1 : i64, 2", "1", "1 : i64"),
            ("dense<[1, 2]> : tensor<2xi64>}", "dense<[1, 2]>", "dense<[1, 2]> : tensor<2xi64>"),
            ("[1] x [0], p", "[1] x [0]", "[1] x [0]"),
            ("[b, 0]x[o, 1]->[b, 1], w", "[b, 0]x[o, 1]->[b, 1]", "[b, 0]x[o, 1]->[b, 1]"),
            ("{\"x\"} (%a: i1)", "{\"x\"}", "{\"x\"}"),
            ("@\"a b\", 1", "@\"a b\"", "@\"a b\""),
            ("@f::@g}", "@f::@g", "@f::@g"),
            ("(i1) -> (i1, i1), x", "(i1) -> (i1, i1)", "(i1) -> (i1, i1)"),
            ("loc(#loc) x", "loc(#loc)", "loc(#loc)"),
        ] {
            assert_eq!(Cursor::new(text).attribute_value(), Ok(0..attribute.len()), "{text}");
            assert_eq!(Cursor::new(text).typed_attribute(), Ok(0..typed.len()), "{text}");
        }
    }

    #[test]
    fn entries_are_found_by_name() {
        let text = "<{a = 1 : i64, b, \"c d\" = {a = 2}, a.b = [3]}>";
        let dictionary = Cursor::new(text).dictionary().unwrap();
        let cursor = Cursor::new(text);
        let find = |name| find_entry(&cursor, &dictionary, name).map(|range| &text[range]);
        assert_eq!(find("a"), Some("1 : i64"));
        assert_eq!(find("b"), Some(""));
        assert_eq!(find("c d"), Some("{a = 2}"));
        assert_eq!(find("a.b"), Some("[3]"));
        assert_eq!(find("c"), None);
    }
}
