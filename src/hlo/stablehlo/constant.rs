//! Parses the values of constants, which have the form `dense<…>`. The elements are written as
//! nested lists of numbers, or as a string with the hexadecimal digits of their bytes.

use super::{cursor::TextRange, parse::MlirParser};
use crate::{
    hlo::{
        HloError, Literal,
        text::{cursor::Cursor, values},
    },
    shape::{ElementType, Shape, queries},
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

/// The maximum size in bytes of a constant of equal elements that is stored with all its elements.
/// A larger one becomes a broadcast of a scalar, because otherwise a short text such as
/// `dense<0> : tensor<1000000xf32>` could use much memory.
const MAX_REPEATED_BYTES: usize = 256;

/// The value of a constant, as it will be stored in the module.
pub(super) enum MlirConstant {
    /// The text omits the value, so it is not known.
    Elided,
    /// The values of all elements.
    Whole(Literal),
    /// A scalar to which all elements are equal. This form is used if storing all elements would
    /// take much memory.
    Repeated(Literal),
}

impl MlirParser<'_> {
    /// Parses a list of integers that is written as a constant, such as `dense<[1, 0]> :
    /// tensor<2xi64>`.
    pub(super) fn integer_constant(&mut self, range: TextRange) -> Result<Vec<i64>> {
        let start = range.start;
        let mut cursor = self.cursor.part(range);
        let value = cursor.attribute_value()?;
        cursor.expect(":")?;
        let number = self.types.read(&mut cursor)?;
        let shape = self.types.shape(number).clone();
        let is_list = shape.rank() <= 1 && shape.element_type() == ElementType::S64;
        match self.constant(value, &shape)? {
            MlirConstant::Whole(literal) if is_list => {
                let chunks = literal.bytes().chunks_exact(8);
                let integer = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("8 bytes"));
                Ok(chunks.map(integer).collect())
            }
            _ => Err(self.cursor.error(start, "expected a list of integers of 64 bits")),
        }
    }

    /// Checks the type after the value of a constant, which must be the type of the result. Only
    /// the generic form repeats this type.
    pub(super) fn check_constant_type(&mut self, range: TextRange, shape: &Shape) -> Result<()> {
        let mut cursor = self.cursor.part(range);
        cursor.attribute_value()?;
        if !cursor.eat(":") {
            return Ok(());
        }
        let start = cursor.start()?;
        let number = self.types.read(&mut cursor)?;
        let given = self.types.shape(number);
        if given != shape {
            let reason = format!("expected {shape}, the type of the result, got {given}");
            return Err(self.cursor.error(start, reason));
        }
        Ok(())
    }

    /// Parses the value of a constant. `shape` is the shape of the result, which determines the
    /// number and the type of the elements.
    pub(super) fn constant(&self, range: TextRange, shape: &Shape) -> Result<MlirConstant> {
        let start = range.start;
        let mut cursor = self.cursor.part(range);
        let Some(extents) = queries::bounds(shape).filter(|_| shape.is_array()) else {
            return Err(cursor.unexpected("a constant of fixed extents"));
        };
        let elements = queries::elements_in(shape).unwrap_or(u64::MAX);
        let element_type = shape.element_type();
        let bytes = match cursor.keyword() {
            "dense" => {
                cursor.expect("<")?;
                if cursor.sees("\"") {
                    let range = cursor.string()?;
                    hexadecimal(&cursor, range, element_type, elements)?
                } else {
                    decimal(&mut cursor, element_type, &extents, elements)?
                }
            }
            "dense_resource" => {
                let group = cursor.group()?;
                if cursor.text(group.start + 1..group.end - 1).trim() == "__elided__" {
                    return Ok(MlirConstant::Elided);
                }
                let reason = "expected the value of the constant, got the name of a resource; \
                              `dense<…>` has the value";
                return Err(self.cursor.not_supported(start, reason));
            }
            _ => return Err(self.cursor.error(start, "expected a constant `dense<…>`")),
        };
        let width = width(element_type);
        let is_one = bytes.len() == width && elements != 1;
        let whole = usize::try_from(elements).ok().and_then(|elements| elements.checked_mul(width));
        let literal = match whole {
            Some(whole) if is_one && whole <= MAX_REPEATED_BYTES => {
                Literal::new(shape, bytes.repeat(whole / width)).map(MlirConstant::Whole)
            }
            _ if is_one => Shape::new(element_type, [], None)
                .map_err(Into::into)
                .and_then(|scalar| Literal::new(&scalar, bytes))
                .map(MlirConstant::Repeated),
            _ => Literal::new(shape, bytes).map(MlirConstant::Whole),
        };
        literal.map_err(|error| self.cursor.error(start, error.to_string()))
    }
}

/// Returns the size of an element in a literal, in bytes.
fn width(element_type: ElementType) -> usize {
    usize::try_from(element_type.storage_bits().unwrap_or(8) / 8).unwrap_or(1)
}

/// Parses elements that are written as numbers, and returns their bytes. If there is a single
/// number instead of lists, all elements are equal to it, and only its bytes are returned.
fn decimal(
    cursor: &mut Cursor<'_>,
    element_type: ElementType,
    extents: &[u64],
    elements: u64,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if cursor.eat(">") {
        if elements > 0 {
            return Err(cursor.error(cursor.position() - 1, "expected elements, got none"));
        }
        return Ok(bytes);
    }
    if cursor.sees("[") {
        list(cursor, element_type, extents, &mut bytes)?;
    } else {
        element(cursor, element_type, &mut bytes)?;
    }
    cursor.expect(">")?;
    Ok(bytes)
}

/// Parses the nested lists of an array with these extents, and appends the bytes of its elements.
fn list(
    cursor: &mut Cursor<'_>,
    element_type: ElementType,
    extents: &[u64],
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let Some((&extent, inner)) = extents.split_first() else {
        return element(cursor, element_type, bytes);
    };
    let start = cursor.start()?;
    cursor.expect("[")?;
    let mut count = 0;
    cursor.list("]", |cursor| {
        count += 1;
        list(cursor, element_type, inner, bytes)
    })?;
    if count != extent {
        let reason = format!("expected a list of {extent} elements, got {count}");
        return Err(cursor.error(start, reason));
    }
    Ok(())
}

/// Parses one element, and appends its bytes. A complex number is a pair of a real and an imaginary
/// part.
fn element(cursor: &mut Cursor<'_>, element_type: ElementType, bytes: &mut Vec<u8>) -> Result<()> {
    let part = match element_type {
        ElementType::C64 => ElementType::F32,
        ElementType::C128 => ElementType::F64,
        _ => return number(cursor, element_type, bytes),
    };
    cursor.expect("(")?;
    number(cursor, part, bytes)?;
    cursor.expect(",")?;
    number(cursor, part, bytes)?;
    cursor.expect(")")
}

/// Parses a number, and appends its bytes.
fn number(cursor: &mut Cursor<'_>, element_type: ElementType, bytes: &mut Vec<u8>) -> Result<()> {
    let start = cursor.start()?;
    let text = cursor.number_text();
    let Some(bits) = bits(element_type, text) else {
        if text.is_empty() {
            return Err(cursor.unexpected(&format!("a value of {element_type}")));
        }
        let reason = format!("expected a value of {element_type}, got `{}`", excerpt(text, 40));
        return Err(cursor.error(start, reason));
    };
    bytes.extend_from_slice(&bits.to_le_bytes()[..width(element_type)]);
    Ok(())
}

/// Parses a number, and returns its bits. Returns `None` if the text is not a number of the type.
///
/// A number is an integer, a decimal float with a point, or `0x` followed by the bits of the number
/// in hexadecimal. An integer of a signed type may also be written as the unsigned integer with the
/// same bits. A float is rounded to the type, and becomes infinite if it is beyond the range of the
/// type. A float beyond the range of `f64` is refused.
fn bits(element_type: ElementType, text: &str) -> Option<u128> {
    if let Some(digits) = text.strip_prefix("0x") {
        let bits = u128::from_str_radix(digits, 16).ok()?;
        return (bits >> element_type.bits()? == 0).then_some(bits);
    }
    if element_type.float_value(0).is_some() {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let has_point =
            digits.starts_with(|letter: char| letter.is_ascii_digit()) && digits.contains('.');
        let number = has_point.then(|| text.parse::<f64>().ok()).flatten()?;
        return number.is_finite().then(|| element_type.float_bits(number)).flatten();
    }
    if element_type == ElementType::Pred {
        return matches!(text, "true" | "false").then(|| u128::from(text == "true"));
    }
    values::bits(element_type, text).or_else(|| {
        let (width, number) = (element_type.bits()?, text.parse::<u128>().ok()?);
        (number >> width == 0).then_some(number)
    })
}

/// Parses elements that are written as a string of hexadecimal digits, and returns their bytes. If
/// the string has only one element, all elements are equal to it, and only its bytes are returned.
/// Elements of type `pred` may be packed, eight in a byte.
fn hexadecimal(
    cursor: &Cursor<'_>,
    range: TextRange,
    element_type: ElementType,
    elements: u64,
) -> Result<Vec<u8>> {
    let start = range.start;
    let text = cursor.text(range.start + 1..range.end - 1);
    let error = |reason: String| Err(cursor.error(start, reason));
    let Some(digits) = text.strip_prefix("0x").filter(|digits| digits.len() % 2 == 0) else {
        return error("expected `0x` and two hexadecimal digits for each byte".to_owned());
    };
    let byte = |pair: &[u8]| {
        let digit = |letter: u8| char::from(letter).to_digit(16);
        u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()
    };
    let bytes = digits.as_bytes().chunks_exact(2).map(byte).collect::<Option<Vec<u8>>>();
    let Some(bytes) = bytes else {
        return error("expected hexadecimal digits after `0x`".to_owned());
    };
    let (given, width) = (bytes.len() as u64, width(element_type));
    let size = elements.saturating_mul(width as u64);
    if given != size && element_type == ElementType::Pred && given == elements.div_ceil(8) {
        let bits = (0..elements).map(|i| (usize::try_from(i / 8).unwrap_or(0), i % 8));
        return Ok(bits.map(|(byte, bit)| bytes[byte] >> bit & 1).collect());
    }
    if given == size || bytes.len() == width {
        return Ok(bytes);
    }
    error(format!("expected {size} bytes, or {width} for all elements, got {given}"))
}
