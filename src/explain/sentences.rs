//! [`Sentences`]: a description of a layout in words, with its sizes, strides, tiles and padding.

use std::fmt::Write as _;

use super::tiles::{BoxLevels, BoxTurns, padded, product};
use crate::stride::StrideDescriptor;

/// The sentences below the picture of a layout.
pub(super) struct Sentences {
    /// The number of elements and the size of their memory.
    pub(super) size: String,
    /// The amount of padding with its reasons and cost, or `None` if there is no padding.
    pub(super) padding: Option<String>,
    /// One sentence for each level of boxes that tiles form, from coarse to fine. Each group of
    /// dimensions that a tile joins has a sentence as well.
    pub(super) tiles: Vec<String>,
    /// The parts into which tiles split an index, such as `d0/8` and `d0%8`, with their strides,
    /// major to minor. They are called *digits*.
    pub(super) digits: Vec<DigitRow>,
    /// The computation of the offset of one element, as an example.
    pub(super) example: Option<String>,
}

/// One row of the table of digits.
pub(super) struct DigitRow {
    /// The name of the digit, such as `d0/8`.
    pub(super) name: String,
    /// The number of values of the digit, padding included.
    pub(super) places: u64,
    /// The number of values of the digit that occur in elements.
    pub(super) values: u64,
    /// The distance in memory if the digit grows by 1, in elements.
    pub(super) stride: i64,
}

impl Sentences {
    pub(super) fn of(descriptor: &StrideDescriptor) -> Self {
        let boxes = BoxLevels::of(descriptor);
        // Skip digits that are always 0, because they carry no information.
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
            padding: padding(descriptor, &boxes),
            tiles: tiles(descriptor, &boxes),
            digits: digits.collect(),
            example: example(descriptor),
        }
    }
}

/// Describes the size of a layout, such as
/// `6 elements of f32, 4 bytes each, in 60 bytes of memory`. The size includes any prefix, which
/// the text mentions.
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
        let _ = write!(text, ", a prefix of {} included", count(descriptor.prefix_bytes(), "byte"));
    }
    text
}

/// Returns the size of the padding and the gaps, in elements.
pub(super) fn unused(descriptor: &StrideDescriptor) -> u64 {
    descriptor.physical_elements().saturating_sub(used(descriptor))
}

/// Returns the size of the elements in memory, in elements. It can be smaller than the number of
/// elements, because indices that differ only in broadcast dimensions share their memory.
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

/// Describes the padding, such as
/// `9 of 15 places are padding: 36 bytes, 60% of the memory. d0 is padded from 2 to 3; …`.
fn padding(descriptor: &StrideDescriptor, boxes: &BoxLevels) -> Option<String> {
    let places = descriptor.physical_elements();
    let unused = Some(unused(descriptor)).filter(|&unused| unused > 0)?;
    let bits = u128::from(unused) * u128::from(descriptor.element_bits());
    let number = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
    let bytes = if bits.is_multiple_of(8) {
        count(number(bits / 8), "byte")
    } else {
        count(number(bits), "bit")
    };
    let mut text = format!(
        "{} of {} are padding: {bytes}, {}% of the memory.",
        grouped(unused),
        count(places, "place"),
        percent(unused, places)
    );
    let mut reasons = vec![];
    for dimension in &boxes.dimensions {
        let size = descriptor.extents()[dimension.coordinate];
        let extent = padded(descriptor, dimension);
        if extent > size {
            let name = dimension.name(descriptor);
            reasons.push(format!("{name} is padded from {size} to {extent}"));
        }
    }
    if boxes.parts > 1 {
        reasons.push(format!("only 1 of {} parts of a tile holds elements", boxes.parts));
    }
    let cells = product(descriptor.axes().iter().map(|axis| axis.extent.max(1)));
    if reasons.is_empty() && descriptor.is_packed_but_for_tail(cells) {
        reasons.push("the memory is rounded up past the last element".into());
    } else if reasons.is_empty() && !descriptor.steps().is_empty() {
        reasons.push("a tile has more places than the array fills".into());
    } else if reasons.is_empty() {
        reasons.push("the strides leave gaps".into());
    }
    let _ = write!(text, " {}.", capital(&reasons.join("; ")));
    if descriptor.padding() != 0 {
        let _ = write!(text, " Padding holds 0x{:x}.", descriptor.padding());
    }
    Some(text)
}

impl StrideDescriptor {
    /// Returns true if all unused memory is at the end, after axes that fill the start of memory
    /// without gaps. `cells` is the product of the axes' extents.
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

/// Describes the tiles: a sentence for each level of boxes, and others for tiles that take turns,
/// for unused parts and for joined dimensions.
fn tiles(descriptor: &StrideDescriptor, boxes: &BoxLevels) -> Vec<String> {
    // Padding comes before tiles, and cuts nothing.
    let first = usize::from(boxes.is_padding);
    let cut = boxes.cut_from(first);
    let names: Vec<String> = cut.iter().map(|dimension| dimension.name(descriptor)).collect();
    let size = |extents: &[u64]| {
        let along = cut.iter().map(|dimension| extents[dimension.coordinate].to_string());
        along.collect::<Vec<_>>().join(" × ")
    };
    let mut sentences: Vec<String> = vec![];
    for (level, extents) in boxes.levels.iter().enumerate().skip(first) {
        let places = product(cut.iter().map(|dimension| extents[dimension.coordinate]));
        // A box of one place, or one as large as the box around it, cuts nothing.
        let around = level.checked_sub(1).map(|around| &boxes.levels[around]);
        if places == 1 || around == Some(extents) {
            continue;
        }
        let is_larger =
            |around: &Vec<u64>| cut.iter().any(|of| extents[of.coordinate] > around[of.coordinate]);
        let verb = if around.is_some_and(is_larger) { "padded to" } else { "cut again into" };
        let size = size(extents);
        let is_contiguous = boxes.contiguous[level];
        sentences.push(if sentences.is_empty() {
            let array = if boxes.is_padding { "The padded array" } else { "The array" };
            let names = names.join(" and ");
            let memory = match is_contiguous {
                false => String::new(),
                true if boxes.parts > 1 => {
                    format!(" The {places} places of a tile lie together in memory.")
                }
                true => format!(
                    " The {places} places of a tile lie together in memory, then come those of the next tile."
                ),
            };
            format!("{array} is cut into tiles of {size} along {names}.{memory}")
        } else if is_contiguous {
            format!(
                "Each of those is {verb} tiles of {size}, whose {places} places lie together in memory."
            )
        } else {
            format!("Each of those is {verb} tiles of {size}.")
        });
    }
    for &BoxTurns { coordinate, count: tiles, period, stride } in &boxes.interleaved {
        let of = boxes.dimensions.iter().find(|dimension| dimension.coordinate == coordinate);
        let Some(name) = of.map(|dimension| dimension.name(descriptor)) else { continue };
        let apart = match stride {
            1 => "side by side".into(),
            _ => format!("{} apart", count(stride.unsigned_abs(), "place")),
        };
        sentences.push(format!(
            "Tiles take turns in memory, {tiles} at a time: elements {period} apart along {name} lie {apart}."
        ));
    }
    if boxes.parts > 1 {
        let (whole, tile) = if sentences.is_empty() {
            ("The array", "a tile")
        } else {
            ("Each of these tiles", "a larger tile")
        };
        sentences.push(format!(
            "{whole} is one of {} parts of {tile}, which has more dimensions than the array; the other parts are padding.",
            boxes.parts
        ));
    }
    for dimension in &boxes.dimensions {
        if let [first @ .., last] = &dimension.of[..]
            && !first.is_empty()
        {
            let first: Vec<String> = first.iter().map(|d| format!("d{d}")).collect();
            sentences.push(format!(
                "A * in the tile joins {} and d{last} into one dimension, {}, before it is cut.",
                first.join(", "),
                dimension.name(descriptor)
            ));
        }
    }
    sentences
}

/// Describes the offset of the last element, such as `(15,255) lies at 1·2048 + 1·1024 + … = 4095`.
fn example(descriptor: &StrideDescriptor) -> Option<String> {
    let index: Vec<u64> =
        descriptor.sizes().iter().map(|size| size.checked_sub(1)).collect::<Option<_>>()?;
    let offset = descriptor.offset(&index).ok()?;
    let values = descriptor.coordinates(&index);
    let mut terms: Vec<String> = descriptor
        .axes()
        .iter()
        .filter(|axis| axis.extent > 1)
        .map(|axis| match axis.stride {
            stride @ ..0 => format!("{}·({stride})", values[axis.coordinate]),
            stride => format!("{}·{stride}", values[axis.coordinate]),
        })
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

/// Formats a count with its unit, such as `1 byte` or `60 bytes`.
pub(super) fn count(n: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Formats a number, such as `25 690 112`. The digits of numbers longer than four digits are
/// grouped by three, with no-break spaces between the groups.
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

/// Formats `part` as a percentage of `whole`, rounded to a tenth as `describe` does. If the result
/// would round to 0 or 100 but is not exactly that, it is `<0.1` or `>99.9`.
#[allow(clippy::cast_precision_loss)] // a percentage needs fewer than 53 bits
fn percent(part: u64, whole: u64) -> String {
    let rounded = format!("{:.1}", 100.0 * part as f64 / whole as f64);
    match rounded.as_str() {
        "0.0" => "<0.1".into(),
        "100.0" if part < whole => ">99.9".into(),
        _ => rounded.trim_end_matches(".0").to_owned(),
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

    fn words(text: &str) -> Sentences {
        Sentences::of(&StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap())
    }

    #[test]
    fn padding_is_counted() {
        let padding = words("f32[2,3]{0,1:PAD(3,5,zero)}").padding.unwrap();
        assert_eq!(
            padding,
            "9 of 15 places are padding: 36 bytes, 60% of the memory. d0 is padded from 2 to 3; \
             d1 is padded from 3 to 5."
        );
        assert_eq!(words("f32[4,6]").padding, None);
        let tail = words("f32[3]{0:L(8)}").padding.unwrap();
        assert!(tail.contains("The memory is rounded up past the last element"), "{tail}");
    }

    #[test]
    fn a_joined_dimension_is_tiled_and_padded() {
        let words = words("f32[2,3,5]{2,1,0:T(*,4,8)}");
        assert_eq!(
            words.tiles,
            [
                "The array is cut into tiles of 4 × 8 along (d0*3+d1) and d2. The 32 places of a tile lie together in \
                 memory, then come those of the next tile.",
                "A * in the tile joins d0 and d1 into one dimension, (d0*3+d1), before it is cut."
            ]
        );
        assert_eq!(
            words.padding.unwrap(),
            "34 of 64 places are padding: 136 bytes, 53.1% of the memory. (d0*3+d1) is padded from 6 to 8; \
             d2 is padded from 5 to 8."
        );
    }

    /// Checks the tiles of a TPU for one dimension: the last tile takes two tiles of 128 in turns.
    #[test]
    fn tiles_that_take_turns_do_not_lie_together() {
        assert_eq!(
            words("bf16[288]{0:T(512)(128)(2,1)}").tiles,
            [
                "The array is cut into tiles of 512 along d0. The 512 places of a tile lie together in memory, \
                 then come those of the next tile.",
                "Each of those is cut again into tiles of 128.",
                "Tiles take turns in memory, 2 at a time: elements 128 apart along d0 lie side by side."
            ]
        );
        assert_eq!(
            words("f32[16,256]{1,0:T(8,128)(2,2,1)}").tiles,
            [
                "The array is cut into tiles of 8 × 128 along d0 and d1.",
                "Each of those is cut again into tiles of 2 × 1, whose 2 places lie together in memory.",
                "Tiles take turns in memory, 2 at a time: elements 128 apart along d1 lie 2 places apart."
            ]
        );
        // Pairs of whole tiles are no other order.
        assert_eq!(words("f32[4,300]{1,0:T(128)(2,128)}").tiles.len(), 1);
    }

    #[test]
    fn a_tile_may_have_more_dimensions_than_the_array() {
        let flat = words("f32[96]{0:T(2,128)}");
        assert_eq!(
            flat.tiles,
            [
                "The array is cut into tiles of 128 along d0. The 128 places of a tile lie together in memory.",
                "Each of these tiles is one of 2 parts of a larger tile, which has more dimensions than the array; the \
                 other parts are padding."
            ]
        );
        let padding = flat.padding.unwrap();
        assert!(padding.contains("d0 is padded from 96 to 128; only 1 of 2 parts"), "{padding}");
        let scalar = words("f32[]{:T(128)}");
        assert_eq!(
            scalar.tiles,
            [
                "The array is one of 128 parts of a tile, which has more dimensions than the array; the other parts are \
              padding."
            ]
        );
        assert!(scalar.padding.unwrap().contains("Only 1 of 128 parts of a tile holds elements."));
        assert!(words("f32[5]{0:T(1)}").tiles.is_empty());
    }

    #[test]
    fn padded_dimensions_are_no_tiles() {
        assert_eq!(
            words("f32[2,3]{0,1:T(2,2)PAD(3,5,zero)}").tiles,
            [
                "The padded array is cut into tiles of 2 × 2 along d0 and d1. The 4 places of a tile lie together in \
                 memory, then come those of the next tile."
            ]
        );
        // No tile cuts the padded d0.
        let tiles = words("f32[2,2,200]{2,1,0:T(2,128)PAD(2,3,200,zero)}").tiles;
        assert!(tiles[0].contains("tiles of 2 × 128 along d1 and d2."), "{tiles:?}");
    }

    #[test]
    fn a_later_tile_may_be_larger() {
        let tiles = words("f32[16]{0:T(4)(8)}").tiles;
        assert!(tiles[1].starts_with("Each of those is padded to tiles of 8"), "{tiles:?}");
    }

    #[test]
    fn percentages_are_rounded() {
        // 512,000 of 524,288 bytes: 97.656…
        let padding = words("f32[1024,3]{1,0:T(8,128)}").padding.unwrap();
        assert!(padding.contains("97.7% of the memory"), "{padding}");
        assert_eq!(percent(2, 3), "66.7");
        assert_eq!(percent(1, 2), "50");
        assert_eq!(percent(1, 10_000), "<0.1");
        assert_eq!(percent(9_999, 10_000), ">99.9");
        assert_eq!(percent(3, 3), "100");
    }

    #[test]
    fn the_size_says_that_it_counts_the_prefix() {
        assert_eq!(
            words("f32[3,5]{1,0:M(256)}").size,
            "15 elements of f32, 4 bytes each, in 316 bytes of memory, a prefix of 256 bytes included"
        );
    }

    #[test]
    fn the_example_adds_up() {
        assert_eq!(
            words("bf16[16,256]{1,0:T(8,128)(2,1)}").example.unwrap(),
            "The last element, (15,255), lies at 1·2048 + 1·1024 + 3·256 + 127·2 + 1·1 = 4095."
        );
        assert_eq!(words("f32[0,4]").example, None);
        assert_eq!(words("f32[]").example, None);
        let reversed: crate::Tensor = "f32[4,6] strided<[-6,1], offset: 18>".parse().unwrap();
        assert_eq!(
            Sentences::of(reversed.descriptor()).example.unwrap(),
            "The last element, (3,5), lies at 3·(-6) + 5·1 + 18 = 5."
        );
    }
}
