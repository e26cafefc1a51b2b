//! The forms of a nest at many positions of its walk at a time, column by column.

use crate::nest::{
    Affine, Below, CopyNest, Integer, Lookup, NumberOf, Operator, Quotient, Value, signed,
};

/// Rows that are evaluated at a time.
pub(super) const LANES: usize = 256;

/// A number of each row.
type Column = Vec<i64>;

/// The forms of a nest at rows of its walk. Axes are filled, all else is computed when it is first asked for.
///
/// What a guard keeps out may have no meaning: it is some number here, and no one asks for it.
pub(super) struct Columns<'a> {
    nest: &'a CopyNest,
    sources: &'a [&'a [u8]],
    /// How many rows there are.
    rows: usize,
    axes: Vec<Column>,
    quotients: Vec<Known>,
    lookups: Vec<Known>,
    /// The numbers of each lookup; those of constants stay.
    numbers: Vec<Vec<Column>>,
}

/// A column, and whether it is computed.
struct Known {
    is_known: bool,
    column: Column,
}

impl Known {
    fn none() -> Self {
        Self { is_known: false, column: column() }
    }
}

/// A column of zeros.
pub(super) fn column() -> Column {
    vec![0; LANES]
}

impl<'a> Columns<'a> {
    pub(super) fn new(nest: &'a CopyNest, sources: &'a [&'a [u8]]) -> Self {
        let number = |of: &NumberOf| match of {
            NumberOf::Constant(value) => vec![*value as i64; LANES],
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
        }
    }

    /// Starts with so many rows from these digits on, and moves the digits behind them. A row is a position, or all that
    /// the innermost axis makes: then its digit is 0.
    pub(super) fn start(&mut self, digits: &mut [i64], is_whole: bool, rows: usize) {
        self.rows = rows;
        for known in self.quotients.iter_mut().chain(&mut self.lookups) {
            known.is_known = false;
        }
        let extents = self.nest.extents();
        // Axes that rows step along.
        let stepped = if is_whole { digits.len().saturating_sub(1) } else { digits.len() };
        if is_whole && let Some(inner) = self.axes.last_mut() {
            inner[..rows].fill(0);
        }
        let mut lane = 0;
        while lane < rows {
            // How far the innermost of these axes goes on.
            let last = stepped.checked_sub(1);
            let steps = last.map_or(1, |last| signed(extents[last]) - digits[last]);
            let steps = (rows - lane).min(usize::try_from(steps).unwrap_or(usize::MAX));
            let lanes = lane..lane + steps;
            lane += steps;
            let Some(last) = last else { continue };
            for (axis, &digit) in self.axes.iter_mut().zip(&digits[..last]) {
                axis[lanes.clone()].fill(digit);
            }
            for (value, digit) in self.axes[last][lanes].iter_mut().zip(digits[last]..) {
                *value = digit;
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

    /// The value of a form at each row.
    pub(super) fn form(&mut self, form: &Affine, sum: &mut [i64]) {
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
        // One value alone is the most frequent form.
        match form.terms().first() {
            Some(&(value, 1)) if form.offset() == 0 => {
                sum.copy_from_slice(&column(value)[..self.rows]);
                terms.next();
            }
            _ => sum.fill(form.offset()),
        }
        for &(value, weight) in terms {
            for (sum, &value) in sum.iter_mut().zip(column(value)) {
                *sum += weight * value;
            }
        }
    }

    /// Computes a value that forms have.
    fn prepare(&mut self, value: Value) {
        match value {
            Value::Quotient(number) if !self.quotients[number].is_known => {
                let Quotient { of, by } = &self.nest.quotients()[number];
                let mut column = std::mem::take(&mut self.quotients[number].column);
                self.form(of, &mut column);
                for value in &mut column[..self.rows] {
                    *value = value.div_euclid(signed(*by));
                }
                self.quotients[number] = Known { is_known: true, column };
            }
            Value::Lookup(number) if !self.lookups[number].is_known => {
                let mut numbers = std::mem::take(&mut self.numbers[number]);
                let mut column = std::mem::take(&mut self.lookups[number].column);
                self.lookup(&self.nest.lookups()[number], &mut numbers, &mut column);
                self.numbers[number] = numbers;
                self.lookups[number] = Known { is_known: true, column };
            }
            _ => {}
        }
    }

    fn lookup(&mut self, lookup: &Lookup, numbers: &mut [Column], value: &mut [i64]) {
        let rows = self.rows;
        for (place, number) in lookup.numbers.iter().enumerate() {
            let (before, rest) = numbers.split_at_mut(place);
            let before = |of: usize| before[of][..rows].iter().copied();
            let column = &mut rest[0][..rows];
            let integer = number.integer;
            match &number.of {
                NumberOf::Constant(_) => {}
                NumberOf::Load { source, at } => {
                    self.form(at, column);
                    load(self.sources[*source], integer, column);
                }
                NumberOf::Index(form) => {
                    self.form(form, column);
                    wrap(integer, column);
                }
                NumberOf::Convert(of) => {
                    set(column, before(*of));
                    wrap(integer, column);
                }
                NumberOf::Select(holds, a, b) => {
                    let of = before(*holds).zip(before(*a)).zip(before(*b));
                    set(column, of.map(|((holds, a), b)| if holds == 0 { b } else { a }));
                }
                NumberOf::Binary(operator, a, b) => {
                    binary(*operator, integer, column, before(*a).zip(before(*b)));
                }
            }
        }
        let last = i64::try_from(lookup.last).unwrap_or(i64::MAX);
        let below = if lookup.below == Below::Zero { 0 } else { last };
        let numbers = numbers.last().expect("a lookup has a number")[..rows].iter();
        set(value, numbers.map(|&value| if value < 0 { below } else { value.min(last) }));
    }
}

fn set(column: &mut [i64], values: impl Iterator<Item = i64>) {
    for (to, value) in column.iter_mut().zip(values) {
        *to = value;
    }
}

/// Replaces units by the numbers there in an image; by 0 past its end.
fn load(image: &[u8], integer: Integer, column: &mut [i64]) {
    fn each<const BYTES: usize>(
        image: &[u8],
        column: &mut [i64],
        number: impl Fn([u8; BYTES]) -> i64,
    ) {
        let (image, _) = image.as_chunks::<BYTES>();
        for at in column {
            let unit = usize::try_from(*at).ok().and_then(|at| image.get(at));
            *at = unit.map_or(0, |&bytes| number(bytes));
        }
    }
    match (integer.bits_in_memory(), integer.is_signed) {
        (8, true) => each(image, column, |bytes| i8::from_le_bytes(bytes).into()),
        (16, true) => each(image, column, |bytes| i16::from_le_bytes(bytes).into()),
        (8, false) if integer == Integer::PRED => {
            each(image, column, |[byte]| i64::from(byte != 0));
        }
        (8, false) => each(image, column, |[byte]| byte.into()),
        (16, false) => each(image, column, |bytes| u16::from_le_bytes(bytes).into()),
        (_, true) => each(image, column, |bytes| i32::from_le_bytes(bytes).into()),
        (_, false) => each(image, column, |bytes| u32::from_le_bytes(bytes).into()),
    }
}

/// An operation on two numbers of each row.
fn binary(
    operator: Operator,
    integer: Integer,
    column: &mut [i64],
    operands: impl Iterator<Item = (i64, i64)>,
) {
    macro_rules! each {
        ($of:expr) => {
            set(column, operands.map($of))
        };
    }
    match operator {
        Operator::And => each!(|(a, b)| a & b),
        Operator::Or => each!(|(a, b)| a | b),
        Operator::Add => each!(|(a, b)| a + b),
        Operator::Subtract => each!(|(a, b)| a - b),
        // The low bits are right, also where 64 are not enough.
        Operator::Multiply => each!(|(a, b)| a.wrapping_mul(b)),
        Operator::Divide => each!(|(a, b)| a.checked_div(b).unwrap_or(-1)),
        Operator::Remainder => each!(|(a, b)| a.checked_rem(b).unwrap_or(a)),
        Operator::Minimum => each!(|(a, b)| a.min(b)),
        Operator::Maximum => each!(|(a, b)| a.max(b)),
        Operator::Equal => each!(|(a, b)| i64::from(a == b)),
        Operator::NotEqual => each!(|(a, b)| i64::from(a != b)),
        Operator::GreaterEqual => each!(|(a, b)| i64::from(a >= b)),
        Operator::Greater => each!(|(a, b)| i64::from(a > b)),
        Operator::LessEqual => each!(|(a, b)| i64::from(a <= b)),
        Operator::Less => each!(|(a, b)| i64::from(a < b)),
    }
    // The others give one of their operands, or what both have.
    if let Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide = operator {
        wrap(integer, column);
    }
}

/// Numbers as those of a type.
fn wrap(integer: Integer, column: &mut [i64]) {
    let (unused, mask) = (64 - integer.bits, (1_i64 << integer.bits) - 1);
    let wrapped = |value: i64| match (integer.is_signed, integer.bits) {
        (false, 1) => i64::from(value != 0),
        (true, _) => value << unused >> unused,
        (false, _) => value & mask,
    };
    for value in column {
        *value = wrapped(*value);
    }
}
