//! Divides the loops of a nest into boxes in which all positions take their values in the same way.
//!
//! A *position* is a combination of steps of the loops. It fills one place of the destination with
//! the value of the first *case* of the nest that applies: a unit of a source, often an element, or
//! a constant. A case applies if its *guards* hold, conditions on affine *forms* of the loops that
//! exclude padding, for example. Forms can contain *quotients*, which are divisions, if tiles of
//! the two sides do not divide each other, and *lookups*, which are integers loaded from a source.
//!
//! Evaluating guards and quotients for each element would be slow. Inside a box, every guard is
//! decided and every quotient is constant, so that the box is a plain copy with constant strides,
//! or a fill. For example, an array of 3 columns in rows of 5 places has two boxes: the 3 columns
//! of elements, and the 2 columns of padding.

use smallvec::{SmallVec, smallvec};

use super::{
    rows::{LinearForm, RowCase, RowValue},
    task::has_whole_bytes,
};
use crate::nest::{
    Affine, Bounds, Case, CaseValue, CopyNest, Depends, Guard, Lookup, Position, PositionValue,
    Quotient, Value, footprint, gcd, signed,
};

/// A box of the nest's loops: for each axis, outermost first, the half-open range of its steps.
#[derive(Clone, Debug)]
pub(super) struct WalkBox {
    pub(super) ranges: SmallVec<[(i64, i64); 8]>,
}

impl WalkBox {
    /// Returns the box of all positions of the nest.
    pub(super) fn whole(nest: &CopyNest) -> Self {
        Self { ranges: nest.extents().iter().map(|&extent| (0, signed(extent))).collect() }
    }

    /// Returns a box that contains every position at which the nest writes, or `None` if the nest
    /// writes nothing.
    pub(super) fn written(nest: &CopyNest) -> Option<Self> {
        footprint(nest).map(|ranges| Self { ranges })
    }

    /// Returns the number of steps along each axis.
    pub(super) fn extents(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.ranges.iter().map(|(low, end)| usize::try_from(end - low).unwrap_or_default())
    }
}

/// Returns disjoint boxes that cover the positions `first..end`, numbered in the order of the
/// loops.
///
/// ```text
/// loops of 3 by 8 steps, positions 5..20: the boxes 0..1 × 5..8, 1..2 × 0..8 and 2..3 × 0..4
/// ```
pub(super) fn cover(nest: &CopyNest, first: u64, end: u64) -> SmallVec<[WalkBox; 1]> {
    let mut out = SmallVec::new();
    let strides: SmallVec<[u64; 8]> = nest.axes().map(|axis| axis.dst_stride).collect();
    let mut position = first;
    while position < end {
        // Find the outermost axis that has a whole step starting at `position` and ending by `end`.
        let step = strides
            .iter()
            .position(|&stride| position.is_multiple_of(stride) && position + stride <= end);
        let mut walk_box = WalkBox { ranges: SmallVec::new() };
        let mut length = 1;
        for (axis, (&extent, &stride)) in nest.extents().iter().zip(&strides).enumerate() {
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
            walk_box.ranges.push((signed(digit), signed(digit + steps)));
        }
        out.push(walk_box);
        position += length;
    }
    out
}

/// The result of [`resolve`]: boxes in which all positions take their values in the same way.
pub(super) enum Resolved<'a> {
    /// A box, the value of its first position, and the index of the case that gives the value. If
    /// no case applies, the index is the number of cases.
    ///
    /// If the value is a unit of a source, the other positions read at constant strides from that
    /// unit. If the value is bits, all positions take these bits.
    Box(&'a WalkBox, PositionValue, usize),
    /// Boxes that repeat at equal distances along some axes.
    Repeated(&'a Repeated),
    /// A box of which each row, along the innermost axis, is divided between the cases.
    Rows(&'a WalkBox, &'a [RowCase]),
}

/// The boxes that [`resolve`] reports together.
#[derive(Clone, Copy)]
pub(super) struct Together {
    /// True if boxes that occur in every period are reported as [`Resolved::Repeated`].
    pub(super) periods: bool,
    /// True if boxes that end at another place in each row are reported as [`Resolved::Rows`].
    pub(super) rows: bool,
}

impl Together {
    /// Every box is reported for itself.
    pub(super) const NOTHING: Self = Self { periods: false, rows: false };
}

/// A box, the value of its first position, and the index of its case, as in [`Resolved::Box`].
#[derive(Clone)]
pub(super) struct FoundBox {
    pub(super) walk_box: WalkBox,
    pub(super) value: PositionValue,
    pub(super) case: usize,
}

/// Boxes that occur again in every *period*, a part of the loops. Tiles of the two sides that do
/// not divide each other line up again after a number of steps, and from there on the boxes repeat.
/// So only the boxes of the first period have to be found.
///
/// ```text
/// tiles of 6 by 10 to tiles of 4 by 8: the period is 12 by 40 elements,
/// 3 by 5 tiles of the destination
/// ```
pub(super) struct Repeated {
    pub(super) periods: Periods,
    /// The boxes of the first period.
    pub(super) boxes: Vec<FoundBox>,
    /// True if the boxes are so small that moving each box separately would be slow. All boxes of a
    /// period are then put together as one block if possible.
    pub(super) small: bool,
}

/// The greatest number of boxes that a period may have. Above it, their list takes too much memory:
/// about 200 bytes for each box. With a lower limit, the boxes of a period above it are computed
/// again for each repetition, which takes longer than the copy if they are small: 40,000 boxes in
/// `s8[28519,384]` from `T(32,128)(4,1)` to `T(3,10)`.
const MOST_BOXES_OF_PERIOD: i64 = 1 << 17;

/// The greatest number of positions in a period with which an axis is kept whole inside it, if the
/// axis changes no quotient or is a short row ([`SHORT_BITS`]). Otherwise, the period repeats along
/// the axis.
const MOST_INSIDE: i64 = 1 << 14;

/// The longest row that is kept whole inside a period although it is not a whole number of periods,
/// in bits. If such a row were cut, its remainder would be moved separately, which costs more:
/// `s8[32,8128,96]` from `T(6,10)`.
const SHORT_BITS: i64 = 1 << 11;

/// The least number of periods, in a box or along an axis, for which filling them together pays
/// off.
const LEAST_PERIODS: i64 = 4;

/// The inverse of the smallest useful part of an axis: a cut along the axis must decide a guard for
/// at least one in this number of its steps. Otherwise, [`cut`] cuts off the first step of the
/// outermost axis.
const LEAST_DECIDED: i64 = 4;

/// The inverse of the greatest part of an axis that a cut may leave undecided, apart from one step.
/// If it leaves more, long rows are divided between the cases. Boxes would give the rows of a
/// triangle many parts, which are written at different times: `jnp.tril` of `f32[2048,2048]` has
/// 0.34 of the rate of memcpy with boxes, and 0.95 in rows.
const UNDECIDED_OF_ROWS: i64 = 8;

/// The least number of units in a row that is divided between the cases. Short rows are faster as
/// one pattern for many of them. Slabs of `jnp.where(tril & mask, …)` leave rows of 64 units, and
/// take 2.7 times as long if those of single bytes are divided into boxes.
const LEAST_ROW_UNITS: i64 = 32;

/// The least average size of the boxes of a period, in positions, for which each box gets a plan of
/// its own, which also covers its repetitions. Smaller boxes are moved together.
const LARGE_BOX: usize = 64;

/// A nest together with the contents of its sources. The contents are needed to evaluate lookups.
#[derive(Clone, Copy)]
pub(super) struct NestWithImages<'a> {
    pub(super) nest: &'a CopyNest,
    pub(super) images: &'a [&'a [u8]],
}

/// Divides a box and calls `each` for the resulting boxes. They are disjoint, and cover all
/// positions of the box at which the nest writes.
///
/// In each resulting box, every guard is decided, and every quotient and lookup is constant. The
/// boxes that `together` names are reported together; the guards of [`Resolved::Rows`] are not
/// decided.
pub(super) fn resolve(
    of: NestWithImages,
    walk_box: WalkBox,
    together: Together,
    each: &mut impl FnMut(Resolved),
) {
    // The unresolved boxes, as a stack.
    let mut rest = vec![walk_box];
    while let Some(walk_box) = rest.pop() {
        match decide(of, &walk_box, together) {
            Decision::Taken(PositionValue::Kept, _) => {}
            Decision::Taken(taken, case) => each(Resolved::Box(&walk_box, taken, case)),
            Decision::Cut { axis, at } => {
                let (mut below, mut above) = (walk_box.clone(), walk_box);
                below.ranges[axis].1 = at;
                above.ranges[axis].0 = at;
                rest.extend([above, below]);
            }
            Decision::Rows(cases) => each(Resolved::Rows(&walk_box, &cases)),
            Decision::LookedUp { axes, case } => look_up(of, &walk_box, &axes, case, each),
            Decision::Repeated(periods) => {
                let mut boxes = Vec::new();
                resolve_boxes(of, WalkBox::clone(&periods.first), &mut |found| {
                    if let Resolved::Box(walk_box, value, case) = found {
                        boxes.push(FoundBox { walk_box: walk_box.clone(), value, case });
                    }
                });
                let size = periods.first.extents().product::<usize>();
                let small = size < boxes.len() * LARGE_BOX;
                each(Resolved::Repeated(&Repeated { periods, boxes, small }));
            }
        }
    }
}

/// Divides a box as [`resolve`] does, without looking for periods. The call through `dyn` keeps
/// `resolve` from being instantiated for ever deeper closures.
fn resolve_boxes(of: NestWithImages, walk_box: WalkBox, each: &mut dyn FnMut(Resolved)) {
    resolve(of, walk_box, Together::NOTHING, &mut |found| each(found));
}

/// Splits a box into parts that read at constant strides, and calls `each` for each part. All
/// positions of the box belong to `case`, which reads units whose offsets depend on lookups. A part
/// has a single step along each axis for which `axes` is true, because the lookups change along
/// these axes.
fn look_up(
    NestWithImages { nest, images }: NestWithImages,
    walk_box: &WalkBox,
    axes: &[bool],
    case: usize,
    each: &mut impl FnMut(Resolved),
) {
    let CaseValue::Read { source, at } = &nest.cases()[case].take else { return };
    let mut inner = walk_box.clone();
    let mut first: SmallVec<[i64; 8]> = walk_box.ranges.iter().map(|&(low, _)| low).collect();
    let moving = || (0..axes.len()).filter(|&axis| axes[axis]);
    moving().for_each(|axis| inner.ranges[axis].1 = inner.ranges[axis].0 + 1);
    loop {
        let unit = Position::new(nest, Some(images), first.clone()).form(at).unsigned_abs();
        each(Resolved::Box(&inner, PositionValue::Unit { source: *source, unit }, case));
        // Go to the next combination of steps. The innermost axis changes fastest.
        let next = moving().rev().find(|&axis| {
            first[axis] += 1;
            let ends = first[axis] == walk_box.ranges[axis].1;
            if ends {
                first[axis] = walk_box.ranges[axis].0;
            }
            inner.ranges[axis] = (first[axis], first[axis] + 1);
            !ends
        });
        if next.is_none() {
            break;
        }
    }
}

/// The result of [`decide`]: the value of a box, or the next way to divide it.
///
/// - `Taken`: all positions take this constant, or read at constant strides from this unit on. The
///   second field is the index of the case, or the number of cases if none applies.
/// - `Cut`: the box must be cut in two: the steps of `axis` before `at`, and those from `at` on.
/// - `Repeated`: the box consists of periods, equal parts with equal boxes. Therefore only the
///   first period must be divided.
/// - `Rows`: each row of the box is divided between these cases.
enum Decision {
    Taken(PositionValue, usize),
    Cut {
        axis: usize,
        at: i64,
    },
    Repeated(Periods),
    Rows(Vec<RowCase>),
    /// All positions belong to this case, which reads at offsets that depend on lookups. The
    /// entries of `axes` are true for the axes along which these lookups change.
    LookedUp {
        axes: SmallVec<[bool; 8]>,
        case: usize,
    },
}

impl Decision {
    /// Returns the axis that this decision divides: the axis of a cut, or the outermost axis whose
    /// periods change a quotient. Returns a number above all axes for other decisions, so that they
    /// come last in a comparison.
    fn axis(&self) -> usize {
        match *self {
            Self::Cut { axis, .. } | Self::Repeated(Periods { outermost: Some(axis), .. }) => axis,
            _ => usize::MAX,
        }
    }
}

/// The periods of a box: its division into equal parts with equal boxes.
pub(super) struct Periods {
    /// The first period, as a box.
    pub(super) first: Box<WalkBox>,
    /// The number of periods along each axis.
    pub(super) repeats: SmallVec<[usize; 8]>,
    /// The distance from one period to the next in the source, in units: a list for each case, with
    /// an entry for each axis.
    pub(super) advances: Vec<SmallVec<[i64; 8]>>,
    /// The outermost axis along which a quotient changes from period to period, if there is one.
    outermost: Option<usize>,
}

/// Looks for periods in a box whose quotients vary, so that only one period has to be divided into
/// boxes.
///
/// `number` is the index of the first case that can apply: none of its guards fails in the whole
/// box. If the box is not a whole number of periods, the result is a cut that separates the
/// remainder. Returns `None` if the nest has no quotients, if a period may have too many boxes, if
/// there are too few periods, or if lookups vary.
fn period(nest: &CopyNest, number: usize, walk_box: &WalkBox, bounds: &Bounds) -> Option<Decision> {
    if nest.quotients().is_empty() {
        return None;
    }
    // `undecided` has the forms of the guards that hold in only a part of the box, and `cases` the
    // source offsets, as forms, of the cases that can apply.
    let mut undecided: SmallVec<[&Affine; 4]> = SmallVec::new();
    let mut cases: SmallVec<[&Affine; 4]> = SmallVec::new();
    for Case { when, take } in &nest.cases()[number..] {
        let states = || when.iter().map(|guard| (&guard.of, guard_state(guard, bounds)));
        if states().any(|(_, state)| matches!(state, GuardState::Fails)) {
            continue;
        }
        let before = undecided.len();
        let is_undecided = |state: &GuardState| matches!(state, GuardState::Undecided { .. });
        undecided.extend(states().filter(|(_, state)| is_undecided(state)).map(|(form, _)| form));
        if let CaseValue::Read { at, .. } = take {
            cases.push(at);
        }
        if undecided.len() == before {
            break;
        }
    }
    let forms = || undecided.iter().chain(&cases).copied();
    if Depends::of(nest, forms()).looks_up() {
        return None;
    }
    let mut first = Box::new(walk_box.clone());
    let mut repeats: SmallVec<[usize; 8]> = smallvec![1; first.ranges.len()];
    let mut outermost = None;
    let mut advances = vec![smallvec![0; first.ranges.len()]; nest.cases().len()];
    // `boxes` is an upper bound of the number of boxes of a period: an axis that changes nothing is
    // not divided.
    let (mut size, mut boxes, mut count) = (1_i64, 1_i64, 1_i64);
    for (axis, (low, end)) in first.ranges.iter_mut().enumerate().rev() {
        let extent = *end - *low;
        let period = Period::of_axis(nest, &undecided, bounds, axis, extent);
        let moves = period.moves.iter().any(|&by| by != 0);
        // An axis that changes neither a guard nor a quotient is contained in the period as a whole
        // if the period does not become too long. Otherwise the period repeats along this axis.
        let whole = size.saturating_mul(extent);
        let bits = whole.saturating_mul(nest.dst_bits().into());
        let cut = extent % period.steps != 0 && bits <= SHORT_BITS;
        let inside = whole <= MOST_INSIDE && (!moves || cut);
        let steps = if inside || extent < 2 * period.steps { extent } else { period.steps };
        let times = extent / steps;
        if times > 1 {
            if extent % steps != 0 {
                return Some(Decision::Cut { axis, at: *low + times * steps });
            }
            repeats[axis] = usize::try_from(times).ok()?;
            if moves {
                outermost = Some(axis);
            }
            for (advances, case) in advances.iter_mut().zip(nest.cases()) {
                if let CaseValue::Read { at, .. } = &case.take {
                    advances[axis] = period.moved(at, axis);
                }
            }
        }
        *end = *low + steps;
        size = size.saturating_mul(steps);
        if moves {
            boxes = boxes.saturating_mul(steps);
        }
        count = count.saturating_mul(times);
    }
    let pays = boxes <= MOST_BOXES_OF_PERIOD && count >= LEAST_PERIODS;
    pays.then_some(Decision::Repeated(Periods { first, repeats, advances, outermost }))
}

/// Returns true if a quotient changes along an axis of a box at least [`LEAST_PERIODS`] times in
/// the same way.
fn has_enough_periods(nest: &CopyNest, walk_box: &WalkBox, bounds: &Bounds, axis: usize) -> bool {
    let Some(&(low, end)) = walk_box.ranges.get(axis) else { return false };
    let period = Period::of_axis(nest, &[], bounds, axis, end - low);
    let moves = period.moves.iter().any(|&by| by != 0);
    moves && period.steps * LEAST_PERIODS <= end - low
}

/// Returns the least number of steps of an axis after which every quotient has grown by a whole
/// number. Returns the extent of the axis if there is no such number of steps.
pub(super) fn period_steps(nest: &CopyNest, axis: usize) -> u64 {
    let extent = signed(nest.extents()[axis]);
    let bounds = Bounds::of_box(nest, nest.extents().iter().map(|&extent| (0, signed(extent) - 1)));
    Period::of_axis(nest, &[], &bounds, axis, extent).steps.unsigned_abs()
}

/// The period along one axis: the least number of steps after which every quotient has changed by a
/// whole number and no undecided guard has changed.
struct Period {
    /// The number of steps, or the extent of the axis if there is no period.
    steps: i64,
    /// The change of each quotient over these steps. If there is no period, the list is a single 1,
    /// which only says that something changes.
    moves: SmallVec<[i64; 4]>,
}

impl Period {
    /// Returns the period along `axis`. `undecided` contains the forms of the undecided guards.
    fn of_axis(
        nest: &CopyNest,
        undecided: &[&Affine],
        bounds: &Bounds,
        axis: usize,
        extent: i64,
    ) -> Self {
        let none = || Self { steps: extent, moves: smallvec![1] };
        let mut period = Self { steps: 1, moves: SmallVec::new() };
        for (number, Quotient { of, by }) in nest.quotients().iter().enumerate() {
            if is_constant(Value::Quotient(number), bounds) {
                period.moves.push(0);
                continue;
            }
            let (by, by_steps) = (signed(*by), period.moved(of, axis));
            let factor = by / gcd(by_steps, by).abs();
            if factor > extent / period.steps {
                return none();
            }
            period.steps *= factor;
            period.moves.iter_mut().for_each(|of| *of *= factor);
            period.moves.push(by_steps * factor / by);
        }
        if undecided.iter().any(|form| period.moved(form, axis) != 0) { none() } else { period }
    }

    /// Returns the amount by which a form grows over the steps of the period. The form must not
    /// depend on lookups. Quotients without an entry in `moves` are treated as constant.
    fn moved(&self, form: &Affine, axis: usize) -> i64 {
        let direct = form.weight(Value::Axis(axis)) * self.steps;
        let weights = (0..self.moves.len()).map(|number| form.weight(Value::Quotient(number)));
        direct + weights.zip(&self.moves).map(|(weight, by)| weight * by).sum::<i64>()
    }
}

/// Decides how a box is treated next. Skips each case with a guard that fails in the whole box, and
/// decides by the first other case.
fn decide(of: NestWithImages, walk_box: &WalkBox, together: Together) -> Decision {
    let (nest, repeats) = (of.nest, together.periods);
    let mut bounds = Bounds::of_box(nest, walk_box.ranges.iter().map(|&(low, end)| (low, end - 1)));
    let mut number = 0;
    while let Some(Case { when, take }) = nest.cases().get(number) {
        let mut undecided: SmallVec<[(&Affine, i64); 4]> = SmallVec::new();
        let mut fails = false;
        for guard in when {
            match guard_state(guard, &bounds) {
                GuardState::Holds => {}
                GuardState::Fails => fails = true,
                GuardState::Undecided { threshold } => undecided.push((&guard.of, threshold)),
            }
        }
        if fails {
            number += 1;
            continue;
        }
        let linear = || undecided.iter().filter(|(form, _)| is_linear(form, &bounds));
        let in_rows = |&(form, threshold): &(&Affine, i64)| {
            is_linear(form, &bounds)
                && CutPlaces::of(form, threshold, walk_box, &bounds).are_of_rows(form, walk_box)
        };
        // Guards that are no triangles are cut first, because they may leave a part of the box.
        if together.rows
            && !undecided.is_empty()
            && undecided.iter().all(in_rows)
            && let Some(cases) = row_cases(nest, number, walk_box, &bounds)
        {
            return Decision::Rows(cases);
        }
        // Cut the outermost axis first, so that boxes differ only along inner axes.
        let cuts = linear().map(|&(form, threshold)| cut(form, threshold, walk_box, &bounds));
        let first = cuts.min_by_key(Decision::axis);
        // Look for a period along an axis outside the cut first, because the boxes of a period are
        // then cut only once, and not again in every period. However, if there are enough periods
        // along the axis of the cut, each of them would become boxes of its own in the outer
        // period, so the axis is cut first.
        if let Some(Decision::Cut { axis, at }) = first
            && repeats
            && has_enough_periods(nest, walk_box, &bounds, axis)
        {
            return Decision::Cut { axis, at };
        }
        // Before the undecided guards or the value can be evaluated, the box must be cut until the
        // quotients and lookups on which they depend are constant. The value is considered if all
        // guards are decided. If the nest has lookups, only the first undecided guard is
        // considered, because later guards and the value may be meaningless where that guard fails.
        let read = match take {
            CaseValue::Read { at, .. } if first.is_none() => Some(at),
            _ => None,
        };
        let first_undecided = undecided.first().map(|&(form, _)| form);
        let depends = match first_undecided {
            Some(form) if !nest.lookups().is_empty() => Depends::of(nest, [form]),
            _ => Depends::of(nest, undecided.iter().map(|&(form, _)| form).chain(read)),
        };
        // A quotient of an axis outside the cut is cut first too. A box on both sides of the steps
        // at which the quotient changes could not be a part of a block. Units below a byte have no
        // blocks.
        let cuts_quotients = first.is_none() || has_whole_bytes(nest);
        let of_guards =
            cuts_quotients.then(|| cut_quotient(nest, &depends, walk_box, &bounds, i64::MAX));
        // So is a quotient of the value, inside a period or if it has too few values for periods.
        let of_value = match take {
            CaseValue::Read { at, .. }
                if first.is_some() && cuts_quotients && nest.lookups().is_empty() =>
            {
                let most = if repeats { LEAST_PERIODS - 1 } else { i64::MAX };
                cut_quotient(nest, &Depends::of(nest, [at]), walk_box, &bounds, most)
            }
            _ => None,
        };
        let of_quotient =
            of_guards.flatten().into_iter().chain(of_value).min_by_key(Decision::axis);
        if first.is_some() || of_quotient.is_some() {
            let period = if repeats { period(nest, number, walk_box, &bounds) } else { None };
            let outer = period.or(of_quotient);
            let is_outer =
                |of: &Decision| first.as_ref().is_none_or(|first| of.axis() < first.axis());
            if let Some(decision) = outer.filter(is_outer).or(first) {
                return decision;
            }
        }
        let unknown = (0..nest.lookups().len())
            .find(|&of| depends.lookups[of] && !is_constant(Value::Lookup(of), &bounds));
        if let Some(lookup) = unknown {
            let lookup_axes = LookupAxes::of(nest, &depends, &bounds);
            let moving =
                |axis: &usize| walk_box.extents().nth(*axis) != Some(1) && lookup_axes.axes[*axis];
            if let Some(axis) = (0..lookup_axes.axes.len()).find(moving) {
                if first_undecided.is_none() && !lookup_axes.quotients_vary {
                    return Decision::LookedUp { axes: lookup_axes.axes, case: number };
                }
                let (low, end) = walk_box.ranges[axis];
                return Decision::Cut { axis, at: low + (end - low) / 2 };
            }
            let first: SmallVec<[i64; 8]> = walk_box.ranges.iter().map(|&(low, _)| low).collect();
            let position = Position::new(nest, Some(of.images), first);
            let value = position.form(&Affine::value(Value::Lookup(lookup)));
            bounds.know(nest, lookup, value.unsigned_abs());
            continue;
        }
        let taken = match take {
            CaseValue::Read { source, at } => {
                let unit = first_value(at, walk_box, &bounds).unsigned_abs();
                PositionValue::Unit { source: *source, unit }
            }
            CaseValue::Bits(bits) => PositionValue::Bits(*bits),
        };
        return Decision::Taken(taken, number);
    }
    Decision::Taken(PositionValue::outside(nest.gaps()), nest.cases().len())
}

/// The axes on which the lookups of some forms depend.
struct LookupAxes {
    axes: SmallVec<[bool; 8]>,
    /// True if quotients vary as well, so that the source strides are not constant even if the
    /// lookups are.
    quotients_vary: bool,
}

impl LookupAxes {
    /// Returns the axes on which the lookups and the varying quotients in `depends` depend, in the
    /// box that `bounds` describes.
    fn of(nest: &CopyNest, depends: &Depends, bounds: &Bounds) -> Self {
        let lookups = nest.lookups().iter().zip(&depends.lookups).filter(|(_, depends)| **depends);
        let mut forms: SmallVec<[&Affine; 8]> =
            lookups.flat_map(|(lookup, _)| Lookup::forms(lookup)).collect();
        let of_lookups = forms.len();
        let quotients = nest.quotients().iter().enumerate();
        let varying = quotients.filter(|&(number, _)| {
            depends.quotients[number] && !is_constant(Value::Quotient(number), bounds)
        });
        forms.extend(varying.map(|(_, quotient)| &quotient.of));
        let moves = |axis| forms.iter().any(|form| form.weight(Value::Axis(axis)) != 0);
        let axes = (0..nest.extents().len()).map(moves).collect();
        Self { axes, quotients_vary: forms.len() > of_lookups }
    }
}

/// Returns true if all quotients and lookups of a form are constant, so that the form is linear in
/// the axes.
fn is_linear(form: &Affine, bounds: &Bounds) -> bool {
    form.terms().iter().all(|&(value, _)| match value {
        Value::Axis(_) => true,
        Value::Quotient(_) | Value::Lookup(_) => is_constant(value, bounds),
    })
}

/// Returns true if an axis, quotient or lookup has the same value at all positions of the box.
fn is_constant(value: Value, bounds: &Bounds) -> bool {
    let (low, high) = bounds.of_value(value);
    low == high
}

/// Cuts a box so that in each part, a varying quotient has about half as many values. Takes the
/// quotient for which the axis of the cut is outermost. Returns `None` if no quotient varies with
/// the axes and has at most `most` values.
fn cut_quotient(
    nest: &CopyNest,
    depends: &Depends,
    walk_box: &WalkBox,
    bounds: &Bounds,
    most: i64,
) -> Option<Decision> {
    let quotients = nest.quotients().iter().enumerate();
    let cuts = quotients.filter(|&(number, _)| depends.quotients[number]).filter_map(
        |(number, Quotient { of, by })| {
            let (low, high) = bounds.of_value(Value::Quotient(number));
            let threshold = (low + (high - low + 1) / 2) * signed(*by);
            // A quotient of a varying quotient or lookup is cut after these.
            let varies = low < high
                && high - low < most
                && is_linear(of, bounds)
                && is_known(nest, of, bounds);
            varies.then(|| cut(of, threshold, walk_box, bounds))
        },
    );
    cuts.min_by_key(Decision::axis)
}

/// Returns true if a form depends on no lookup that still varies in the box.
fn is_known(nest: &CopyNest, form: &Affine, bounds: &Bounds) -> bool {
    if nest.lookups().is_empty() {
        return true;
    }
    let depends = Depends::of(nest, [form]);
    (0..nest.lookups().len())
        .all(|of| !depends.lookups[of] || is_constant(Value::Lookup(of), bounds))
}

/// Returns the value of a form at the first position of a box. The quotients and lookups of the
/// form must be constant.
fn first_value(form: &Affine, walk_box: &WalkBox, bounds: &Bounds) -> i64 {
    form.evaluate(|value| match value {
        Value::Axis(axis) => walk_box.ranges[axis].0,
        Value::Quotient(_) | Value::Lookup(_) => bounds.of_value(value).0,
    })
}

/// The state of a guard in a box. A guard holds if `0 <= form < extent`.
enum GuardState {
    Holds,
    Fails,
    /// The guard holds at some positions only: the form has values below `threshold`, and values of
    /// at least `threshold`.
    Undecided {
        threshold: i64,
    },
}

/// Returns the state of a guard in the box that `bounds` describes.
fn guard_state(guard: &Guard, bounds: &Bounds) -> GuardState {
    let (low, high) = bounds.of(&guard.of);
    let extent = signed(guard.extent);
    if high < 0 || low >= extent {
        GuardState::Fails
    } else if low < 0 {
        GuardState::Undecided { threshold: 0 }
    } else if high >= extent {
        GuardState::Undecided { threshold: extent }
    } else {
        GuardState::Holds
    }
}

/// Returns the cases that can apply in a box from case `number` on, if each row of the box is to be
/// divided between them: rows are long, all guards and source offsets are linear in the box, and
/// along the innermost axis, each source is contiguous or repeats a unit.
fn row_cases(
    nest: &CopyNest,
    number: usize,
    walk_box: &WalkBox,
    bounds: &Bounds,
) -> Option<Vec<RowCase>> {
    let inner = walk_box.ranges.len().checked_sub(1)?;
    if walk_box.ranges[inner].1 - walk_box.ranges[inner].0 < LEAST_ROW_UNITS {
        return None;
    }
    let linear = |form: &Affine| {
        let steps = (0..=inner).map(|axis| form.weight(Value::Axis(axis))).collect();
        is_linear(form, bounds)
            .then(|| LinearForm { first: first_value(form, walk_box, bounds), steps })
    };
    let mut cases = Vec::new();
    for Case { when, take } in &nest.cases()[number..] {
        let mut undecided = SmallVec::new();
        let mut fails = false;
        for guard in when {
            match guard_state(guard, bounds) {
                GuardState::Holds => {}
                GuardState::Fails => fails = true,
                GuardState::Undecided { .. } => {
                    undecided.push((linear(&guard.of)?, signed(guard.extent)));
                }
            }
        }
        if fails {
            continue;
        }
        let take = match take {
            CaseValue::Read { source, at } => {
                let at = linear(at).filter(|at| matches!(at.steps[inner], 0 | 1))?;
                RowValue::Unit { source: *source, at }
            }
            CaseValue::Bits(bits) => RowValue::Bits(*bits),
        };
        let is_last = undecided.is_empty();
        cases.push(RowCase { when: undecided, take });
        if is_last {
            return Some(cases);
        }
    }
    let take = match PositionValue::outside(nest.gaps()) {
        PositionValue::Bits(bits) => RowValue::Bits(bits),
        _ => RowValue::Kept,
    };
    cases.push(RowCase { when: SmallVec::new(), take });
    Some(cases)
}

/// The places at which a box can be cut so that in one part, all values of a form lie on one side
/// of a threshold, which is one of the two limits of a guard.
struct CutPlaces {
    /// The axis along which the form varies most.
    axis: usize,
    /// The outermost axis along which the form varies.
    outermost: usize,
    /// The range of the steps of `axis` at which the form has values on both sides of the
    /// threshold.
    undecided: (i64, i64),
}

impl CutPlaces {
    fn of(form: &Affine, threshold: i64, walk_box: &WalkBox, bounds: &Bounds) -> Self {
        let (low, high) = bounds.of(form);
        let (mut best, mut outermost) = ((0, 0, 0), usize::MAX);
        for &(value, weight) in form.terms() {
            if let Value::Axis(axis) = value {
                let reach = weight.abs() * (walk_box.ranges[axis].1 - walk_box.ranges[axis].0 - 1);
                if reach > best.0 {
                    best = (reach, axis, weight);
                }
                if reach > 0 {
                    outermost = outermost.min(axis);
                }
            }
        }
        let (reach, axis, weight) = best;
        let (start, end) = walk_box.ranges[axis];
        // The bounds of the form if this axis is fixed at its first step.
        let (low, high) = if weight > 0 { (low, high - reach) } else { (low + reach, high) };
        let steps = if weight > 0 {
            [threshold - high, threshold - low]
                .map(|gap| gap.div_euclid(weight) + i64::from(gap.rem_euclid(weight) > 0))
        } else {
            [low - threshold, high - threshold].map(|gap| gap.div_euclid(-weight) + 1)
        };
        let [first, last] = steps.map(|steps| (start + steps).clamp(start, end));
        Self { axis, outermost, undecided: (first, last) }
    }

    /// Returns the number of steps of the axis that no cut decides, and the number of all steps.
    fn counts(&self, walk_box: &WalkBox) -> (i64, i64) {
        let (start, end) = walk_box.ranges[self.axis];
        (self.undecided.1 - self.undecided.0, end - start)
    }

    /// Returns true if the rows of the box end at different places, as in a triangle, so that
    /// neither part of a cut would be small. The innermost axis is a row.
    fn are_of_rows(&self, form: &Affine, walk_box: &WalkBox) -> bool {
        let (undecided, steps) = self.counts(walk_box);
        let inner = walk_box.ranges.len() - 1;
        form.weight(Value::Axis(inner)) != 0 && UNDECIDED_OF_ROWS * (undecided - 1) > steps
    }
}

/// Cuts a box so that in one of the parts, all values of the form lie on one side of `threshold`,
/// which is one of the two limits of a guard.
///
/// This part may be small, as in a triangle, whose rows end at different columns. In that case, the
/// first step of the outermost axis is cut off instead, so that the boxes become rows.
fn cut(form: &Affine, threshold: i64, walk_box: &WalkBox, bounds: &Bounds) -> Decision {
    let of = CutPlaces::of(form, threshold, walk_box, bounds);
    let (undecided, steps) = of.counts(walk_box);
    if LEAST_DECIDED * (steps - undecided) < steps {
        return Decision::Cut { axis: of.outermost, at: walk_box.ranges[of.outermost].0 + 1 };
    }
    // One of the two lies inside, because the form has values on both sides of the threshold.
    let (first, end) = of.undecided;
    let at = if walk_box.ranges[of.axis].0 < first { first } else { end };
    Decision::Cut { axis: of.axis, at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hlo::Module, program::Program};

    /// Every second row has padding only. The boxes of a period are cut at the row first, wherever
    /// the share begins, because only boxes of one row can be put together as a block.
    #[test]
    fn boxes_of_a_period_are_cut_along_outer_axes_first() {
        let module = "HloModule m

            ENTRY e {
              x = s16[99,40] parameter(0)
              zero = s16[] constant(0)
              ROOT r = s16[200,80] pad(x, zero), padding=1_2_1x0_1_1
            }";
        let program = Program::lower(&Module::parse(module).unwrap()).unwrap();
        let nest = program.steps()[0].nest();
        let (mut periods, images) = (0, [&[][..], &[][..]]);
        for first in [0, 1, 2, 3, 20, 21] {
            let mut share = WalkBox::whole(nest);
            share.ranges[0].0 = first;
            let of = NestWithImages { nest, images: &images };
            resolve(of, share, Together { periods: true, rows: true }, &mut |found| {
                let Resolved::Repeated(Repeated { boxes, .. }) = found else { return };
                periods += 1;
                for FoundBox { walk_box, .. } in boxes {
                    assert_eq!(walk_box.extents().next(), Some(1), "{first} {walk_box:?}");
                }
            });
        }
        assert!(periods >= 6, "{periods}");
    }
}
