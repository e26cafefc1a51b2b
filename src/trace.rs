//! Spans for the crate `tracing`, behind the feature of that name. Without the feature they compile
//! to nothing.

/// Enters the span of a stage until the end of the block: `decode`, `lower`, `emit`, `validate` or
/// `run`.
macro_rules! span {
    ($stage:literal) => {
        #[cfg(feature = "tracing")]
        let _span = tracing::debug_span!(target: "stridec", $stage).entered();
    };
}

pub(crate) use span;
