//! Nests that look up, at every position or every row, where it comes from: `table[ids]`, `jnp.take`. Boxes would be of one
//! position or one row each; here forms are evaluated for many of them at a time, column by column.

use rayon::prelude::*;
use smallvec::SmallVec;

use crate::nest::{
    Affine, Below, Case, CopyNest, Integer, Lookup, NumberOf, Operator, Quotient, Take, Value,
    signed,
};

/// Rows that are evaluated at a time.
const LANES: usize = 256;

/// Bytes of the destination that a thread takes at a time, about.
const SHARE_BYTES: usize = 256 << 10;

/// A number of each row.
type Column = Box<[i64; LANES]>;

/// Fills the destination where every way of the nest looks up, and its rows can be copied as they are: a row is what the
/// innermost axis makes where nothing is looked up along it, else one unit. Returns whether it did.
pub(super) fn fill(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) -> bool {
    let Some(row) = row(nest) else { return false };
    let unit = nest.dst_bits() as usize / 8;
    let first = nest.dst_base().unsigned_abs() as usize;
    let is_whole = nest.src_bits() == nest.dst_bits()
        && nest.dst_bits().is_multiple_of(8)
        && nest.dst_base() <= 0
        && first.is_multiple_of(row)
        && destination.len().is_multiple_of(row * unit)
        && destination.len() as u64 == nest.dst_units() * unit as u64;
    if !is_whole {
        return false;
    }
    let rows = (SHARE_BYTES / (row * unit)).max(1);
    let gathered = Gathered { nest, sources, row, unit };
    destination.par_chunks_mut(rows * row * unit).enumerate().for_each(|(share, out)| {
        gathered.share(first + share * rows * row, out);
    });
    true
}

/// Units of a row; `None` where another way is better.
fn row(nest: &CopyNest) -> Option<usize> {
    let (&extent, inner) = (nest.extents().last()?, Value::Axis(nest.extents().len() - 1));
    let numbers = || nest.lookups().iter().flat_map(|lookup| &lookup.numbers);
    if numbers().any(|number| number.integer.bits > 32) {
        return None;
    }
    // What is read without a lookup is better moved in boxes.
    let mut asks = false;
    for Case { when, take } in nest.cases() {
        asks |= when.iter().any(|guard| looks_up(nest, &guard.of));
        match take {
            Take::Read { at, .. } if !asks && !looks_up(nest, at) => return None,
            _ => {}
        }
    }
    let quotients = nest.quotients().iter().map(|quotient| &quotient.of);
    let mut asked = nest
        .cases()
        .iter()
        .flat_map(|case| case.when.iter().map(|guard| &guard.of))
        .chain(quotients)
        .chain(nest.lookups().iter().flat_map(Lookup::forms));
    if asked.all(|form| form.weight(inner) == 0) {
        let is_run = |case: &Case| match &case.take {
            Take::Read { at, .. } => at.weight(inner) == 1,
            Take::Bits(_) => true,
        };
        return nest.cases().iter().all(is_run).then_some(extent as usize);
    }
    // An axis that moves no lookup has boxes.
    let moves =
        nest.lookups().iter().flat_map(Lookup::forms).any(|form| depends(nest, form, inner));
    moves.then_some(1)
}

/// Whether a form depends on a lookup.
fn looks_up(nest: &CopyNest, form: &Affine) -> bool {
    form.terms().iter().any(|&(value, _)| match value {
        Value::Axis(_) => false,
        Value::Quotient(number) => looks_up(nest, &nest.quotients()[number].of),
        Value::Lookup(_) => true,
    })
}

/// Whether a form depends on an axis.
fn depends(nest: &CopyNest, form: &Affine, axis: Value) -> bool {
    form.terms().iter().any(|&(value, _)| match value {
        Value::Axis(_) => value == axis,
        Value::Quotient(number) => depends(nest, &nest.quotients()[number].of, axis),
        Value::Lookup(number) => {
            nest.lookups()[number].forms().any(|form| depends(nest, form, axis))
        }
    })
}

struct Gathered<'a> {
    nest: &'a CopyNest,
    sources: &'a [&'a [u8]],
    /// Units of a row.
    row: usize,
    /// Bytes of a unit.
    unit: usize,
}

impl Gathered<'_> {
    /// Fills what lies from a position on.
    fn share(&self, first: usize, out: &mut [u8]) {
        let bytes = self.row * self.unit;
        let mut digits: SmallVec<[i64; 8]> = SmallVec::new();
        let mut rest = first as u64;
        for &extent in self.nest.extents().iter().rev() {
            digits.push(signed(rest % extent));
            rest /= extent;
        }
        digits.reverse();
        let mut columns = Columns::new(self.nest, self.sources);
        for out in out.chunks_mut(LANES * bytes) {
            columns.start(&mut digits, self.row, out.len() / bytes);
            self.rows(&mut columns, out);
        }
    }

    /// Fills rows whose steps along the axes are known.
    fn rows(&self, columns: &mut Columns, out: &mut [u8]) {
        let rows = columns.rows;
        let cases = self.nest.cases();
        let mut case_of = [cases.len(); LANES];
        let mut left = rows;
        for (number, case) in cases.iter().enumerate() {
            if left == 0 {
                break;
            }
            let mut holds = [true; LANES];
            for guard in &case.when {
                let (form, extent) = (columns.form(&guard.of), signed(guard.extent));
                for (holds, &value) in holds.iter_mut().zip(&form[..]) {
                    *holds &= (0..extent).contains(&value);
                }
            }
            for (case_of, holds) in case_of[..rows].iter_mut().zip(holds) {
                if holds && *case_of == cases.len() {
                    *case_of = number;
                    left -= 1;
                }
            }
        }
        for (number, case) in cases.iter().enumerate() {
            if !case_of[..rows].contains(&number) {
                continue;
            }
            match &case.take {
                Take::Bits(bits) => self.bits(*bits, |row| case_of[row] == number, out),
                Take::Read { source, at } => {
                    let units = columns.form(at);
                    let takes = |row: usize| case_of[row] == number;
                    self.copy(self.sources[*source], &units[..rows], takes, out);
                }
            }
        }
        if left > 0 {
            self.bits(0, |row| case_of[row] == cases.len(), out);
        }
    }

    /// Writes bits to the units of some rows.
    fn bits(&self, bits: u128, takes: impl Fn(usize) -> bool, out: &mut [u8]) {
        let bytes = bits.to_le_bytes();
        for (row, out) in out.chunks_exact_mut(self.row * self.unit).enumerate() {
            if takes(row) {
                let units = out.chunks_exact_mut(self.unit);
                units.for_each(|to| to.copy_from_slice(&bytes[..self.unit]));
            }
        }
    }

    /// Copies some rows, from these units on.
    fn copy(&self, source: &[u8], units: &[i64], takes: impl Fn(usize) -> bool, out: &mut [u8]) {
        match (self.row, self.unit) {
            (1, 1) => each::<1>(source, units, takes, out),
            (1, 2) => each::<2>(source, units, takes, out),
            (1, 4) => each::<4>(source, units, takes, out),
            (1, 8) => each::<8>(source, units, takes, out),
            (1, 16) => each::<16>(source, units, takes, out),
            _ => {
                let bytes = self.row * self.unit;
                for (row, out) in out.chunks_exact_mut(bytes).enumerate() {
                    if takes(row) {
                        let first = place(units[row]) * self.unit;
                        out.copy_from_slice(&source[first..first + bytes]);
                    }
                }
            }
        }
    }
}

/// A unit's number; what a case reads is never negative.
fn place(unit: i64) -> usize {
    unit.unsigned_abs() as usize
}

/// Copies units of so many bytes.
fn each<const BYTES: usize>(
    source: &[u8],
    units: &[i64],
    takes: impl Fn(usize) -> bool,
    out: &mut [u8],
) {
    let (source, _) = source.as_chunks::<BYTES>();
    let (out, _) = out.as_chunks_mut::<BYTES>();
    for (row, (out, &unit)) in out.iter_mut().zip(units).enumerate() {
        if takes(row) {
            *out = source[place(unit)];
        }
    }
}

/// The forms of a nest at rows of its walk, each computed when it is first asked for.
///
/// What a guard keeps out may have no meaning: it is some number here, and no one asks for it.
struct Columns<'a> {
    nest: &'a CopyNest,
    sources: &'a [&'a [u8]],
    /// How many rows there are.
    rows: usize,
    axes: Vec<Column>,
    quotients: Vec<Option<Column>>,
    lookups: Vec<Option<Column>>,
}

impl<'a> Columns<'a> {
    fn new(nest: &'a CopyNest, sources: &'a [&'a [u8]]) -> Self {
        let zeros = || Box::new([0; LANES]);
        Self {
            nest,
            sources,
            rows: 0,
            axes: nest.extents().iter().map(|_| zeros()).collect(),
            quotients: vec![],
            lookups: vec![],
        }
    }

    /// Starts with so many rows from these digits on, and moves the digits behind them.
    fn start(&mut self, digits: &mut [i64], row: usize, rows: usize) {
        self.rows = rows;
        self.quotients = vec![None; self.nest.quotients().len()];
        self.lookups = vec![None; self.nest.lookups().len()];
        for lane in 0..rows {
            for (column, &digit) in self.axes.iter_mut().zip(&*digits) {
                column[lane] = digit;
            }
            let mut carry = signed(row as u64);
            for (digit, &extent) in digits.iter_mut().zip(self.nest.extents()).rev() {
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
    fn form(&mut self, form: &Affine) -> Column {
        for &(value, _) in form.terms() {
            self.prepare(value);
        }
        let mut sum = Box::new([form.evaluate(|_| 0); LANES]);
        for &(value, weight) in form.terms() {
            let column = match value {
                Value::Axis(axis) => &self.axes[axis],
                Value::Quotient(number) => self.quotients[number].as_ref().expect("prepared"),
                Value::Lookup(number) => self.lookups[number].as_ref().expect("prepared"),
            };
            for (sum, &value) in sum.iter_mut().zip(&column[..]) {
                *sum += weight * value;
            }
        }
        sum
    }

    /// Computes a value that forms have.
    fn prepare(&mut self, value: Value) {
        match value {
            Value::Quotient(number) if self.quotients[number].is_none() => {
                let Quotient { of, by } = &self.nest.quotients()[number];
                let mut column = self.form(of);
                column.iter_mut().for_each(|value| *value = value.div_euclid(signed(*by)));
                self.quotients[number] = Some(column);
            }
            Value::Lookup(number) if self.lookups[number].is_none() => {
                let column = self.lookup(&self.nest.lookups()[number]);
                self.lookups[number] = Some(column);
            }
            _ => {}
        }
    }

    fn lookup(&mut self, lookup: &Lookup) -> Column {
        let mut numbers: Vec<Column> = Vec::with_capacity(lookup.numbers.len());
        for number in &lookup.numbers {
            let mut column = match &number.of {
                NumberOf::Load { source, at } => {
                    let at = self.form(at);
                    load(self.sources[*source], number.integer, at, self.rows)
                }
                NumberOf::Index(form) => self.form(form),
                NumberOf::Constant(value) => Box::new([*value as i64; LANES]),
                NumberOf::Convert(of) => numbers[*of].clone(),
                NumberOf::Select(holds, a, b) => {
                    let [holds, a, b] = [holds, a, b].map(|of| &numbers[*of]);
                    let mut column = b.clone();
                    let of = column.iter_mut().zip(&holds[..]).zip(&a[..]);
                    of.for_each(|((value, &holds), &a)| {
                        *value = if holds == 0 { *value } else { a }
                    });
                    column
                }
                NumberOf::Binary(operator, a, b) => {
                    binary(*operator, numbers[*a].clone(), &numbers[*b])
                }
            };
            wrap(number.integer, &mut column);
            numbers.push(column);
        }
        let mut column = numbers.pop().unwrap_or_else(|| Box::new([0; LANES]));
        let last = i64::try_from(lookup.last).unwrap_or(i64::MAX);
        let below = if lookup.below == Below::Zero { 0 } else { last };
        column
            .iter_mut()
            .for_each(|value| *value = if *value < 0 { below } else { (*value).min(last) });
        column
    }
}

/// The numbers at units of an image; 0 past its end.
fn load(image: &[u8], integer: Integer, mut at: Column, rows: usize) -> Column {
    fn each<const BYTES: usize>(image: &[u8], at: &mut [i64], number: impl Fn([u8; BYTES]) -> i64) {
        let (image, _) = image.as_chunks::<BYTES>();
        for at in at {
            let unit = usize::try_from(*at).ok().and_then(|at| image.get(at));
            *at = unit.map_or(0, |&bytes| number(bytes));
        }
    }
    let at_rows = &mut at[..rows];
    match integer.bits_in_memory() {
        8 => each::<1>(image, at_rows, |[byte]| byte.into()),
        16 => each::<2>(image, at_rows, |bytes| u16::from_le_bytes(bytes).into()),
        _ => each::<4>(image, at_rows, |bytes| u32::from_le_bytes(bytes).into()),
    }
    at
}

/// An operation on the numbers of each row, before they wrap around.
fn binary(operator: Operator, mut a: Column, b: &Column) -> Column {
    macro_rules! each {
        ($of:expr) => {
            a.iter_mut().zip(&b[..]).for_each(|(a, &b)| *a = $of(*a, b))
        };
    }
    match operator {
        Operator::And => each!(|a: i64, b: i64| a & b),
        Operator::Or => each!(|a: i64, b: i64| a | b),
        Operator::Add => each!(|a: i64, b: i64| a + b),
        Operator::Subtract => each!(|a: i64, b: i64| a - b),
        // The low bits are right, also where 64 are not enough.
        Operator::Multiply => each!(|a: i64, b: i64| a.wrapping_mul(b)),
        Operator::Divide => each!(|a: i64, b: i64| a.checked_div(b).unwrap_or(-1)),
        Operator::Remainder => each!(|a: i64, b: i64| a.checked_rem(b).unwrap_or(a)),
        Operator::Minimum => each!(|a: i64, b: i64| a.min(b)),
        Operator::Maximum => each!(|a: i64, b: i64| a.max(b)),
        Operator::Equal => each!(|a, b| i64::from(a == b)),
        Operator::NotEqual => each!(|a, b| i64::from(a != b)),
        Operator::GreaterEqual => each!(|a, b| i64::from(a >= b)),
        Operator::Greater => each!(|a, b| i64::from(a > b)),
        Operator::LessEqual => each!(|a, b| i64::from(a <= b)),
        Operator::Less => each!(|a, b| i64::from(a < b)),
    }
    a
}

/// Numbers as those of a type.
fn wrap(integer: Integer, column: &mut Column) {
    let unused = 64 - integer.bits;
    match (integer.is_signed, integer.bits) {
        (false, 1) => column.iter_mut().for_each(|value| *value = i64::from(*value != 0)),
        (true, _) => column.iter_mut().for_each(|value| *value = *value << unused >> unused),
        (false, _) => {
            let mask = (1_i64 << integer.bits) - 1;
            column.iter_mut().for_each(|value| *value &= mask);
        }
    }
}
