//! [`ScheduleError`]: the reasons why a nest cannot run as a kernel on a target.

use crate::{error_kind::ErrorKind, nest::Operand, shape::FieldPath};

/// The reason why no kernel fits the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// A source or the destination is larger than a binding of the target.
    #[error(
        "{operand}: expected an image of at most {limit} bytes, which is what target {target} binds, got {given}"
    )]
    Binding {
        /// The source or destination that is too large.
        operand: Operand,
        /// The size of the tensor in memory, in bytes.
        given: u64,
        /// The maximum size of a binding, in bytes.
        limit: u64,
        /// The target's name.
        target: String,
    },
    /// The nest has more sources than a kernel can bind.
    #[error(
        "sources: expected at most {limit}, as many as the target binds beside the destination, got {given}; `compile_module` and `Program::compiled` pack some of them first"
    )]
    Sources {
        /// The number of sources of the nest.
        given: usize,
        /// The maximum number of sources.
        limit: usize,
    },
    /// The nest has more units than 32-bit indices can count.
    #[error(
        "{operand}: expected at most {limit} units, as many as 32-bit indices count, got {given}"
    )]
    Index {
        /// The source or destination that is too large.
        operand: Operand,
        /// The number of units in the tensor, or of iterations of the nest.
        given: u64,
        /// The maximum number of units.
        limit: u64,
    },
    /// The kernel would divide or compare integers that do not fit in 32 bits.
    #[error(
        "index: expected numbers of at most {limit} in the kernel, which computes with 32-bit words, got {given} from tiles or dimensions that do not divide each other; the host has no such limit"
    )]
    Number {
        /// The greatest integer that the kernel would compute.
        given: u64,
        /// The maximum of a 32-bit unsigned integer.
        limit: u64,
    },
    /// An access cannot be proved to stay inside its binding. No operation is known to cause this.
    #[error(
        "source: expected the kernel to read at most {limit} units, got unit {given}; this is a defect of stridec, and the kernel is not emitted"
    )]
    Unproved {
        /// The last unit that may be read.
        given: u64,
        /// The number of units in the source.
        limit: u64,
    },
    /// The kernel needs more workgroups than one dispatch can have.
    #[error(
        "dispatch: expected workgroups that fit in {limit} x {limit} x {limit}, the limits of target {target}, got {given}; a target with a higher max_compute_workgroups_per_dimension can run it"
    )]
    Dispatch {
        /// The number of workgroups.
        given: u64,
        /// The limit of one dimension.
        limit: u32,
        /// The target's name.
        target: String,
    },
    /// An item of a kernel with extents at run time does not consist of whole accesses.
    #[error(
        "item: expected images of whole words and units, got {source_bytes} bytes in the source and {destination_bytes} in the destination"
    )]
    Item {
        /// The size of an item of the source, in bytes.
        source_bytes: u64,
        /// The size of an item of the destination, in bytes.
        destination_bytes: u64,
    },
    /// A limit of the target is so small that no kernel can run.
    #[error("target.{field}: expected at least {least}, got {given}")]
    Target {
        /// The name of the target's field.
        field: &'static str,
        /// The least limit with which a kernel can run.
        least: u32,
        /// The given limit.
        given: u32,
    },
    /// A number of the target's cost model is out of range.
    #[error("target.model.{field}: expected a number from {least} to {most}, got {given}")]
    Model {
        /// The name of the model's field.
        field: &'static str,
        /// The given number.
        given: u32,
        /// The minimum.
        least: u32,
        /// The maximum.
        most: u32,
    },
    /// No preset has this name.
    #[error("preset: expected one of {accepted}, got {given:?}")]
    Preset {
        /// The given name.
        given: String,
        /// The names of the presets.
        accepted: String,
    },
}

impl ScheduleError {
    /// Returns the kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Preset { .. } | Self::Target { .. } | Self::Model { .. } => ErrorKind::Invalid,
            _ => ErrorKind::Unsupported,
        }
    }

    /// Returns the source or destination that is too large, or `None` if the error is about
    /// something else.
    #[must_use]
    pub fn operand(&self) -> Option<Operand> {
        match self {
            Self::Binding { operand, .. } | Self::Index { operand, .. } => Some(*operand),
            _ => None,
        }
    }

    /// Returns the field that the error is about: a source or destination that is too large, or a
    /// field of the target. Returns `None` if it is neither.
    #[must_use]
    pub fn field(&self) -> Option<FieldPath> {
        match self {
            Self::Binding { operand, .. } | Self::Index { operand, .. } => {
                Some(FieldPath::new(match operand {
                    Operand::Source(_) => "source",
                    Operand::Destination => "destination",
                }))
            }
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
            (
                ScheduleError::Target { field: "max_bindings", least: 2, given: 0 },
                ErrorKind::Invalid,
            ),
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
