//! [`Engine`]: a transport between devices.

use super::ReshardError;

/// A transport for messages, seen from one device: MPI, NCCL, RDMA or sockets.
///
/// Messages from one device to another must arrive in the order in which they were sent. Both sides
/// know the lengths from the plan, so only the bytes of the message are transmitted.
pub trait Engine {
    /// The error of the transport.
    type Error;

    /// Sends a message. It must not wait until the other device receives it, because that device
    /// may be sending too.
    ///
    /// # Errors
    ///
    /// Returns an error if the transport fails; the device then ends its part.
    fn send(&mut self, to: u64, message: Vec<u8>) -> Result<(), Self::Error>;

    /// Waits for the next message from a device. It has the length of `message`.
    ///
    /// # Errors
    ///
    /// Returns an error if the transport fails; the device then ends its part.
    fn receive(&mut self, from: u64, message: &mut [u8]) -> Result<(), Self::Error>;
}

/// The reason that a device did not finish its part.
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
