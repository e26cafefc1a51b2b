//! Makes all ranks return the failure of any one rank, because the other ranks would otherwise wait
//! forever for its messages.

use super::{MpiError, World};

/// The maximum length in bytes of a failure message that is sent to other ranks. Longer messages
/// are truncated.
const LONGEST_MESSAGE: usize = 1 << 16;

/// The failure of one rank, as it is reported to all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankFailure {
    /// The rank that failed. If several ranks failed, it is the lowest of them.
    pub rank: u64,
    /// The error code that the failed rank passed to [`World::agreed`].
    pub code: u8,
    /// The error message that the failed rank passed to [`World::agreed`].
    pub message: String,
}

impl World {
    /// Shares failures between all ranks, so that all of them stop if one fails. `own` is the code
    /// and the message of this rank's failure, or `None` if this rank did not fail. Returns the
    /// failure of the lowest rank that failed, or `None` if there is none. All ranks must call this
    /// function, which waits for all of them.
    ///
    /// # Errors
    ///
    /// Returns an error if MPI fails. Other ranks may then wait until [`abort`](Self::abort) ends
    /// the program.
    pub fn agreed(&self, own: Option<(u8, &str)>) -> Result<Option<RankFailure>, MpiError> {
        let mut message = own.map_or("", |(_, message)| message).as_bytes().to_vec();
        message.truncate(LONGEST_MESSAGE);
        let told = own.map_or(0, |(code, _)| 1 + u64::from(code) + ((message.len() as u64) << 16));
        let all = self.all(told)?;
        let Some((rank, told)) = (0..).zip(&all).find(|(_, told)| **told != 0) else {
            return Ok(None);
        };
        message.resize(usize::try_from(told >> 16).unwrap_or(LONGEST_MESSAGE), 0);
        self.broadcast(rank, &mut message)?;
        let code = u8::try_from((told & 0xffff) - 1).unwrap_or(u8::MAX);
        let message = String::from_utf8_lossy(&message).into_owned();
        Ok(Some(RankFailure { rank, code, message }))
    }

    /// Compares `text` with the text that rank 0 passes, so that a rank notices if it was started
    /// with different arguments. Returns the text of rank 0 if it differs, and otherwise `None`.
    /// All ranks must call this function, which waits for all of them.
    ///
    /// # Errors
    ///
    /// Returns an error if MPI fails. Other ranks may then wait until [`abort`](Self::abort) ends
    /// the program.
    pub fn other_than_first(&self, text: &str) -> Result<Option<String>, MpiError> {
        let length = self.all(text.len() as u64)?[0];
        let mut first = text.as_bytes().to_vec();
        first.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
        self.broadcast(0, &mut first)?;
        let first = String::from_utf8_lossy(&first).into_owned();
        Ok((first != text).then_some(first))
    }
}
