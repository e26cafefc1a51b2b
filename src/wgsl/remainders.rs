//! [`RemainderNames`]: writes offsets in tiled layouts as people write them, with quotients and
//! remainders.

use smallvec::SmallVec;

use super::form::{FormNames, joint};
use crate::nest::{Affine, CopyNest, Quotient, Value, signed};

/// Writes the expressions of a nest with remainders: `d0 / 8u * 1024u + d0 % 8u` for `d0 +
/// 1016·q0`.
///
/// The two expressions are equal modulo 2^32. They could differ only if the dividend of the
/// quotient `q0` overflowed, but an expression with a quotient is used only if its dividend is
/// exact.
pub(super) struct RemainderNames<'a> {
    /// The names of the axes.
    axes: SmallVec<[String; 8]>,
    quotients: &'a [Quotient],
    /// The text of each quotient that is written out at every use, because it is as short as `d0 /
    /// 8u`. `None` for a quotient that has a variable.
    inlined: Vec<Option<String>>,
}

/// A term of a sum: the text of a value or a remainder, and its weight. The constant term has an
/// empty text.
type Addend = (String, i64);

impl<'a> RemainderNames<'a> {
    /// Returns the writer for the expressions of `nest`, whose axes have the names `axes`.
    pub(super) fn new(nest: &'a CopyNest, axes: SmallVec<[String; 8]>) -> Self {
        let mut names = Self { axes, quotients: nest.quotients(), inlined: Vec::new() };
        for Quotient { of, by } in nest.quotients() {
            let is_short = names.is_short(of);
            let text = is_short.then(|| format!("{} / {by}u", names.dividend(of)));
            names.inlined.push(text);
        }
        names
    }

    /// Returns true if `of` is a single axis, or a quotient or remainder of one, so that a division
    /// of it has a short text.
    fn is_short(&self, of: &Affine) -> bool {
        let is_known = |&(value, _): &(Value, i64)| match value {
            Value::Axis(_) => true,
            Value::Quotient(number) => self.inlined[number].is_some(),
            Value::Lookup(_) => false,
        };
        matches!(&self.addends(of)[..], [(text, 1)] if !text.is_empty())
            && of.terms().iter().all(is_known)
    }

    /// Returns the terms of an expression, with remainders in place of quotients if possible. Terms
    /// with large weights come first.
    fn addends(&self, form: &Affine) -> Vec<Addend> {
        let mut rest = form.clone();
        let mut addends = Vec::new();
        let known = self.quotients.iter().enumerate().take(self.inlined.len());
        for (number, Quotient { of, by }) in known.rev() {
            // `v·q` and the terms `w·of` are together `w·(of % by) + (v + w·by)·q`.
            let Some(&(value, weight)) = of.terms().first() else { continue };
            let (own, quotient) = (rest.weight(value), Value::Quotient(number));
            if rest.weight(quotient) == 0 || own == 0 || own % weight != 0 {
                continue;
            }
            let scale = own / weight;
            let left = rest.clone().checked_plus(-scale, of).and_then(|left| {
                left.checked_plus(scale.checked_mul(signed(*by))?, &Affine::value(quotient))
            });
            if let Some(left) = left.filter(|left| left.terms().len() < rest.terms().len()) {
                addends.push((self.remainder(of, *by), scale));
                rest = left;
            }
        }
        addends.extend(rest.terms().iter().map(|&(value, weight)| (self.value(value), weight)));
        addends.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight.unsigned_abs()));
        if rest.offset() != 0 {
            addends.push((String::new(), rest.offset()));
        }
        addends
    }

    /// Returns the text of a remainder. `(x % m) % n` is shortened to `x % n` if `m` is a multiple
    /// of `n`.
    fn remainder(&self, of: &Affine, by: u64) -> String {
        let text = self.dividend(of);
        let inner = text.rsplit_once(" % ").filter(|(_, divisor)| {
            let divisor = divisor.trim_end_matches('u').parse::<u64>();
            divisor.is_ok_and(|divisor| divisor.is_multiple_of(by))
        });
        format!("{} % {by}u", inner.map_or(text.as_str(), |(inner, _)| inner))
    }

    /// Returns the text of an axis, a quotient or a lookup.
    fn value(&self, value: Value) -> String {
        match value {
            Value::Axis(axis) => self.axes[axis].clone(),
            Value::Quotient(number) => match self.inlined.get(number) {
                Some(Some(text)) => text.clone(),
                _ => value.to_string(),
            },
            Value::Lookup(_) => value.to_string(),
        }
    }
}

impl FormNames for RemainderNames<'_> {
    fn form(&self, form: &Affine) -> String {
        let addends = self.addends(form);
        let mut parts = Vec::new();
        // Positive addends are first, so that no intermediate value is negative.
        for positive in [true, false] {
            for (value, weight) in addends.iter().filter(|addend| (addend.1 > 0) == positive) {
                let joint = joint(parts.is_empty(), positive);
                parts.push(match (value.as_str(), weight.unsigned_abs()) {
                    ("", constant) => format!("{joint}{constant}u"),
                    (value, 1) => format!("{joint}{value}"),
                    (value, weight) => format!("{joint}{value} * {weight}u"),
                });
            }
        }
        if parts.is_empty() { "0u".to_owned() } else { parts.concat() }
    }

    fn dividend(&self, form: &Affine) -> String {
        let text = self.form(form);
        if text.contains(" + ") || text.contains(" - ") { format!("({text})") } else { text }
    }

    fn is_inlined(&self, quotient: usize) -> bool {
        self.inlined.get(quotient).is_some_and(Option::is_some)
    }
}
