//! Expressions of the nest as WGSL.

use std::fmt;

use smallvec::SmallVec;

use super::writer::Writer;
use crate::{
    nest::{Affine, CopyNest, Value},
    schedule::Block,
};

/// The names of a nest's axes and quotients in the text: `a0` and `q0`, as in the nest's own text.
///
/// If a block takes several steps of an axis, the name has both: `a1_by4` counts steps of 4 along
/// `a1`.
pub(super) struct AxisNames {
    axes: SmallVec<[String; 8]>,
}

impl AxisNames {
    /// Returns the names for an untiled nest.
    pub(super) fn of_nest(nest: &CopyNest) -> Self {
        Self { axes: (0..nest.extents().len()).map(|axis| Value::Axis(axis).to_string()).collect() }
    }

    /// Returns the names for a block's tiled nest, with the numbers of the untiled axes.
    pub(super) fn of_block(block: &Block) -> Self {
        // No expression of the kernel names the steps inside a block.
        let mut axes: SmallVec<[String; 8]> =
            block.tiled().extents().iter().map(|_| String::new()).collect();
        for (number, block_axis) in block.axes().iter().enumerate() {
            let name = Value::Axis(number);
            axes[block_axis.number] = match block_axis.steps {
                1 => name.to_string(),
                steps => format!("{name}_by{steps}"),
            };
        }
        Self { axes }
    }

    pub(super) fn axis(&self, axis: usize) -> &str {
        &self.axes[axis]
    }

    /// Returns `form` as an expression with these names.
    pub(super) fn form<'a>(&'a self, form: &'a Affine) -> FormText<'a> {
        FormText { names: self, form }
    }
}

/// An affine expression in `u32`: first the positive terms, then the negative ones, so that no
/// intermediate value is below 0.
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

/// Returns the text before a term.
fn joint(first: bool, positive: bool) -> &'static str {
    match (first, positive) {
        (true, true) => "",
        (true, false) => "0u - ",
        (false, true) => " + ",
        (false, false) => " - ",
    }
}

/// Splits a number into digits, the fastest first.
///
/// If the extent is not a power of two, a digit is the remainder of its division, `rest1 - rest2 *
/// 392u`: this takes a product and a difference, while `%` would take a second division.
pub(super) struct DigitWriter {
    /// The expression of the rest, before its division by `below`.
    number: String,
    below: u64,
    rests: usize,
}

impl DigitWriter {
    /// Splits the variable `number`.
    pub(super) fn new(number: &str) -> Self {
        Self { number: number.to_owned(), below: 1, rests: 0 }
    }

    /// Returns the next digit, with `extent` values. Writes a variable for the rest if the next
    /// digits share it.
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

    /// Returns a digit multiplied by `step`.
    pub(super) fn times(digit: String, step: u64) -> String {
        match step {
            1 => digit,
            _ if digit.contains('-') => format!("({digit}) * {step}u"),
            _ => format!("{digit} * {step}u"),
        }
    }

    /// Returns the slowest digit: the whole rest.
    pub(super) fn last(&self) -> String {
        match self.below {
            1 => self.number.clone(),
            below => format!("{} / {below}u", self.number),
        }
    }

    /// Writes a variable for the rest.
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
