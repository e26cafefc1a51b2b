//! The entry points of the parser: `FromStr` for each type with a notation, and the parser for leaf
//! paths.

use std::{
    fmt::{self, Display, Formatter},
    ops::Range,
    str::FromStr,
};

use super::{
    ParseError, array, attributes,
    lexer::Token,
    parser::{FieldPlaces, Result, ShapeParser},
};
use crate::shape::{FieldPath, Layout, MAX_RANK, Shape, ShapeError, StridedShape, Tile, validate};

/// A tensor that the notation can describe: an XLA shape, or an array with explicit strides.
///
/// In a text, `#` and a list of numbers after a tuple select a part of it, with one number for each
/// level.
///
/// ```
/// use stridec::shape::Notation;
/// let part: Notation = "(f32[2]{0}, (s8[3], pred[]))#1,0".parse()?;
/// assert_eq!(part.to_string(), "s8[3]");
/// let border: Notation = "f32[1,3,224,224] strided<[153228,51076,226,1], offset: 227>".parse()?;
/// assert!(matches!(border, Notation::Strided(_)));
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant)] // few values are alive at a time
pub enum Notation {
    /// An XLA shape.
    Shape(Shape),
    /// An array with explicit strides.
    Strided(StridedShape),
}

impl Display for Notation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(shape) => shape.fmt(f),
            Self::Strided(shape) => shape.fmt(f),
        }
    }
}

impl FromStr for Notation {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self> {
        ShapeParser::whole(text, |parser| {
            let notation = array::notation(parser, true)?;
            let sign = parser.place();
            if !parser.eat("#")? {
                return Ok(notation);
            }
            let (path, places) = leaf_path(parser)?;
            let Self::Shape(shape) = notation else {
                let reason = "an array with strides has no parts; leave `#` out";
                return Err(ParseError::new(sign, reason));
            };
            let leaf = shape.leaf(&path).map_err(|error| {
                let level = match &error {
                    ShapeError::NoSuchPart { path, .. } => path.len() - 1,
                    _ => 0,
                };
                ParseError::invalid(places.get(level).cloned().unwrap_or(sign), error)
            })?;
            Ok(Self::Shape(leaf.clone()))
        })
    }
}

/// Parses the numbers after `#`, such as `1,0`, which select a part of a tuple (see
/// [`Shape::leaf`]).
///
/// # Errors
///
/// Returns an error if the text is not a comma-separated list of natural numbers.
pub fn parse_leaf_path(text: &str) -> Result<Vec<usize>> {
    ShapeParser::whole(text, |parser| Ok(leaf_path(parser)?.0))
}

fn leaf_path(parser: &mut ShapeParser<'_>) -> Result<(Vec<usize>, Vec<Range<usize>>)> {
    let (mut path, mut places) = (Vec::new(), Vec::new());
    loop {
        let (number, place) = parser.number()?;
        let part = usize::try_from(number).map_err(|_| {
            let reason = format!("expected the number of a part, 0 or more, got {number}");
            ParseError::new(place.clone(), reason)
        })?;
        path.push(part);
        places.push(place);
        if !parser.eat(",")? {
            return Ok((path, places));
        }
    }
}

impl FromStr for Shape {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self> {
        ShapeParser::whole(text, array::shape)
    }
}

/// Parses a layout without a shape, such as `{1,0:T(8,128)}`. Checks all rules that do not involve
/// extents.
impl FromStr for Layout {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self> {
        ShapeParser::whole(text, |parser| {
            let (start, mut places) = (parser.place(), FieldPlaces::default());
            if !matches!(parser.token(), Token::Sign("{") | Token::Word("dense")) {
                return Err(parser.unexpected("`{`"));
            }
            let layout = attributes::layout(parser, None, &mut places)?;
            let whole = parser.since(start.start);
            let Some(layout) = layout else {
                return Err(ParseError::new(whole, "expected a layout, `{…}`"));
            };
            let (given, field) = (layout.minor_to_major.len(), FieldPath::new("layout"));
            let rank = if given > MAX_RANK {
                let field = field.field("minor_to_major");
                Err(ShapeError::TooMany { field, what: "dimensions", given, limit: MAX_RANK })
            } else {
                Ok(given)
            };
            rank.and_then(|rank| validate::layout(&layout, rank, &[]))
                .map_err(|error| places.locate(error, whole))?;
            Ok(layout)
        })
    }
}

/// Parses a tile without a layout, such as `(8,128)`.
impl FromStr for Tile {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self> {
        ShapeParser::whole(text, |parser| {
            let (start, field) = (parser.place().start, FieldPath::new("tile"));
            let mut places = FieldPlaces::default();
            let tile = attributes::tile(parser, &field, &mut places)?;
            validate::tile(&field, &tile)
                .map_err(|error| places.locate(error, parser.since(start)))?;
            Ok(tile)
        })
    }
}

impl FromStr for StridedShape {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self> {
        ShapeParser::whole(text, |parser| {
            let start = parser.place().start;
            match array::notation(parser, true)? {
                Notation::Strided(shape) => Ok(shape),
                Notation::Shape(_) => {
                    let reason = "expected `strided<[…]>` after the extents";
                    Err(ParseError::new(parser.since(start), reason))
                }
            }
        })
    }
}
