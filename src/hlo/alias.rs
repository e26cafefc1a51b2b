//! Parameters whose buffer a result takes over, as donated arguments of JAX do.

/// A part of the entry computation's result that takes over the buffer of a part of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InputOutputAlias {
    /// The path of the part in the result.
    pub(super) output: Vec<usize>,
    pub(super) parameter: usize,
    /// The path of the part in the parameter.
    pub(super) index: Vec<usize>,
}
