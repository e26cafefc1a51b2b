//! Evaluates the *forms* of a nest, which are affine expressions of its loops, for 256 rows at a
//! time.
//!
//! Each axis, quotient and lookup has a *column*: its values, one for each row. With columns, the
//! compiler can vectorize the loops over rows. This matters for gathers, in which each row reads
//! from an unrelated place and needs its own values.

use super::{lane::Lane, simd::vectorized};
use crate::nest::{
    Affine, CopyNest, Integer, Lookup, LookupExpr, Operator, OutOfRange, Quotient, Value, signed,
};

/// The number of rows that are evaluated together.
pub(super) const LANES: usize = 256;

/// One number for each of [`LANES`] rows.
type Column<L> = Vec<L>;

/// The values of a nest's forms in a group of up to [`LANES`] rows. A row is one *position*, which
/// is an iteration of the whole nest, or the whole innermost axis.
///
/// [`Self::start`] fills the columns of axes. Every other column is computed when it is first
/// needed. A form may be meaningless in a row that a guard excludes. Its column then contains an
/// arbitrary number, which must not be used.
pub(super) struct RowValues<'a, L> {
    nest: &'a CopyNest,
    sources: &'a [&'a [u8]],
    /// The number of rows in use, at most [`LANES`].
    rows: usize,
    axes: Vec<Column<L>>,
    quotients: Vec<Known<L>>,
    lookups: Vec<Known<L>>,
    /// The intermediate results of each lookup, one column for each of its numbers. Columns of
    /// constants are filled once and kept for all groups.
    numbers: Vec<Vec<Column<L>>>,
    /// An earlier lookup that begins with the same numbers as a lookup, and how many of them are
    /// the same, for each lookup. `jnp.take_along_axis` looks up whether an index is valid, and
    /// then the index.
    same: Vec<(usize, usize)>,
}

/// A column that is computed when it is first needed. Its contents are valid only if `is_known` is
/// true.
struct Known<L> {
    is_known: bool,
    column: Column<L>,
}

impl<L: Lane> Known<L> {
    fn none() -> Self {
        Self { is_known: false, column: column() }
    }
}

/// Returns a column of zeros.
pub(super) fn column<L: Lane>() -> Column<L> {
    vec![L::default(); LANES]
}

impl<'a, L: Lane> RowValues<'a, L> {
    /// Returns columns for the forms of a nest. [`Self::start`] must be called before they are
    /// used.
    pub(super) fn new(nest: &'a CopyNest, sources: &'a [&'a [u8]]) -> Self {
        let number = |of: &LookupExpr| match of {
            LookupExpr::Constant(value) => vec![L::of(*value as i64); LANES],
            _ => column(),
        };
        let numbers =
            |lookup: &Lookup| lookup.numbers.iter().map(|it| number(&it.of)).collect::<Vec<_>>();
        Self {
            nest,
            sources,
            rows: 0,
            axes: nest.extents().iter().map(|_| column()).collect(),
            quotients: nest.quotients().iter().map(|_| Known::none()).collect(),
            lookups: nest.lookups().iter().map(|_| Known::none()).collect(),
            numbers: nest.lookups().iter().map(numbers).collect(),
            same: (0..nest.lookups().len()).map(|number| same_numbers(nest, number)).collect(),
        }
    }

    /// Starts a group of `rows` rows. `digits` has the step along each axis at which the first row
    /// of the group begins, and is advanced to the step at which the row after the group begins.
    ///
    /// If `is_whole` is true, each row is the whole innermost axis, and the step of that axis is 0.
    pub(super) fn start(&mut self, digits: &mut [i64], is_whole: bool, rows: usize) {
        self.rows = rows;
        for known in self.quotients.iter_mut().chain(&mut self.lookups) {
            known.is_known = false;
        }
        let extents = self.nest.extents();
        // The number of axes whose step changes from row to row. If a row is the whole innermost
        // axis, these are the other axes.
        let stepped = if is_whole { digits.len().saturating_sub(1) } else { digits.len() };
        if is_whole && let Some(inner) = self.axes.last_mut() {
            inner[..rows].fill(L::default());
        }
        let mut lane = 0;
        while lane < rows {
            // The remaining steps of the innermost axis along which rows advance.
            let last = stepped.checked_sub(1);
            let steps = last.map_or(1, |last| signed(extents[last]) - digits[last]);
            let steps = (rows - lane).min(usize::try_from(steps).unwrap_or(usize::MAX));
            let lanes = lane..lane + steps;
            lane += steps;
            let Some(last) = last else { continue };
            for (axis, &digit) in self.axes.iter_mut().zip(&digits[..last]) {
                axis[lanes.clone()].fill(L::of(digit));
            }
            for (value, digit) in self.axes[last][lanes].iter_mut().zip(digits[last]..) {
                *value = L::of(digit);
            }
            let mut carry = signed(steps as u64);
            for (digit, &extent) in digits[..stepped].iter_mut().zip(extents).rev() {
                *digit += carry;
                if *digit < signed(extent) {
                    break;
                }
                *digit -= signed(extent);
                carry = 1;
            }
        }
    }

    /// Writes the value of a form at each row of the group to the start of `sum`.
    pub(super) fn form(&mut self, form: &Affine, sum: &mut [L]) {
        for &(value, _) in form.terms() {
            self.prepare(value);
        }
        let sum = &mut sum[..self.rows];
        let column = |value: Value| match value {
            Value::Axis(axis) => &self.axes[axis][..],
            Value::Quotient(number) => &self.quotients[number].column[..],
            Value::Lookup(number) => &self.lookups[number].column[..],
        };
        let mut terms = form.terms().iter();
        // Most forms are a single value, which needs no arithmetic.
        match form.terms().first() {
            Some(&(value, 1)) if form.offset() == 0 => {
                sum.copy_from_slice(&column(value)[..self.rows]);
                terms.next();
            }
            _ => sum.fill(L::of(form.offset())),
        }
        for &(value, weight) in terms {
            let (weight, values) = (L::of(weight), column(value));
            let sum = &mut *sum;
            vectorized(move || {
                for (sum, &value) in sum.iter_mut().zip(values) {
                    *sum = sum.plus(weight.times(value));
                }
            });
        }
    }

    /// Computes the column of a quotient or lookup, unless this was done before.
    fn prepare(&mut self, value: Value) {
        match value {
            Value::Quotient(number) if !self.quotients[number].is_known => {
                let Quotient { of, by } = &self.nest.quotients()[number];
                let mut column = std::mem::take(&mut self.quotients[number].column);
                self.form(of, &mut column);
                let by = L::of(signed(*by));
                for value in &mut column[..self.rows] {
                    *value = value.floor(by);
                }
                self.quotients[number] = Known { is_known: true, column };
            }
            Value::Lookup(number) if !self.lookups[number].is_known => {
                let mut numbers = std::mem::take(&mut self.numbers[number]);
                let mut column = std::mem::take(&mut self.lookups[number].column);
                // Borrow the same numbers from the earlier lookup. Until it has them again, it does
                // not count as known.
                let (earlier, same) = self.same[number];
                let same = if self.lookups[earlier].is_known { same } else { 0 };
                let exchange = |of: &mut Self, numbers: &mut [Column<L>], is_known: bool| {
                    of.lookups[earlier].is_known = is_known;
                    numbers[..same].swap_with_slice(&mut of.numbers[earlier][..same]);
                };
                if same > 0 {
                    exchange(self, &mut numbers, false);
                }
                self.lookup(&self.nest.lookups()[number], same, &mut numbers, &mut column);
                if same > 0 {
                    exchange(self, &mut numbers, true);
                }
                self.numbers[number] = numbers;
                self.lookups[number] = Known { is_known: true, column };
            }
            _ => {}
        }
    }

    /// Computes the value of a lookup at each row, in the range `0..=lookup.last`, and writes it to
    /// `value`. `numbers` receives the intermediate results, and has the first `done` of them.
    fn lookup(&mut self, lookup: &Lookup, done: usize, numbers: &mut [Column<L>], value: &mut [L]) {
        let rows = self.rows;
        for (place, number) in lookup.numbers.iter().enumerate().skip(done) {
            let (before, rest) = numbers.split_at_mut(place);
            let before = |of: usize| before[of][..rows].iter().copied();
            let column = &mut rest[0][..rows];
            let integer = number.integer;
            match &number.of {
                LookupExpr::Constant(_) => {}
                LookupExpr::Load { source, at } => {
                    self.form(at, column);
                    load(self.sources[*source], integer, column);
                }
                LookupExpr::Index(form) => {
                    self.form(form, column);
                    wrap(integer, column);
                }
                LookupExpr::Convert(of) => {
                    set(column, before(*of));
                    wrap(integer, column);
                }
                LookupExpr::Select(holds, a, b) => {
                    let of = before(*holds).zip(before(*a)).zip(before(*b));
                    let none = L::default();
                    set(column, of.map(move |((holds, a), b)| if holds == none { b } else { a }));
                }
                LookupExpr::Binary(operator, a, b) => {
                    binary(*operator, integer, column, before(*a).zip(before(*b)));
                }
            }
        }
        let (none, last) = (L::default(), L::of(i64::try_from(lookup.last).unwrap_or(i64::MAX)));
        let below = if lookup.out_of_range == OutOfRange::Clamp { none } else { last };
        let numbers = numbers.last().expect("a lookup has a number")[..rows].iter();
        set(value, numbers.map(move |&value| if value < none { below } else { value.min(last) }));
    }
}

/// Returns the earlier lookup of a nest that begins with most of the numbers with which lookup
/// `number` begins, and the number of these.
fn same_numbers(nest: &CopyNest, number: usize) -> (usize, usize) {
    let of = &nest.lookups()[number].numbers;
    let earlier = nest.lookups()[..number].iter().enumerate().map(|(earlier, lookup)| {
        let pairs = of.iter().zip(&lookup.numbers);
        (earlier, pairs.take_while(|(a, b)| a == b).count())
    });
    earlier.max_by_key(|&(_, same)| same).unwrap_or((number, 0))
}

/// Replaces the entries at the start of a column by `values`.
#[inline(always)]
fn set<L>(column: &mut [L], values: impl Iterator<Item = L>) {
    vectorized(move || {
        for (to, value) in column.iter_mut().zip(values) {
            *to = value;
        }
    });
}

/// Loads an integer for each row. The entries of `column` are indices of integers in `image`, and
/// are replaced by these integers. An index past the end gives 0.
fn load<L: Lane>(image: &[u8], integer: Integer, column: &mut [L]) {
    fn each<const BYTES: usize, L: Lane>(
        image: &[u8],
        column: &mut [L],
        number: impl Fn([u8; BYTES]) -> i64,
    ) {
        let (image, _) = image.as_chunks::<BYTES>();
        let number = |bytes: &[u8; BYTES]| L::of(number(*bytes));
        // Consecutive units are most frequent.
        let first = column.first().map_or(0, |first| first.unit_index());
        let other = move |other: usize, (n, at): (usize, &L)| {
            other | (at.unit_index() ^ first.wrapping_add(n))
        };
        let follow = vectorized(|| column.iter().enumerate().fold(0, other)) == 0;
        if let Some(units) = image.get(first..first.saturating_add(column.len())).filter(|_| follow)
        {
            return set(column, units.iter().map(number));
        }
        for at in column {
            *at = image.get(at.unit_index()).map_or(L::default(), number);
        }
    }
    match (integer.bits_in_memory(), integer.is_signed) {
        (2 | 4, _) => {
            let (bits, lanes) = (integer.bits, 8 / integer.bits as usize);
            for at in column {
                let (byte, lane) = (at.unit_index() / lanes, at.unit_index() % lanes);
                let byte = image.get(byte).map_or(0, |&byte| byte >> (lane * bits as usize));
                *at = L::of(byte.into()).wrapped(integer);
            }
        }
        (8, true) => each(image, column, |bytes| i8::from_le_bytes(bytes).into()),
        (16, true) => each(image, column, |bytes| i16::from_le_bytes(bytes).into()),
        (8, false) if integer == Integer::PRED => {
            each(image, column, |[byte]| i64::from(byte != 0));
        }
        (8, false) => each(image, column, |[byte]| byte.into()),
        (16, false) => each(image, column, |bytes| u16::from_le_bytes(bytes).into()),
        (64, _) => each(image, column, i64::from_le_bytes),
        (_, true) => each(image, column, |bytes| i32::from_le_bytes(bytes).into()),
        (_, false) => each(image, column, |bytes| u32::from_le_bytes(bytes).into()),
    }
}

/// Applies an operator to the two operands of each row, and writes the results to `column`, wrapped
/// to the range of the integer type.
fn binary<L: Lane>(
    operator: Operator,
    integer: Integer,
    column: &mut [L],
    operands: impl Iterator<Item = (L, L)>,
) {
    macro_rules! each {
        ($of:expr) => {
            set(column, operands.map($of))
        };
    }
    let truth = |holds: bool| L::of(holds.into());
    match operator {
        Operator::And => each!(|(a, b)| a & b),
        Operator::Or => each!(|(a, b)| a | b),
        // The low bits of the result are right even if the full result is too large for the integer
        // type.
        Operator::Add => each!(|(a, b)| a.plus(b)),
        Operator::Subtract => each!(|(a, b)| a.minus(b)),
        Operator::Multiply => each!(|(a, b)| a.times(b)),
        Operator::Divide => each!(|(a, b)| a.divided(b)),
        Operator::Remainder => each!(|(a, b)| a.remainder(b)),
        Operator::Minimum => each!(|(a, b)| a.min(b)),
        Operator::Maximum => each!(|(a, b)| a.max(b)),
        Operator::Equal => each!(|(a, b)| truth(a == b)),
        Operator::NotEqual => each!(|(a, b)| truth(a != b)),
        Operator::GreaterEqual => each!(|(a, b)| truth(a >= b)),
        Operator::Greater => each!(|(a, b)| truth(a > b)),
        Operator::LessEqual => each!(|(a, b)| truth(a <= b)),
        Operator::Less => each!(|(a, b)| truth(a < b)),
    }
    // The other operators need no wrapping, because they return an operand, a remainder, a truth
    // value, or bits of the operands.
    if let Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide = operator {
        wrap(integer, column);
    }
}

/// Wraps the number of each row to the range of an integer type.
fn wrap<L: Lane>(integer: Integer, column: &mut [L]) {
    vectorized(move || {
        for value in column {
            *value = value.wrapped(integer);
        }
    });
}
