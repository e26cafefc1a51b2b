//! [`Operand`]: the name of a tensor of an operation, for messages.

use std::fmt;

/// A tensor of an operation: a source, or the destination.
///
/// Relayouts and slices have only source 0, which prints as `source`. Other sources print with
/// their numbers.
///
/// ```
/// use stridec::nest::Operand;
/// assert_eq!(Operand::Source(0).to_string(), "source");
/// assert_eq!(Operand::Source(2).to_string(), "source 2");
/// assert_eq!(Operand::Destination.to_string(), "destination");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand {
    /// A tensor that is read. Sources are numbered from 0.
    Source(usize),
    /// The tensor that is written.
    Destination,
}

impl Operand {
    /// Returns the name of a source with its number, even for source 0.
    pub(crate) fn numbered(source: usize) -> String {
        format!("source {source}")
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(0) => f.write_str("source"),
            Self::Source(number) => f.write_str(&Self::numbered(*number)),
            Self::Destination => f.write_str("destination"),
        }
    }
}
