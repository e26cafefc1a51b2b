//! The notations of other systems: the cases of `tests/data/notation_facts.jsonl`, with numbers
//! that those systems computed; names of layouts; random layouts that are written and read again;
//! and texts that are made to break a parser.

mod facts;
mod hostile;
mod memref;
mod names;
mod round_trips;

use stridec::{stride::StrideDescriptor, xla::index_util::for_each_index_of};

use super::support;

/// Returns the offset of every index, in row-major order.
fn table(tensor: &StrideDescriptor) -> Vec<i64> {
    let mut offsets = Vec::new();
    for_each_index_of(tensor.sizes(), |index| {
        offsets.push(i64::try_from(tensor.offset(index).unwrap()).unwrap());
    });
    offsets
}
