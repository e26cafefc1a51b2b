//! [`Count`]: a number with its noun, such as `1 unit` and `2 units`, for messages and printed
//! nests.

use std::fmt;

/// A number with its noun, printed in the singular or the plural: `1 unit`, `2 units`; `1 index`,
/// `2 indices`; `1 entry`, `2 entries`.
pub(crate) struct Count(pub(crate) u64, pub(crate) &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        match (noun.strip_suffix("ex"), noun.strip_suffix('y')) {
            _ if *count == 1 => write!(f, "1 {noun}"),
            (Some(stem), _) => write!(f, "{count} {stem}ices"),
            (_, Some(stem)) => write!(f, "{count} {stem}ies"),
            _ => write!(f, "{count} {noun}s"),
        }
    }
}

/// Returns a width as a number of bytes if it is whole, and as a number of bits otherwise: `4
/// bits`, `1 byte`, `16 bytes`.
pub(crate) fn width(bits: u32) -> Count {
    if bits.is_multiple_of(8) {
        Count(u64::from(bits) / 8, "byte")
    } else {
        Count(bits.into(), "bit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(Count(1, "unit").to_string(), "1 unit");
        assert_eq!(Count(0, "index").to_string(), "0 indices");
        assert_eq!(Count(3, "entry").to_string(), "3 entries");
        assert_eq!(width(8).to_string(), "1 byte");
        assert_eq!(width(2).to_string(), "2 bits");
    }
}
