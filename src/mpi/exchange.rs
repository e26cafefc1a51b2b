//! [`Exchange`]: one rank's part of a reshard.

use super::{
    MpiError, World,
    pending::{Landed, PendingMessages, Vector},
};
use crate::{
    reshard::{Member, Runs, Shards},
    shape::Shape,
    sharding::Placement,
};

/// Runs from this length on, in bytes, are left to MPI's vector types; shorter ones are packed, and unpacked, here.
const LONG_RUN: usize = 1 << 10;

/// The most messages on the way in one direction.
const MOST_MESSAGES: usize = 256;

/// The most bytes that packed messages take at a time. Some that stay in a cache are faster than large ones.
const MOST_STAGING: u64 = 8 << 20;

/// The most bytes of a message.
const MOST_BYTES: u64 = 1 << 20;

/// One rank's part of a reshard.
///
/// Receives are posted first, and messages are packed while others are on the way. A message that is one run of a shard, or long
/// runs, is sent from where it lies, or received where it belongs; the others have memory of their own.
#[derive(Debug)]
pub struct Exchange<'a> {
    world: &'a World,
    member: Member,
    /// The most bytes of messages with memory of their own, in one direction.
    most: usize,
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

    /// What the message takes of the memory for packed ones.
    fn staged(&self) -> usize {
        if self.in_place.is_some() { 0 } else { self.bytes }
    }
}

/// The messages of one direction: those not begun, and how many are on the way.
#[derive(Default)]
struct Queue {
    next: usize,
    under_way: usize,
    staged: usize,
}

impl Queue {
    /// The number of the next message to begin, in order, as long as there is room for it.
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
    /// This rank's part in the reshard of an array from one placement and memory layout to another, with at most 8 MiB, or
    /// `staging_bytes`, in messages that are packed. All ranks must give the same.
    ///
    /// # Errors
    ///
    /// Where there are not as many ranks as devices, a layout does not fit a shard, or the bound of the messages is less than
    /// two elements.
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
        // Two messages in each direction; few bytes, two elements of 16 bytes at most, are enough for one.
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
        let most = usize::try_from(staging / 2).unwrap_or(usize::MAX);
        Ok(Self { world, member, most, sends, receives })
    }

    /// The length of the image of the destination's shard; `None` where this rank has none.
    #[must_use]
    pub fn destination_bytes(&self) -> Option<u64> {
        self.member.destination_bytes()
    }

    /// Moves this rank's part, from the image of its shard to that of its other shard, which is all zeros; an image is empty
    /// where the rank has no shard. All ranks must call it.
    ///
    /// Where MPI fails while messages are on the way, it prints the reason and ends the program of all ranks.
    ///
    /// # Errors
    ///
    /// Where an image has another length than its shard. The other ranks finish their parts, with what this one has.
    pub fn run(&self, source: &[u8], destination: &mut [u8]) -> Result<(), MpiError> {
        self.member.check(source, destination)?;
        self.member.pad(destination)?;
        let mut flight = PendingMessages::new(self.world, source, destination);
        let (mut sending, mut receiving) = (Queue::default(), Queue::default());
        let mut memory = BufferPool::default();
        // Messages that the other ranks wait for go out whatever fails here.
        let mut finished = Ok(());
        let mut copied = false;
        loop {
            while let Some(number) = receiving.begin(&self.receives, self.most) {
                let message = &self.receives[number];
                match &message.in_place {
                    Some(runs) => flight.receive_in_place(number, message.partner, runs),
                    None => flight.receive(number, message.partner, memory.take(message.bytes)),
                }
            }
            let mut wait = false;
            if let Some(number) = sending.begin(&self.sends, self.most) {
                let message = &self.sends[number];
                if let Some(runs) = &message.in_place {
                    flight.send_in_place(number, message.partner, runs);
                } else {
                    let mut packed = memory.take(message.bytes);
                    let round = &self.member.rounds()[message.round];
                    finished = finished.and(self.member.pack(round, source, &mut packed));
                    flight.send(number, message.partner, packed);
                }
            } else if !copied {
                finished = finished.and(self.member.copy(source, flight.destination()));
                copied = true;
            } else if flight.is_empty() {
                return Ok(finished?);
            } else {
                wait = true;
            }
            for Landed { number, sent, message } in flight.landed(wait)? {
                if sent {
                    sending.end(&self.sends[number]);
                } else {
                    let received = &self.receives[number];
                    receiving.end(received);
                    if let Some(message) = &message {
                        let round = &self.member.rounds()[received.round];
                        let unpacked = self.member.unpack(round, message, flight.destination());
                        finished = finished.and(unpacked);
                    }
                }
                memory.0.extend(message);
            }
        }
    }
}

/// The memory of messages that have arrived, for those to come.
#[derive(Default)]
struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut message = self.0.pop().unwrap_or_default();
        message.resize(bytes, 0);
        message
    }
}
