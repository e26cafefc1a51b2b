//! The parser for shapes: arrays, tuples, buffers, tokens, opaque values, and arrays with explicit
//! strides.

use smallvec::SmallVec;

use super::{
    Notation, ParseError,
    attributes::layout,
    lexer::Token,
    parser::{FieldPlaces, Result, ShapeParser},
};
use crate::shape::{Dimension, ElementType, FieldPath, Layout, MAX_DEPTH, Shape, StridedShape};

/// Parses a shape in XLA's own notation. Explicit strides are not part of it, so they are an error.
pub(super) fn shape(parser: &mut ShapeParser<'_>) -> Result<Shape> {
    let start = parser.place();
    match notation(parser, false)? {
        Notation::Shape(shape) => Ok(shape),
        Notation::Strided(_) => {
            Err(ParseError::new(start, "expected a shape of XLA's, got explicit strides"))
        }
    }
}

/// Parses a shape. If `strided` is true, an array with explicit strides is accepted too.
pub(super) fn notation(parser: &mut ShapeParser<'_>, strided: bool) -> Result<Notation> {
    parser.begin_shape()?;
    if parser.depth >= MAX_DEPTH {
        let reason = format!("expected shapes nested at most {MAX_DEPTH} levels deep, got more");
        return Err(ParseError::new(parser.place(), reason));
    }
    parser.depth += 1;
    let shape = match parser.token() {
        Token::Sign("(") => tuple(parser).map(Notation::Shape),
        Token::Word("b") => buffer(parser).map(Notation::Shape),
        _ => array(parser, strided),
    };
    parser.depth -= 1;
    shape
}

fn tuple(parser: &mut ShapeParser<'_>) -> Result<Shape> {
    let start = parser.expect("(")?.start;
    let mut parts = Vec::new();
    parser.list(")", |parser, _| {
        parts.push(shape(parser)?);
        Ok(())
    })?;
    Shape::tuple(parts).map_err(|error| ParseError::invalid(parser.since(start), error))
}

fn buffer(parser: &mut ShapeParser<'_>) -> Result<Shape> {
    parser.advance()?;
    parser.expect("(")?;
    let start = parser.place().start;
    let content = shape(parser)?;
    let place = parser.since(start);
    parser.expect(")")?;
    Shape::buffer(content).map_err(|error| ParseError::invalid(place, error))
}

fn array(parser: &mut ShapeParser<'_>, may_be_strided: bool) -> Result<Notation> {
    let start = parser.place().start;
    let element_type = element_type(parser)?;
    let mut places = FieldPlaces::default();
    let dimensions = dimensions(parser, &mut places)?;
    if element_type.bits().is_none() {
        let whole = parser.since(start);
        if let Token::Sign("{") = parser.token() {
            let reason = format!("{element_type} has no elements, and so no layout; leave it out");
            return Err(ParseError::new(parser.place(), reason));
        }
        return match element_type {
            _ if !dimensions.is_empty() => {
                let reason = format!("{element_type} has no dimensions; expected {element_type}[]");
                Err(ParseError::new(whole, reason))
            }
            ElementType::Token => Ok(Notation::Shape(Shape::token())),
            _ => Ok(Notation::Shape(Shape::opaque())),
        };
    }
    let layout = optional_layout(parser, dimensions.len(), &mut places)?;
    if parser.token() == Token::Word("strided") {
        if !may_be_strided {
            let reason = "expected a layout, `{…}`: explicit strides stand alone, not in a tuple, a buffer or an XLA shape";
            return Err(ParseError::new(parser.place(), reason));
        }
        let array = strided(parser, start, element_type, &dimensions, layout, places)?;
        return Ok(Notation::Strided(array));
    }
    let shape = Shape::array(element_type, dimensions, layout);
    shape.map(Notation::Shape).map_err(|error| places.locate(error, parser.since(start)))
}

/// Parses the name of an element type, `token` or `opaque`.
pub(super) fn element_type(parser: &mut ShapeParser<'_>) -> Result<ElementType> {
    let known = match parser.token() {
        Token::Word(name) => ElementType::from_name(name),
        _ => None,
    };
    let accepted = "an element type (f32, bf16, s4, pred …), token, opaque, b(…) or `(`";
    let known = known.ok_or_else(|| {
        if let Token::Word(name) = parser.token()
            && let Some(meant) = meant(name)
        {
            let reason = format!("expected XLA's name `{meant}`, got `{name}`");
            return ParseError::new(parser.place(), reason);
        }
        parser.unexpected(accepted)
    })?;
    parser.advance()?;
    Ok(known)
}

/// Returns the element type that `name` means in numpy, `PyTorch`, MLIR or C, so that an error can
/// suggest XLA's name. For example, `float32` and `F32` mean f32, and `i32` means s32.
fn meant(name: &str) -> Option<ElementType> {
    let name = name.to_ascii_lowercase().replace('_', "");
    let name = match name.as_str() {
        "bool" | "i1" => "pred",
        "half" => "f16",
        "bfloat" => "bf16",
        "float" => "f32",
        "double" => "f64",
        "short" => "s16",
        "int" => "s32",
        "long" => "s64",
        "cfloat" | "complex64" => "c64",
        "cdouble" | "complex128" => "c128",
        name => name,
    };
    // A longer prefix comes before a shorter one, because `uint8` also begins with `ui`.
    let prefixes =
        [("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("ui", "u"), ("int", "s"), ("i", "s")];
    ElementType::from_name(name).or_else(|| {
        prefixes.into_iter().find_map(|(theirs, ours)| {
            let rest = name.strip_prefix(theirs)?;
            ElementType::from_name(&format!("{ours}{rest}"))
        })
    })
}

fn dimensions(
    parser: &mut ShapeParser<'_>,
    places: &mut FieldPlaces,
) -> Result<SmallVec<[Dimension; 8]>> {
    let field = FieldPath::new("dimensions");
    let mut dimensions = SmallVec::new();
    let start = parser.expect("[")?.start;
    parser.list("]", |parser, i| {
        let start = parser.place().start;
        let field = || field.clone().index(i);
        dimensions.push(if parser.eat("?")? {
            Dimension::Unbounded
        } else if parser.eat("<=")? {
            Dimension::AtMost(parser.natural(field, 0, i64::MAX)?.0)
        } else if let Token::Number(_) = parser.token() {
            Dimension::Fixed(parser.natural(field, 0, i64::MAX)?.0)
        } else {
            return Err(parser.unexpected("an extent, `n`, `<=n` or `?`"));
        });
        places.add(field(), parser.since(start));
        Ok(())
    })?;
    places.add(field, parser.since(start));
    Ok(dimensions)
}

/// Parses a layout if the next token begins one. Returns `None` if it does not, or if the layout is
/// `{no layout}`.
fn optional_layout(
    parser: &mut ShapeParser<'_>,
    rank: usize,
    places: &mut FieldPlaces,
) -> Result<Option<Layout>> {
    match parser.token() {
        Token::Sign("{") | Token::Word("dense") => layout(parser, Some(rank), places),
        Token::Word("sparse") => {
            let reason =
                "expected `{…}` or `dense{…}`: a sparse array gives no place to each element";
            Err(ParseError::new(parser.place(), reason))
        }
        _ => Ok(None),
    }
}

/// Parses explicit strides, such as `strided<[15,15,5,1], offset: 227>`.
fn strided(
    parser: &mut ShapeParser<'_>,
    start: usize,
    element_type: ElementType,
    dimensions: &[Dimension],
    layout: Option<Layout>,
    mut places: FieldPlaces,
) -> Result<StridedShape> {
    let layout = layout.unwrap_or_else(|| Layout::new([]));
    let element_size_in_bits = layout.element_size_in_bits;
    if layout != Layout::new([]).element_size(element_size_in_bits) {
        let reason = "strides take the place of a layout; only `{:E(n)}` may come before them";
        return Err(ParseError::new(parser.place(), reason));
    }
    parser.advance()?;
    parser.expect("<")?;
    let list_start = parser.expect("[")?.start;
    let mut strides = Vec::new();
    parser.list("]", |parser, _| {
        strides.push(parser.number()?.0);
        Ok(())
    })?;
    places.add(FieldPath::new("strides"), parser.since(list_start));
    let mut offset = 0;
    if parser.eat(",")? {
        parser.expect_word("offset")?;
        parser.expect(":")?;
        offset = parser.natural(|| FieldPath::new("offset"), 0, i64::MAX)?.0;
    }
    parser.expect(">")?;
    let whole = parser.since(start);
    let mut sizes = Vec::new();
    for (i, dimension) in dimensions.iter().enumerate() {
        let Dimension::Fixed(size) = *dimension else {
            let place = places.place(&FieldPath::new("dimensions").index(i)).unwrap_or(whole);
            let reason = format!("{dimension} has no fixed extent; strides need one, `n`");
            return Err(ParseError::new(place, reason));
        };
        sizes.push(size);
    }
    if let Some(place) = places.place(&FieldPath::new("dimensions")) {
        places.add(FieldPath::new("sizes"), place);
    }
    StridedShape::new(element_type, sizes, strides, offset, element_size_in_bits)
        .map_err(|error| places.locate(error, whole))
}
