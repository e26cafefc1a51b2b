//! [`PackedWords`]: combines parts of loaded words into destination words, and writes the WGSL. A
//! part is called a *unit*: an element that is narrower than 32 bits.
//!
//! Moving a single unit takes a shift and a mask. To save operations, units that are contiguous in
//! the destination are first combined in pairs, all pairs of two words at once, and the results are
//! combined in the same way. For example, three planes of bytes become pixels:
//!
//! ```text
//! row0       r0 r1 r2 r3
//! row1       g0 g1 g2 g3
//! row2       b0 b1 b2 b3
//! halves0    r0 g0 r2 g2    (row0 & 0x00ff00ff) | ((row1 & 0x00ff00ff) << 8)
//! halves1    b0 r1 b2 r3    (row2 & 0x00ff00ff) | (row0 & 0xff00ff00)
//! a word     r0 g0 b0 r1    insertBits(halves0, halves1, 16, 16)
//! ```
//!
//! If the components of vectors are all combined in the same way, one line combines the whole
//! vectors. Units are moved one by one if that takes fewer operations, which `pack_plan` decides.

use std::ops::Range;

use super::{
    pack_plan::{Combine, CombinedWord, Goal, PackPlan, Unit, Word, moved, parts},
    words::{components, type_name},
    writer::Writer,
};
use crate::schedule::AdapterKind;

/// A loaded or computed value: its name and its number of words.
#[derive(Debug)]
struct NamedValue {
    name: String,
    words: u64,
}

/// The expressions for the words of the destination, and the values that are computed for them.
#[derive(Debug, Default)]
pub(super) struct PackedWords {
    values: Vec<NamedValue>,
    /// The names and expressions of constants of vector type. `lines` has the names and expressions
    /// of the computed values.
    constants: Vec<(String, String)>,
    lines: Vec<(String, String)>,
    /// The prefixes of names, each with the number of values whose names have this prefix.
    counts: Vec<(&'static str, usize)>,
    words: Vec<String>,
    /// The arguments of the `insertBits` that computes each word, or `None` if the word does not
    /// consist of whole bytes of two words.
    inserts: Vec<Option<Insert>>,
    /// True if one call of `insertBits` may compute all words of an access. On a GPU, `insertBits`
    /// is a single instruction; on a CPU it saves nothing.
    inserts_words: bool,
    /// True if there are few enough words that `insertBits` may also compute single words. naga
    /// takes longer to validate a call than to validate shifts and masks.
    is_short: bool,
}

/// The maximum number of words for which `insertBits` may compute single words. A higher limit
/// slows the validation of long kernels. A lower limit leaves shifts and masks in more kernels.
const SHORT: usize = 32;

/// A word with some bits replaced by bits of another word.
#[derive(Debug)]
struct Insert {
    into: String,
    bits: String,
    offset: u32,
    count: u32,
}

impl PackedWords {
    /// Plans how words of the destination, with units of `to_bits` bits, are computed from loaded
    /// units of `bits` bits. Wider units are truncated to their low bits. Narrower units are
    /// extended with zeros.
    ///
    /// `given` lists the units of each word. A unit is the name of a loaded value, the number of
    /// words in that value, and the index of the unit in the value.
    pub(super) fn new(
        given: &[Vec<(String, u64, u64)>],
        bits: u32,
        to_bits: u32,
        kind: AdapterKind,
    ) -> Self {
        let mut steps = Self::default();
        let lanes = u64::from(32 / bits);
        let mut words: Vec<Vec<Unit>> = Vec::with_capacity(given.len());
        for units in given {
            let unit = |(name, words, number): &(String, u64, u64)| Unit {
                word: Word { value: steps.loaded(name, *words), component: number / lanes },
                place: u32::try_from(number % lanes).unwrap_or(0),
            };
            words.push(units.iter().map(unit).collect());
        }
        let mut numbers = None;
        if to_bits > bits {
            numbers = numbers_in_place(&words, to_bits / bits);
            if numbers.is_some() {
                words.iter_mut().flatten().for_each(|unit| unit.place /= to_bits / bits);
            } else {
                steps.spread(&mut words, bits, to_bits);
            }
        } else {
            // A wider unit is treated as several units of `to_bits` bits, and only the lowest unit
            // is used.
            words.iter_mut().flatten().for_each(|unit| unit.place *= bits / to_bits);
        }
        steps.inserts_words = kind == AdapterKind::Gpu;
        steps.is_short = steps.inserts_words && words.len() <= SHORT && numbers.is_none();
        let loaded: Vec<u64> = steps.values.iter().map(|value| value.words).collect();
        steps.follow(PackPlan::new(words, to_bits, &loaded), to_bits);
        if numbers.is_some() {
            steps.inserts.clear();
        }
        for (word, number) in steps.words.iter_mut().zip(numbers.unwrap_or_default()) {
            let operand = if word.contains(' ') { format!("({word})") } else { word.clone() };
            let low = every(bits, to_bits);
            *word = match number {
                0 => format!("{operand} & 0x{low:08x}u"),
                _ => format!("({operand} >> {}u) & 0x{low:08x}u", number * bits),
            };
        }
        steps
    }

    /// Writes the constants and values from which the words of the destination are computed.
    pub(super) fn write(&self, writer: &mut Writer) {
        for (name, value) in self.constants.iter().chain(&self.lines) {
            writer.line(format_args!("let {name} = {value};"));
        }
    }

    /// Returns the expressions for the words of the destination, in order.
    pub(super) fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the index of a loaded value in `values`. Adds the value on first use.
    fn loaded(&mut self, name: &str, words: u64) -> usize {
        let known = self.values.iter().rposition(|value| value.name == name);
        known.unwrap_or_else(|| {
            self.values.push(NamedValue { name: name.to_owned(), words });
            self.values.len() - 1
        })
    }

    /// Adds a value that the kernel computes, and returns its index in `values`.
    fn value(&mut self, prefix: &'static str, words: u64, expression: String) -> usize {
        let at = self.counts.iter().position(|count| count.0 == prefix).unwrap_or_else(|| {
            self.counts.push((prefix, 0));
            self.counts.len() - 1
        });
        let name = format!("{prefix}{}", self.counts[at].1);
        self.counts[at].1 += 1;
        self.lines.push((name.clone(), expression));
        self.values.push(NamedValue { name, words });
        self.values.len() - 1
    }

    /// Widens units from `bits` to `to_bits` bits, with zeros at the top. With
    /// `n = to_bits / bits`, a loaded value becomes up to `n` computed values: the unit with index
    /// `i` of the loaded value is unit `i / n` of computed value `i % n`.
    fn spread(&mut self, words: &mut [Vec<Unit>], bits: u32, to_bits: u32) {
        let in_place = to_bits / bits;
        let mut apart: Vec<(usize, u32, usize)> = Vec::new();
        let low = every(bits, to_bits);
        for unit in words.iter_mut().flatten() {
            let (from, number) = (unit.word.value, unit.place % in_place);
            let known = apart.iter().find(|one| (one.0, one.1) == (from, number));
            unit.word.value = if let Some(one) = known {
                one.2
            } else {
                let words = self.values[from].words;
                let mask = self.mask(&format!("low_{bits}"), low, words);
                let name = self.values[from].name.clone();
                let shifted = self.shifted(name, -(number * bits).cast_signed(), words);
                let shifted = if number > 0 { format!("({shifted})") } else { shifted };
                let value = self.value("apart", words, format!("{shifted} & {mask}"));
                apart.push((from, number, value));
                value
            };
            unit.place /= in_place;
        }
    }

    /// Adds the values that `plan` computes, and the expressions for the words of the destination.
    fn follow(&mut self, mut plan: PackPlan, bits: u32) {
        let vectors = plan.vectors();
        for step in &plan.steps {
            let expression = self.combined(&step.made, step.words);
            self.value(name_of(step.bits), step.words, expression);
        }
        for (goal, component) in plan.goals.iter().zip(vectors) {
            let insert = match (goal, component) {
                (Goal::Combined(made), None) if self.inserts_words => self.insert(made, 1),
                _ => None,
            };
            self.inserts.push(insert);
            let word = match (goal, component) {
                (_, Some(word)) | (&Goal::Whole(word), _) => self.name(word),
                (Goal::Combined(made), _) => self.combined(made, 1),
                (Goal::Units(units), _) => {
                    let part = |(word, by, mask)| {
                        let name = self.name(word);
                        self.part(name, by, mask, 1)
                    };
                    parts(units, bits).into_iter().map(part).collect::<Vec<_>>().join(" | ")
                }
            };
            self.words.push(word);
        }
    }

    /// Returns the call of `insertBits` that combines whole bytes of two words. Returns `None` if
    /// the parts are not whole bytes, or if one shift of each word already combines them.
    fn insert(&mut self, made: &CombinedWord, words: u64) -> Option<Insert> {
        let Combine::Ends { bits, low_from, high_from } = made.combine else { return None };
        if bits % 8 != 0 || low_from + bits == 32 && high_from == 0 {
            return None;
        }
        let [low, high] = [made.low, made.high].map(|of| match words {
            1 => self.name(of),
            _ => self.values[of.value].name.clone(),
        });
        let [end, low_from, high_from] = [bits, low_from, high_from].map(u32::cast_signed);
        Some(if low_from == 0 && high_from != end {
            let high = self.shifted(high, -high_from, words);
            Insert { into: low, bits: high, offset: bits, count: 32 - bits }
        } else {
            let into = self.shifted(high, end - high_from, words);
            Insert { into, bits: self.shifted(low, -low_from, words), offset: 0, count: bits }
        })
    }

    /// Returns the arguments of a single call of `insertBits` that computes all of these words, or
    /// `None` if no single call computes them.
    pub(super) fn inserted(&self, words: Range<usize>) -> Option<[String; 4]> {
        let inserts: Vec<&Insert> =
            self.inserts.get(words)?.iter().map(Option::as_ref).collect::<Option<_>>()?;
        let [first, _, ..] = &inserts[..] else { return None };
        let (offset, count) = (first.offset, first.count);
        if inserts.iter().any(|of| (of.offset, of.count) != (offset, count)) {
            return None;
        }
        let vector = |of: fn(&Insert) -> &str| {
            let parts: Vec<&str> = inserts.iter().map(|insert| of(insert)).collect();
            format!("vec{}<u32>({})", parts.len(), parts.join(", "))
        };
        let (into, bits) = (vector(|insert| &insert.into), vector(|insert| &insert.bits));
        Some([into, bits, format!("{offset}u"), format!("{count}u")])
    }

    /// Returns the expression for one word of a loaded or computed value.
    fn name(&self, word: Word) -> String {
        let NamedValue { name, words } = &self.values[word.value];
        components(name, *words, word.component, 1)
    }

    /// Returns the expression that combines two words into one. If `words` is more than 1, it
    /// combines vectors of that many words instead.
    fn combined(&mut self, made: &CombinedWord, words: u64) -> String {
        let name = |of: Word| match words {
            1 => self.name(of),
            _ => self.values[of.value].name.clone(),
        };
        let (low, high) = (name(made.low), name(made.high));
        match made.combine {
            Combine::Pairs { bits, low_by, .. } if made.is_one() => {
                self.shifted(low, low_by * bits.cast_signed(), words)
            }
            Combine::Pairs { bits, low_by, high_by } => {
                // A unit that moves by an odd distance moves from an odd index to an even index, or
                // from an even index to an odd one.
                let mut part = |name: String, by: i32, is_odd: bool| {
                    let (kind, by_one) = if is_odd { ("odd", bits) } else { ("even", 0) };
                    let kind = format!("{kind}_{}", name_of(bits));
                    let mask = self.mask(&kind, every(bits, 2 * bits) << by_one, words);
                    let masked = format!("({name} & {mask})");
                    match by {
                        0 => masked,
                        _ => format!("({})", self.shifted(masked, by * bits.cast_signed(), words)),
                    }
                };
                let low = part(low, low_by, low_by % 2 != 0);
                let high = part(high, high_by, high_by % 2 == 0);
                format!("{low} | {high}")
            }
            Combine::Ends { bits, low_from, high_from } => {
                let (low_from, high_from) = (low_from.cast_signed(), high_from.cast_signed());
                let (end, above) = (bits.cast_signed(), 32 - bits);
                if low_from + end == 32 && high_from == 0 {
                    let low = self.shifted(low, -low_from, words);
                    return format!("({low}) | ({})", self.shifted(high, end, words));
                }
                // naga parses and validates shifts and masks of single words faster than calls,
                // which matters if there are many words.
                if (words > 1 || self.is_short)
                    && let Some(Insert { into, bits, offset, count }) = self.insert(made, words)
                {
                    return format!("insertBits({into}, {bits}, {offset}u, {count}u)");
                }
                let mask = u32::MAX >> above;
                let low = self.part(low, -low_from, mask, words);
                let high = self.part(high, end - high_from, !mask, words);
                format!("{low} | {high}")
            }
        }
    }

    /// Returns an expression in parentheses: `word`, shifted up by `by` bits or down if `by` is
    /// negative, with only the bits in `mask`.
    fn part(&mut self, word: String, by: i32, mask: u32, words: u64) -> String {
        let shifted = self.shifted(word, by, words);
        if mask == moved(u32::MAX, by) {
            return format!("({shifted})");
        }
        let mask = self.mask(&format!("mask_{mask:x}"), mask, words);
        if by == 0 { format!("({shifted} & {mask})") } else { format!("(({shifted}) & {mask})") }
    }

    /// Returns the expression for `value` shifted up by `by` bits, or shifted down if `by` is
    /// negative.
    fn shifted(&mut self, value: String, by: i32, words: u64) -> String {
        let amount = by.unsigned_abs();
        let amount = match words {
            _ if by == 0 => return value,
            1 => format!("{amount}u"),
            _ => self
                .constant(format!("by_{amount}"), format!("{}({amount}u)", type_name(32 * words))),
        };
        format!("{value} {} {amount}", if by > 0 { "<<" } else { ">>" })
    }

    /// Returns the expression for `mask`. If `words` is more than 1, adds a constant vector with
    /// `mask` in each word, and returns its name.
    fn mask(&mut self, name: &str, mask: u32, words: u64) -> String {
        match words {
            1 => format!("0x{mask:08x}u"),
            _ => {
                self.constant(name.to_owned(), format!("{}(0x{mask:08x}u)", type_name(32 * words)))
            }
        }
    }

    fn constant(&mut self, name: String, value: String) -> String {
        if self.constants.iter().all(|one| one.0 != name) {
            self.constants.push((name.clone(), value));
        }
        name
    }
}

/// Returns, for each destination word, the index that all of its units have inside groups of
/// `in_place` loaded units, or `None` if the units of some word have different indices. If the
/// index is the same, whole groups can be combined first, and one mask then takes the units out of
/// all groups.
fn numbers_in_place(words: &[Vec<Unit>], in_place: u32) -> Option<Vec<u32>> {
    let number = |units: &Vec<Unit>| {
        let first = units[0].place % in_place;
        units.iter().all(|unit| unit.place % in_place == first).then_some(first)
    };
    words.iter().map(number).collect()
}

/// Returns a mask that contains the low `bits` bits of each group of `place` bits.
fn every(bits: u32, place: u32) -> u32 {
    (0..32 / place).fold(0, |all, at| all | (u32::MAX >> (32 - bits)) << (at * place))
}

/// Returns the name prefix of values whose units have `bits` bits.
fn name_of(bits: u32) -> &'static str {
    match bits {
        1 => "bits",
        2 => "pairs",
        4 => "nibbles",
        8 => "bytes",
        16 => "halves",
        _ => "words",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines that combine these units, and the expressions for the words. Each unit is
    /// given by the name of a value and the index of the unit in that value.
    fn of(words: &[&[(&str, u64)]], in_value: u64, bits: u32, to_bits: u32) -> Vec<String> {
        let unit = |&(name, number): &(&str, u64)| (name.to_owned(), in_value, number);
        let given: Vec<Vec<_>> = words.iter().map(|word| word.iter().map(unit).collect()).collect();
        let steps = PackedWords::new(&given, bits, to_bits, AdapterKind::Gpu);
        let lines = steps.constants.iter().chain(&steps.lines);
        let lines = lines.map(|(name, value)| format!("{name} = {value}"));
        lines.chain(steps.words.iter().cloned()).collect()
    }

    #[test]
    fn a_part_of_each_of_two_words_needs_no_steps() {
        let word = |units: &[(&str, u64)], bits| of(&[units], 1, bits, bits).concat();
        assert_eq!(word(&[("v", 0), ("w", 1)], 16), "insertBits(w, v, 0u, 16u)");
        assert_eq!(word(&[("v", 0), ("w", 0)], 16), "insertBits(v, w, 16u, 16u)");
        assert_eq!(word(&[("v", 1), ("w", 0)], 16), "(v >> 16u) | (w << 16u)");
        assert_eq!(word(&[("v", 1), ("w", 1)], 16), "insertBits(w, v >> 16u, 0u, 16u)");
        assert_eq!(word(&[("v", 3), ("w", 0), ("w", 1), ("w", 2)], 8), "(v >> 24u) | (w << 8u)");
        assert_eq!(word(&[("v", 0), ("v", 1), ("v", 2), ("v", 3)], 8), "v");
        let bytes = [("v", 2), ("v", 3), ("w", 1), ("w", 0)];
        let expected = "(v >> 16u) | ((w << 8u) & 0x00ff0000u) | (w << 24u)";
        assert_eq!(word(&bytes, 8), expected);
        let nibbles: Vec<_> = (0..8).map(|n| (if n < 3 { "v" } else { "w" }, n)).collect();
        assert_eq!(word(&nibbles, 4), "(v & 0x00000fffu) | (w & 0xfffff000u)");
    }

    #[test]
    fn planes_become_pixels_in_two_steps() {
        let unit = |n: u64| (["r", "g", "b"][(n % 3) as usize], n / 3);
        let word = |n: u64| [0, 1, 2, 3].map(|unit_of| unit(4 * n + unit_of));
        let words: Vec<_> = (0..12).map(word).collect();
        let words: Vec<&[_]> = words.iter().map(|word| &word[..]).collect();
        let text = of(&words, 4, 8, 8);
        let expected = [
            "even_bytes = vec4<u32>(0x00ff00ffu)",
            "by_8 = vec4<u32>(8u)",
            "odd_bytes = vec4<u32>(0xff00ff00u)",
            "by_16 = vec4<u32>(16u)",
            "halves0 = (r & even_bytes) | ((g & even_bytes) << by_8)",
            "halves1 = (b & even_bytes) | (r & odd_bytes)",
            "halves2 = ((g & odd_bytes) >> by_8) | (b & odd_bytes)",
            "words0 = insertBits(halves0, halves1, 16u, 16u)",
            "words1 = insertBits(halves0, halves2, 0u, 16u)",
            "words2 = insertBits(halves2, halves1 >> by_16, 0u, 16u)",
        ];
        assert_eq!(text[..10], expected);
        assert_eq!(text[10..14], ["words0.x", "words1.x", "words2.x", "words0.y"]);
    }

    #[test]
    fn narrower_units_are_packed_in_steps_and_wider_ones_spread_first() {
        let low: Vec<_> = (0..8).map(|n| ("v", n)).collect();
        let expected = [
            "even_nibbles = vec2<u32>(0x0f0f0f0fu)",
            "by_4 = vec2<u32>(4u)",
            "even_bytes = vec2<u32>(0x00ff00ffu)",
            "by_8 = vec2<u32>(8u)",
            "bytes0 = (v & even_nibbles) | ((v & even_nibbles) >> by_4)",
            "halves0 = (bytes0 & even_bytes) | ((bytes0 & even_bytes) >> by_8)",
            "insertBits(halves0.x, halves0.y, 16u, 16u)",
        ];
        assert_eq!(of(&[&low], 2, 8, 4), expected);
        let expected = [
            "apart0 = v & 0x0f0f0f0fu",
            "apart1 = (v >> 4u) & 0x0f0f0f0fu",
            "halves0 = (apart0 & 0x00ff00ffu) | ((apart1 & 0x00ff00ffu) << 8u)",
            "halves1 = ((apart0 & 0xff00ff00u) >> 8u) | (apart1 & 0xff00ff00u)",
            "insertBits(halves0, halves1, 16u, 16u)",
            "insertBits(halves1, halves0 >> 16u, 0u, 16u)",
        ];
        assert_eq!(of(&[&low[..4], &low[4..]], 1, 4, 8), expected);
        // If all units of a word have the same index inside their bytes, whole bytes are combined
        // first.
        let turned = |unit: u64| ["v", "w", "x", "y"].map(|name| (name, unit));
        let expected = [
            "halves0 = (v & 0x00ff00ffu) | ((w & 0x00ff00ffu) << 8u)",
            "halves1 = (x & 0x00ff00ffu) | ((y & 0x00ff00ffu) << 8u)",
            "((halves0 & 0x0000ffffu) | (halves1 << 16u)) & 0x0f0f0f0fu",
            "(((halves0 & 0x0000ffffu) | (halves1 << 16u)) >> 4u) & 0x0f0f0f0fu",
        ];
        assert_eq!(of(&[&turned(0), &turned(1)], 1, 4, 8), expected);
    }
}
