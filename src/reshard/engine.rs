//! [`Engine`]: the interface through which a reshard sends messages between devices. Embedders
//! implement it for their transport.

use super::ReshardError;

/// The connection of one device to all others, through a transport such as MPI, NCCL, RDMA or
/// sockets.
///
/// Messages from one device to another must arrive in the order in which they were sent. Only the
/// contents of a message need to be transmitted, because both devices can compute its length from
/// the plan.
pub trait Engine {
    /// The error of the transport.
    type Error;

    /// Sends `message` to the device `to`. The call must not wait until that device receives the
    /// message, because that device may be sending at the same time, and then both would wait
    /// forever.
    ///
    /// # Errors
    ///
    /// Returns an error if the transport fails. The device then abandons its part of the reshard.
    fn send(&mut self, to: u64, message: Vec<u8>) -> Result<(), Self::Error>;

    /// Waits for the next message from the device `from` and stores it in `message`, whose length
    /// is exactly the length of the sent message.
    ///
    /// # Errors
    ///
    /// Returns an error if the transport fails. The device then abandons its part of the reshard.
    fn receive(&mut self, from: u64, message: &mut [u8]) -> Result<(), Self::Error>;
}

/// The error that stopped a device before it finished its part of a reshard.
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
