//! Decodes serialized messages from untrusted bytes. The length is limited first, because a decoded
//! message can take many times the memory of its bytes. Errors are kept short for the same reason.

use prost::{DecodeError, Message, Name};

use super::{FieldPath, Shape, ShapeError};
use crate::proto::xla;

/// The maximum size of an input: 16 MiB.
///
/// Small fields expand most: a decoded message can take 144 times the memory of its bytes, and a
/// parsed text 224 times. A service can therefore choose a lower limit and reject longer messages
/// before it decodes them.
pub const MAX_INPUT_BYTES: usize = 16 << 20;

/// The maximum number of fields of a path that are printed. In a longer path, the middle is
/// replaced by `…`.
const MAX_PRINTED_FIELDS: usize = 8;

impl Shape {
    /// Decodes a serialized `xla.Shape`, written by TensorFlow 1.x or by any later version of XLA.
    ///
    /// ```
    /// use stridec::shape::Shape;
    /// let bytes = [0x10, 0x0b, 0x1a, 2, 2, 3, 0x2a, 10, 0x0a, 2, 0, 1, 0x12, 2, 3, 5, 0x18, 1];
    /// assert_eq!(Shape::decode(&bytes)?.to_string(), "f32[2,3]{0,1:PAD(3,5,zero)}");
    /// # Ok::<(), stridec::shape::ShapeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` is longer than [`MAX_INPUT_BYTES`], if it is not a serialized
    /// `xla.Shape`, or if the shape is invalid.
    pub fn decode(bytes: &[u8]) -> Result<Self, ShapeError> {
        Self::try_from(&decode::<xla::Shape>(bytes)?)
    }

    /// Encodes the shape as a serialized `xla.Shape`. The bytes are equal to the output of
    /// TensorFlow 1.x if the layout has padding, and to the output of today's XLA otherwise.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        xla::Shape::from(self).encode_to_vec()
    }
}

/// Decodes a serialized message that is defined in `proto/`.
///
/// # Errors
///
/// Returns an error if `bytes` is longer than [`MAX_INPUT_BYTES`] or is not a serialized message of
/// this type.
pub fn decode<M: Message + Name + Default>(bytes: &[u8]) -> Result<M, ShapeError> {
    check_size(bytes.len())?;
    decode_unlimited(bytes)
}

/// Decodes a serialized message. The caller must have limited the length of `bytes`.
///
/// # Errors
///
/// Returns an error if `bytes` is not a serialized message of this type.
pub(crate) fn decode_unlimited<M: Message + Name + Default>(bytes: &[u8]) -> Result<M, ShapeError> {
    M::decode(bytes).map_err(|error| decode_error::<M>(&error))
}

pub(super) fn check_size(given: usize) -> Result<(), ShapeError> {
    if given > MAX_INPUT_BYTES {
        let field = FieldPath::new("input");
        return Err(ShapeError::TooMany { field, what: "bytes", given, limit: MAX_INPUT_BYTES });
    }
    Ok(())
}

/// Converts prost's error to one that contains the path of the field. prost lists up to a hundred
/// nested fields, the innermost first, so a long path is shortened.
pub(super) fn decode_error<M: Name>(error: &DecodeError) -> ShapeError {
    let text = error.to_string();
    let mut reason = text.split_once("message: ").map_or(text.as_str(), |(_, rest)| rest);
    let mut fields = Vec::new();
    while let Some((place, rest)) = reason.split_once(": ")
        && let Some((_, field)) = place.split_once('.')
        && !place.contains(' ')
    {
        fields.push(field.trim_start_matches("r#")); // the keyword `type` is escaped as `r#type`
        reason = rest;
    }
    fields.reverse();
    if fields.len() > MAX_PRINTED_FIELDS {
        let half = MAX_PRINTED_FIELDS / 2;
        fields.splice(half..fields.len() - half, ["…"]);
    }
    let field = if fields.is_empty() { "bytes".to_string() } else { fields.join(".") };
    ShapeError::Decode { field, reason: reason.to_string(), message: M::full_name() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_bytes_name_the_field() {
        let bytes = "f32[2,3]{0,1:T(2,2)}".parse::<Shape>().unwrap().encode();
        // Bytes that end between two fields are a valid message. The first of these messages has
        // only the type, the next also has the extents, and the last also has the layout.
        let whole: Vec<usize> =
            (0..bytes.len()).filter(|&len| Shape::decode(&bytes[..len]).is_ok()).collect();
        assert_eq!(whole, [2, 6, 21]);
        // The field Shape.layout has 3 bytes. They contain the field Layout.tiles with 1 byte,
        // which is a tag without a value.
        let error = Shape::decode(&[0x2a, 3, 0x32, 1, 0x08]).unwrap_err().to_string();
        assert!(error.starts_with("layout.tiles"), "{error}");
        assert!(error.contains("expected a serialized xla.Shape"), "{error}");
    }

    #[test]
    fn deep_nesting_is_a_short_error() {
        let mut bytes = vec![0x10, 0x11];
        for _ in 0..2_000 {
            let mut outer = vec![0x10, 0x0d, 0x22];
            prost::encode_length_delimiter(bytes.len(), &mut outer).unwrap();
            outer.append(&mut bytes);
            bytes = outer;
        }
        let error = Shape::decode(&bytes).unwrap_err().to_string();
        assert!(error.contains("recursion limit reached") && error.len() < 300, "{error}");
    }

    /// Checks that a path of up to eight names is printed in full, and that only the first four and
    /// the last four names of a longer path are printed.
    #[test]
    fn the_middle_of_a_long_path_is_left_out() {
        let mut bytes = vec![0x08];
        let mut names = vec![];
        for _ in 0..12 {
            bytes = [&[0x22, u8::try_from(bytes.len()).unwrap()], &bytes[..]].concat();
            let error = Shape::decode(&bytes).unwrap_err().to_string();
            let path = error.split(": ").next().unwrap();
            names.push(path.split('.').count());
            assert_eq!(path.contains('…'), names.last() == Some(&9), "{error}");
        }
        names.dedup();
        assert_eq!(names, (names[0]..=9).collect::<Vec<_>>());
    }

    #[test]
    fn the_size_is_bounded_before_decoding() {
        let error = Shape::decode(&vec![0; MAX_INPUT_BYTES + 1]).unwrap_err().to_string();
        assert_eq!(error, "input: expected at most 16777216 bytes, got 16777217");
    }

    #[test]
    fn the_deepest_shapes_survive_the_wire() {
        let mut shape: Shape = "f32[2]{0:T(2)SC(0:1)}".parse().unwrap();
        while let Ok(deeper) = Shape::tuple([shape.clone()]) {
            shape = deeper;
        }
        assert_eq!(Shape::decode(&shape.encode()), Ok(shape));
        let mut text = "f32[2]{0:T(2)}".to_string();
        let mut deepest = None;
        while let Ok(shape) = text.parse::<Shape>() {
            deepest = Some(shape);
            text = format!("f32[2]{{0:P({text})}}");
        }
        let deepest = deepest.unwrap();
        assert_eq!(Shape::decode(&deepest.encode()), Ok(deepest));
    }

    #[test]
    fn no_bytes_panic() {
        let seed: Shape =
            "(f32[<=4,?]{0,1:T(2,*,2)L(2)E(4)S(1)SC(0:1)M(8)}, b(s8[3]), token[])".parse().unwrap();
        let seed = seed.encode();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % below as u64).unwrap()
        };
        // Miri takes milliseconds for each input.
        for _ in 0..if cfg!(miri) { 50 } else { 50_000 } {
            let mut bytes = seed.clone();
            for _ in 0..=random(4) {
                let i = random(bytes.len());
                bytes[i] = u8::try_from(random(256)).unwrap();
            }
            if let Ok(shape) = Shape::decode(&bytes) {
                assert_eq!(Shape::decode(&shape.encode()), Ok(shape));
            }
        }
    }
}
