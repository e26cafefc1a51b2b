//! The syntax tree of a module: functions, regions and operations. Most attributes are kept as
//! ranges of the text, and parsed only if they are needed.

use smallvec::SmallVec;

use super::cursor::TextRange;

/// The index of a value. Values are numbered over the whole module.
pub(super) type ValueId = u32;

/// A function of the module. `start` is its position in the text.
pub(super) struct MlirFunction<'a> {
    pub(super) start: usize,
    pub(super) name: String,
    pub(super) is_private: bool,
    /// The attribute dictionary of each argument; `None` if it has none.
    pub(super) arguments: Vec<Option<TextRange>>,
    /// The type of each result, as an index into the parser's types, and its attribute dictionary.
    pub(super) results: Vec<(usize, Option<TextRange>)>,
    /// The body, or `None` if the function is only declared.
    pub(super) body: Option<MlirRegion<'a>>,
}

/// A region with a single block. stridec does not support regions of several blocks.
#[derive(Default)]
pub(super) struct MlirRegion<'a> {
    pub(super) arguments: Vec<ValueId>,
    /// The values that are defined in the region, or in regions inside it.
    pub(super) values: std::ops::Range<ValueId>,
    /// The operations in order; the last one is a return.
    pub(super) operations: Vec<MlirOperation<'a>>,
}

/// An operation, which was written in its own syntax or in the generic form. `start` is its
/// position in the text.
pub(super) struct MlirOperation<'a> {
    pub(super) start: usize,
    /// The name with its dialect, such as `stablehlo.add`.
    pub(super) name: &'a str,
    /// The name of the first result. Several results may share one name. Empty if no result has a
    /// name.
    pub(super) result_name: &'a str,
    pub(super) results: std::ops::Range<ValueId>,
    pub(super) operands: SmallVec<[ValueId; 3]>,
    /// The attributes in the operation's own syntax, such as `dims = [1, 0]`: the name of each, and
    /// the range of its value.
    pub(super) fields: SmallVec<[(&'static str, TextRange); 1]>,
    /// The ranges of the operation's attribute dictionaries.
    pub(super) dictionaries: SmallVec<[TextRange; 1]>,
    pub(super) regions: Vec<MlirRegion<'a>>,
    /// The range of the location inside `loc(…)`, or `None` if there is none.
    pub(super) location: Option<TextRange>,
}

impl MlirOperation<'_> {
    /// Returns the operation's name without its dialect, if the dialect is StableHLO or MHLO, which
    /// has the same operations. Returns `None` for any other dialect.
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
