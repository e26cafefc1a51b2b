//! [`TableRead`]: a copy that looks its elements up in a table.
//!
//! The bits of a source element are the number of the entry of the table that is copied in its
//! place. So a nest with a table has two sources: a lookup loads the bits from the first, and the
//! case reads the entry from the second, the table.

use smallvec::smallvec;

use super::{
    Assembly, Index, Integer, Lookup, LookupExpr, NestError, Number, Operator, OutOfRange,
    assembly::WalkStart,
};
use crate::{
    shape::ElementType,
    stride::{Coordinates, StrideDescriptor},
};

/// The width of the widest source elements that have a table, in bits. A table has an entry for
/// each of their values.
const MAX_TABLE_BITS: u32 = 8;

/// A table, and how a source is looked up in it.
pub(crate) struct TableRead<'a> {
    /// The table: `[entries]`, or `[extent, entries]` if each index of a dimension has its own.
    pub(crate) descriptor: &'a StrideDescriptor,
    /// The dimension of the source whose indices have tables of their own.
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

impl TableRead<'_> {
    /// Adds the table, and the case that reads it at the elements of `start`. The source is number
    /// 0 of the nest already.
    pub(super) fn read(
        &self,
        assembly: &mut Assembly,
        source: &StrideDescriptor,
        start: Option<WalkStart>,
    ) -> Result<(), NestError> {
        let table = assembly.source(self.descriptor)?;
        let Some((mut region, index)) = start else { return Ok(()) };
        let along = self.dimension.map(|dimension| index[dimension].clone());
        let bits = source.element_bits();
        let integer = match source.element_type() {
            // An integer of one bit would be a predicate, which occupies a byte.
            _ if bits == 1 => return Err(NestError::TableBits { bits }),
            ElementType::Pred if bits == 8 => Integer::PRED,
            _ => Integer { bits, is_signed: false },
        };
        let at = assembly.load(&mut region, 0, source, index)?;
        let mut numbers = vec![Number { integer, of: LookupExpr::Load { source: 0, at } }];
        let last = table_entries(source.element_type())? - 1;
        // The bits above those of the type may be anything.
        if integer != Integer::PRED && last >> (bits - 1) == 0 {
            numbers.push(Number { integer, of: LookupExpr::Constant(last.into()) });
            numbers.push(Number { integer, of: LookupExpr::Binary(Operator::And, 0, 1) });
        }
        let value = assembly.lookup(Lookup { numbers, last, out_of_range: OutOfRange::Clamp })?;
        let index: Coordinates<Index> = match along {
            Some(along) => smallvec![along, value],
            None => smallvec![value],
        };
        assembly.read(region, table, self.descriptor, index)
    }
}
