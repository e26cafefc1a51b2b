//! Writes the index arithmetic of a kernel as WGSL: the affine expressions of a nest, called forms,
//! and the division of an invocation's index into one counter for each loop.

use std::fmt;

use smallvec::SmallVec;

use super::writer::Writer;
use crate::{
    nest::{Affine, CopyNest, Value},
    schedule::Block,
};

/// The names that the kernel uses for the loop counters of a nest, such as `a0`. The text of the
/// nest in the kernel's header has the same names.
///
/// If each invocation takes several steps of a loop at once, the name ends with the number of these
/// steps: `a1_by4` counts groups of 4 steps of `a1`.
pub(super) struct AxisNames {
    axes: SmallVec<[String; 8]>,
}

impl AxisNames {
    /// Returns the names for a kernel in which each invocation takes a single step of every loop.
    pub(super) fn of_nest(nest: &CopyNest) -> Self {
        let axes = (0..nest.extents().len()).map(|axis| Value::Axis(axis).to_string()).collect();
        Self { axes }
    }

    /// Returns the names for a kernel in which each invocation moves one block. In the nest of such
    /// a kernel, each loop is split in two: the outer loop counts blocks, and the inner loop counts
    /// the steps inside a block. Only the outer loop gets a name, made from the name before the
    /// split.
    pub(super) fn of_block(block: &Block) -> Self {
        // The inner loops get no name, because the kernel unrolls them.
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

    /// Returns an affine expression as WGSL text with these names.
    pub(super) fn form<'a>(&'a self, form: &'a Affine) -> FormText<'a> {
        FormText { names: self, form }
    }
}

/// The names of a nest's loop counters and quotients, with which its affine expressions are written
/// as WGSL.
pub(super) trait FormNames {
    /// Returns an affine expression as WGSL text, computed in `u32`.
    fn form(&self, form: &Affine) -> String;

    /// Returns an affine expression as the WGSL text of a dividend, in parentheses if it needs
    /// them.
    fn dividend(&self, form: &Affine) -> String;

    /// Returns true if the text of a quotient is written at each use, so that it has no variable.
    fn is_inlined(&self, quotient: usize) -> bool;
}

impl FormNames for AxisNames {
    fn form(&self, form: &Affine) -> String {
        self.form(form).to_string()
    }

    fn dividend(&self, form: &Affine) -> String {
        format!("({})", self.form(form))
    }

    fn is_inlined(&self, _: usize) -> bool {
        false
    }
}

/// An affine expression as WGSL text, in `u32`. Positive terms come before negative ones, so that
/// no intermediate value is negative.
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

/// Returns the operator to write before a term of a sum. `first` is true for the first term, and
/// `positive` is true if its weight is positive.
pub(super) fn joint(first: bool, positive: bool) -> &'static str {
    match (first, positive) {
        (true, true) => "",
        (true, false) => "0u - ",
        (false, true) => " + ",
        (false, false) => " - ",
    }
}

/// Splits the index of an invocation into the counters of nested loops, from the innermost loop to
/// the outermost. For example, with 8 blocks in each row, index 23 is block 7 of row 2. A counter
/// is called a digit here, because the counters are the digits of the index in a mixed-radix
/// system.
///
/// If a loop has a number of steps that is not a power of two, the text of its counter is `rest1 -
/// rest2 * 392u`. The quotient `rest2` is needed for the next counter anyway, so this one takes
/// only a multiplication and a subtraction. With `%`, it would take a second division.
pub(super) struct DigitWriter {
    /// The variable that is split next. The remaining digits are the digits of `number / below`.
    number: String,
    below: u64,
    rests: usize,
}

impl DigitWriter {
    /// Returns a writer that splits the variable `number`.
    pub(super) fn new(number: &str) -> Self {
        Self { number: number.to_owned(), below: 1, rests: 0 }
    }

    /// Returns the expression for the next digit, the counter of a loop of `extent` steps. If the
    /// expression uses a new quotient, first writes a variable for it.
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

    /// Returns the expressions for the counters of all loops, the innermost loop first. `extents`
    /// has the number of steps of each loop. The last counter is the quotient that remains after
    /// all other divisions, so its extent is not used.
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

    /// Returns the expression for the product of a digit and `step`.
    pub(super) fn times(digit: String, step: u64) -> String {
        match step {
            1 => digit,
            _ if digit.contains('-') => format!("({digit}) * {step}u"),
            _ => format!("{digit} * {step}u"),
        }
    }

    /// Returns the expression for the quotient that remains, which is the counter of the outermost
    /// loop.
    pub(super) fn last(&self) -> String {
        match self.below {
            1 => self.number.clone(),
            below => format!("{} / {below}u", self.number),
        }
    }

    /// Writes a new variable for the quotient `number / below`, so that `below` becomes 1.
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
