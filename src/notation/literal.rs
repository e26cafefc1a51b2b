//! A parser for values in the syntax of Python and JSON: numbers, names, strings, lists, maps and
//! calls. Each value keeps its position in the text, for errors.
//!
//! ```text
//! value  = number | name | "'" text "'" | '"' text '"' | list | map | call
//! list   = "(" [value ("," value)* [","]] ")" | "[" … "]"
//! map    = "{" [key ":" value ("," key ":" value)*] "}"
//! call   = name "(" [argument ("," argument)* [","]] ")"
//! argument = value | name "=" value                    the value of `sharding` is skipped
//! ```

use std::ops::Range;

use super::cursor::{Cursor, Result};
use crate::shape::ParseError;

/// The maximum nesting depth of values.
const MAX_NESTED: usize = 32;

/// A value and its position in the text.
#[derive(Clone, Debug)]
pub(super) struct Value<'a> {
    pub(super) place: Range<usize>,
    pub(super) kind: ValueKind<'a>,
}

#[derive(Clone, Debug)]
pub(super) enum ValueKind<'a> {
    Number(i64),
    /// The text between quotes. Escape sequences are not replaced.
    Text(&'a str),
    /// A word without arguments, such as `None`, `null` or `torch.float32`.
    Name(&'a str),
    List(Vec<Value<'a>>),
    Map(NamedValues<'a>),
    Call(&'a str, NamedValues<'a>),
    /// The value of an argument that has no effect on the memory, so that it is not parsed.
    Skipped,
}

/// The arguments of a call, or the entries of a map.
#[derive(Clone, Debug)]
pub(super) struct NamedValues<'a> {
    pub(super) place: Range<usize>,
    fields: Vec<Field<'a>>,
}

#[derive(Clone, Debug)]
struct Field<'a> {
    /// The name with its position, or `None` for a positional argument.
    name: Option<(&'a str, Range<usize>)>,
    value: Value<'a>,
}

/// Returns true if `letter` may occur in a name such as `torch.float32`.
fn in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '.'
}

/// Parses a value of any kind.
pub(super) fn value<'a>(cursor: &mut Cursor<'a>) -> Result<Value<'a>> {
    nested(cursor, MAX_NESTED)
}

/// Parses pairs `name=value`, separated by blanks or commas, until the text ends.
pub(super) fn assignments<'a>(cursor: &mut Cursor<'a>) -> Result<NamedValues<'a>> {
    cursor.skip_blanks();
    let start = cursor.position();
    let mut fields = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.rest().is_empty() {
            return Ok(NamedValues { place: start..cursor.position(), fields });
        }
        let (name, place) = cursor.word(in_name);
        if name.is_empty() {
            return Err(cursor.unexpected("`name=value`"));
        }
        cursor.expect("=")?;
        fields.push(Field { name: Some((name, place)), value: value(cursor)? });
        cursor.eat(",");
    }
}

fn nested<'a>(cursor: &mut Cursor<'a>, depth: usize) -> Result<Value<'a>> {
    cursor.skip_blanks();
    let start = cursor.position();
    if depth == 0 {
        let reason = format!("expected at most {MAX_NESTED} values inside one another, got more");
        return Err(ParseError::new(cursor.place(), reason));
    }
    let kind = match cursor.peek() {
        Some('(') => list(cursor, ")", depth - 1)?,
        Some('[') => list(cursor, "]", depth - 1)?,
        Some('{') => map(cursor, depth - 1)?,
        Some(quote @ ('"' | '\'')) => ValueKind::Text(quoted(cursor, quote)?),
        Some('-' | '0'..='9') => ValueKind::Number(cursor.number()?.0),
        Some(letter) if in_name(letter) => {
            let (name, _) = cursor.word(in_name);
            if cursor.rest().starts_with('(') {
                ValueKind::Call(name, arguments(cursor, depth - 1)?)
            } else {
                ValueKind::Name(name)
            }
        }
        _ => return Err(cursor.unexpected("a value")),
    };
    Ok(Value { place: start..cursor.position(), kind })
}

/// Parses comma-separated items in brackets, through the bracket `close`. The cursor is before the
/// opening bracket. A comma after the last item is allowed.
fn separated<'a>(
    cursor: &mut Cursor<'a>,
    close: &str,
    mut item: impl FnMut(&mut Cursor<'a>) -> Result<()>,
) -> Result<()> {
    cursor.skip();
    while !cursor.eat(close) {
        item(cursor)?;
        if cursor.eat(close) {
            break;
        }
        if !cursor.eat(",") {
            return Err(cursor.unexpected(&format!("`,` or `{close}`")));
        }
    }
    Ok(())
}

fn list<'a>(cursor: &mut Cursor<'a>, close: &str, depth: usize) -> Result<ValueKind<'a>> {
    let mut values = Vec::new();
    separated(cursor, close, |cursor| {
        values.push(nested(cursor, depth)?);
        Ok(())
    })?;
    Ok(ValueKind::List(values))
}

fn map<'a>(cursor: &mut Cursor<'a>, depth: usize) -> Result<ValueKind<'a>> {
    let (start, mut fields) = (cursor.position(), Vec::new());
    separated(cursor, "}", |cursor| {
        let key = nested(cursor, depth)?;
        let (ValueKind::Text(name) | ValueKind::Name(name)) = key.kind else {
            return Err(cursor.wrong(key.place, "the name of a field"));
        };
        cursor.expect(":")?;
        fields.push(Field { name: Some((name, key.place)), value: nested(cursor, depth)? });
        Ok(())
    })?;
    Ok(ValueKind::Map(NamedValues { place: start..cursor.position(), fields }))
}

fn arguments<'a>(cursor: &mut Cursor<'a>, depth: usize) -> Result<NamedValues<'a>> {
    let (start, mut fields) = (cursor.position(), Vec::new());
    separated(cursor, ")", |cursor| {
        let mut ahead = cursor.clone();
        let (name, place) = ahead.word(in_name);
        let named = !name.is_empty() && ahead.eat("=");
        if named {
            *cursor = ahead;
        }
        let value =
            if named && name == "sharding" { skipped(cursor)? } else { nested(cursor, depth)? };
        fields.push(Field { name: named.then_some((name, place)), value });
        Ok(())
    })?;
    Ok(NamedValues { place: start..cursor.position(), fields })
}

fn quoted<'a>(cursor: &mut Cursor<'a>, quote: char) -> Result<&'a str> {
    let opening = cursor.place();
    cursor.skip();
    let Some(len) = cursor.rest().find(quote) else {
        return Err(ParseError::new(opening, format!("the text does not end; {quote} ends it")));
    };
    let inside = opening.end..opening.end + len;
    let text = cursor.text(inside.clone());
    (0..=text.chars().count()).for_each(|_| cursor.skip());
    Ok(text)
}

/// Skips a value up to the `,` or `)` after it. The value may have any syntax with balanced
/// brackets.
fn skipped<'a>(cursor: &mut Cursor<'a>) -> Result<Value<'a>> {
    let (start, mut depth) = (cursor.position(), 0_usize);
    loop {
        match cursor.peek() {
            None => return Err(cursor.unexpected("`)`")),
            Some(',' | ')') if depth == 0 => break,
            Some(quote @ ('"' | '\'')) => {
                quoted(cursor, quote)?;
                continue;
            }
            Some('(' | '[' | '{') => depth += 1,
            Some(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Some(_) => {}
        }
        cursor.skip();
    }
    Ok(Value { place: start..cursor.position(), kind: ValueKind::Skipped })
}

impl<'a> Value<'a> {
    /// Returns true if the value is Python's `None` or JSON's `null`.
    pub(super) fn is_none(&self) -> bool {
        matches!(self.kind, ValueKind::Name("None" | "null"))
    }

    /// Returns the error that this value was found instead of `expected`.
    pub(super) fn wrong(&self, cursor: &Cursor<'_>, expected: &str) -> ParseError {
        cursor.wrong(self.place.clone(), expected)
    }

    pub(super) fn list(&self, cursor: &Cursor<'_>, expected: &str) -> Result<&[Value<'a>]> {
        match &self.kind {
            ValueKind::List(values) => Ok(values),
            _ => Err(self.wrong(cursor, expected)),
        }
    }

    pub(super) fn number(&self, cursor: &Cursor<'_>) -> Result<i64> {
        match self.kind {
            ValueKind::Number(number) => Ok(number),
            _ => Err(self.wrong(cursor, "a number")),
        }
    }

    /// Returns the value as a natural number, or an error if the value is something else.
    pub(super) fn natural(&self, cursor: &Cursor<'_>) -> Result<u64> {
        u64::try_from(self.number(cursor)?).map_err(|_| self.wrong(cursor, "a number from 0 on"))
    }

    pub(super) fn numbers(&self, cursor: &Cursor<'_>) -> Result<Vec<i64>> {
        let values = self.list(cursor, "a list of numbers")?;
        values.iter().map(|value| value.number(cursor)).collect()
    }

    pub(super) fn naturals(&self, cursor: &Cursor<'_>) -> Result<Vec<u64>> {
        let values = self.list(cursor, "a list of numbers")?;
        values.iter().map(|value| value.natural(cursor)).collect()
    }
}

impl<'a> NamedValues<'a> {
    /// Returns the value of the argument whose name is one of `names`, or of the positional
    /// argument at `position`. Returns `None` if there is neither.
    pub(super) fn get(&self, names: &[&str], position: usize) -> Option<&Value<'a>> {
        let named =
            |field: &&Field<'_>| field.name.as_ref().is_some_and(|(name, _)| names.contains(name));
        let positional = || self.fields.get(position).filter(|field| field.name.is_none());
        self.fields.iter().find(named).or_else(positional).map(|field| &field.value)
    }

    /// Returns the value that [`Self::get`] returns, or an error if there is none.
    pub(super) fn require(&self, names: &[&str], position: usize) -> Result<&Value<'a>> {
        self.get(names, position).ok_or_else(|| {
            let end = self.place.end;
            ParseError::new(end..end, format!("expected a value for {}", names[0]))
        })
    }

    /// Returns an error if an argument has a name that is repeated or not in `names`, or if there
    /// are more than `most` positional arguments.
    pub(super) fn only(&self, names: &[&str], most: usize) -> Result<()> {
        for (number, field) in self.fields.iter().enumerate() {
            let Some((name, place)) = &field.name else {
                if number < most {
                    continue;
                }
                let reason = format!("expected name=value, with a name of {}", names.join(", "));
                return Err(ParseError::new(field.value.place.clone(), reason));
            };
            if !names.contains(name) {
                let reason = format!("expected one of {}", names.join(", "));
                return Err(ParseError::new(place.clone(), reason));
            }
            let is_same =
                |other: &Field<'_>| other.name.as_ref().is_some_and(|(other, _)| other == name);
            if self.fields[..number].iter().any(is_same) {
                return Err(ParseError::new(place.clone(), "expected each name once"));
            }
        }
        Ok(())
    }
}
