//! Access to the parts of a nest that only stridec's own tests and benchmarks need. They are
//! methods of a separate trait, so that the public type does not have them.

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Case, CaseValue, CopyNest, Gaps, Lookup, Source,
    copy_nest::{LastRead, Quotient},
};

/// Returns a nest with the given parts, for tests of nests that no operation would give. Units have
/// `bits` bits on both sides, and each source has `src_units` of them.
///
/// The last unit that the nest reads is unknown, so there is no proof that its kernels stay inside
/// their buffers.
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
    /// Returns the quotients. Each uses only earlier ones.
    fn quotients(&self) -> &[Quotient];

    /// Returns the integers that are computed at run time from the contents of sources.
    fn lookups(&self) -> &[Lookup];

    /// Returns the place of position 0, in units. It is zero or negative.
    fn dst_base(&self) -> i64;

    /// Returns the number of whole units in the first source's image.
    fn src_units(&self) -> u64;

    /// Returns the number of units in the destination's image.
    fn dst_units(&self) -> u64;

    /// Returns the size of the first source's image, in bytes.
    fn src_bytes(&self) -> u64;

    /// Returns the width, in bits, of a unit in the sources that cases read.
    fn src_bits(&self) -> u32;

    /// Returns the width, in bits, of a unit in the destination. It differs from
    /// [`src_bits`](Self::src_bits) only if the operation changes the element size.
    fn dst_bits(&self) -> u32;

    /// Returns true if elements that are widened are sign-extended.
    fn sign_extend(&self) -> bool;

    /// Returns true if every position is a place of the destination's image.
    fn is_exact(&self) -> bool;

    /// Returns the last unit that is read from the first source, if known.
    fn last_read(&self) -> LastRead;

    /// Returns the offset that the first case with a source reads, in units from the start of that
    /// source. If no case reads, the offset is 0.
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

    fn last_read(&self) -> LastRead {
        self.last_read()
    }

    fn src(&self) -> &Affine {
        self.src()
    }
}
