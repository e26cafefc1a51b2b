//! [`CopyNest`]: one operation as a loop nest, and the value that each iteration writes.
//!
//! The [module](super) explains the words of this file with an example: a *unit* is the data that
//! one iteration copies, a *position* is the number of an iteration, and a *place* is the room for
//! one unit in memory.

use std::sync::LazyLock;

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Case, CaseValue, Conversion, Gaps, Guard, Lookup, PositionValue, Value,
    case::{Refusal, refusals},
    coalesce::remove,
    numbers::{ACCESS_BYTES, signed},
    position::Position,
    scattered::Scattered,
};

/// The source offset of a nest that reads no source, for `CopyNest::src`.
static NOWHERE: LazyLock<Affine> = LazyLock::new(Affine::default);

/// A copy as a loop nest over the whole memory of the destination.
///
/// The loops, called axes, visit the whole memory of the destination in order of address, including
/// padding and gaps. Therefore every place is written exactly once, and neighbouring iterations
/// store to neighbouring addresses. A *position* is the number of an iteration, and position `p`
/// writes place `p + dst_base`. If the destination starts or ends in the middle of an outer loop,
/// some positions are before its start or past its end, and are skipped.
///
/// The nest of an update in place is an exception: its loops visit the updates, and each iteration
/// stores at a place that the nest computes.
///
/// An ordered list of [`cases`](Self::cases) defines the value that is written at each position.
/// The first case whose guards, or conditions, all hold applies. If none applies,
/// [`gaps`](Self::gaps) decides if zero is written or if the destination keeps its bits. A case
/// copies a unit, such as an element, of one of the [`sources`](Self::sources), or writes constant
/// bits. A relayout or a slice has one source, and one case that reads it.
///
/// ```text
/// f32[2,3]{1,0} to f32[2,3]{0,1:PAD(3,5,one)}
/// a0: 5 steps, source +1, destination +3      if not a0 < 3: fill with 0x3f800000
/// a1: 3 steps, source +3, destination +1      if not a1 < 2: fill with 0x3f800000
/// ```
///
/// Every expression is affine in the axes, in [`Quotient`]s and in [`Lookup`]s. A quotient is
/// needed if a tile of the source, or a dimension of a reshape, does not divide the loops evenly.
/// It has a meaning only at positions to which a case that uses it applies. At other positions, its
/// dividend may be negative.
///
/// A lookup is an integer that is known only at run time, such as the start of a dynamic slice or
/// an index of a gather. Its range is known at compile time, so bounds hold for every value that it
/// may have. Like a quotient, a lookup that depends on the position has a meaning only in the cases
/// that use it.
///
/// Nests are created only by lowering, from descriptors and windows that are valid by construction,
/// and every pass preserves the values of all positions. The proof that a kernel stays in bounds
/// relies on the nest being valid, so the fields are private:
///
/// ```compile_fail,E0451
/// # let nest = stridec::Operation::relayout("u8[4]".parse()?, "u8[4]".parse()?)?.nest().clone();
/// let forged = stridec::nest::CopyNest { dst_units: 4 << 20, ..nest };
/// # Ok::<(), stridec::Error>(())
/// ```
///
/// ```compile_fail,E0616
/// # let mut nest = stridec::Operation::relayout("u8[4]".parse()?, "u8[4]".parse()?)?.nest().clone();
/// nest.dst_units = 4 << 20;
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CopyNest {
    /// The number of steps of each axis, outermost first.
    pub(super) extents: SmallVec<[u64; 8]>,
    /// The quotients. Each may use only earlier ones.
    pub(super) quotients: Vec<Quotient>,
    /// The integers that are computed at run time from the contents of sources.
    pub(super) lookups: Vec<Lookup>,
    /// The tensors that cases and lookups read.
    pub(super) sources: SmallVec<[Source; 1]>,
    /// The cases. The first whose guards all hold decides the value of a position.
    pub(super) cases: SmallVec<[Case; 1]>,
    /// The treatment of places to which no case applies.
    pub(super) gaps: Gaps,
    /// The place that position 0 would write: 0, or negative if the loops start before the
    /// destination.
    pub(super) dst_base: i64,
    /// The size of the destination in memory, in units.
    pub(super) dst_units: u64,
    /// The size of the destination in memory, in bytes.
    pub(super) dst_bytes: u64,
    /// The width of a unit in the sources that cases read, in bits.
    pub(super) src_bits: u32,
    /// The width of a unit in the destination, in bits. It differs from `src_bits` only if the
    /// operation changes the element size or the element type.
    pub(super) dst_bits: u32,
    /// True if elements of the source that are narrower than those of the destination are
    /// sign-extended. It has no effect if there is a conversion.
    pub(super) sign_extend: bool,
    /// The conversion between element types that is applied to every unit that is read; `None` if
    /// units are copied as they are. The constant bits of cases already have the destination's
    /// type, so they are not converted.
    pub(super) conversion: Option<Conversion>,
    /// The places to which the nest stores if its loops visit the windows of a scatter; `None` if
    /// they visit the destination in order of address.
    pub(super) scattered: Option<Scattered>,
}

/// One loop of a copy: the number of steps, and the distance from one step to the next in the
/// source and in the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyAxis {
    /// The number of steps.
    pub extent: u64,
    /// The distance of a step in the source, in units.
    pub src_stride: i64,
    /// The distance of a step in the destination, in units.
    pub dst_stride: u64,
}

/// An expression divided by a constant and rounded down: `⌊of / by⌋`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quotient {
    /// The dividend. It is not negative at positions at which the guards of a case that uses the
    /// quotient hold.
    pub of: Affine,
    /// The divisor. It is at least 2 after the pass `refine`.
    pub by: u64,
}

/// A tensor that a nest reads, described by its size in memory.
///
/// A source is read either by cases, in units of the nest, or by lookups, in units as wide as the
/// integers that they load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The number of whole units that the tensor contains. Nothing past them is read.
    pub(super) units: u64,
    /// The size in memory, in bytes.
    pub(super) bytes: u64,
    /// The last unit that the nest reads, if known.
    pub(super) last_read: LastRead,
}

impl Source {
    /// Returns the number of whole units in the tensor.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Returns the size of the tensor in memory, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the last unit that the nest reads, if known.
    pub(crate) fn last_read(&self) -> LastRead {
        self.last_read
    }
}

/// The last unit of a source that a nest reads, if known. The proof of a kernel compares it with
/// the size of the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastRead {
    /// Nothing is read from the source.
    Nothing,
    /// Nothing past this unit is read, as proved by lowering.
    Unit(u64),
    /// Unknown, because the nest was not created by lowering. Its kernels have no bounds proof.
    Unknown,
}

impl CopyNest {
    /// Returns the number of steps of each axis, outermost first.
    #[must_use]
    pub fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// Returns the axes, outermost first, each with its stride in the source and in the
    /// destination. The strides in the source are the ones of the first case that reads.
    #[must_use]
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = CopyAxis> + '_ {
        let mut dst_stride: u64 = self.extents.iter().product();
        self.extents
            .iter()
            .enumerate()
            .map(move |(axis, &extent)| {
                dst_stride /= extent.max(1);
                CopyAxis { extent, src_stride: self.src().weight(Value::Axis(axis)), dst_stride }
            })
            .collect::<SmallVec<[CopyAxis; 8]>>()
            .into_iter()
    }

    /// Returns the quotients. Each uses only earlier ones.
    pub(crate) fn quotients(&self) -> &[Quotient] {
        &self.quotients
    }

    /// Returns the integers that are computed at run time from the contents of sources.
    pub(crate) fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// Returns the width of the integers that lookups load from a source, in bits; `None` if no
    /// lookup loads from it.
    pub(crate) fn loaded_bits(&self, source: usize) -> Option<u32> {
        let mut loads = self.lookups.iter().flat_map(Lookup::loads);
        loads.find(|load| load.0 == source).map(|load| load.1)
    }

    /// Returns the tensors that cases and lookups read.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the cases. The first whose guards all hold decides the value that is written; if
    /// none applies, [`gaps`](Self::gaps) decides.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Returns the treatment of places to which no case applies: zero is written, or the
    /// destination keeps its bits.
    #[must_use]
    pub fn gaps(&self) -> Gaps {
        self.gaps
    }

    /// Replaces [`Gaps::Keep`] by [`Gaps::Fill`] if every bit of the destination belongs to an
    /// element, up to the end of the widest access. Kernels then need not read the destination. Any
    /// other nest is returned unchanged.
    pub(crate) fn without_gaps(mut self) -> Self {
        let is_whole = self.scattered.is_none()
            && self.cases.first().is_some_and(|case| case.when.is_empty())
            && self.is_exact()
            && self.dst_units * u64::from(self.dst_bits) == self.dst_bytes * 8
            && self.dst_bytes.is_multiple_of(ACCESS_BYTES);
        if is_whole {
            self.gaps = Gaps::Fill;
        }
        self
    }

    /// Returns the guards of the only case that reads, grouped by the bits that are written if they
    /// fail. Returns `None` if the nest has lookups, several sources or several cases that read, if
    /// it visits the windows of a scatter, or if a case lacks a guard of the next case.
    pub(crate) fn refusals(&self) -> Option<SmallVec<[Refusal<'_>; 2]>> {
        let is_one =
            self.sources.len() == 1 && self.lookups.is_empty() && self.scattered().is_none();
        if is_one { refusals(&self.cases, self.gaps) } else { None }
    }

    /// Returns the offset that the first case with a source reads, in units from the start of that
    /// source. If no case reads, the offset is 0.
    pub(crate) fn src(&self) -> &Affine {
        let mut reads = self.cases.iter().filter_map(|case| match &case.take {
            CaseValue::Read { at, .. } => Some(at),
            CaseValue::Bits(_) => None,
        });
        reads.next().unwrap_or(&NOWHERE)
    }

    /// Replaces the offset that [`src`](Self::src) returns.
    pub(super) fn set_src(&mut self, src: Affine) {
        let read = self.cases.iter_mut().find_map(|case| match &mut case.take {
            CaseValue::Read { at, .. } => Some(at),
            CaseValue::Bits(_) => None,
        });
        if let Some(at) = read {
            *at = src;
        }
    }

    /// Returns the guards of the first case. All of them must hold for a position to read its
    /// source.
    pub(crate) fn reading_guards(&self) -> &[Guard] {
        self.cases.first().map_or(&[], |case| &case.when)
    }

    /// Returns all expressions of the nest: dividends of quotients, expressions in lookups, guards,
    /// source offsets, and the places to which windows are stored.
    pub fn forms(&self) -> impl Iterator<Item = &Affine> {
        let quotients = self.quotients.iter().map(|quotient| &quotient.of);
        let quotients = quotients.chain(self.lookups.iter().flat_map(Lookup::forms));
        let cases = self.cases.iter().flat_map(|case| {
            let take = match &case.take {
                CaseValue::Read { at, .. } => Some(at),
                CaseValue::Bits(_) => None,
            };
            case.when.iter().map(|guard| &guard.of).chain(take)
        });
        let stored = self.scattered().into_iter().flat_map(Scattered::forms);
        quotients.chain(cases).chain(stored)
    }

    /// Returns the number of steps of the innermost axis, a row, if every row can be copied as a
    /// whole: the same case, with the same lookups, applies to all of the row, and each step reads
    /// and stores the next unit. Otherwise returns `None`.
    pub(crate) fn whole_row(&self) -> Option<u64> {
        let inner = Value::Axis(self.extents.len().checked_sub(1)?);
        let is_run = |case: &Case| match &case.take {
            CaseValue::Read { at, .. } => at.weight(inner) == 1,
            CaseValue::Bits(_) => true,
        };
        let stores_next = self.scattered().is_none_or(|of| of.at.weight(inner) == 1);
        let is_fixed = self.forms_except_reads().all(|form| form.weight(inner) == 0);
        (stores_next && is_fixed && self.cases.iter().all(is_run))
            .then(|| self.extents[self.extents.len() - 1])
    }

    /// Returns the expressions of guards, quotients and lookups.
    pub(crate) fn forms_except_reads(&self) -> impl Iterator<Item = &Affine> {
        let guards = self.cases.iter().flat_map(|case| &case.when).map(|guard| &guard.of);
        let quotients = self.quotients.iter().map(|quotient| &quotient.of);
        guards.chain(quotients).chain(self.lookups.iter().flat_map(Lookup::forms))
    }

    /// Returns the nest that copies only the first unit of every row. A row is all steps of the
    /// innermost axis, so the returned nest lacks this axis.
    pub(crate) fn first_of_rows(&self) -> Self {
        let mut first = self.clone();
        remove(&mut first, self.extents.len() - 1);
        first
    }

    /// Returns the place that position 0 would write: 0, or negative if the loops start before the
    /// destination.
    pub(crate) fn dst_base(&self) -> i64 {
        self.dst_base
    }

    /// Returns the number of whole units in the first source.
    pub(crate) fn src_units(&self) -> u64 {
        self.sources.first().map_or(0, Source::units)
    }

    /// Returns the last unit that is read from the first source, if known.
    pub(crate) fn last_read(&self) -> LastRead {
        self.sources.first().map_or(LastRead::Nothing, Source::last_read)
    }

    /// Returns the size of the destination in memory, in units.
    pub(crate) fn dst_units(&self) -> u64 {
        self.dst_units
    }

    /// Returns the size of the first source in memory, in bytes.
    pub(crate) fn src_bytes(&self) -> u64 {
        self.sources.first().map_or(0, Source::bytes)
    }

    /// Returns the size of the destination in memory, in bytes.
    #[must_use]
    pub fn dst_bytes(&self) -> u64 {
        self.dst_bytes
    }

    /// Returns the width of a unit in the sources that cases read, in bits.
    pub(crate) fn src_bits(&self) -> u32 {
        self.src_bits
    }

    /// Returns the width of a unit in the destination, in bits. It differs from
    /// [`src_bits`](Self::src_bits) only if the operation changes the element size or type.
    pub(crate) fn dst_bits(&self) -> u32 {
        self.dst_bits
    }

    /// Returns true if elements of the source that are narrower than those of the destination are
    /// sign-extended. This has no effect if there is a conversion.
    pub(crate) fn sign_extend(&self) -> bool {
        self.sign_extend
    }

    /// Returns the conversion between element types that is applied to every unit that is read;
    /// `None` if units are copied as they are.
    #[must_use]
    pub fn conversion(&self) -> Option<Conversion> {
        self.conversion
    }

    /// Returns true if units are copied as they are: with the width that they have, and without a
    /// conversion.
    pub(crate) fn keeps_units(&self) -> bool {
        self.src_bits == self.dst_bits && self.conversion.is_none()
    }

    /// Returns the number of positions: the product of all extents.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.extents.iter().product()
    }

    /// Returns true if every position writes a place of the destination, so that none is skipped.
    pub(crate) fn is_exact(&self) -> bool {
        self.dst_base == 0 && self.positions() == self.dst_units
    }

    /// Returns the value that a position writes if every lookup is 0.
    ///
    /// This function defines the meaning of a nest. Tests compare nests before and after each pass
    /// with it, position by position.
    #[must_use]
    pub fn read(&self, position: u64) -> PositionValue {
        self.read_from(position, None)
    }

    /// Returns the value that a position writes. `images` holds the bytes of each source. If it is
    /// `None`, every lookup is 0.
    pub(crate) fn read_from(&self, position: u64, images: Option<&[&[u8]]>) -> PositionValue {
        let at = self.position(position, images);
        match at.first(&self.cases).map(|number| &self.cases[number]) {
            Some(Case { take: CaseValue::Read { source, at: form }, .. }) => {
                PositionValue::Unit { source: *source, unit: at.form(form).unsigned_abs() }
            }
            Some(&Case { take: CaseValue::Bits(bits), .. }) => PositionValue::Bits(bits),
            None => PositionValue::outside(self.gaps),
        }
    }

    /// Returns an evaluator of expressions at one position. `images` holds the bytes of each
    /// source. If it is `None`, every lookup is 0.
    pub(crate) fn position<'a>(
        &'a self,
        position: u64,
        images: Option<&'a [&'a [u8]]>,
    ) -> Position<'a> {
        let mut axes: SmallVec<[i64; 8]> = smallvec![0; self.extents.len()];
        let mut rest = position;
        for (value, &extent) in axes.iter_mut().zip(&self.extents).rev() {
            *value = signed(rest % extent);
            rest /= extent;
        }
        Position::new(self, images, axes)
    }

    /// Replaces each lookup that is the same at all positions by its value, which is computed from
    /// the sources in `images`.
    ///
    /// A lookup whose index contains such a lookup is kept, because its load may be in bounds only
    /// if the guards on that index hold.
    pub(crate) fn with_constants_from(mut self, images: &[&[u8]]) -> Self {
        let constants: SmallVec<[bool; 4]> = self.lookups.iter().map(Lookup::is_constant).collect();
        for number in (0..constants.len()).rev().filter(|&number| constants[number]) {
            let constant = |form: &Affine| form.as_constant().unwrap_or_default();
            let value = self.lookups[number].value(images, constant);
            self.fix_lookup(number, value);
        }
        self
    }

    /// Removes a lookup, replaces it by `value` in every expression, and renumbers the others.
    pub(super) fn fix_lookup(&mut self, number: usize, value: u64) {
        self.lookups.remove(number);
        let value = Affine::constant(signed(value));
        self.map(|form| {
            form.substitute(Value::Lookup(number), &value).rename(|value| match value {
                Value::Lookup(other) if other > number => Value::Lookup(other - 1),
                value => value,
            });
        });
    }

    /// Applies `change` to every expression of the nest.
    pub(super) fn map(&mut self, change: impl Fn(&mut Affine)) {
        self.quotients.iter_mut().for_each(|quotient| change(&mut quotient.of));
        self.lookups.iter_mut().flat_map(Lookup::forms_mut).for_each(&change);
        for case in &mut self.cases {
            case.when.iter_mut().for_each(|guard| change(&mut guard.of));
            if let CaseValue::Read { at, .. } = &mut case.take {
                change(at);
            }
        }
        if let Some(scattered) = &mut self.scattered {
            change(&mut scattered.at);
            scattered.number.iter_mut().for_each(change);
        }
    }
}
