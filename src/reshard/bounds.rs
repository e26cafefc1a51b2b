//! [`Cost`]: the bytes that a plan moves.

/// Bytes that a plan moves, or the least that any plan without forwarding can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cost {
    /// Between all devices.
    pub total_bytes: u128,
    /// To the busiest receiver.
    pub receive_bytes: u128,
    /// From the busiest sender.
    pub send_bytes: u128,
}
