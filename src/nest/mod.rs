//! The loop nest: [`CopyNest`] and the passes over it.
//!
//! [`lower`] applies the passes in order: [`build`](build::build), [`refine`](refine::refine),
//! [`coalesce`](coalesce::coalesce), [`widen`](widen::widen). Each preserves the value of every
//! position.

mod affine;
mod assembly;
mod bounds;
mod build;
mod case;
mod coalesce;
mod copy_nest;
mod count;
mod display;
mod error;
mod index;
mod interleaved;
mod lookup;
mod numbers;
mod operand;
mod pack;
mod part;
mod places;
mod position;
mod refine;
mod split;
mod walk;
mod widen;

pub use affine::{Affine, Value};
pub(crate) use assembly::{Assembly, MAX_CASES, WalkRegion};
pub(crate) use bounds::{Bounds, greatest_sum};
pub use build::build;
pub(crate) use case::Refusal;
pub use case::{Case, CaseValue, Guard, PositionValue};
pub use coalesce::coalesce;
pub use copy_nest::{CopyAxis, CopyNest, LastRead, Quotient, Source};
pub(crate) use count::{Count, width};
pub use error::NestError;
pub(crate) use index::Index;
pub(crate) use interleaved::{Interleaved, SOURCE_DISTANCE, interleaved};
pub(crate) use lookup::MAX_NUMBERS;
pub use lookup::{Integer, Lookup, LookupExpr, Number, Operator, OutOfRange};
pub(crate) use numbers::{ACCESS_BYTES, gcd, signed};
pub use operand::Operand;
pub(crate) use pack::pack;
pub use part::{Part, Rows};
pub(crate) use places::places;
pub(crate) use position::Position;
pub(crate) use refine::tile;
pub use refine::{refine, split_off};
pub use split::{Split, slabs, split};
pub use widen::widen;

use crate::{stride::StrideDescriptor, window::Window};

/// Lowers an operation between two tensors to the nest that kernels and the host run.
///
/// # Errors
///
/// Returns an error if the two sides do not fit the window, the destination's places overlap or
/// interleave, or a size is too large.
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
