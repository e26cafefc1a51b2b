//! [`TableRead`]: a copy that looks its elements up in a table. [`TableCopy`]: such a copy as two
//! passes, for the host.
//!
//! Each element of the source is replaced by an entry of the table, and the bits of the element are
//! the index of that entry. A nest with a table therefore has two sources: a lookup loads the bits
//! from source 0, and a case reads the entry from source 1, the table.

use smallvec::smallvec;

use super::{
    Affine, Assembly, Case, CaseValue, CopyNest, Gaps, Index, Integer, Lookup, LookupExpr,
    NestError, Number, Operator, OutOfRange, Value, assembly::WalkStart, coalesce, widen,
};
use crate::{
    shape::ElementType,
    stride::{Coordinates, StrideDescriptor},
};

/// The width of the widest source elements that have a table, in bits. A table has an entry for
/// each of their values.
const MAX_TABLE_BITS: u32 = 8;

/// A table, and the rule by which the elements of a source select its entries.
pub(crate) struct TableRead {
    /// The memory of the table. Its shape is `[entries]`, or `[extent, entries]` if each index of
    /// `dimension` has entries of its own.
    pub(crate) descriptor: StrideDescriptor,
    /// The dimension of the source for which each index has entries of its own; `None` if all
    /// elements use the same entries.
    pub(crate) dimension: Option<usize>,
}

/// Returns the number of entries in a table for elements of a type: one for each of its values.
///
/// # Errors
///
/// Returns an error if the type has more than 8 bits, or no elements.
pub(crate) fn table_entries(of: ElementType) -> Result<u64, NestError> {
    match of.bits() {
        _ if of == ElementType::Pred => Ok(2),
        Some(bits) if bits <= MAX_TABLE_BITS => Ok(1 << bits),
        _ => Err(NestError::TableType { element_type: of, limit: MAX_TABLE_BITS }),
    }
}

impl TableRead {
    /// Adds the original source and the table, in this order, and a case that reads the entry for
    /// each element at the places of `start`.
    pub(super) fn read(
        &self,
        assembly: &mut Assembly,
        source: &StrideDescriptor,
        start: Option<WalkStart>,
    ) -> Result<(), NestError> {
        let codes = assembly.number_source(source)?;
        let table = assembly.source(&self.descriptor)?;
        let Some((mut region, index)) = start else { return Ok(()) };
        let along = self.dimension.map(|dimension| index[dimension].clone());
        let bits = source.element_bits();
        let last = table_entries(source.element_type())? - 1;
        // The number of bits of an element that select the entry: the width of the type, or the
        // whole byte of a predicate.
        let (is_pred, own) = match source.element_type() {
            ElementType::Pred => (true, 8),
            _ => (false, (last + 1).ilog2()),
        };
        let integer = match bits {
            8 if is_pred => Integer::PRED,
            2 | 4 | 8 | 16 | 32 | 64 => Integer { bits, is_signed: false },
            _ => return Err(NestError::TableBits { bits }),
        };
        let at = assembly.load(&mut region, codes, source, index)?;
        let mut numbers = vec![Number { integer, of: LookupExpr::Load { source: codes, at } }];
        if bits > own {
            let mask = (1 << own) - 1;
            numbers.push(Number { integer, of: LookupExpr::Constant(mask) });
            numbers.push(Number { integer, of: LookupExpr::Binary(Operator::And, 0, 1) });
            if is_pred {
                numbers.push(Number { integer: Integer::PRED, of: LookupExpr::Convert(2) });
            }
        }
        let value = assembly.lookup(Lookup { numbers, last, out_of_range: OutOfRange::Clamp })?;
        let index: Coordinates<Index> = along.into_iter().chain([value]).collect();
        assembly.read(region, table, &self.descriptor, index)
    }
}

/// A nest that looks up every element in a table, divided into two passes. The first pass copies
/// the codes of the elements, the bits that select an entry. The second pass replaces each code by
/// its entry.
pub(crate) struct TableCopy {
    /// The first pass, which copies the code of each element to a byte.
    pub(crate) codes: CopyNest,
    /// The source from which codes are copied.
    pub(crate) source: usize,
    /// The source that has the table.
    pub(crate) table: usize,
    /// The distance of each code's entry from `start`, in units of the table.
    pub(crate) entries: Box<[u64; 256]>,
    /// The offset in the table of the first entry that an element can use, as an expression of the
    /// axes.
    pub(crate) start: Affine,
}

impl CopyNest {
    /// Returns the nest as two passes. Returns `None` if the destination has padding or gaps, or if
    /// a value depends on anything but one load of at most 8 bits.
    pub(crate) fn table_copy(&self) -> Option<TableCopy> {
        let ([lookup], [Case { when, take: CaseValue::Read { source: table, at } }]) =
            (&self.lookups[..], &self.cases[..])
        else {
            return None;
        };
        let (integer, source, code) = lookup.code()?;
        let weight = at.weight(Value::Lookup(0));
        let start = at.clone().plus(-weight, &Affine::value(Value::Lookup(0)));
        let is_of_axes =
            |form: &Affine| form.terms().iter().all(|(value, _)| matches!(value, Value::Axis(_)));
        let is_two_passes = when.is_empty()
            && *table != source
            && weight > 0
            && self.src_bits == self.dst_bits
            && self.dst_bits.is_multiple_of(8)
            && self.gaps == Gaps::Fill
            && self.keeps_units()
            && self.scattered.is_none()
            && is_of_axes(&start)
            && self.quotients.iter().all(|quotient| is_of_axes(&quotient.of));
        if !is_two_passes {
            return None;
        }
        let entries = lookup.of_codes(self.sources.len());
        let entries = Box::new(entries.map(|entry| entry * weight.unsigned_abs()));
        let codes = CopyNest {
            lookups: vec![],
            sources: smallvec![self.sources[source]],
            cases: smallvec![Case {
                when: vec![],
                take: CaseValue::Read { source: 0, at: code.clone() },
            }],
            dst_bytes: self.dst_units,
            src_bits: integer.bits_in_memory(),
            dst_bits: 8,
            sign_extend: false,
            ..self.clone()
        };
        let codes = widen(coalesce(codes));
        Some(TableCopy { codes, source, table: *table, entries, start })
    }
}
