//! [`Cost`]: the bytes that a plan moves.

/// The bytes that a plan moves, or the minimum over all plans without forwarding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cost {
    /// The total between all devices.
    pub total_bytes: u128,
    /// The bytes that the busiest receiver receives.
    pub receive_bytes: u128,
    /// The bytes that the busiest sender sends.
    pub send_bytes: u128,
}
