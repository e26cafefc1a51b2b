//! [`MpiError`]: why a reshard over MPI did not happen.

use crate::reshard::ReshardError;

/// Why a reshard over MPI did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// A function of MPI failed.
    #[error("{function}: {reason}")]
    Function {
        /// Its name.
        function: &'static str,
        /// What MPI says of the failure.
        reason: String,
    },
    /// MPI was finalized in this process; it starts only once.
    #[error("expected an MPI that runs or was not started yet, got one that was finalized")]
    Finalized,
    /// Other ranks than devices.
    #[error("expected {expected} ranks, as many as there are devices, got {given}")]
    Ranks {
        /// How many devices the larger side has.
        expected: u64,
        /// How many ranks were started.
        given: u64,
    },
    /// A shard does not fit the plan.
    #[error(transparent)]
    Shard(#[from] ReshardError),
}
