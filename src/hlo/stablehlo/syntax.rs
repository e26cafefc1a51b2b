//! Defines the syntax tree of a module: functions, regions and operations. A region is a body
//! inside an operation, such as each branch of an `if`. Most attributes are kept as ranges of the
//! text, and parsed only if they are needed.

use smallvec::SmallVec;

use super::cursor::TextRange;

/// The index of a value, which is an argument or the result of an operation. Values are numbered
/// over the whole module in the order of the text.
pub(super) type ValueId = u32;

/// A function of the module. `start` is its position in the text, for errors.
pub(super) struct MlirFunction<'a> {
    pub(super) start: usize,
    pub(super) name: String,
    pub(super) is_private: bool,
    /// The attribute dictionary of each argument, or `None` if the argument has none.
    pub(super) arguments: Vec<Option<TextRange>>,
    /// The type of each result, as an index into [`MlirTypes`](super::types::MlirTypes), and its
    /// attribute dictionary.
    pub(super) results: Vec<(usize, Option<TextRange>)>,
    /// The body, or `None` if the function is only declared.
    pub(super) body: Option<MlirRegion<'a>>,
}

/// A region with a single block. stridec does not support regions of several blocks.
#[derive(Default)]
pub(super) struct MlirRegion<'a> {
    pub(super) arguments: Vec<ValueId>,
    /// The values that are defined in the region, or in regions inside it. Any other value that an
    /// operation in the region uses is from outside.
    pub(super) values: std::ops::Range<ValueId>,
    /// The operations in order. The last one is a return.
    pub(super) operations: Vec<MlirOperation<'a>>,
}

/// An operation, which was written in the generic form or in its own syntax. `start` is its
/// position in the text, for errors.
pub(super) struct MlirOperation<'a> {
    pub(super) start: usize,
    /// The name with its dialect, such as `stablehlo.add`.
    pub(super) name: &'a str,
    /// The name of the first result in the text, or an empty string if the text names no result.
    /// Several results may share one name.
    pub(super) result_name: &'a str,
    pub(super) results: std::ops::Range<ValueId>,
    pub(super) operands: SmallVec<[ValueId; 3]>,
    /// The attributes in the operation's own syntax: the name of each, and the range of its value.
    /// In `dims = [1, 0]`, the text has the name. The parser gives names to attributes without one:
    /// `ranges` in brackets, `symbol` for a function such as `@f`, `value` for a constant,
    /// `applies` for the operation of a reduction, and `first` and `second` for keywords.
    pub(super) fields: SmallVec<[(&'static str, TextRange); 1]>,
    /// The ranges of the operation's attribute dictionaries. The generic form may have two.
    pub(super) dictionaries: SmallVec<[TextRange; 1]>,
    pub(super) regions: Vec<MlirRegion<'a>>,
    /// The range of the location inside `loc(…)`, or `None` if there is none.
    pub(super) location: Option<TextRange>,
}

impl MlirOperation<'_> {
    /// Returns the operation's name without its dialect, if the dialect is StableHLO or MHLO,
    /// because both have the same operations. Returns `None` for any other dialect.
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
