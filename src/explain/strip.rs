//! Divides memory into lines that fit the width of a picture. A *place* is the room for one element
//! in memory.

use crate::stride::StrideDescriptor;

/// A line of the picture, which shows consecutive places.
#[derive(Clone, Debug)]
pub(super) struct MemoryLine {
    /// The first place.
    pub(super) start: u64,
    /// The contents of the places in the line.
    pub(super) places: Vec<PlaceContent>,
    /// The reason why this line is shown although others are hidden. It is empty for the line at
    /// the start of memory, and if no lines are hidden.
    pub(super) note: String,
    /// The number of hidden places between the previous line and this one.
    pub(super) hidden: u64,
}

/// The content of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlaceContent {
    /// The element with this logical index.
    Element(Vec<u64>),
    /// Padding, a gap or a tail.
    Padding,
    /// An element or padding, which is not known, because the strides interleave in too many ways
    /// to find out.
    Unknown,
}

impl PlaceContent {
    /// Returns the content of `place`.
    pub(super) fn at(descriptor: &StrideDescriptor, place: u64) -> Self {
        match descriptor.index(place) {
            Ok(Some(index)) => Self::Element(index),
            Ok(None) => Self::Padding,
            Err(_) => Self::Unknown,
        }
    }

    /// Returns the text in the cell of the place: the index of its element, such as `3,17`, a dot
    /// for padding, or a question mark if the content is unknown.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Element(index) if index.is_empty() => "()".into(),
            Self::Element(index) => index.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
            Self::Padding => "·".into(),
            Self::Unknown => "?".into(),
        }
    }
}

/// Divides memory into lines of at most `width` places. If there are more than `height` lines,
/// returns only some: one at the start of memory, one at each stride, and one at the end. Every
/// line begins at a whole byte.
pub(super) fn strip(descriptor: &StrideDescriptor, width: usize, height: usize) -> Vec<MemoryLine> {
    let places = descriptor.physical_elements();
    if places == 0 {
        return vec![];
    }
    let (width, height) = (width.max(1) as u64, height as u64);
    let line = period(descriptor, width);
    if places <= line * height {
        return (0..places.div_ceil(line))
            .map(|number| {
                let start = number * line;
                line_of(descriptor, start, line.min(places - start), String::new(), 0)
            })
            .collect();
    }
    let byte = byte(descriptor);
    let base = descriptor.base_offset();
    let mut starts = vec![(0, String::new())];
    if base > 0 {
        starts.push((base, "index 0".into()));
    }
    for axis in descriptor.axes().iter().rev() {
        let values = descriptor.extents()[axis.coordinate];
        let start = base.checked_add_signed(axis.stride);
        if let (2.., Some(start)) = (values, start.filter(|&start| start < places)) {
            let name = descriptor.coordinate_name(axis.coordinate);
            starts.push((start, format!("{name} = 1")));
        }
    }
    starts.sort_by_key(|&(start, _)| start);
    let mut lines: Vec<MemoryLine> = vec![];
    let mut next = 0;
    for (start, note) in starts {
        let start = start / byte * byte;
        if start >= next {
            lines.push(line_of(descriptor, start, line.min(places - start), note, start - next));
            next = start + line.min(places - start);
        }
    }
    let start = next.max(places.saturating_sub(line).next_multiple_of(byte));
    if start < places {
        lines.push(line_of(descriptor, start, places - start, "the end".into(), start - next));
    }
    lines
}

fn line_of(
    descriptor: &StrideDescriptor,
    start: u64,
    count: u64,
    note: String,
    hidden: u64,
) -> MemoryLine {
    let places = (start..start + count).map(|place| PlaceContent::at(descriptor, place)).collect();
    MemoryLine { start, places, note, hidden }
}

/// Returns the number of places in a byte, or 1 if an element is at least as large as a byte.
pub(super) fn byte(descriptor: &StrideDescriptor) -> u64 {
    8_u64.div_ceil(descriptor.element_bits().into())
}

/// Returns the number of places in a line. It is a multiple of the largest stride that fits, as
/// large as `width` allows, so that lines show the structure of the layout. If no stride fits, it
/// is a multiple of a byte or of a power of two.
fn period(descriptor: &StrideDescriptor, width: u64) -> u64 {
    let byte = byte(descriptor);
    let strides = descriptor.axes().iter().map(|axis| axis.stride.unsigned_abs());
    let whole = |&stride: &u64| stride > 1 && stride <= width && stride.is_multiple_of(byte);
    // Otherwise, use a power of two, which is easiest to read.
    let usual = match width {
        9.. => 8,
        _ if byte > width => 1 << width.ilog2(),
        _ => byte,
    };
    let period = strides.chain([byte]).filter(whole).max().unwrap_or(usual);
    width / period * period
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn lower(text: &str) -> StrideDescriptor {
        StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap()
    }

    #[test]
    fn places_hold_the_elements_whose_offset_they_are() {
        let shapes = [
            "f32[2,3]{0,1:PAD(3,5,zero)}",
            "bf16[16,256]{1,0:T(8,128)(2,1)}",
            "s4[3,5]{1,0:E(4)}",
            "f32[64,256]",
        ];
        for text in shapes {
            let descriptor = lower(text);
            let (mut next, mut elements) = (0, 0);
            for line in strip(&descriptor, 10, 4) {
                assert_eq!(line.start, next + line.hidden, "{text}");
                for (place, holds) in (line.start..).zip(&line.places) {
                    next = place + 1;
                    if let PlaceContent::Element(index) = holds {
                        assert_eq!(descriptor.offset(index), Ok(place), "{text}");
                        elements += 1;
                    }
                }
            }
            assert_eq!(next, descriptor.physical_elements(), "{text}");
            assert!(elements > 0);
        }
    }

    /// Checks that lines contain whole bytes. Otherwise, the bars between bytes would be in
    /// different columns in each line.
    #[test]
    fn lines_are_whole_bytes() {
        let shapes =
            ["u1[5,18]{1,0:E(1)}", "u1[3,100]{0,1:E(1)}", "u2[7,9]{1,0:E(2)}", "s4[3,5]{1,0:E(4)}"];
        for text in shapes {
            let descriptor = lower(text);
            for width in 8..40 {
                let lines = strip(&descriptor, width, 4);
                let bit = |line: &MemoryLine| line.start * u64::from(descriptor.element_bits());
                assert!(lines.iter().all(|line| bit(line).is_multiple_of(8)), "{text} {width}");
                for line in lines.iter().rev().skip(1) {
                    let bits = line.places.len() * descriptor.element_bits() as usize;
                    assert!(bits.is_multiple_of(8) && line.places.len() <= width, "{text} {width}");
                }
            }
        }
    }

    #[test]
    fn memory_that_fits_is_shown_in_whole_periods() {
        let lines = strip(&lower("f32[2,3]{0,1:PAD(3,5,zero)}"), 10, 4);
        let text: Vec<String> = lines
            .iter()
            .map(|l| l.places.iter().map(PlaceContent::label).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(text, ["0,0 1,0 · 0,1 1,1 · 0,2 1,2 ·", "· · · · · ·"]);
    }
}
