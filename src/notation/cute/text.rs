//! Parses and prints layouts.
//!
//! ```text
//! layout = tuple [":" tuple]                      both of the same nesting
//! tuple  = int | "(" tuple ("," tuple)* ")"       int = ["_"] digits; "_4" is a static 4
//! ```
//!
//! A shape without strides is column-major.

use std::{
    fmt::{self, Display, Formatter},
    ops::Range,
    str::FromStr,
};

use super::{CuteLayout, Mode};
use crate::{
    notation::cursor::{Cursor, Result},
    shape::ParseError,
};

/// The maximum nesting depth of tuples.
const MAX_NESTED: usize = 32;

/// The maximum number of leaves of a layout.
const MAX_LEAVES: usize = 1024;

/// A nested shape or nested strides, with its position in the text.
#[derive(Clone, Debug)]
struct Tree {
    place: Range<usize>,
    node: TreeNode,
}

#[derive(Clone, Debug)]
enum TreeNode {
    Number(i64),
    Tuple(Vec<Tree>),
}

impl FromStr for CuteLayout {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self> {
        let mut cursor = Cursor::starting_at(text, 0)?;
        let layout = layout(&mut cursor)?;
        cursor.end()?;
        Ok(layout)
    }
}

/// Parses a layout such as `(2,4):(1,2)`. If the strides are missing, the layout is column-major.
pub(super) fn layout(cursor: &mut Cursor<'_>) -> Result<CuteLayout> {
    cursor.skip_blanks();
    let start = cursor.position();
    let mut leaves = 0;
    let shape = tree(cursor, MAX_NESTED, &mut leaves)?;
    let mode = if cursor.eat(":") {
        leaves = 0;
        let strides = tree(cursor, MAX_NESTED, &mut leaves)?;
        zip(&shape, &strides)?
    } else {
        column_major(&shape, &mut 1)?
    };
    let place = start..cursor.position();
    CuteLayout::new(mode).map_err(|error| ParseError::new(place, error.to_string()))
}

fn tree(cursor: &mut Cursor<'_>, depth: usize, leaves: &mut usize) -> Result<Tree> {
    cursor.skip_blanks();
    let start = cursor.position();
    if depth == 0 {
        let reason = format!("expected at most {MAX_NESTED} tuples inside one another, got more");
        return Err(ParseError::new(cursor.place(), reason));
    }
    if !cursor.eat("(") {
        *leaves += 1;
        if *leaves > MAX_LEAVES {
            let reason = format!("expected at most {MAX_LEAVES} numbers, got more");
            return Err(ParseError::new(cursor.place(), reason));
        }
        cursor.eat("_");
        let (number, _) = cursor.number()?;
        if cursor.rest().starts_with('@') {
            let reason = "expected a number of elements: strides of a basis give coordinates, and no offsets";
            return Err(ParseError::unsupported(cursor.place(), reason));
        }
        return Ok(Tree { place: start..cursor.position(), node: TreeNode::Number(number) });
    }
    let mut parts = vec![tree(cursor, depth - 1, leaves)?];
    while !cursor.eat(")") {
        if !cursor.eat(",") {
            return Err(cursor.unexpected("`,` or `)`"));
        }
        // A tuple of one mode may end in a comma, because Python prints it as `(4,)`.
        if parts.len() == 1 && cursor.eat(")") {
            break;
        }
        parts.push(tree(cursor, depth - 1, leaves)?);
    }
    Ok(Tree { place: start..cursor.position(), node: TreeNode::Tuple(parts) })
}

fn extent(tree: &Tree, number: i64) -> Result<u64> {
    u64::try_from(number).ok().filter(|&extent| extent > 0).ok_or_else(|| {
        ParseError::new(tree.place.clone(), format!("expected an extent from 1 on, got {number}"))
    })
}

fn zip(shape: &Tree, strides: &Tree) -> Result<Mode> {
    match (&shape.node, &strides.node) {
        (TreeNode::Number(number), TreeNode::Number(stride)) => {
            Ok(Mode::Leaf { extent: extent(shape, *number)?, stride: *stride })
        }
        (TreeNode::Tuple(shapes), TreeNode::Tuple(parts)) if shapes.len() == parts.len() => {
            let each = shapes.iter().zip(parts).map(|(shape, strides)| zip(shape, strides));
            Ok(Mode::Tuple(each.collect::<Result<_>>()?))
        }
        _ => {
            let reason = "expected strides that are nested as the shape is";
            Err(ParseError::new(strides.place.clone(), reason))
        }
    }
}

fn column_major(shape: &Tree, span: &mut i64) -> Result<Mode> {
    match &shape.node {
        TreeNode::Number(number) => {
            let (extent, stride) = (extent(shape, *number)?, *span);
            *span = span.checked_mul(*number).ok_or_else(|| {
                ParseError::new(shape.place.clone(), "expected a size below 2^63")
            })?;
            Ok(Mode::Leaf { extent, stride })
        }
        TreeNode::Tuple(parts) => {
            let each = parts.iter().map(|part| column_major(part, span));
            Ok(Mode::Tuple(each.collect::<Result<_>>()?))
        }
    }
}

impl Display for CuteLayout {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        tuple(f, self.mode(), &|extent, _| extent.to_string())?;
        f.write_str(":")?;
        tuple(f, self.mode(), &|_, stride| stride.to_string())
    }
}

fn tuple(f: &mut Formatter<'_>, mode: &Mode, leaf: &dyn Fn(u64, i64) -> String) -> fmt::Result {
    match mode {
        Mode::Leaf { extent, stride } => f.write_str(&leaf(*extent, *stride)),
        Mode::Tuple(modes) => {
            for (number, mode) in modes.iter().enumerate() {
                f.write_str(if number == 0 { "(" } else { "," })?;
                tuple(f, mode, leaf)?;
            }
            f.write_str(")")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_and_print() {
        for (text, printed) in [
            ("_8:_1", "8:1"),
            ("( (_2, 4) , 8 ):((1,16),2)", "((2,4),8):((1,16),2)"),
            ("(2,(3,4))", "(2,(3,4)):(1,(2,6))"),
            ("(4):(-1)", "(4):(-1)"),
            ("(4,):(2,)", "(4):(2)"),
        ] {
            let layout: CuteLayout = text.parse().unwrap();
            assert_eq!(layout.to_string(), printed, "{text}");
            assert_eq!(printed.parse(), Ok(layout));
        }
    }
}
