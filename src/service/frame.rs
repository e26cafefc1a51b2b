//! Reads messages from a stream that protobuf's `writeDelimitedTo` has written: each message comes
//! after its length.

use std::io::{self, BufRead, Read};

/// The reason why the next message of a stream cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The stream ends in the middle of a length or a message.
    #[error("the input ends {missing} bytes before the end of a message")]
    Truncated {
        /// The minimum number of missing bytes.
        missing: u64,
    },
    /// The length of the next message has more than 64 bits.
    #[error("the length of a message takes more than 64 bits")]
    Length,
    /// The stream cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// One message of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StreamItem {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// A message was skipped because it exceeds the limit. The number is its length in bytes.
    TooLong(u64),
}

/// Reads the next message of a stream: its length as a varint, and then its bytes. Skips a message
/// of more than `limit` bytes. Returns `None` if the stream ends before the message begins.
pub(super) fn read_frame(
    input: &mut impl BufRead,
    limit: usize,
) -> Result<Option<StreamItem>, FrameError> {
    let Some(length) = read_varint(input)? else { return Ok(None) };
    if length > limit as u64 {
        let skipped = io::copy(&mut input.take(length), &mut io::sink())?;
        return complete(length, skipped).map(|()| Some(StreamItem::TooLong(length)));
    }
    let mut message = Vec::new();
    let read = input.take(length).read_to_end(&mut message)?;
    complete(length, read as u64).map(|()| Some(StreamItem::Message(message)))
}

fn complete(length: u64, read: u64) -> Result<(), FrameError> {
    match length - read {
        0 => Ok(()),
        missing => Err(FrameError::Truncated { missing }),
    }
}

/// Reads a varint, protobuf's encoding of a number. Each byte contains seven bits of the number,
/// the low bits first. The high bit of a byte is set if another byte follows. Returns `None` if the
/// stream is at its end.
fn read_varint(input: &mut impl BufRead) -> Result<Option<u64>, FrameError> {
    let mut value = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = match input.bytes().next() {
            Some(byte) => byte?,
            None if shift == 0 => return Ok(None),
            None => return Err(FrameError::Truncated { missing: 1 }),
        };
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(FrameError::Length);
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok(Some(value));
        }
    }
    Err(FrameError::Length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: &[u8]) -> Result<Option<StreamItem>, FrameError> {
        read_frame(&mut &bytes[..], 300)
    }

    #[test]
    fn a_length_is_a_varint() {
        assert_eq!(frame(&[]).unwrap(), None);
        assert_eq!(frame(&[0]).unwrap(), Some(StreamItem::Message(vec![])));
        assert_eq!(frame(&[2, 8, 9, 7]).unwrap(), Some(StreamItem::Message(vec![8, 9])));
        let mut long = vec![0xac, 0x02];
        long.resize(302, 1);
        assert_eq!(frame(&long).unwrap(), Some(StreamItem::Message(vec![1; 300])));
        long[0] = 0xad;
        long.push(1);
        assert_eq!(frame(&long).unwrap(), Some(StreamItem::TooLong(301)));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        assert!(matches!(frame(&[0x80]), Err(FrameError::Truncated { missing: 1 })));
        assert!(matches!(frame(&[3, 1]), Err(FrameError::Truncated { missing: 2 })));
        assert!(matches!(frame(&[0xff; 20]), Err(FrameError::Length)));
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let missing = u64::MAX;
        assert!(matches!(frame(&most), Err(FrameError::Truncated { missing: n }) if n == missing));
    }
}
