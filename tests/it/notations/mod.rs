//! The notations of other systems: the cases of `tests/data/notation_facts.jsonl`, with numbers
//! that those systems computed; names; random layouts, written and read again; and texts made to
//! break a parser.

mod facts;
mod hostile;
mod memref;
mod names;
mod round_trips;

use stridec::{stride::StrideDescriptor, xla::index_util::for_each_index_of};

use super::support;

/// The offset of every index, in row-major order.
fn table(tensor: &StrideDescriptor) -> Vec<i64> {
    let mut offsets = Vec::new();
    for_each_index_of(tensor.sizes(), |index| {
        offsets.push(i64::try_from(tensor.offset(index).unwrap()).unwrap());
    });
    offsets
}
