//! A layout in words: what the pictures show, said.

use std::fmt::Write as _;

use super::tiles::{Boxes, padded, product};
use crate::stride::{Step, StrideDescriptor};

/// Everything that is said below a picture.
pub(super) struct Words {
    /// How much memory for how many elements.
    pub(super) size: String,
    /// What is padding, why, and what it costs; `None` where nothing is.
    pub(super) padding: Option<String>,
    /// How to read the boxes, coarse to fine; empty where there are none.
    pub(super) tiles: Vec<String>,
    /// The digits of an index and what each is worth, major to minor.
    pub(super) digits: Vec<DigitRow>,
    /// The offset of one element, worked out.
    pub(super) example: Option<String>,
}

/// One row of the table of digits.
pub(super) struct DigitRow {
    /// `d0/8`.
    pub(super) name: String,
    /// Places along it.
    pub(super) places: u64,
    /// How many of those hold elements.
    pub(super) values: u64,
    /// Elements from one to the next.
    pub(super) stride: i64,
}

impl Words {
    pub(super) fn of(descriptor: &StrideDescriptor) -> Self {
        let boxes = Boxes::of(descriptor);
        // A digit that is always 0 says nothing.
        let axes = descriptor.axes().iter();
        let axes = axes.filter(|axis| descriptor.coordinate_name(axis.coordinate) != "0");
        let digits = axes.map(|axis| DigitRow {
            name: descriptor.coordinate_name(axis.coordinate),
            places: axis.extent,
            values: descriptor.extents()[axis.coordinate],
            stride: axis.stride,
        });
        Self {
            size: size(descriptor),
            padding: padding(descriptor),
            tiles: tiles(descriptor, &boxes),
            digits: digits.collect(),
            example: example(descriptor),
        }
    }
}

/// `6 elements of f32, 32 bits each, in 60 bytes`.
fn size(descriptor: &StrideDescriptor) -> String {
    let elements = count(descriptor.elements(), "element");
    let bits = descriptor.element_bits();
    let mut text = format!(
        "{elements} of {}, {} each, in {} of memory",
        descriptor.element_type().name(),
        if bits >= 8 { count((bits / 8).into(), "byte") } else { count(bits.into(), "bit") },
        count(descriptor.image_bytes(), "byte"),
    );
    if descriptor.prefix_bytes() > 0 {
        let _ = write!(text, ", after a prefix of {}", count(descriptor.prefix_bytes(), "byte"));
    }
    text
}

/// How many places hold an element: those of broadcast dimensions share one.
fn used(descriptor: &StrideDescriptor) -> u64 {
    let shared = |dimension: usize| {
        let axes = descriptor.axes();
        axes.iter().any(|axis| axis.coordinate == dimension && axis.stride == 0)
    };
    if descriptor.elements() == 0 {
        return 0;
    }
    let sizes = descriptor.sizes().iter().enumerate();
    product(sizes.filter(|&(dimension, _)| !shared(dimension)).map(|(_, &size)| size))
}

/// `9 of 15 places are padding: 36 of 60 bytes, 60%. d0 has 2 indices in 3 places; …`.
fn padding(descriptor: &StrideDescriptor) -> Option<String> {
    let places = descriptor.physical_elements();
    let unused = places.checked_sub(used(descriptor)).filter(|&unused| unused > 0)?;
    let bits = u64::from(descriptor.element_bits());
    let bytes = if (unused * bits).is_multiple_of(8) {
        count(unused * bits / 8, "byte")
    } else {
        count(unused * bits, "bit")
    };
    let mut text = format!(
        "{unused} of {} are padding: {bytes}, {}% of the memory.",
        count(places, "place"),
        percent(unused, places)
    );
    let mut reasons = vec![];
    for (dimension, &size) in descriptor.sizes().iter().enumerate() {
        let extent = padded(descriptor, dimension);
        if extent > size {
            reasons.push(format!("d{dimension} has {size} indices in {extent}"));
        }
    }
    let cells = product(descriptor.axes().iter().map(|axis| axis.extent.max(1)));
    if reasons.is_empty() && descriptor.is_packed_but_for_tail(cells) {
        reasons.push("the tail is rounded up".into());
    } else if reasons.is_empty() {
        reasons.push("the strides leave gaps".into());
    }
    let _ = write!(text, " {}.", capital(&reasons.join("; ")));
    if descriptor.padding() != 0 {
        let _ = write!(text, " It holds 0x{:x}.", descriptor.padding());
    }
    Some(text)
}

impl StrideDescriptor {
    /// Whether the axes fill the memory but for places past the last.
    fn is_packed_but_for_tail(&self, cells: u64) -> bool {
        let reach = self.axes().iter().map(|axis| axis.stride.saturating_mul(signed(axis.extent)));
        self.base_offset() == 0
            && cells < self.physical_elements()
            && reach.max() == Some(signed(cells))
    }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// One sentence for each level of boxes.
fn tiles(descriptor: &StrideDescriptor, boxes: &Boxes) -> Vec<String> {
    let cut: Vec<usize> = (0..descriptor.rank())
        .filter(|&d| boxes.levels.iter().any(|extents| extents[d] > 1))
        .collect();
    let names: Vec<String> = cut.iter().map(|d| format!("d{d}")).collect();
    let size = |extents: &[u64]| {
        cut.iter().map(|&d| extents[d].to_string()).collect::<Vec<_>>().join(" × ")
    };
    let mut sentences = vec![];
    for (level, extents) in boxes.levels.iter().enumerate() {
        let elements = product(cut.iter().map(|&d| extents[d]));
        let size = size(extents);
        sentences.push(if level == 0 {
            format!(
                "The array is cut into tiles of {size} ({}). The {elements} places of a tile lie together in memory, \
                 then come those of the next tile.",
                names.join(" by ")
            )
        } else {
            format!(
                "Each of those is cut again into {size}: its {elements} places are neighbours in memory."
            )
        });
    }
    if descriptor.steps().iter().any(|step| matches!(step, Step::Fold { .. })) {
        sentences.push("A * in a tile joins two dimensions into one before it is cut.".into());
    }
    sentences
}

/// `(15,255) lies at 1·2048 + 1·1024 + … = 4095`, for the last element.
fn example(descriptor: &StrideDescriptor) -> Option<String> {
    let index: Vec<u64> =
        descriptor.sizes().iter().map(|size| size.checked_sub(1)).collect::<Option<_>>()?;
    let offset = descriptor.offset(&index).ok()?;
    let values = descriptor.coordinates(&index);
    let mut terms: Vec<String> = descriptor
        .axes()
        .iter()
        .filter(|axis| axis.extent > 1)
        .map(|axis| format!("{}·{}", values[axis.coordinate], axis.stride))
        .collect();
    if descriptor.base_offset() > 0 {
        terms.push(descriptor.base_offset().to_string());
    }
    if terms.is_empty() {
        return None;
    }
    let index = index.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    Some(format!("The last element, ({index}), lies at {} = {offset}.", terms.join(" + ")))
}

/// `1 byte`, `60 bytes`.
pub(super) fn count(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// `25 690 112`: digits by threes where there are more than four, with a blank that does not break.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() <= 4 {
        return digits;
    }
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// A percentage, to a tenth below; never 0 for a part.
fn percent(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1000 / u128::from(whole.max(1));
    match tenths {
        0 => "<0.1".into(),
        _ if tenths % 10 == 0 => (tenths / 10).to_string(),
        _ => format!("{}.{}", tenths / 10, tenths % 10),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some('d') | None => text.into(),
        Some(first) => first.to_uppercase().chain(letters).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn words(text: &str) -> Words {
        Words::of(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
    }

    #[test]
    fn padding_is_counted() {
        let padding = words("f32[2,3]{0,1:PAD(3,5,zero)}").padding.unwrap();
        assert_eq!(
            padding,
            "9 of 15 places are padding: 36 bytes, 60% of the memory. d0 has 2 indices in 3; \
             d1 has 3 indices in 5."
        );
        assert_eq!(words("f32[4,6]").padding, None);
        let tail = words("f32[3]{0:L(8)}").padding.unwrap();
        assert!(tail.contains("The tail is rounded up"), "{tail}");
    }

    #[test]
    fn the_example_adds_up() {
        assert_eq!(
            words("bf16[16,256]{1,0:T(8,128)(2,1)}").example.unwrap(),
            "The last element, (15,255), lies at 1·2048 + 1·1024 + 3·256 + 127·2 + 1·1 = 4095."
        );
        assert_eq!(words("f32[0,4]").example, None);
        assert_eq!(words("f32[]").example, None);
    }
}
