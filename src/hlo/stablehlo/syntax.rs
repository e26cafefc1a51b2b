//! The syntax tree of a module: functions, regions and operations, with the places of their parts
//! in the text.

use smallvec::SmallVec;

use super::cursor::Place;

/// The number of a value. Values are counted over the whole module.
pub(super) type ValueId = u32;

/// A function of the module. `start` is its position in the text.
pub(super) struct MlirFunction<'a> {
    pub(super) start: usize,
    pub(super) name: String,
    pub(super) is_private: bool,
    /// The attribute dictionary of each argument, if it has one.
    pub(super) arguments: Vec<Option<Place>>,
    /// The type of each result, and its attribute dictionary if it has one.
    pub(super) results: Vec<(usize, Option<Place>)>,
    /// The body, or `None` for a declaration.
    pub(super) body: Option<MlirRegion<'a>>,
}

/// A region that consists of a single block.
#[derive(Default)]
pub(super) struct MlirRegion<'a> {
    pub(super) arguments: Vec<ValueId>,
    /// The values that are defined in the region or in regions inside it.
    pub(super) values: std::ops::Range<ValueId>,
    /// The operations in order; the last one is a return.
    pub(super) operations: Vec<MlirOperation<'a>>,
}

/// An operation, read from its own syntax or from the generic form. `start` is its position in the
/// text.
pub(super) struct MlirOperation<'a> {
    pub(super) start: usize,
    /// The name with its dialect, such as `stablehlo.add`.
    pub(super) name: &'a str,
    /// The name of the first result, which several results may share. Empty if there are no named
    /// results.
    pub(super) result_name: &'a str,
    pub(super) results: std::ops::Range<ValueId>,
    pub(super) operands: SmallVec<[ValueId; 3]>,
    /// The names and places of attributes that are written in the operation's own syntax, such as
    /// `dims = [1, 0]`.
    pub(super) fields: SmallVec<[(&'static str, Place); 1]>,
    /// The places of the operation's attribute dictionaries.
    pub(super) dictionaries: SmallVec<[Place; 1]>,
    pub(super) regions: Vec<MlirRegion<'a>>,
    /// The place of the location inside `loc(…)`, if there is one.
    pub(super) location: Option<Place>,
}

impl MlirOperation<'_> {
    /// Returns the operation's name without its dialect if it belongs to StableHLO, or to MHLO,
    /// whose operations have the same names. Returns `None` for other dialects.
    pub(super) fn stablehlo_name(&self) -> Option<&str> {
        self.name.strip_prefix("stablehlo.").or_else(|| self.name.strip_prefix("mhlo."))
    }

    /// Returns true if the operation ends a region or a function.
    pub(super) fn is_return(&self) -> bool {
        is_return(self.name)
    }
}

/// Returns true if an operation of this name ends a region or a function.
pub(super) fn is_return(name: &str) -> bool {
    matches!(name, "return" | "func.return" | "stablehlo.return" | "mhlo.return" | "sdy.return")
}
