//! [`Mosaic`]: draws a result of a program as a grid, in which every cell shows the source of an
//! element.

use std::{cell::RefCell, ops::Range};

use super::colour::Colour;
use crate::{
    program::{BufferId, Origin, Passed, Way, Ways},
    shape::{ElementType, Shape},
    stride::StrideDescriptor,
};

/// The maximum number of indices along a dimension that are examined to find changes of the source.
const SAMPLES: u64 = 128;
/// The maximum number of indices along a dimension at which changes of the source are shown.
const MAX_CUTS: usize = 8;

/// A parameter or a constant from which elements come. Each source is drawn with its own letter and
/// colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ElementSource {
    /// A parameter, by the number of its array among the arrays of all parameters.
    Parameter(usize),
    /// A constant, or a value computed from constants. The first number selects a computation, and
    /// the second one an instruction in that computation.
    Constant(usize, usize),
}

/// A result of a program, and the sources that were found while it was drawn.
pub(super) struct Mosaic<'a> {
    ways: &'a Ways<'a>,
    result: usize,
    sizes: Vec<u64>,
    seen: RefCell<Vec<ElementSource>>,
}

/// The appearance of one element of a result.
pub(super) struct ElementLabel {
    /// The letter of the source and the index in the source, such as `A 1,2`.
    pub(super) label: String,
    pub(super) colour: Colour,
    /// The text shown when the reader points at the element, such as `A, x at (1,2), byte 24`.
    pub(super) title: String,
}

/// One instruction on the path of an element, as a row of text.
pub(super) struct InstructionRow {
    /// The name of the instruction.
    pub(super) name: String,
    /// The operation and its operands.
    pub(super) expression: String,
    /// The index of the element in the value of the instruction.
    pub(super) index: String,
}

/// An entry of the key, which explains a letter and colour to the reader.
pub(super) struct Entry {
    pub(super) letter: String,
    pub(super) colour: Colour,
    pub(super) text: String,
}

impl<'a> Mosaic<'a> {
    pub(super) fn new(ways: &'a Ways<'a>, result: usize) -> Self {
        let sizes = ways.program().results()[result].descriptor().sizes().to_vec();
        Self { ways, result, sizes, seen: RefCell::new(vec![]) }
    }

    /// Returns a dense array with the dimensions of the result, because the picture ignores the
    /// layout. Returns `None` if such an array has no descriptor.
    pub(super) fn array(&self) -> Option<StrideDescriptor> {
        let shape = Shape::new(ElementType::U8, self.sizes.clone(), None).ok()?;
        StrideDescriptor::try_from(&shape).ok()
    }

    /// Returns the path from an element of the result back to its source. If the bits of an element
    /// have different paths, returns the path of the lowest bit.
    pub(super) fn way(&self, index: &[u64]) -> Option<Way> {
        self.ways.way(self.result, index, 0)
    }

    /// Returns the source at the end of a path, with a number from which its letter follows.
    /// Parameters have the first numbers. Constants have the numbers after them, in the order in
    /// which they were found.
    fn source(&self, way: &Way) -> (usize, ElementSource) {
        let source = match &way.origin {
            Origin::Parameter { number, .. } => ElementSource::Parameter(*number),
            Origin::Constant { .. } => {
                let last = way.passed.last();
                last.map_or(ElementSource::Constant(0, 0), |last| {
                    ElementSource::Constant(last.computation, last.instruction)
                })
            }
        };
        let mut seen = self.seen.borrow_mut();
        if !seen.contains(&source) {
            seen.push(source);
        }
        let constants = seen.iter().filter(|known| matches!(known, ElementSource::Constant(..)));
        let parameters = self.ways.program().parameters().len();
        let number = match source {
            ElementSource::Parameter(number) => number,
            ElementSource::Constant(..) => {
                constants.take_while(|known| **known != source).count() + parameters
            }
        };
        (number, source)
    }

    /// Returns the appearance of an element.
    pub(super) fn piece(&self, index: &[u64]) -> ElementLabel {
        let Some(way) = self.way(index) else {
            let (label, title) = ("·".to_owned(), "zero".to_owned());
            return ElementLabel { label, colour: Colour::of_source(7), title };
        };
        let (number, _) = self.source(&way);
        let letter = letter(number);
        let label = match &way.origin {
            Origin::Parameter { index, .. } => format!("{letter} {}", comma(index)),
            Origin::Constant { .. } => letter.clone(),
        };
        let title = format!("{letter}, {}", self.end(&way));
        ElementLabel {
            label: label.trim_end().to_owned(),
            colour: Colour::of_source(number),
            title,
        }
    }

    /// Returns the length of the longest possible label, in characters, to size the cells.
    pub(super) fn label_width(&self) -> usize {
        let digits = |size: &u64| size.saturating_sub(1).to_string().len() + 1;
        let parameters = self.ways.program().parameters().iter();
        let widths =
            parameters.map(|of| of.descriptor().sizes().iter().map(digits).sum::<usize>().max(1));
        widths.max().unwrap_or(1) + 1
    }

    /// Describes the end of a path for the reader, such as `x at (1,2), byte 24`.
    pub(super) fn end(&self, way: &Way) -> String {
        match (&way.origin, way.passed.last()) {
            (Origin::Parameter { number, index, bit }, _) => {
                let name = self.parameter(*number);
                let bits = match bit % 8 {
                    0 => String::new(),
                    rest => format!(", bit {rest}"),
                };
                format!("{name} at ({}), byte {}{bits}", comma(index), bit / 8)
            }
            (Origin::Constant { bits }, last) => {
                let name = last.map_or("zero", |passed| self.name(passed));
                let shape = self.ways.program().results()[self.result].shape();
                let width = shape.element_type().bits().unwrap_or(8).min(128);
                let bits = bits & (u128::MAX >> (128 - width));
                let digits = width.div_ceil(4) as usize;
                format!("{name}, bits 0x{bits:0digits$x}")
            }
        }
    }

    fn name(&self, passed: &Passed) -> &'a str {
        let computation = &self.ways.module().computations()[passed.computation];
        computation.instructions()[passed.instruction].name()
    }

    /// Returns the name of array `number` of the parameters, such as `x`, or `x.1` inside a tuple.
    fn parameter(&self, number: usize) -> String {
        let (parameter, path) = self.ways.parameter(number);
        let entry = self.ways.module().entry();
        let name = entry.instructions()[entry.parameters()[parameter]].name();
        path.iter().fold(name.to_owned(), |name, part| format!("{name}.{part}"))
    }

    /// Describes the instructions on a path, from the result back to the source.
    pub(super) fn rows(&self, way: &Way) -> Vec<InstructionRow> {
        let module = self.ways.module();
        let row = |passed: &Passed| {
            let bit = if passed.bit == 0 { String::new() } else { format!(" bit {}", passed.bit) };
            let (computation, instruction) = (passed.computation, passed.instruction);
            let of = &module.computations()[computation].instructions()[instruction];
            InstructionRow {
                name: of.name().to_owned(),
                expression: format!(
                    "{} {}",
                    of.shape().without_layout(),
                    module.expression(computation, instruction)
                ),
                index: format!("({}){bit}", comma(&passed.index)),
            }
        };
        way.passed.iter().map(row).collect()
    }

    /// Returns the key of the picture: the sources of all elements drawn so far, ordered by letter.
    /// It also has entries for unused parameters, so that the reader does not miss their letters.
    pub(super) fn key(&self) -> Vec<Entry> {
        let text = |source: &ElementSource| match *source {
            ElementSource::Parameter(number) => {
                let shape = self.ways.program().parameters()[number].shape();
                format!("{}, parameter {number}, {shape}", self.parameter(number))
            }
            ElementSource::Constant(computation, instruction) => {
                let module = self.ways.module();
                let of = &module.computations()[computation].instructions()[instruction];
                let expression = module.expression(computation, instruction);
                format!("{} = {} {expression}", of.name(), of.shape().without_layout())
            }
        };
        let seen = self.seen.borrow();
        let entry = |(number, source): (usize, &ElementSource)| Entry {
            letter: letter(number),
            colour: Colour::of_source(number),
            text: text(source),
        };
        let mut parameters: Vec<(usize, &ElementSource)> = vec![];
        let mut constants: Vec<(usize, &ElementSource)> = vec![];
        for source in seen.iter() {
            match *source {
                ElementSource::Parameter(number) => parameters.push((number, source)),
                ElementSource::Constant(..) => {
                    let number = self.ways.program().parameters().len() + constants.len();
                    constants.push((number, source));
                }
            }
        }
        parameters.sort_by_key(|&(number, _)| number);
        let mut key = vec![];
        let mut next = 0;
        for (number, source) in parameters.into_iter().chain(constants) {
            key.extend(self.left_out(next..number));
            key.push(entry((number, source)));
            next = number + 1;
        }
        key
    }

    /// Returns one entry for a range of unused parameters, which explains why their letters do not
    /// occur. Returns `None` if the range is empty.
    fn left_out(&self, numbers: Range<usize>) -> Option<Entry> {
        let (first, last) = (numbers.start, numbers.clone().last()?);
        let colour = Colour::of_source(7);
        Some(if first == last {
            let shape = self.ways.program().parameters()[first].shape();
            let text =
                format!("{}, parameter {first}, {shape}: no element of it", self.parameter(first));
            Entry { letter: letter(first), colour, text }
        } else {
            let text = format!("parameters {first} to {last}: no element of them");
            Entry { letter: format!("{}–{}", letter(first), letter(last)), colour, text }
        })
    }

    /// Describes the numbers on which the picture depends but which are known only at run time,
    /// such as the start of a dynamic slice. Returns `None` if there are none.
    pub(super) fn numbers(&self) -> Option<String> {
        let values = self.ways.lookup_buffers(self.result);
        if values.is_empty() {
            return None;
        }
        let name = |value: &BufferId| match *value {
            BufferId::Parameter(number) => self.parameter(number),
            value => value.to_string(),
        };
        let names: Vec<String> = values.iter().map(name).collect();
        let names = names.join(", ");
        Some(if self.ways.has_parameters() {
            format!("Slices start where {names} of the inputs says.")
        } else {
            format!("Slices start where {names} says, a number that only a run knows: 0 here.")
        })
    }

    /// Returns indices along a dimension at which the source changes, so that the picture can show
    /// the elements around them. To save time, examines only three lines of elements: through the
    /// first, the middle and the last index of the other dimensions.
    pub(super) fn cuts(&self, dimension: usize) -> Vec<u64> {
        let extent = self.sizes[dimension];
        let mut cuts = vec![];
        let ends: [fn(u64) -> u64; 3] = [|_| 0, |size| size / 2, |size| size.saturating_sub(1)];
        for end in ends {
            let mut index: Vec<u64> = self.sizes.iter().map(|&size| end(size)).collect();
            let mut at = |place: u64| {
                index[dimension] = place;
                self.way(&index).map(|way| self.source(&way).1)
            };
            let step = extent.div_ceil(SAMPLES).max(1);
            let mut before = (0, at(0));
            for place in (step..extent + step).step_by(usize::try_from(step).unwrap_or(1)) {
                let place = place.min(extent - 1);
                let source = at(place);
                if source != before.1 {
                    let (mut low, mut high) = (before.0, place);
                    while low + 1 < high {
                        let middle = low.midpoint(high);
                        if at(middle) == before.1 { low = middle } else { high = middle }
                    }
                    cuts.push(high);
                }
                before = (place, source);
            }
        }
        self.seen.borrow_mut().clear();
        cuts.sort_unstable();
        cuts.dedup();
        cuts.truncate(MAX_CUTS);
        cuts
    }
}

/// Returns the letter of a source: `A` to `Z`, and then `A1` and so on.
fn letter(number: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(number % 26).unwrap_or(0));
    if number < 26 { letter.to_string() } else { format!("{letter}{}", number / 26) }
}

/// Formats an index, such as `1,2`.
pub(super) fn comma(index: &[u64]) -> String {
    index.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}
