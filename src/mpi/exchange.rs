//! [`Exchange`]: runs the part of a reshard that belongs to one rank, by exchanging the messages of
//! the plan with the other ranks.

use super::{
    MpiError, World,
    pending::{CompletedMessage, PendingMessages, Vector},
};
use crate::{
    reshard::{Member, Runs, Shards},
    shape::Shape,
    sharding::Placement,
};

/// The minimum length of runs, in bytes, for which MPI's vector types describe a message. A message
/// with shorter runs is packed and unpacked by this crate instead.
const LONG_RUN: usize = 1 << 10;

/// The maximum number of messages in transit in each direction.
const MOST_MESSAGES: usize = 256;

/// The maximum total size of packed messages in transit, in bytes, for both directions together. A
/// larger amount would not stay in a cache between packing and sending (`benches/mpi`: rows to
/// columns of `f32[8192,8192]`). A smaller amount allows fewer messages in transit.
const MOST_STAGING: u64 = 8 << 20;

/// The maximum length of a message, in bytes. Longer messages would not stay in a cache between
/// packing and sending (`benches/mpi`: rows to columns of `f32[8192,8192]`). With shorter ones,
/// more messages are needed.
const MOST_BYTES: u64 = 1 << 20;

/// One rank's part of a reshard.
///
/// Receives are posted first, and messages are packed while others are in transit. A message that
/// is a single run, or that consists of long runs, is sent directly from the memory of the source
/// shard or received directly into the memory of the destination shard. All other messages pass
/// through buffers.
#[derive(Debug)]
pub struct Exchange<'a> {
    world: &'a World,
    member: Member,
    /// The maximum total size of packed messages in transit in each direction, in bytes.
    packed_bytes: usize,
    sends: Vec<Message>,
    receives: Vec<Message>,
}

#[derive(Debug)]
struct Message {
    round: usize,
    partner: u64,
    bytes: usize,
    in_place: Option<Vector>,
}

impl Message {
    fn new(round: usize, partner: u64, bytes: usize, runs: Option<Runs>) -> Result<Self, MpiError> {
        let in_place = runs.filter(|runs| runs.run >= LONG_RUN || runs.steps().is_empty());
        let in_place = in_place.as_ref().map(Vector::new).transpose()?;
        Ok(Self { round, partner, bytes, in_place })
    }

    /// Returns the size of the buffer into which the message is packed, in bytes. It is 0 if the
    /// message needs no buffer.
    fn staged(&self) -> usize {
        if self.in_place.is_some() { 0 } else { self.bytes }
    }
}

/// The progress of the messages in one direction: those to send, or those to receive.
#[derive(Default)]
struct Queue {
    next: usize,
    under_way: usize,
    staged: usize,
}

impl Queue {
    /// Counts the next message as in transit and returns its index. Returns `None` if all messages
    /// were started, or if another message must complete first because of the limits: at most
    /// [`MOST_MESSAGES`] messages, and packed messages of at most `most` bytes together, may be in
    /// transit.
    fn begin(&mut self, messages: &[Message], most: usize) -> Option<usize> {
        let message = messages.get(self.next)?;
        let staged = self.staged + message.staged();
        if self.under_way == MOST_MESSAGES || staged > most {
            return None;
        }
        self.staged = staged;
        self.under_way += 1;
        self.next += 1;
        Some(self.next - 1)
    }

    fn end(&mut self, message: &Message) {
        self.under_way -= 1;
        self.staged -= message.staged();
    }
}

impl<'a> Exchange<'a> {
    /// Plans the part of a reshard that belongs to this rank. `from` and `to` are the placement and
    /// the memory layout before and after the reshard. Packed messages occupy at most 8 MiB, or
    /// `staging_bytes` if that is less. All ranks must pass equal arguments.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of ranks differs from the number of devices, if a layout does
    /// not fit a shard, or if `staging_bytes` is less than two elements.
    pub fn new(
        world: &'a World,
        array: &Shape,
        from: (&Placement, &Shards),
        to: (&Placement, &Shards),
        staging_bytes: Option<u64>,
    ) -> Result<Self, MpiError> {
        let (expected, given) = (from.0.devices().max(to.0.devices()), world.size());
        if expected != given {
            return Err(MpiError::Ranks { expected, given });
        }
        let staging = staging_bytes.map_or(MOST_STAGING, |bytes| bytes.min(MOST_STAGING));
        // Leave room for two messages in each direction. Below 64 bytes there is room for one
        // message only: two elements have up to 32 bytes.
        let at_a_time = if staging < 64 { staging } else { (staging / 2).min(2 * MOST_BYTES) };
        let member = Member::new(array, from, to, world.rank(), Some(at_a_time))?;
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for (round, now) in member.rounds().iter().enumerate() {
            if let Some(first) = now.sends.first() {
                let (bytes, runs) = (member.sent_bytes(now), member.sent_runs(now)?);
                sends.push(Message::new(round, first.to, bytes, runs)?);
            }
            if let Some(first) = now.receives.first() {
                let (bytes, runs) = (member.received_bytes(now), member.received_runs(now)?);
                receives.push(Message::new(round, first.from, bytes, runs)?);
            }
        }
        let packed_bytes = usize::try_from(staging / 2).unwrap_or(usize::MAX);
        Ok(Self { world, member, packed_bytes, sends, receives })
    }

    /// Returns the size of the destination shard's memory in bytes, or `None` if this rank has no
    /// destination shard.
    #[must_use]
    pub fn destination_bytes(&self) -> Option<u64> {
        self.member.destination_bytes()
    }

    /// Runs the part of the reshard that belongs to this rank. `source` is the memory of the rank's
    /// source shard. `destination` must be all zeros, and receives the memory of the rank's
    /// destination shard. If the rank has no source or no destination shard, the corresponding
    /// buffer must be empty. All ranks must call this function.
    ///
    /// If MPI fails while messages are in transit, this function prints the reason and ends the
    /// program on all ranks.
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer has the wrong length. The other ranks still complete the
    /// exchange, with the data that this rank sends.
    pub fn run(&self, source: &[u8], destination: &mut [u8]) -> Result<(), MpiError> {
        self.member.check(source, destination)?;
        self.member.pad(destination)?;
        let mut pending = PendingMessages::new(self.world, source, destination);
        let (mut sending, mut receiving) = (Queue::default(), Queue::default());
        let mut buffers = BufferPool::default();
        // Even after a failure on this rank, send its messages, because other ranks wait for them.
        let mut finished = Ok(());
        let mut copied = false;
        loop {
            while let Some(number) = receiving.begin(&self.receives, self.packed_bytes) {
                let message = &self.receives[number];
                match &message.in_place {
                    Some(runs) => pending.receive_in_place(number, message.partner, runs),
                    None => pending.receive(number, message.partner, buffers.take(message.bytes)),
                }
            }
            let mut wait = false;
            if let Some(number) = sending.begin(&self.sends, self.packed_bytes) {
                let message = &self.sends[number];
                if let Some(runs) = &message.in_place {
                    pending.send_in_place(number, message.partner, runs);
                } else {
                    let mut packed = buffers.take(message.bytes);
                    let round = &self.member.rounds()[message.round];
                    finished = finished.and(self.member.pack(round, source, &mut packed));
                    pending.send(number, message.partner, packed);
                }
            } else if !copied {
                finished = finished.and(self.member.copy(source, pending.destination()));
                copied = true;
            } else if pending.is_empty() {
                return Ok(finished?);
            } else {
                wait = true;
            }
            for CompletedMessage { number, sent, message } in pending.completed(wait)? {
                if sent {
                    sending.end(&self.sends[number]);
                } else {
                    let received = &self.receives[number];
                    receiving.end(received);
                    if let Some(message) = &message {
                        let round = &self.member.rounds()[received.round];
                        let unpacked = self.member.unpack(round, message, pending.destination());
                        finished = finished.and(unpacked);
                    }
                }
                buffers.0.extend(message);
            }
        }
    }
}

/// The buffers of completed messages, which later messages use again.
#[derive(Default)]
struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut message = self.0.pop().unwrap_or_default();
        message.resize(bytes, 0);
        message
    }
}
