//! [`MpiError`]: the reason why a reshard over MPI failed.

use crate::reshard::ReshardError;

/// The reason why a reshard over MPI failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MpiError {
    /// A function of MPI failed.
    #[error("{function}: {reason}")]
    Function {
        /// The name of the function.
        function: &'static str,
        /// The error text from MPI.
        reason: String,
    },
    /// MPI was already finalized in this process, and it cannot be started twice.
    #[error("expected an MPI that runs or was not started yet, got one that was finalized")]
    Finalized,
    /// The number of ranks differs from the number of devices.
    #[error("expected {expected} ranks, as many as there are devices, got {given}")]
    Ranks {
        /// The number of devices of the source or the destination, whichever has more.
        expected: u64,
        /// The number of ranks that were started.
        given: u64,
    },
    /// A shard does not fit the plan.
    #[error(transparent)]
    Shard(#[from] ReshardError),
}
