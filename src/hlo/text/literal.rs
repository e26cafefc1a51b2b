//! Parses the values of constants in HLO text, such as `{{1, 2}, {3, 4}}`.

use super::{cursor::Cursor, values};
use crate::{
    hlo::{HloError, Literal, MAX_LITERAL_BYTES, infer::is_dynamic},
    shape::{ElementType, Shape, queries},
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

/// Parses the value of a constant of the given shape, up to the `)` after it.
///
/// A scalar is a number, an array is nested braces with one level for each dimension, and a tuple
/// is a list of values in parentheses. Returns `None` if the text omits the value, as in `{...}`,
/// or if the shape is dynamic, so that the value has no fixed size.
pub(super) fn literal(cursor: &mut Cursor<'_>, shape: &Shape) -> Result<Option<Literal>> {
    if is_dynamic(shape) {
        skip(cursor)?;
        return Ok(None);
    }
    let start = cursor.position();
    if cursor.sees("{") {
        let elided = cursor.balanced()?;
        if elided.trim_matches(['{', '}', ' ']) == "..." {
            return Ok(None);
        }
        cursor.set_position(start);
    }
    let mut reader = ConstantReader { cursor, bytes: Vec::new() };
    reader.value(shape)?;
    let bytes = reader.bytes;
    let literal = Literal::new(shape, bytes);
    literal.map(Some).map_err(|error| cursor.error(start, error.to_string()))
}

/// Skips the value of a constant, up to the `)` after it. The cursor must be directly after the
/// opening parenthesis.
pub(super) fn skip(cursor: &mut Cursor<'_>) -> Result<()> {
    cursor.set_position(cursor.position() - 1);
    cursor.balanced()?;
    cursor.set_position(cursor.position() - 1);
    Ok(())
}

/// The state of parsing one constant: the cursor, and the bytes of the elements that were parsed so
/// far.
struct ConstantReader<'a, 'b> {
    cursor: &'a mut Cursor<'b>,
    bytes: Vec<u8>,
}

impl ConstantReader<'_, '_> {
    /// Parses a value of the given shape: an array, or a tuple of values.
    fn value(&mut self, shape: &Shape) -> Result<()> {
        if shape.element_type() == ElementType::Tuple {
            self.cursor.expect("(")?;
            for (i, part) in shape.tuple_shapes().iter().enumerate() {
                if i > 0 {
                    self.cursor.expect(",")?;
                }
                self.value(part)?;
            }
            return self.cursor.expect(")");
        }
        // Old versions of XLA, before 2019, printed the shape again before the value.
        let start = self.cursor.start()?;
        if self.cursor.rest().starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            self.cursor.expect_word("a value")?;
            let repeats = self.cursor.rest().starts_with('[');
            self.cursor.set_position(start);
            if repeats {
                self.cursor.shape()?;
            }
        }
        let Some(extents) = queries::bounds(shape).filter(|_| shape.is_array()) else {
            return Err(self.cursor.unexpected("a constant of fixed extents"));
        };
        if extents.contains(&0) && self.cursor.sees("{") {
            self.cursor.balanced()?;
            return Ok(());
        }
        if !extents.is_empty() && !self.cursor.sees("{") {
            return self.first_element(shape, &extents);
        }
        self.elements(shape.element_type(), &extents)
    }

    /// Parses a single number in place of the braces of an array. As in XLA, the number is the
    /// first element, and all other elements are 0.
    fn first_element(&mut self, shape: &Shape, extents: &[u64]) -> Result<()> {
        let start = self.bytes.len();
        let place = self.cursor.start()?;
        self.element(shape.element_type())?;
        let width = (self.bytes.len() - start) as u64;
        let bytes = extents.iter().try_fold(width, |n, &extent| n.checked_mul(extent));
        let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
        match bytes.map(|bytes| start.saturating_add(bytes)) {
            Some(end) if end > MAX_LITERAL_BYTES => {
                Err(HloError::TooManyLiteralBytes { given: end, limit: MAX_LITERAL_BYTES })
            }
            Some(end) if end > start => {
                self.bytes.resize(end, 0);
                Ok(())
            }
            Some(_) => Err(self.cursor.error(place, "expected no value, got one")),
            None => {
                let limit = MAX_LITERAL_BYTES;
                Err(HloError::TooManyLiteralBytes { given: usize::MAX, limit })
            }
        }
    }

    /// Parses the nested braces of an array with these extents, and appends its elements.
    fn elements(&mut self, element_type: ElementType, extents: &[u64]) -> Result<()> {
        let Some((&extent, inner)) = extents.split_first() else {
            return self.element(element_type);
        };
        self.cursor.expect("{")?;
        for i in 0..extent {
            if i > 0 {
                self.cursor.expect(",")?;
            }
            self.elements(element_type, inner)?;
        }
        self.cursor.expect("}")
    }

    /// Parses one element. A complex number is a pair of a real and an imaginary part.
    fn element(&mut self, element_type: ElementType) -> Result<()> {
        let part = match element_type {
            ElementType::C64 => ElementType::F32,
            ElementType::C128 => ElementType::F64,
            _ => return self.number(element_type),
        };
        // The imaginary part may be omitted together with the parentheses.
        if !self.cursor.eat("(") {
            self.number(part)?;
            return self.push(part, 0);
        }
        self.number(part)?;
        self.cursor.expect(",")?;
        self.number(part)?;
        self.cursor.expect(")")
    }

    fn number(&mut self, element_type: ElementType) -> Result<()> {
        let start = self.cursor.start()?;
        let text = self.cursor.number_text();
        match values::bits(element_type, text) {
            Some(bits) => self.push(element_type, bits),
            None if text.is_empty() => {
                Err(self.cursor.unexpected(&format!("a value of {element_type}")))
            }
            None => {
                let reason =
                    format!("expected a value of {element_type}, got `{}`", excerpt(text, 40));
                Err(self.cursor.error(start, reason))
            }
        }
    }

    /// Appends the bytes of an element. Returns an error if the constant exceeds the limit.
    fn push(&mut self, element_type: ElementType, bits: u128) -> Result<()> {
        let width = usize::try_from(element_type.storage_bits().unwrap_or(8) / 8).unwrap_or(1);
        self.bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
        let (given, limit) = (self.bytes.len(), MAX_LITERAL_BYTES);
        if given > limit {
            return Err(HloError::TooManyLiteralBytes { given, limit });
        }
        Ok(())
    }
}
