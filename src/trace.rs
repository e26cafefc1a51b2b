//! Spans for the crate `tracing`. They compile to nothing without the feature `tracing`.

/// Enters the span of a stage, which lasts until the end of the enclosing block. The stages are
/// `decode`, `lower`, `emit`, `validate` and `run`.
macro_rules! span {
    ($stage:literal) => {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!(target: "stridec", $stage).entered();
    };
}

pub(crate) use span;
