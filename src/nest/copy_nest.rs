//! [`CopyNest`]: one operation as a loop nest, and what each position of it takes.

use std::sync::LazyLock;

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Case, CaseValue, Guard, Lookup, PositionValue, Value,
    case::{Refusal, refusals},
    numbers::signed,
    position::Position,
};

/// Where a nest without a case that reads would read.
static NOWHERE: LazyLock<Affine> = LazyLock::new(Affine::default);

/// A copy as a loop nest over the destination's whole memory image.
///
/// The axes are the digits of a *walk*: position `p` counts the places of the image in order of address, elements,
/// padding, gaps and tail alike, so that every place is written exactly once. Position `p` is place `p + dst_base` of the
/// destination; a nest whose walk passes the image's ends (`dst_base` below 0, or more positions than
/// [`dst_units`](Self::dst_units)) skips the positions outside it.
///
/// What a position takes stands in an ordered list of [`cases`](Self::cases): the first whose guards all hold decides,
/// a unit of one of the [`sources`](Self::sources) or fixed bits. Where none holds, it takes zero. A relayout or a slice
/// has one source, and one case that reads it.
///
/// ```text
/// f32[2,3]{1,0} to f32[2,3]{0,1:PAD(3,5,one)}
/// a0: 5 steps, source +1, destination +3      if not a0 < 3: fill with 0x3f800000
/// a1: 3 steps, source +3, destination +1      if not a1 < 2: fill with 0x3f800000
/// ```
///
/// Every expression is linear in the axes but for [`Quotient`]s, which a tile of the source needs where it does not
/// nest in the walk, and a reshape where its dimensions do not. A quotient means something only for the cases that it
/// is in: where all their guards hold and no case before them applies, its dividend is not negative.
///
/// A number that only a run knows, the start of a dynamic slice or an index of a gather, is a [`Lookup`]: its range is
/// known, so that bounds hold whatever it is. Like a quotient, one that depends on the position means something only for
/// the cases that it is in.
///
/// Only lowering makes nests, from two descriptors and a window that are valid by construction, and every pass keeps
/// what they read: that is what the proof of a kernel rests on. The fields are therefore private:
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
    /// Extents of the axes, outermost first.
    pub(super) extents: SmallVec<[u64; 8]>,
    /// Quotients of the axes and of earlier quotients.
    pub(super) quotients: Vec<Quotient>,
    /// Numbers computed from what sources hold, of axes, quotients and earlier lookups.
    pub(super) lookups: Vec<Lookup>,
    /// What cases and lookups read, by number.
    pub(super) sources: SmallVec<[Source; 1]>,
    /// The decision list.
    pub(super) cases: SmallVec<[Case; 1]>,
    /// What is added to a walk position to give the destination's unit; 0 or below.
    pub(super) dst_base: i64,
    /// Units of the destination's image.
    pub(super) dst_units: u64,
    /// Bytes of the destination's image.
    pub(super) dst_bytes: u64,
    /// Bits of a unit in the sources that cases read.
    pub(super) src_bits: u32,
    /// Bits of a unit in the destination; other than the source's only where the element size changes.
    pub(super) dst_bits: u32,
    /// Whether widening repeats the sign.
    pub(super) sign_extend: bool,
}

/// One loop of a copy: `extent` steps, each moving both cursors by a fixed stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyAxis {
    /// Number of steps.
    pub extent: u64,
    /// Step in the source, in units.
    pub src_stride: i64,
    /// Step in the destination, in units.
    pub dst_stride: u64,
}

/// `⌊of / by⌋`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quotient {
    /// The dividend, of axes and earlier quotients; not negative where the guards hold.
    pub of: Affine,
    /// The divisor; at least 2 once refined.
    pub by: u64,
}

/// An image that a nest reads.
///
/// A source is read by cases, in units of the nest, or by lookups, in units of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// Whole units of the image; no position reads past them.
    pub(super) units: u64,
    /// Bytes of the image.
    pub(super) bytes: u64,
    /// What is known of the last unit that is read.
    pub(super) last_read: LastRead,
}

impl Source {
    /// Whole units of the image.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Bytes of the image.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is known of the last unit that is read.
    #[must_use]
    pub fn last_read(&self) -> LastRead {
        self.last_read
    }
}

/// What is known of the last unit of the source that a nest reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastRead {
    /// No position reads.
    Nothing,
    /// No position reads past this unit: lowering has shown it.
    Unit(u64),
    /// Nothing: lowering did not make the nest. Its kernels come without a proof.
    Unknown,
}

impl CopyNest {
    /// A nest that no operation made, for tests of the passes: units of `bits` bits on both sides, and `src_units` of them
    /// in each source that a case reads.
    ///
    /// Nothing is known of what it reads, so that its kernels have no proof.
    #[doc(hidden)]
    #[must_use]
    pub fn unproved(
        extents: &[u64],
        quotients: impl IntoIterator<Item = Quotient>,
        cases: impl IntoIterator<Item = Case>,
        dst_base: i64,
        src_units: u64,
        bits: u32,
    ) -> Self {
        let dst_units = extents.iter().product::<u64>() - dst_base.unsigned_abs();
        let bytes = |units: u64| (units * u64::from(bits)).div_ceil(8);
        let cases: SmallVec<[Case; 1]> = cases.into_iter().collect();
        let numbers = cases.iter().filter_map(|case| match case.take {
            CaseValue::Read { source, .. } => Some(source),
            CaseValue::Bits(_) => None,
        });
        let source =
            Source { units: src_units, bytes: bytes(src_units), last_read: LastRead::Unknown };
        Self {
            extents: extents.into(),
            quotients: quotients.into_iter().collect(),
            lookups: vec![],
            sources: smallvec![source; numbers.max().map_or(1, |last| last + 1)],
            cases,
            dst_base,
            dst_units,
            dst_bytes: bytes(dst_units),
            src_bits: bits,
            dst_bits: bits,
            sign_extend: false,
        }
    }

    /// Extents of the axes, outermost first.
    #[must_use]
    pub fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// The axes with the strides of both sides, outermost first; in the source, those of the first case that reads.
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

    /// Quotients of the axes and of earlier quotients, in order of computation.
    #[must_use]
    pub fn quotients(&self) -> &[Quotient] {
        &self.quotients
    }

    /// The numbers that are computed from what sources hold.
    #[must_use]
    pub fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// Bits of the numbers that lookups load from a source; `None` where they load none.
    pub(crate) fn loaded_bits(&self, source: usize) -> Option<u32> {
        let mut loads = self.lookups.iter().flat_map(Lookup::loads);
        loads.find(|load| load.0 == source).map(|load| load.1)
    }

    /// The images that cases and lookups read.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The decision list: a position takes what the first case gives whose guards all hold, else zero.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The cases as the questions that a position is asked in turn, before it reads the one source; `None` where they are
    /// no such questions: several cases read, or where a case lies does not follow from the guards of the next.
    pub(crate) fn refusals(&self) -> Option<SmallVec<[Refusal<'_>; 2]>> {
        let is_one = self.sources.len() == 1 && self.lookups.is_empty();
        if is_one { refusals(&self.cases) } else { None }
    }

    /// Where the first case that reads does, in units from the start of its source's image.
    #[must_use]
    pub fn src(&self) -> &Affine {
        let mut reads = self.cases.iter().filter_map(|case| match &case.take {
            CaseValue::Read { at, .. } => Some(at),
            CaseValue::Bits(_) => None,
        });
        reads.next().unwrap_or(&NOWHERE)
    }

    /// Replaces the form of [`src`](Self::src).
    pub(super) fn set_src(&mut self, src: Affine) {
        let read = self.cases.iter_mut().find_map(|case| match &mut case.take {
            CaseValue::Read { at, .. } => Some(at),
            CaseValue::Bits(_) => None,
        });
        if let Some(at) = read {
            *at = src;
        }
    }

    /// What must hold for a position to read, by the first case.
    #[must_use]
    pub fn reading_guards(&self) -> &[Guard] {
        self.cases.first().map_or(&[], |case| &case.when)
    }

    /// All forms of the nest: dividends, what lookups load, guards, and where it reads.
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
        quotients.chain(cases)
    }

    /// What is added to a position of the walk to give the destination's unit; 0 or below.
    #[must_use]
    pub fn dst_base(&self) -> i64 {
        self.dst_base
    }

    /// Whole units of the first source's image.
    #[must_use]
    pub fn src_units(&self) -> u64 {
        self.sources.first().map_or(0, Source::units)
    }

    /// What is known of the last unit of the first source that is read.
    #[must_use]
    pub fn last_read(&self) -> LastRead {
        self.sources.first().map_or(LastRead::Nothing, Source::last_read)
    }

    /// Units of the destination's image.
    #[must_use]
    pub fn dst_units(&self) -> u64 {
        self.dst_units
    }

    /// Bytes of the first source's image.
    #[must_use]
    pub fn src_bytes(&self) -> u64 {
        self.sources.first().map_or(0, Source::bytes)
    }

    /// Bytes of the destination's image.
    #[must_use]
    pub fn dst_bytes(&self) -> u64 {
        self.dst_bytes
    }

    /// Bits of a unit in the sources that cases read.
    #[must_use]
    pub fn src_bits(&self) -> u32 {
        self.src_bits
    }

    /// Bits of a unit in the destination; other than the source's only where the element size changes.
    #[must_use]
    pub fn dst_bits(&self) -> u32 {
        self.dst_bits
    }

    /// Whether widening a unit repeats its sign.
    #[must_use]
    pub fn sign_extend(&self) -> bool {
        self.sign_extend
    }

    /// Positions of the walk: the product of the extents.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.extents.iter().product()
    }

    /// Whether the walk visits just the places of the image.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.dst_base == 0 && self.positions() == self.dst_units
    }

    /// What the position takes: a unit of a source, or fixed bits. Every lookup is 0.
    ///
    /// This is the meaning that every pass keeps.
    #[must_use]
    pub fn read(&self, position: u64) -> PositionValue {
        let at = self.position(position, None);
        match at.first(&self.cases).map(|number| &self.cases[number]) {
            Some(Case { take: CaseValue::Read { source, at: form }, .. }) => {
                PositionValue::Unit { source: *source, unit: at.form(form).unsigned_abs() }
            }
            Some(&Case { take: CaseValue::Bits(bits), .. }) => PositionValue::Bits(bits),
            None => PositionValue::Bits(0),
        }
    }

    /// A position of the walk, given the images of the sources; without them every lookup is 0.
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

    /// The same nest where every lookup that is one number has its value.
    ///
    /// One that loads where such a number says is left: below guards of that number alone it has a meaning.
    pub(crate) fn with_constants_from(mut self, images: &[&[u8]]) -> Self {
        let constants: SmallVec<[bool; 4]> = self.lookups.iter().map(Lookup::is_constant).collect();
        for number in (0..constants.len()).rev().filter(|&number| constants[number]) {
            let constant = |form: &Affine| form.as_constant().unwrap_or_default();
            let value = self.lookups.remove(number).value(images, constant);
            let value = Affine::constant(signed(value));
            self.map(|form| {
                form.substitute(Value::Lookup(number), &value).rename(|value| match value {
                    Value::Lookup(other) if other > number => Value::Lookup(other - 1),
                    value => value,
                });
            });
        }
        self
    }

    /// Applies `change` to every form.
    pub(super) fn map(&mut self, change: impl Fn(&mut Affine)) {
        self.quotients.iter_mut().for_each(|quotient| change(&mut quotient.of));
        self.lookups.iter_mut().flat_map(Lookup::forms_mut).for_each(&change);
        for case in &mut self.cases {
            case.when.iter_mut().for_each(|guard| change(&mut guard.of));
            if let CaseValue::Read { at, .. } = &mut case.take {
                change(at);
            }
        }
    }
}
