//! Parses the values of attributes. Versions of MLIR print some of them in different forms, and all
//! forms are accepted.

use super::{
    cursor::{TextRange, decoded, find_entry},
    parse::MlirParser,
    syntax::MlirOperation,
};
use crate::{
    hlo::{HloError, text::cursor::Cursor},
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

impl<'a> MlirParser<'a> {
    /// Finds an attribute of an operation, and returns the range of its value in the text. In the
    /// operation's own syntax, the attribute is a field with one of the names `fields`. In the
    /// generic form, it is the entry `name` of a dictionary. If the value is an alias, returns the
    /// range of the attribute that the alias names. Returns `None` if there is no such attribute.
    pub(super) fn attribute(
        &self,
        operation: &MlirOperation<'a>,
        name: &str,
        fields: &[&str],
    ) -> Option<TextRange> {
        let field = operation.fields.iter().find(|(field, _)| fields.contains(field));
        let range = if let Some((_, range)) = field {
            range.clone()
        } else {
            let mut dictionaries = operation.dictionaries.iter();
            dictionaries.find_map(|range| find_entry(&self.cursor, range, name))?
        };
        Some(self.resolved(range))
    }

    /// Finds an attribute as [`Self::attribute`] does. Returns an error if there is none.
    pub(super) fn required(
        &self,
        operation: &MlirOperation<'a>,
        name: &str,
        fields: &[&str],
    ) -> Result<TextRange> {
        self.attribute(operation, name, fields).ok_or_else(|| {
            let reason = format!("expected an attribute `{name}` of {}", operation.name);
            self.cursor.error(operation.start, reason)
        })
    }

    /// Follows an alias: if the text at `range` is the name of an alias, returns the range of the
    /// attribute that it names. Otherwise returns `range`.
    pub(super) fn resolved(&self, range: TextRange) -> TextRange {
        let name = self.cursor.text(range.clone()).trim().strip_prefix('#');
        name.and_then(|name| self.aliases.get(name)).cloned().unwrap_or(range)
    }

    /// Parses a list of integers in any of its three forms: `[1, 0]`, `array<i64: 1, 0>` or
    /// `dense<[1, 0]> : tensor<2xi64>`.
    pub(super) fn integers(&mut self, range: TextRange) -> Result<Vec<i64>> {
        let mut cursor = self.cursor.part(range.clone());
        let mut integers = Vec::new();
        if cursor.sees("dense") {
            return self.integer_constant(range);
        }
        let close = if cursor.eat("array<") {
            if !cursor.eat_keyword("i64") {
                return Err(cursor.unexpected("`i64`"));
            }
            if !cursor.eat(":") {
                cursor.expect(">")?;
                return Ok(integers);
            }
            ">"
        } else {
            cursor.expect("[")?;
            "]"
        };
        cursor.list(close, |cursor| {
            integers.push(integer(cursor)?);
            if cursor.eat(":") {
                cursor.type_text()?;
            }
            Ok(())
        })?;
        cursor.end()?;
        Ok(integers)
    }

    /// Parses an integer, such as `1` in `1 : i64`. Its type is ignored.
    pub(super) fn integer(&self, range: TextRange) -> Result<i64> {
        integer(&mut self.cursor.part(range))
    }

    /// Returns the name of a value of an enum, such as `LT`. The text either contains only the
    /// name, or has a form such as `#stablehlo<comparison_direction LT>`.
    pub(super) fn enum_case(&self, range: TextRange) -> &'a str {
        let text = self.cursor.text(range).trim_matches(['>', '"', ' ']);
        text.rsplit([' ', '<', '"']).next().unwrap_or(text)
    }

    /// Parses a quoted string, and returns its contents with escapes decoded.
    pub(super) fn decoded_string(&self, range: TextRange) -> Result<String> {
        let range = self.cursor.part(range).string()?;
        Ok(decoded(self.cursor.text(range)))
    }

    /// Parses a reference to a function, such as `@f`, and returns the name `f`.
    pub(super) fn symbol_name(&self, range: TextRange) -> Result<String> {
        self.cursor.part(range).symbol()
    }

    /// Parses a list of references to functions, such as `[@f, @g]`, and returns the names.
    pub(super) fn symbol_names(&self, range: TextRange) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut cursor = self.cursor.part(range);
        cursor.expect("[")?;
        cursor.list("]", |cursor| {
            names.push(cursor.symbol()?);
            Ok(())
        })?;
        Ok(names)
    }

    /// Parses a structured attribute, such as `#stablehlo.gather<offset_dims = [1], …>`. Returns
    /// the name of each field with the range of its value.
    pub(super) fn structure(&self, range: TextRange) -> Result<Vec<(&'a str, TextRange)>> {
        let mut cursor = self.cursor.part(range);
        let mut fields = Vec::new();
        if cursor.eat("#") {
            cursor.keyword();
        }
        cursor.expect("<")?;
        cursor.entries(">", |name, range| {
            fields.push((name, range));
            Ok(())
        })?;
        Ok(fields)
    }
}

/// Parses an integer in decimal digits.
pub(super) fn integer(cursor: &mut Cursor<'_>) -> Result<i64> {
    let start = cursor.start()?;
    let Some(range) = cursor.digits() else {
        return Err(cursor.unexpected("an integer"));
    };
    let text = cursor.text(range);
    text.parse().map_err(|_| {
        let given = excerpt(text, 40);
        cursor.error(start, format!("expected an integer of 64 bits, got `{given}`"))
    })
}
