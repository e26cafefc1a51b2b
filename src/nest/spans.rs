use smallvec::SmallVec;

use super::{Affine, CopyNest, Digit, Value, numbers::signed};

/// The least and the greatest value of each axis and digit of a nest.
pub(super) struct Spans {
    axes: SmallVec<[(i64, i64); 8]>,
    digits: SmallVec<[(i64, i64); 4]>,
}

impl Spans {
    /// Over all cells of the walk, those included that no element fills.
    pub(super) fn of_box(nest: &CopyNest) -> Self {
        let axes = nest.extents.iter().map(|&extent| (0, signed(extent) - 1)).collect();
        let mut spans = Self { axes, digits: SmallVec::new() };
        for Digit { of, by } in &nest.digits {
            let (low, high) = spans.of(of);
            spans.digits.push((low.div_euclid(signed(*by)), high.div_euclid(signed(*by))));
        }
        spans
    }

    /// Over the cells that read; `None` where none does.
    ///
    /// Guards, and the source's last element, narrow what they are made of; the spans may still be wider than need be.
    pub(super) fn of_reading(nest: &CopyNest) -> Option<Self> {
        let last = signed(nest.src_last?);
        let mut spans = Self::of_box(nest);
        // What the first round learns of digits narrows axes in the second.
        for _ in 0..2 {
            for guard in &nest.guards {
                spans.narrow(&guard.of, 0, signed(guard.extent) - 1)?;
            }
            spans.narrow(&nest.src, 0, last)?;
            for (number, Digit { of, by }) in nest.digits.iter().enumerate().rev() {
                let (low, high) = spans.digits[number];
                let by = signed(*by);
                spans.narrow(of, low * by, high * by + by - 1)?;
            }
            for (number, Digit { of, by }) in nest.digits.iter().enumerate() {
                let (low, high) = spans.of(of);
                let by = signed(*by);
                spans.cut(Value::Digit(number), low.div_euclid(by), high.div_euclid(by))?;
            }
        }
        Some(spans)
    }

    /// The span of a form.
    pub(super) fn of(&self, form: &Affine) -> (i64, i64) {
        form.span(|value| self.of_value(value))
    }

    /// The span of an axis or a digit.
    pub(super) fn of_value(&self, value: Value) -> (i64, i64) {
        match value {
            Value::Axis(axis) => self.axes[axis],
            Value::Digit(digit) => self.digits[digit],
        }
    }

    fn weighed(&self, value: Value, weight: i64) -> (i64, i64) {
        let (low, high) = self.of_value(value);
        ((weight * low).min(weight * high), (weight * low).max(weight * high))
    }

    /// Leaves out values that put `form` outside `low..=high` whatever the others are; `None` where none is left.
    fn narrow(&mut self, form: &Affine, low: i64, high: i64) -> Option<()> {
        let (least, most) = self.of(form);
        if least > high || most < low {
            return None;
        }
        for &(value, weight) in form.terms() {
            let (least, most) = self.of(form);
            let own = self.weighed(value, weight);
            // What `weight · value` may be, given the spans of all the others.
            let (from, to) = (low - (most - own.1), high - (least - own.0));
            let by = weight.abs();
            let (first, last) = (-(-from).div_euclid(by), to.div_euclid(by));
            let (first, last) = if weight > 0 { (first, last) } else { (-last, -first) };
            self.cut(value, first, last)?;
        }
        Some(())
    }

    /// Leaves `low..=high` of a value's span; `None` where nothing is left.
    fn cut(&mut self, value: Value, low: i64, high: i64) -> Option<()> {
        let span = match value {
            Value::Axis(axis) => &mut self.axes[axis],
            Value::Digit(digit) => &mut self.digits[digit],
        };
        *span = (span.0.max(low), span.1.min(high));
        (span.0 <= span.1).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{nest::build, shape::Shape, stride::StrideDescriptor, window::Window};

    /// Guards narrow axes, and through them digits.
    #[test]
    fn cells_that_read() {
        for (source, destination, axes, digits) in [
            ("u8[3,2]", "u8[3,2]{1,0:PAD(5,4)}", [(0, 2), (0, 1)], &[][..]),
            ("u8[3,2]{0,1}", "u8[3,2]", [(0, 2), (0, 1)], &[]),
            ("u8[4,5]{1,0:T(2,4)}", "u8[4,5]{1,0:PAD(6,9)}", [(0, 3), (0, 4)], &[(0, 1), (0, 1)]),
        ] {
            let [source, destination] = [source, destination]
                .map(|text| StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap());
            let window = Window::identity(source.sizes());
            let nest = build(&source, &destination, &window).unwrap();
            let spans = Spans::of_reading(&nest).unwrap();
            assert_eq!((&spans.axes[..], &spans.digits[..]), (&axes[..], digits), "{nest}");
        }
    }
}
