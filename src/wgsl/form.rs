//! Expressions of the nest as WGSL.

use std::fmt;

use smallvec::SmallVec;

use super::writer::Writer;
use crate::{
    nest::{Affine, CopyNest, Value},
    schedule::Block,
};

/// What the text calls the axes and quotients of a nest: `a0` and `q0`, as the nest itself prints them.
///
/// An axis that a block takes several steps of is called by both: `a1_by4` counts steps of 4 along `a1`.
pub(super) struct AxisNames {
    axes: SmallVec<[String; 8]>,
}

impl AxisNames {
    /// The axes of a nest as it is.
    pub(super) fn of_nest(nest: &CopyNest) -> Self {
        Self { axes: (0..nest.extents().len()).map(|axis| Value::Axis(axis).to_string()).collect() }
    }

    /// The axes of a block's tiled nest, numbered as those of the nest.
    pub(super) fn of_block(block: &Block) -> Self {
        // An expression of the kernel never names the steps inside a block.
        let mut axes: SmallVec<[String; 8]> =
            block.tiled().extents().iter().map(|_| String::new()).collect();
        for (number, side) in block.axes().iter().enumerate() {
            let name = Value::Axis(number);
            axes[side.number] = match side.steps {
                1 => name.to_string(),
                steps => format!("{name}_by{steps}"),
            };
        }
        Self { axes }
    }

    pub(super) fn axis(&self, axis: usize) -> &str {
        &self.axes[axis]
    }

    /// `form` as an expression over these names.
    pub(super) fn form<'a>(&'a self, form: &'a Affine) -> FormText<'a> {
        FormText { names: self, form }
    }
}

/// An affine expression in `u32`: what is added first, then what is taken away, so that no step drops below 0.
pub(super) struct FormText<'a> {
    names: &'a AxisNames,
    form: &'a Affine,
}

impl fmt::Display for FormText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let constant = self.form.offset();
        for positive in [true, false] {
            for &(value, weight) in self.form.terms().iter().filter(|term| (term.1 > 0) == positive)
            {
                f.write_str(joint(first, positive))?;
                first = false;
                match value {
                    Value::Axis(axis) => f.write_str(self.names.axis(axis))?,
                    Value::Quotient(_) | Value::Lookup(_) => write!(f, "{value}")?,
                }
                if weight.unsigned_abs() != 1 {
                    write!(f, " * {}u", weight.unsigned_abs())?;
                }
            }
            if (constant > 0) == positive && constant != 0 {
                f.write_str(joint(first, positive))?;
                write!(f, "{}u", constant.unsigned_abs())?;
                first = false;
            }
        }
        if first { f.write_str("0u") } else { Ok(()) }
    }
}

/// What stands before a part that is added, or taken away.
fn joint(first: bool, positive: bool) -> &'static str {
    match (first, positive) {
        (true, true) => "",
        (true, false) => "0u - ",
        (false, true) => " + ",
        (false, false) => " - ",
    }
}

/// Takes a number apart into digits, the fastest first.
///
/// A digit of no power of two is what its division leaves, `rest1 - rest2 * 392u`: a product and a difference, where a
/// remainder is a division of its own.
pub(super) struct DigitWriter {
    /// What is left to take apart is this number, divided by `below`.
    number: String,
    below: u64,
    rests: usize,
}

impl DigitWriter {
    /// Those of the variable `number`.
    pub(super) fn new(number: &str) -> Self {
        Self { number: number.to_owned(), below: 1, rests: 0 }
    }

    /// The next digit, which has so many values; what it leaves is written where the digits behind it share it.
    pub(super) fn next(&mut self, writer: &mut Writer, extent: u64) -> String {
        if extent.is_power_of_two() {
            let digit = format!("{} % {extent}u", self.last());
            self.below *= extent;
            return digit;
        }
        self.settle(writer);
        let of = self.number.clone();
        self.below = extent;
        self.settle(writer);
        format!("{of} - {} * {extent}u", self.number)
    }

    /// Returns the digits with these extents, the fastest first; the last is the whole rest.
    pub(super) fn all(
        mut self,
        writer: &mut Writer,
        extents: impl ExactSizeIterator<Item = u64>,
    ) -> Vec<String> {
        let last = extents.len().saturating_sub(1);
        let digit = |(number, extent)| {
            if number == last { self.last() } else { self.next(writer, extent) }
        };
        extents.enumerate().map(digit).collect()
    }

    /// A digit, so many times.
    pub(super) fn times(digit: String, step: u64) -> String {
        match step {
            1 => digit,
            _ if digit.contains('-') => format!("({digit}) * {step}u"),
            _ => format!("{digit} * {step}u"),
        }
    }

    /// The slowest digit: all that is left.
    pub(super) fn last(&self) -> String {
        match self.below {
            1 => self.number.clone(),
            below => format!("{} / {below}u", self.number),
        }
    }

    /// AxisNames what is left.
    fn settle(&mut self, writer: &mut Writer) {
        if self.below > 1 {
            let left = self.last();
            self.rests += 1;
            self.number = format!("rest{}", self.rests);
            self.below = 1;
            writer.line(format_args!("let {} = {left};", self.number));
        }
    }
}
