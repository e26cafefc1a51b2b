//! Why no kernel fits a target.

use crate::{error_kind::ErrorKind, nest::Operand, shape::FieldPath};

/// Why no kernel fits the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// An image that no binding of the target holds.
    #[error(
        "{operand}: expected an image of at most {limit} bytes, which is what target {target} binds, got {given}"
    )]
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
    /// More sources than a kernel binds.
    #[error(
        "sources: expected at most {limit}, as many as WebGPU binds beside the destination, got {given}"
    )]
    Sources {
        /// Sources of the nest.
        given: usize,
        /// The most.
        limit: usize,
    },
    /// More units than 32-bit indices count.
    #[error(
        "{operand}: expected at most {limit} units, as many as 32-bit indices count, got {given}"
    )]
    Index {
        /// Which side.
        operand: Operand,
        /// Units of the image, or positions of the walk.
        given: u64,
        /// The most.
        limit: u64,
    },
    /// An access that the proof does not place inside its binding. No operation is known that gives it.
    #[error(
        "source: expected the kernel to read at most {limit} units, got unit {given}; this is a defect of stridec, and the kernel is not emitted"
    )]
    Unproved {
        /// The last unit that may be read.
        given: u64,
        /// Units of the source's image.
        limit: u64,
    },
    /// More workgroups than a dispatch has.
    #[error(
        "dispatch: expected workgroups that fit in {limit} x {limit} x {limit}, the limits of target {target}, got {given}; a target with a higher max_compute_workgroups_per_dimension can run it"
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
    #[error("target.{field}: expected at least 1, got {given}")]
    Target {
        /// The field of the target.
        field: &'static str,
        /// The limit.
        given: u32,
    },
    /// A number of the target's cost model that no adapter has.
    #[error("target.model.{field}: expected a number from {least} to {most}, got {given}")]
    Model {
        /// The field of the model.
        field: &'static str,
        /// The number.
        given: u32,
        /// The least.
        least: u32,
        /// The most.
        most: u32,
    },
    /// A name that is no preset.
    #[error("preset: expected one of {accepted}, got {given:?}")]
    Preset {
        /// The name that was given.
        given: String,
        /// The presets' names.
        accepted: String,
    },
}

impl ScheduleError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Preset { .. } | Self::Target { .. } | Self::Model { .. } => ErrorKind::Invalid,
            _ => ErrorKind::Unsupported,
        }
    }

    /// The field of the target that the error is about; `None` where it is about the operation.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        match self {
            Self::Preset { .. } => Some(FieldPath::new("preset")),
            Self::Target { field, .. } => Some(FieldPath::new("target").field(field)),
            Self::Model { field, .. } => Some(FieldPath::new("target").field("model").field(field)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_target_is_invalid_and_a_small_one_unsupported() {
        let target = || "webgpu".to_owned();
        for (error, kind) in [
            (ScheduleError::Target { field: "max_bindings", given: 0 }, ErrorKind::Invalid),
            (ScheduleError::Preset { given: target(), accepted: target() }, ErrorKind::Invalid),
            (
                ScheduleError::Index { operand: Operand::Source(0), given: 2, limit: 1 },
                ErrorKind::Unsupported,
            ),
            (
                ScheduleError::Dispatch { given: 2, limit: 1, target: target() },
                ErrorKind::Unsupported,
            ),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
        }
    }
}
