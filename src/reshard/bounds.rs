//! [`Cost`]: the number of bytes that a plan moves, in total and for the busiest devices.

/// The number of bytes that a plan sends between devices, or a lower bound on this number for plans
/// in which no device passes on elements that it received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cost {
    /// The total number of bytes sent between devices.
    pub total_bytes: u128,
    /// The number of bytes that the busiest receiver receives.
    pub receive_bytes: u128,
    /// The number of bytes that the busiest sender sends.
    pub send_bytes: u128,
}
