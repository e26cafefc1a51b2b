//! Access to the parts of a nest that only stridec's own tests and benchmarks need. They are
//! methods of a trait of its own, so that [`CopyNest`] does not show them to users.
//!
//! A *unit* is the data that one iteration of the nest copies: an element at first, a part of an
//! element if elements are split, or several elements after widening.

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Case, CaseValue, CopyNest, Gaps, Lookup, Source,
    copy_nest::{LastRead, Quotient},
};

/// Returns a nest with the given parts, for tests of nests that no operation produces. A unit has
/// `bits` bits in the source and in the destination, and each source has `src_units` units.
///
/// Nothing is known about the last unit that the nest reads, so kernels of such a nest have no
/// proof that they stay inside their buffers.
#[must_use]
pub fn unproved_nest(
    extents: &[u64],
    quotients: impl IntoIterator<Item = Quotient>,
    cases: impl IntoIterator<Item = Case>,
    dst_base: i64,
    src_units: u64,
    bits: u32,
) -> CopyNest {
    let dst_units = extents.iter().product::<u64>() - dst_base.unsigned_abs();
    let bytes = |units: u64| (units * u64::from(bits)).div_ceil(8);
    let cases: SmallVec<[Case; 1]> = cases.into_iter().collect();
    let numbers = cases.iter().filter_map(|case| match case.take {
        CaseValue::Read { source, .. } => Some(source),
        CaseValue::Bits(_) => None,
    });
    let source = Source { units: src_units, bytes: bytes(src_units), last_read: LastRead::Unknown };
    CopyNest {
        extents: extents.into(),
        quotients: quotients.into_iter().collect(),
        lookups: vec![],
        sources: smallvec![source; numbers.max().map_or(1, |last| last + 1)],
        cases,
        gaps: Gaps::Fill,
        dst_base,
        dst_units,
        dst_bytes: bytes(dst_units),
        src_bits: bits,
        dst_bits: bits,
        sign_extend: false,
        conversion: None,
        scattered: None,
    }
}

/// The parts of a nest that users do not need.
pub trait Inspect {
    /// Returns the divisions of the nest. The dividend of each uses only earlier quotients.
    fn quotients(&self) -> &[Quotient];

    /// Returns the integers that a kernel computes at run time from the contents of sources.
    fn lookups(&self) -> &[Lookup];

    /// Returns the offset in the destination at which the loops start, in units. It is negative if
    /// they start before the destination, and otherwise 0.
    fn dst_base(&self) -> i64;

    /// Returns the number of whole units in the memory of the first source.
    fn src_units(&self) -> u64;

    /// Returns the number of units in the memory of the destination.
    fn dst_units(&self) -> u64;

    /// Returns the size of the first source in memory, in bytes.
    fn src_bytes(&self) -> u64;

    /// Returns the width of a unit in the sources whose elements are copied, in bits.
    fn src_bits(&self) -> u32;

    /// Returns the width of a unit in the destination, in bits. It differs from
    /// [`src_bits`](Self::src_bits) only if the operation changes the element size.
    fn dst_bits(&self) -> u32;

    /// Returns true if elements that get more bits are sign-extended.
    fn sign_extend(&self) -> bool;

    /// Returns true if every iteration of the loops visits a unit of the destination, and none a
    /// place before or after it.
    fn is_exact(&self) -> bool;

    /// Returns true if the loops visit the windows of a scatter.
    fn is_scattered(&self) -> bool;

    /// Returns the last unit that is read from the first source, if known.
    fn last_read(&self) -> LastRead;

    /// Returns the offset that the first case with a source reads, in units. It is 0 if no case
    /// reads a source.
    fn src(&self) -> &Affine;
}

impl Inspect for CopyNest {
    fn quotients(&self) -> &[Quotient] {
        self.quotients()
    }

    fn lookups(&self) -> &[Lookup] {
        self.lookups()
    }

    fn dst_base(&self) -> i64 {
        self.dst_base()
    }

    fn src_units(&self) -> u64 {
        self.src_units()
    }

    fn dst_units(&self) -> u64 {
        self.dst_units()
    }

    fn src_bytes(&self) -> u64 {
        self.src_bytes()
    }

    fn src_bits(&self) -> u32 {
        self.src_bits()
    }

    fn dst_bits(&self) -> u32 {
        self.dst_bits()
    }

    fn sign_extend(&self) -> bool {
        self.sign_extend()
    }

    fn is_exact(&self) -> bool {
        self.is_exact()
    }

    fn is_scattered(&self) -> bool {
        self.scattered().is_some()
    }

    fn last_read(&self) -> LastRead {
        self.last_read()
    }

    fn src(&self) -> &Affine {
        self.src()
    }
}
