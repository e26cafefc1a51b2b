use smallvec::SmallVec;

use crate::nest::{Affine, Cell, CopyNest, Value, signed};

/// A box of a walk: the half-open range of each axis, outermost first.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) ranges: SmallVec<[(i64, i64); 8]>,
}

impl Region {
    /// Every cell of a walk.
    pub(super) fn whole(nest: &CopyNest) -> Self {
        Self { ranges: nest.extents.iter().map(|&extent| (0, signed(extent))).collect() }
    }

    /// Steps along each axis.
    pub(super) fn extents(&self) -> impl Iterator<Item = usize> + '_ {
        self.ranges.iter().map(|(low, end)| usize::try_from(end - low).unwrap_or_default())
    }
}

/// The least and the greatest value of an expression.
type Interval = (i64, i64);

/// Boxes that cover the cells `first..end` of the walk, each once.
pub(super) fn cover(nest: &CopyNest, first: u64, end: u64) -> SmallVec<[Region; 1]> {
    let mut out = SmallVec::new();
    let strides: SmallVec<[u64; 8]> = nest.axes().map(|axis| axis.dst_stride).collect();
    let mut position = first;
    while position < end {
        // The outermost axis of which whole steps fit from here.
        let step = strides
            .iter()
            .position(|&stride| position.is_multiple_of(stride) && position + stride <= end);
        let mut region = Region { ranges: SmallVec::new() };
        let mut length = 1;
        for (axis, (&extent, &stride)) in nest.extents.iter().zip(&strides).enumerate() {
            let digit = position / stride % extent;
            let steps = match step {
                Some(step) if axis == step => {
                    let steps = (extent - digit).min((end - position) / stride);
                    length = steps * stride;
                    steps
                }
                Some(step) if axis > step => extent,
                _ => 1,
            };
            region.ranges.push((signed(digit), signed(digit + steps)));
        }
        out.push(region);
        position += length;
    }
    out
}

/// Calls `each` for boxes that cover the cells of a box, each once.
///
/// In a box every guard is decided and every digit is constant. It comes with the unit of the source that its first cell
/// reads, from where the direct weights of the axes lead on; or with what its cells are instead.
pub(super) fn resolve(
    nest: &CopyNest,
    region: Region,
    each: &mut impl FnMut(&Region, Result<i64, Cell>),
) {
    match examine(nest, &region) {
        Found::Cells(kind) => each(&region, kind),
        Found::Cut { axis, at } => {
            let (mut below, mut above) = (region.clone(), region);
            below.ranges[axis].1 = at;
            above.ranges[axis].0 = at;
            resolve(nest, below, each);
            resolve(nest, above, each);
        }
    }
}

/// What a box is, or where to cut it.
enum Found {
    Cells(Result<i64, Cell>),
    Cut { axis: usize, at: i64 },
}

fn examine(nest: &CopyNest, region: &Region) -> Found {
    let mut digits: SmallVec<[Interval; 4]> = SmallVec::new();
    for digit in &nest.digits {
        let (low, high) = interval(&digit.of, region, &digits);
        digits.push((low.div_euclid(signed(digit.by)), high.div_euclid(signed(digit.by))));
    }
    // A gap wins over padding.
    for cell in [Cell::Gap, Cell::Padding] {
        let (mut failed, mut open, mut decided) = (false, None, true);
        for guard in nest.guards.iter().filter(|guard| guard.cell == cell) {
            let (low, high) = interval(&guard.of, region, &digits);
            let extent = signed(guard.extent);
            if high < 0 || low >= extent {
                failed = true;
            } else if low < 0 || high >= extent {
                decided = false;
                let steady = guard.of.terms().iter().all(|&(value, _)| match value {
                    Value::Axis(_) => true,
                    Value::Digit(digit) => digits[digit].0 == digits[digit].1,
                });
                if steady && open.is_none() {
                    open = Some((&guard.of, if low < 0 { 0 } else { extent }));
                }
            }
        }
        if failed {
            return Found::Cells(Err(cell));
        }
        if let Some((form, threshold)) = open {
            return cut(form, threshold, region, &digits);
        }
        if !decided {
            break;
        }
    }
    for (digit, &(low, high)) in nest.digits.iter().zip(&digits) {
        if low < high {
            let threshold = (low + (high - low + 1) / 2) * signed(digit.by);
            return cut(&digit.of, threshold, region, &digits);
        }
    }
    Found::Cells(Ok(interval_start(&nest.src, region, &digits)))
}

/// Where to cut a box so that a part of it, at best, lies on one side of a threshold that the form crosses.
fn cut(form: &Affine, threshold: i64, region: &Region, digits: &[Interval]) -> Found {
    let (low, high) = interval(form, region, digits);
    let mut best = (0, 0, 0);
    for &(value, weight) in form.terms() {
        if let Value::Axis(axis) = value {
            let reach = weight.abs() * (region.ranges[axis].1 - region.ranges[axis].0 - 1);
            if reach > best.0 {
                best = (reach, axis, weight);
            }
        }
    }
    let (reach, axis, weight) = best;
    let (start, end) = region.ranges[axis];
    // The other terms, with this axis at its start.
    let (low, high) = if weight > 0 { (low, high - reach) } else { (low + reach, high) };
    let steps = if weight > 0 {
        [threshold - high, threshold - low]
            .map(|gap| gap.div_euclid(weight) + i64::from(gap.rem_euclid(weight) > 0))
    } else {
        [low - threshold, high - threshold].map(|gap| gap.div_euclid(-weight) + 1)
    };
    let at = steps
        .into_iter()
        .map(|steps| start + steps)
        .find(|&at| start < at && at < end)
        .unwrap_or(start + (end - start) / 2);
    Found::Cut { axis, at }
}

fn interval(form: &Affine, region: &Region, digits: &[Interval]) -> Interval {
    form.span(|value| match value {
        Value::Axis(axis) => (region.ranges[axis].0, region.ranges[axis].1 - 1),
        Value::Digit(digit) => digits[digit],
    })
}

/// The form at the first cell of a box whose digits are constant.
fn interval_start(form: &Affine, region: &Region, digits: &[Interval]) -> i64 {
    form.evaluate(|value| match value {
        Value::Axis(axis) => region.ranges[axis].0,
        Value::Digit(digit) => digits[digit].0,
    })
}
