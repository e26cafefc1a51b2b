//! [`simulate`]: performs a reshard with all devices in one process, for tests and for shards that
//! are stored in files.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    convert::Infallible,
};

use super::{Engine, Member, ReshardError, Round, RunError, Shards};
use crate::{shape::Shape, sharding::Placement};

/// Performs a reshard with all devices in this process, each with its own memory. In each round,
/// all devices send before any device receives, so that no message is awaited before it is sent.
/// Devices without a part before and after take neither time nor memory.
///
/// `sources` maps each device to the memory of its source shard. The result maps each device to the
/// memory of its destination shard. `staging_bytes` limits the memory for each device's messages,
/// as in [`Member::new`].
///
/// ```
/// use std::collections::BTreeMap;
/// use stridec::{reshard::{Shards, simulate}, sharding::Sharding};
/// let shape = "u8[2,3]".parse()?;
/// let rows = "{devices=[2,1]<=[2]}".parse::<Sharding>()?.place(&shape, None)?;
/// let columns = "{devices=[1,3]<=[3]}".parse::<Sharding>()?.place(&shape, None)?;
/// let shards = Shards::default();
/// let sources = BTreeMap::from([(0, &b"abc"[..]), (1, b"def")]);
/// let moved = simulate(&shape, (&rows, &shards), (&columns, &shards), None, &sources)?;
/// assert_eq!(moved[&2], b"cf");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if a layout does not match a shard, or if a buffer has the wrong length.
pub fn simulate(
    array: &Shape,
    from: (&Placement, &Shards),
    to: (&Placement, &Shards),
    staging_bytes: Option<u64>,
    sources: &BTreeMap<u64, &[u8]>,
) -> Result<BTreeMap<u64, Vec<u8>>, ReshardError> {
    let devices: BTreeSet<u64> = from.0.owners().chain(to.0.owners()).collect();
    let source = |device: u64| sources.get(&device).copied().unwrap_or_default();
    let (mut members, mut images) = (Vec::new(), BTreeMap::new());
    for device in devices {
        let member = Member::new(array, from, to, device, staging_bytes)?;
        images.extend(member.begin(source(device))?.map(|image| (device, image)));
        members.push((device, member));
    }
    let numbers: BTreeSet<(u64, u64)> =
        members.iter().flat_map(|(_, member)| member.rounds()).map(|round| round.number).collect();
    let mut rounds: Vec<_> =
        members.iter().map(|(_, member)| member.rounds().iter().peekable()).collect();
    let mut post = Mailbox::default();
    for number in numbers {
        let mut now: Vec<(&(u64, Member), &Round)> = Vec::new();
        for (member, rounds) in members.iter().zip(&mut rounds) {
            now.extend(rounds.next_if(|round| round.number == number).map(|round| (member, round)));
        }
        for ((device, member), round) in &now {
            post.device = *device;
            member.send(round, source(*device), &mut post).map_err(never)?;
        }
        for ((device, member), round) in now {
            post.device = *device;
            let image = images.get_mut(device).map_or(&mut [][..], |image| image);
            member.receive(round, image, &mut post).map_err(never)?;
        }
    }
    Ok(images)
}

/// The messages that were sent but not received yet, and the device that is now sending or
/// receiving.
#[derive(Default)]
struct Mailbox {
    device: u64,
    boxes: HashMap<(u64, u64), VecDeque<Vec<u8>>>,
}

impl Engine for Mailbox {
    type Error = Infallible;

    fn send(&mut self, to: u64, message: Vec<u8>) -> Result<(), Infallible> {
        self.boxes.entry((self.device, to)).or_default().push_back(message);
        Ok(())
    }

    fn receive(&mut self, from: u64, message: &mut [u8]) -> Result<(), Infallible> {
        let sent = self.boxes.get_mut(&(from, self.device)).and_then(VecDeque::pop_front);
        let sent = sent.expect("both sides of a round are cut alike");
        message.copy_from_slice(&sent);
        Ok(())
    }
}

fn never(error: RunError<Infallible>) -> ReshardError {
    match error {
        RunError::Shard(error) => error,
        RunError::Engine(never) => match never {},
    }
}
