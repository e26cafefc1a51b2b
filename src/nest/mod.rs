//! The loop nest: [`CopyNest`] and the passes over it.
//!
//! [`lower`] applies the passes in order: `build`, `refine`, `coalesce`, `widen`. Each preserves
//! the value of every position.

mod affine;
mod assembly;
mod bounds;
pub(crate) mod build;
mod case;
pub(crate) mod coalesce;
pub(crate) mod copy_nest;
mod count;
mod display;
mod error;
mod index;
pub(crate) mod inspect;
mod interleaved;
pub(crate) mod lookup;
mod numbers;
mod operand;
mod pack;
pub(crate) mod part;
mod places;
mod position;
pub(crate) mod refine;
pub(crate) mod split;
mod walk;
pub(crate) mod widen;

pub use affine::{Affine, Value};
pub(crate) use assembly::{Assembly, MAX_CASES, WalkRegion};
pub(crate) use bounds::{Bounds, GreatestSums};
pub(crate) use build::build;
pub(crate) use case::Refusal;
pub use case::{Case, CaseValue, Guard, PositionValue};
pub(crate) use coalesce::coalesce;
pub use copy_nest::{CopyAxis, CopyNest, Source};
pub(crate) use copy_nest::{LastRead, Quotient};
pub(crate) use count::{Count, width};
pub use error::NestError;
pub(crate) use index::Index;
pub(crate) use interleaved::{Interleaved, SOURCE_DISTANCE, interleaved};
pub(crate) use lookup::{Integer, Lookup, LookupExpr, MAX_NUMBERS, Number, Operator, OutOfRange};
pub(crate) use numbers::{ACCESS_BYTES, gcd, signed};
pub use operand::Operand;
pub(crate) use pack::pack;
pub(crate) use part::Part;
pub(crate) use places::places;
pub(crate) use position::Position;
pub(crate) use refine::{refine, tile};
pub(crate) use split::slabs;
pub(crate) use widen::widen;

use crate::{stride::StrideDescriptor, window::Window};

/// Lowers an operation between two tensors to the nest that kernels and the host run.
///
/// # Errors
///
/// Returns an error if the two sides do not fit the window, if strides of the destination overlap
/// or interleave, or if a size is too large.
pub fn lower(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
) -> Result<CopyNest, NestError> {
    let nest = build(source, destination, window)?;
    let nest = refine(nest);
    let nest = coalesce(nest);
    Ok(widen(nest))
}
