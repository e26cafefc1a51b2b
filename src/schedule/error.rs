use crate::nest::Operand;

/// Why no kernel fits the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// An image that no binding of the target holds.
    #[error("{operand}: an image of {given} bytes; target {target} binds at most {limit} bytes")]
    Binding {
        /// Which side.
        operand: Operand,
        /// Bytes of the image.
        given: u64,
        /// Bytes of one binding.
        limit: u64,
        /// The target's name.
        target: String,
    },
    /// More units than 32-bit indices count.
    #[error("{operand}: {given} units pass the limit of {limit} for 32-bit indices")]
    Index {
        /// Which side.
        operand: Operand,
        /// Units of the image, or positions of the walk.
        given: u64,
        /// The most.
        limit: u64,
    },
    /// An access that the proof does not place inside its binding. No operation is known that gives it.
    #[error("source: unit {given} may be read, of {limit} in its image; the kernel is not emitted")]
    Unproved {
        /// The last unit that may be read.
        given: u64,
        /// Units of the source's image.
        limit: u64,
    },
    /// More workgroups than a dispatch has.
    #[error(
        "dispatch: {given} workgroups; target {target} dispatches at most {limit} in one dimension"
    )]
    Dispatch {
        /// Workgroups.
        given: u64,
        /// The limit of one dimension.
        limit: u32,
        /// The target's name.
        target: String,
    },
    /// A limit of the target that leaves no room for any kernel.
    #[error("target.{field}: {given} is not accepted; 1 or more is")]
    Target {
        /// The field of the target.
        field: &'static str,
        /// The limit.
        given: u32,
    },
    /// A name that is no preset.
    #[error("target: {given:?} is not known; accepted are {accepted}")]
    Preset {
        /// The name that was given.
        given: String,
        /// The presets' names.
        accepted: String,
    },
}

impl ScheduleError {
    /// Whether the operation is valid, but more than the target runs.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        !matches!(self, Self::Preset { .. } | Self::Target { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_target_is_invalid_and_a_small_one_unsupported() {
        let target = || "webgpu".to_owned();
        for (error, unsupported) in [
            (ScheduleError::Target { field: "max_bindings", given: 0 }, false),
            (ScheduleError::Preset { given: target(), accepted: target() }, false),
            (ScheduleError::Index { operand: Operand::Source(0), given: 2, limit: 1 }, true),
            (ScheduleError::Dispatch { given: 2, limit: 1, target: target() }, true),
        ] {
            assert_eq!(error.is_unsupported(), unsupported, "{error}");
        }
    }
}
