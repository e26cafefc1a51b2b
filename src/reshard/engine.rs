//! [`Engine`]: what carries messages from one device to another.

use super::ReshardError;

/// What carries messages from one device to another, seen from one of them: MPI, NCCL, RDMA, sockets.
///
/// Messages from one device to another arrive in the order in which they were sent, and with the lengths that the plan has on both
/// sides; nothing but the bytes need travel.
pub trait Engine {
    /// Why a message did not arrive.
    type Error;

    /// Sends a message. It must not wait for the other device to receive it, which may be sending too.
    ///
    /// # Errors
    ///
    /// Where the transport fails; the device then ends its part.
    fn send(&mut self, to: u64, message: Vec<u8>) -> Result<(), Self::Error>;

    /// Waits for the next message from a device, which has the length of `message`.
    ///
    /// # Errors
    ///
    /// Where the transport fails; the device then ends its part.
    fn receive(&mut self, from: u64, message: &mut [u8]) -> Result<(), Self::Error>;
}

/// Why a device did not finish its part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// A shard does not fit the plan.
    #[error(transparent)]
    Shard(#[from] ReshardError),
    /// The transport failed.
    #[error("the transport failed: {0}")]
    Engine(E),
}
