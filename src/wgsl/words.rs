//! WGSL types, literals and components for values of 1 to 128 bits. WGSL itself has only 32-bit
//! words and vectors of them.

/// Returns the unsigned WGSL type for `bits` bits, which has one, two or four words.
pub(super) fn type_name(bits: u64) -> &'static str {
    match bits {
        0..=32 => "u32",
        33..=64 => "vec2<u32>",
        _ => "vec4<u32>",
    }
}

/// Returns a literal of the WGSL type for `bits` bits, with the low bits of `value`.
pub(super) fn literal(bits: u64, value: u128) -> String {
    let word = |n: u32| match (value >> (32 * n)) & u128::from(u32::MAX) {
        0 => "0u".to_owned(),
        word => format!("0x{word:x}u"),
    };
    let words = match bits {
        0..=32 => return word(0),
        33..=64 => vec![word(0), word(1)],
        _ => vec![word(0), word(1), word(2), word(3)],
    };
    let same = words.iter().all(|word| *word == words[0]);
    let words = if same { words[0].clone() } else { words.join(", ") };
    format!("{}({words})", type_name(bits))
}

/// Returns `value`, which has `bits` bits, repeated until it fills `to` bits.
pub(super) fn repeated(value: u128, bits: u32, to: u64) -> u128 {
    let copies = u32::try_from(to).unwrap_or(128).min(128) / bits;
    (0..copies).fold(0, |all, copy| all | value << (copy * bits))
}

/// Returns an expression for `count` words of a value with `words` words, starting at word `first`.
pub(super) fn components(value: &str, words: u64, first: u64, count: u64) -> String {
    if count == words {
        return value.to_owned();
    }
    let letters: String = "xyzw".chars().skip(index(first)).take(index(count)).collect();
    format!("{value}.{letters}")
}

fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Returns an expression that sign-extends each integer in `word` from `bits` to `to_bits` bits.
/// Each integer has room for `to_bits` bits, and the upper ones must be zero.
pub(super) fn sign_extended(word: &str, bits: u32, to_bits: u32) -> String {
    let signs = repeated(1 << (bits - 1), to_bits, 32);
    // For example, from 4 to 8 bits: a sign at bit 3 times 2 + 4 + 8 + 16 sets bits 4 to 7.
    let ones = (2_u64 << (to_bits - bits)) - 2;
    format!("{word} | (({word} & 0x{signs:x}u) * 0x{ones:x}u)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_repeat_a_fill_to_the_access() {
        assert_eq!(literal(64, repeated(0x3c00, 16, 64)), "vec2<u32>(0x3c003c00u)");
        assert_eq!(literal(8, repeated(0x7f, 8, 8)), "0x7fu");
        assert_eq!(literal(64, 1 << 32), "vec2<u32>(0u, 0x1u)");
    }

    #[test]
    fn signs_are_repeated_and_components_named() {
        assert_eq!(sign_extended("w", 4, 8), "w | ((w & 0x8080808u) * 0x1eu)");
        assert_eq!(components("row0", 4, 2, 2), "row0.zw");
    }
}
