//! Makes inputs from valid ones, the seeds, by small changes, by joining parts of two seeds, or
//! from random bytes.

use crate::support::random::Random;

/// Numbers at the limits of the formats, as varints and as text.
const NUMBERS: [u64; 12] =
    [0, 1, 2, 64, 65, 127, 128, 1 << 31, u32::MAX as u64, i64::MAX as u64, 1 << 63, u64::MAX];

/// Words and signs of the text formats.
const WORDS: [&str; 52] = [
    "f32",
    "bf16",
    "s4",
    "u1",
    "c128",
    "pred",
    "token[]",
    "opaque[]",
    "b(",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<=",
    "?",
    ",",
    ":",
    "*",
    "T(",
    "E(",
    "L(",
    "M(",
    "S(",
    "SC(",
    "D(C,H)",
    "P(",
    "PAD(",
    "strided<[",
    "]>",
    "offset:",
    "/*",
    "*/",
    "//",
    "-",
    "#",
    "\"",
    "tuple_shapes",
    "layout",
    "dimensions",
    "minor_to_major",
    "ENTRY ",
    "ROOT ",
    "%",
    " = ",
    "constant(",
    "dimensions={",
    "slice={[",
    ", to_apply=",
    "\u{1b}[31m",
    "\u{202e}",
];

/// Writes the next input of a pseudo-random sequence to `out`. It is rarely longer than the seeds.
pub(crate) fn mutated(random: &mut Random, seeds: &[Vec<u8>], out: &mut Vec<u8>) {
    out.clear();
    if random.one_in(16) {
        let length = random.below(64);
        out.extend((0..length).map(|_| random.next().to_le_bytes()[0]));
        return;
    }
    out.extend_from_slice(&seeds[index(random, seeds.len())]);
    // Half of the inputs keep their length, so that the lengths in a message stay correct.
    let ways = if random.one_in(2) { 2 } else { 9 };
    let changes = if random.one_in(2) { 1 } else { 1 + random.below(5) };
    for _ in 0..changes {
        let at = index(random, out.len() + 1);
        let end = at + index(random, (out.len() - at + 1).min(16));
        match random.below(ways) {
            0 if at < out.len() => out[at] ^= 1 << random.below(8),
            1 if at < out.len() => out[at] = random.next().to_le_bytes()[0],
            0 | 1 => {}
            2 => out.truncate(at),
            3 => drop(out.drain(at..end)),
            4 => insert(out, at, &varint(random.pick(&NUMBERS))),
            5 => insert(out, at, random.pick(&NUMBERS).to_string().as_bytes()),
            6 => insert(out, at, random.pick(&WORDS).as_bytes()),
            7 => {
                let again = out[at..end].to_vec();
                for _ in 0..random.below(4) {
                    insert(out, at, &again);
                }
            }
            _ => {
                // Join the start of this seed and the end of another.
                let other = &seeds[index(random, seeds.len())];
                out.truncate(at);
                out.extend_from_slice(&other[index(random, other.len() + 1)..]);
            }
        }
    }
}

fn index(random: &mut Random, below: usize) -> usize {
    usize::try_from(random.below(below.max(1) as u64)).unwrap_or(0)
}

fn insert(out: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    out.splice(at..at, bytes.iter().copied());
}

fn varint(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(number, &mut bytes);
    bytes
}
