//! The copy of an operation as a loop nest, and the passes that simplify it.
//!
//! A [`CopyNest`] comes between the descriptors of two tensors, which locate each element in
//! memory, and a kernel, which moves many elements at a time. It is a list of nested loops over the
//! memory of the destination, with the offset at which each iteration reads the source. Kernels for
//! the GPU and copies on the CPU are both made from it, and [`CopyNest::read`] defines the bytes
//! that they must write.
//!
//! For example, `f32[2,3]{1,0}` is copied to `f32[2,3]{0,1:PAD(3,5,zero)}`, column by column in
//! columns of 3 with room for 5 columns:
//!
//! ```text
//! source       0 1 2 3 4 5
//! destination  0 3 · 1 4 · 2 5 · · · · · · ·          · is padding
//! nest         a0: 5 steps, source +1, destination +3      if not a0 < 3: fill with zero
//!              a1: 3 steps, source +3, destination +1      if not a1 < 2: fill with zero
//! ```
//!
//! The files of this module use a few words of their own ([names](crate::guide::names) has more
//! examples):
//!
//! - An *image* is all bytes of a tensor in memory, padding included. A *place* is the room for one
//!   element in it: there are 6 in the source and 15 in the destination.
//! - A *position* is the number of an iteration of the whole nest. The loops visit every place of
//!   the destination once, by address, which is called the *walk*: position 7, with `a0` = 2 and
//!   `a1` = 1, writes place 7.
//! - An *axis* is a loop, and `a0` is the outermost. Its counter occurs in affine expressions, or
//!   *forms*, such as `a0 + 3·a1`, the offset in the source. A *quotient* is such an expression
//!   divided by a constant and rounded down. A *lookup* is an integer that is loaded or computed at
//!   run time from the contents of a source, such as an index of a gather.
//! - A *guard* is a condition such as `a0 < 3`. A *case* is a list of guards, with the value that
//!   is written if they all hold.
//! - A *unit* is the data that one iteration copies: an element at first, and up to 16 bytes after
//!   the pass `widen`.
//!
//! [`lower`] applies four passes, and each preserves the value of every position. `build` creates
//! the nest, with a quotient for each tile of the source. `refine` splits loops at the tiles, so
//! that most quotients disappear. `coalesce` merges two loops that can be one longer loop. `widen`
//! makes units as wide as possible.

mod affine;
mod assembly;
mod bounds;
pub(crate) mod build;
mod case;
mod choice;
pub(crate) mod coalesce;
mod conversion;
pub(crate) mod copy_nest;
mod depends;
mod display;
mod error;
mod footprint;
pub(crate) mod gaps;
mod in_place;
mod index;
pub(crate) mod inspect;
mod interleaved;
pub(crate) mod known;
pub(crate) mod lookup;
mod numbers;
mod operand;
mod pack;
pub(crate) mod part;
mod places;
mod position;
pub(crate) mod refine;
pub(crate) mod regular;
mod saved;
mod scattered;
pub(crate) mod split;
mod table;
mod traffic;
mod walk;
pub(crate) mod widen;

pub use affine::{Affine, Value};
pub(crate) use assembly::{Assembly, MAX_CASES, WalkRegion};
pub(crate) use bounds::{Bounds, GreatestSums};
pub(crate) use build::{build, build_with};
pub(crate) use case::Refusal;
pub use case::{Case, CaseValue, Guard, PositionValue};
pub(crate) use choice::ChoiceCopy;
pub(crate) use coalesce::coalesce;
pub use conversion::Conversion;
pub(crate) use conversion::NumberKind;
pub use copy_nest::{CopyAxis, CopyNest, Source};
pub(crate) use copy_nest::{LastRead, Quotient};
pub(crate) use depends::Depends;
pub use error::NestError;
pub(crate) use footprint::footprint;
pub use gaps::Gaps;
pub(crate) use gaps::keep_gaps;
pub(crate) use index::Index;
pub(crate) use interleaved::{Interleaved, SOURCE_DISTANCE, interleaved};
pub(crate) use lookup::{Integer, Lookup, LookupExpr, MAX_NUMBERS, Number, Operator, OutOfRange};
pub(crate) use numbers::{ACCESS_BYTES, gcd, signed};
pub use operand::Operand;
pub(crate) use pack::pack;
pub(crate) use part::{Part, slab};
pub(crate) use places::places;
pub(crate) use position::Position;
pub(crate) use refine::{refine, tile};
pub(crate) use regular::regular;
pub(crate) use saved::{NestParts, SourceParts};
pub(crate) use scattered::Scattered;
pub(crate) use split::{slab_ranges, slabs};
pub(crate) use table::{TableCopy, TableRead, table_entries};
pub(crate) use traffic::Traffic;
pub(crate) use widen::widen;

use crate::{stride::StrideDescriptor, window::Window};

/// Returns the simplified loop nest of an operation between two tensors.
///
/// # Errors
///
/// Returns an error if an extent of a tensor does not fit the window, if elements of the
/// destination overlap or interleave in memory, or if a size is too large.
pub fn lower(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
) -> Result<CopyNest, NestError> {
    lower_with(source, destination, window, None, None)
}

/// Lowers an operation between two tensors that may be an update, with `start_indices`, and may
/// look elements up in a table.
///
/// # Errors
///
/// Returns the errors of [`lower`], and an error if an update would extend past the end of the
/// destination, or if the source cannot be looked up in a table.
pub(crate) fn lower_with(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
    start_indices: Option<&[u64]>,
    table: Option<&TableRead>,
) -> Result<CopyNest, NestError> {
    let nest = build_with(source, destination, window, start_indices, table)?;
    Ok(widen(coalesce(refine(nest))))
}
