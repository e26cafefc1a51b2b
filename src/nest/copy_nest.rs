//! [`CopyNest`]: one operation as a loop nest, and the value of each of its positions.

use std::sync::LazyLock;

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Case, CaseValue, Guard, Lookup, PositionValue, Value,
    case::{Refusal, refusals},
    numbers::signed,
    position::Position,
};

/// The source form of a nest in which no case reads.
static NOWHERE: LazyLock<Affine> = LazyLock::new(Affine::default);

/// A copy as a loop nest over the destination's whole memory image.
///
/// The axes are the digits of a *walk*: position `p` counts all places of the image in order of
/// address, including padding, gaps and tail, so that every place is written exactly once. Position
/// `p` is place `p + dst_base` of the destination. Positions before or after the image (if
/// `dst_base` is negative, or there are more positions than units of the destination) are
/// skipped.
///
/// An ordered list of [`cases`](Self::cases) gives the value of a position: the first case whose
/// guards all hold decides. The value is a unit of one of the [`sources`](Self::sources) or fixed
/// bits; it is zero if no case applies. A relayout or a slice has one source, and one case that
/// reads it.
///
/// ```text
/// f32[2,3]{1,0} to f32[2,3]{0,1:PAD(3,5,one)}
/// a0: 5 steps, source +1, destination +3      if not a0 < 3: fill with 0x3f800000
/// a1: 3 steps, source +3, destination +1      if not a1 < 2: fill with 0x3f800000
/// ```
///
/// Every expression is linear in the axes and in [`Quotient`]s, which occur if a tile of the source
/// does not nest in the walk, or if dimensions of a reshape do not. A quotient is meaningful only
/// in its cases: if all their guards hold and no earlier case applies, its dividend is not
/// negative.
///
/// A number that only a run knows, such as the start of a dynamic slice or an index of a gather, is
/// a [`Lookup`]. Its range is known at compile time, so that bounds hold for every value. A lookup
/// that depends on the position is meaningful only in its cases, like a quotient.
///
/// Only lowering makes nests, from two descriptors and a window that are valid by construction, and
/// every pass keeps the values of all positions. The proof of a kernel depends on both. The fields
/// are therefore private:
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
    /// Numbers that are loaded from sources at run time, and computed from them.
    pub(super) lookups: Vec<Lookup>,
    /// The images that cases and lookups read.
    pub(super) sources: SmallVec<[Source; 1]>,
    /// The decision list.
    pub(super) cases: SmallVec<[Case; 1]>,
    /// The unit of the destination at position 0, which is at most 0.
    pub(super) dst_base: i64,
    /// The number of units of the destination's image.
    pub(super) dst_units: u64,
    /// The size of the destination's image, in bytes.
    pub(super) dst_bytes: u64,
    /// The width of a unit, in bits, in the sources that cases read.
    pub(super) src_bits: u32,
    /// The width of a unit, in bits, in the destination; it differs only if the operation changes
    /// the element size.
    pub(super) dst_bits: u32,
    /// True if signed elements are widened with their sign.
    pub(super) sign_extend: bool,
}

/// One loop of a copy: `extent` steps, each with a fixed stride on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyAxis {
    /// The number of steps.
    pub extent: u64,
    /// The stride in the source, in units.
    pub src_stride: i64,
    /// The stride in the destination, in units.
    pub dst_stride: u64,
}

/// A quotient, `⌊of / by⌋`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quotient {
    /// The dividend, a form of axes and earlier quotients; not negative if the guards hold.
    pub of: Affine,
    /// The divisor; at least 2 once refined.
    pub by: u64,
}

/// An image that a nest reads.
///
/// Either cases read it, in units of the nest, or lookups do, in units of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The number of whole units of the image; no position reads past them.
    pub(super) units: u64,
    /// The size of the image, in bytes.
    pub(super) bytes: u64,
    /// The last unit that is read, if known.
    pub(super) last_read: LastRead,
}

impl Source {
    /// Returns the number of whole units of the image.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Returns the size of the image, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the last unit that is read, if known.
    pub(crate) fn last_read(&self) -> LastRead {
        self.last_read
    }
}

/// The last unit of a source that a nest reads, if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastRead {
    /// No position reads.
    Nothing,
    /// No position reads past this unit, as lowering has proved.
    Unit(u64),
    /// Unknown, because the nest was not made by lowering. Its kernels have no proof.
    Unknown,
}

impl CopyNest {
    /// Returns the extents of the axes, outermost first.
    #[must_use]
    pub fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// Returns the axes with their strides on both sides, outermost first. The strides in the
    /// source are those of the first case that reads.
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

    /// Returns the quotients of the axes and of earlier quotients, in order of computation.
    pub(crate) fn quotients(&self) -> &[Quotient] {
        &self.quotients
    }

    /// Returns the numbers that are computed from sources at run time.
    pub(crate) fn lookups(&self) -> &[Lookup] {
        &self.lookups
    }

    /// Returns the width, in bits, of the numbers that lookups load from a source; `None` if they
    /// load none.
    pub(crate) fn loaded_bits(&self, source: usize) -> Option<u32> {
        let mut loads = self.lookups.iter().flat_map(Lookup::loads);
        loads.find(|load| load.0 == source).map(|load| load.1)
    }

    /// Returns the images that cases and lookups read.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the decision list: the first case whose guards all hold gives the value of a
    /// position; zero if none does.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Returns the guards to test before a position reads the one source, with the bits to take if
    /// they fail; `None` if several cases read, or the cases do not nest.
    pub(crate) fn refusals(&self) -> Option<SmallVec<[Refusal<'_>; 2]>> {
        let is_one = self.sources.len() == 1 && self.lookups.is_empty();
        if is_one { refusals(&self.cases) } else { None }
    }

    /// Returns the source form of the first case that reads, in units from the start of its
    /// source's image.
    pub(crate) fn src(&self) -> &Affine {
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

    /// Returns the guards of the first case, which must hold for a position to read.
    pub(crate) fn reading_guards(&self) -> &[Guard] {
        self.cases.first().map_or(&[], |case| &case.when)
    }

    /// Returns all forms of the nest: dividends, forms of lookups, guards, and source offsets.
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

    /// Returns the unit of the destination at position 0, which is at most 0.
    pub(crate) fn dst_base(&self) -> i64 {
        self.dst_base
    }

    /// Returns the number of whole units of the first source's image.
    pub(crate) fn src_units(&self) -> u64 {
        self.sources.first().map_or(0, Source::units)
    }

    /// Returns the last unit of the first source that is read, if known.
    pub(crate) fn last_read(&self) -> LastRead {
        self.sources.first().map_or(LastRead::Nothing, Source::last_read)
    }

    /// Returns the number of units of the destination's image.
    pub(crate) fn dst_units(&self) -> u64 {
        self.dst_units
    }

    /// Returns the size of the first source's image, in bytes.
    pub(crate) fn src_bytes(&self) -> u64 {
        self.sources.first().map_or(0, Source::bytes)
    }

    /// Returns the size of the destination's image, in bytes.
    #[must_use]
    pub fn dst_bytes(&self) -> u64 {
        self.dst_bytes
    }

    /// Returns the width of a unit, in bits, in the sources that cases read.
    pub(crate) fn src_bits(&self) -> u32 {
        self.src_bits
    }

    /// Returns the width of a unit, in bits, in the destination; it differs only if the operation
    /// changes the element size.
    pub(crate) fn dst_bits(&self) -> u32 {
        self.dst_bits
    }

    /// Returns true if signed elements are widened with their sign.
    pub(crate) fn sign_extend(&self) -> bool {
        self.sign_extend
    }

    /// Returns the number of positions of the walk: the product of the extents.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.extents.iter().product()
    }

    /// Returns true if every position of the walk is a place of the image.
    pub(crate) fn is_exact(&self) -> bool {
        self.dst_base == 0 && self.positions() == self.dst_units
    }

    /// Returns the value of a position, with 0 for every lookup.
    ///
    /// This defines the meaning of a nest, which every pass preserves.
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

    /// Returns the values of axes, quotients and lookups at a position, given the images of the
    /// sources; without images every lookup is 0.
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

    /// Replaces the lookups that are the same for all positions by their values.
    ///
    /// A lookup whose index contains such a lookup stays, since it may be meaningful only under
    /// guards of that index.
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
