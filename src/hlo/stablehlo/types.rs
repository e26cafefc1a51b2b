//! Converts types, such as `tensor<2x3xf32>`, to shapes. A module repeats a few types many times,
//! so types with the same text are converted only once. Elsewhere, a type is referred to by its
//! index here.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::cursor::TextRange;
use crate::{
    hlo::{HloError, MAX_INSTRUCTIONS, text::cursor::Cursor},
    shape::{Dimension, ElementType, MAX_RANK, Shape},
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

/// The maximum depth of nested tuples and aliases. The parser recurses for each level, so an
/// unlimited depth could overflow the stack.
const MAX_TYPE_DEPTH: usize = 64;

/// The types of a module, each as a shape.
#[derive(Default)]
pub(super) struct MlirTypes<'a> {
    shapes: Vec<Shape>,
    /// The index of each type in `shapes`, by the type's text.
    numbers: HashMap<&'a str, usize>,
    /// The range of the type that each alias names, by the name of the alias without its `!`.
    pub(super) aliases: HashMap<&'a str, TextRange>,
}

impl<'a> MlirTypes<'a> {
    /// Returns the shape of the type with this index.
    pub(super) fn shape(&self, number: usize) -> &Shape {
        &self.shapes[number]
    }

    /// Parses a type and returns its index. A text that occurred before has the same index as then.
    /// Two types with different texts have different indices even if they are equal, so types must
    /// be compared by their shapes.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<usize> {
        let range = cursor.type_text()?;
        let text = cursor.text(range.clone());
        if let Some(&number) = self.numbers.get(text) {
            return Ok(number);
        }
        let (given, limit) = (self.shapes.len() + 1, MAX_INSTRUCTIONS);
        if given > limit {
            return Err(HloError::TooManyInstructions { given, limit });
        }
        let shape = self.parse(&mut cursor.part(range), 0)?;
        self.shapes.push(shape);
        self.numbers.insert(text, given - 1);
        Ok(given - 1)
    }

    /// Adds a type that the text does not contain, and returns its index.
    pub(super) fn add(&mut self, shape: Shape) -> usize {
        self.shapes.push(shape);
        self.shapes.len() - 1
    }

    /// Parses a type. `depth` is the number of tuples and aliases around it.
    fn parse(&self, cursor: &mut Cursor<'a>, depth: usize) -> Result<Shape> {
        let start = cursor.start()?;
        if depth > MAX_TYPE_DEPTH {
            let reason = format!("expected types at most {MAX_TYPE_DEPTH} deep, got more");
            return Err(cursor.not_supported(start, reason));
        }
        if cursor.eat("!") {
            let name = cursor.keyword();
            if let Some(alias) = self.aliases.get(name) {
                return self.parse(&mut cursor.part(alias.clone()), depth + 1);
            }
            if matches!(name, "stablehlo.token" | "mhlo.token") {
                return Ok(Shape::token());
            }
            let reason = format!(
                "expected a tensor, a tuple or a token, got the type `!{}`",
                excerpt(name, 40)
            );
            return Err(cursor.not_supported(start, reason));
        }
        match cursor.keyword() {
            "tensor" => self.tensor(cursor, depth),
            "tuple" => {
                cursor.expect("<")?;
                let mut parts = Vec::new();
                cursor.list(">", |cursor| {
                    let range = cursor.type_text()?;
                    parts.push(self.parse(&mut cursor.part(range), depth + 1)?);
                    Ok(())
                })?;
                Shape::tuple(parts).map_err(|error| cursor.error(start, error.to_string()))
            }
            name => {
                let given = if name.is_empty() { "a function" } else { excerpt_of(name) };
                let reason = format!("expected a tensor, a tuple or a token, got {given}");
                Err(cursor.not_supported(start, reason))
            }
        }
    }

    /// Parses a tensor type from its `<` on: the extents, the element type and the encoding.
    fn tensor(&self, cursor: &mut Cursor<'a>, depth: usize) -> Result<Shape> {
        let start = cursor.start()?;
        cursor.expect("<")?;
        let mut extents: SmallVec<[Dimension; 8]> = SmallVec::new();
        loop {
            let position = cursor.start()?;
            if cursor.sees("*") {
                let reason = "expected a tensor of a known rank, got `*`";
                return Err(cursor.not_supported(position, reason));
            }
            let extent = if cursor.eat("?") {
                Dimension::Unbounded
            } else {
                match cursor.word(|letter| letter.is_ascii_digit()).0 {
                    "" => break,
                    digits => {
                        let extent =
                            digits.parse().ok().filter(|&n: &u64| i64::try_from(n).is_ok());
                        Dimension::Fixed(extent.ok_or_else(|| {
                            let given = excerpt(digits, 40);
                            let reason = format!("expected an extent below 2^63, got {given}");
                            cursor.error(position, reason)
                        })?)
                    }
                }
            };
            if extents.len() == MAX_RANK {
                let reason = format!("expected at most {MAX_RANK} dimensions, got more");
                return Err(cursor.not_supported(position, reason));
            }
            extents.push(extent);
            cursor.expect("x")?;
        }
        let element_type = self.element_type(cursor, depth)?;
        if cursor.eat(",") {
            encoding(cursor, &mut extents)?;
        }
        cursor.expect(">")?;
        Shape::array(element_type, extents, None)
            .map_err(|error| cursor.error(start, error.to_string()))
    }

    /// Parses the element type of a tensor, which may be an alias.
    fn element_type(&self, cursor: &mut Cursor<'a>, depth: usize) -> Result<ElementType> {
        let start = cursor.start()?;
        if cursor.sees("!") {
            let range = cursor.type_text()?;
            let name = cursor.text(range.start + 1..range.end);
            if let Some(alias) = self.aliases.get(name).filter(|_| depth < MAX_TYPE_DEPTH) {
                return self.element_type(&mut cursor.part(alias.clone()), depth + 1);
            }
            let given = excerpt(cursor.text(range), 40);
            let reason = format!("expected elements such as f32, i8 or ui8, got `{given}`");
            return Err(cursor.not_supported(start, reason));
        }
        let mut name = cursor.keyword();
        if name == "complex" && cursor.rest().starts_with('<') {
            let group = cursor.group()?;
            name = cursor.text(start..group.end);
        }
        let found =
            ElementType::ALL.into_iter().find(|kind| kind.mlir_name().as_deref() == Some(name));
        found.ok_or_else(|| {
            let given = excerpt(name, 40);
            let reason = format!("expected an element type such as f32, i8 or ui8, got `{given}`");
            match name {
                "index" | "tf32" | "f80" | "f128" => cursor.not_supported(start, reason),
                _ => cursor.error(start, reason),
            }
        })
    }
}

/// Parses the encoding of a tensor type, which gives bounds of dynamic extents, such as
/// `#stablehlo.bounds<3, ?>`. Stores the bounds in `extents`.
fn encoding(cursor: &mut Cursor<'_>, extents: &mut SmallVec<[Dimension; 8]>) -> Result<()> {
    let start = cursor.start()?;
    let is_list = cursor.eat("#stablehlo.bounds<") || cursor.eat("#mhlo.bounds<");
    let close = if is_list {
        ">"
    } else if cursor.eat("#stablehlo.type_extensions<") || cursor.eat("#mhlo.type_extensions<") {
        if !cursor.eat_keyword("bounds") {
            return Err(cursor.unexpected("`bounds`"));
        }
        cursor.expect("=")?;
        cursor.expect("[")?;
        "]"
    } else {
        let reason = "expected no encoding but #stablehlo.bounds<…>, got another";
        return Err(cursor.not_supported(start, reason));
    };
    let mut dimension = 0;
    cursor.list(close, |cursor| {
        let position = cursor.start()?;
        if !cursor.eat("?") {
            let bound = cursor.number("a bound or `?`")?;
            match (extents.get_mut(dimension), u64::try_from(bound)) {
                (Some(extent @ Dimension::Unbounded), Ok(bound)) => {
                    *extent = Dimension::AtMost(bound);
                }
                _ => return Err(cursor.error(position, "expected a bound only where `?` stands")),
            }
        }
        dimension += 1;
        Ok(())
    })?;
    if dimension != extents.len() {
        let (expected, given) = (extents.len(), dimension);
        let reason = format!("expected {expected} bounds, one for each dimension, got {given}");
        return Err(cursor.error(start, reason));
    }
    if close == "]" { cursor.expect(">") } else { Ok(()) }
}

/// Returns a description of a type that has no shape, such as `a memref`, for errors.
fn excerpt_of(name: &str) -> &str {
    match name {
        "memref" => "a memref",
        "vector" => "a vector",
        _ => "another type",
    }
}
