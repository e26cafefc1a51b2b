//! [`Engine`]: the interface of a transport between devices, for embedders to implement.

use super::ReshardError;

/// A transport for messages, such as MPI, NCCL, RDMA or sockets, as seen by one device.
///
/// Messages from one device to another must arrive in the order in which they were sent. Only the
/// bytes of a message are transmitted, because both sides know its length from the plan.
pub trait Engine {
    /// The error of the transport.
    type Error;

    /// Sends a message. The call must not block until the other device receives the message,
    /// because that device may be sending too.
    ///
    /// # Errors
    ///
    /// Returns an error if the transport fails. The device then abandons its part of the reshard.
    fn send(&mut self, to: u64, message: Vec<u8>) -> Result<(), Self::Error>;

    /// Waits for the next message from a device and stores it in `message`, which has exactly the
    /// length of the sent message.
    ///
    /// # Errors
    ///
    /// Returns an error if the transport fails. The device then abandons its part of the reshard.
    fn receive(&mut self, from: u64, message: &mut [u8]) -> Result<(), Self::Error>;
}

/// The reason why a device did not finish its part of a reshard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError<E> {
    /// A shard does not match the plan.
    #[error(transparent)]
    Shard(#[from] ReshardError),
    /// The transport failed.
    #[error("the transport failed: {0}")]
    Engine(E),
}
