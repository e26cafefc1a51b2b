//! [`Member`]: one device in a reshard, whatever carries the messages.

use super::{
    Engine, RankPlan, Round, RunError, Shards, Transfer,
    message::{pack, unpack, zeros},
    plan::element_bytes,
    rank_plan, rounds,
    shards::Shard,
    split::run,
};
use crate::{error::Error, shape::Shape, sharding::Placement};

/// One device in a reshard: its part of the plan, and its two shards.
///
/// It holds its shards and the messages of one round. What it has and wants is copied without a message.
///
/// ```
/// use std::collections::HashMap;
/// use stridec::{reshard::{Engine, Member, Shards}, sharding::Sharding};
///
/// /// A transport is two functions; here is one to a device that is alone.
/// struct Alone;
/// impl Engine for Alone {
///     type Error = std::io::Error;
///     fn send(&mut self, _to: u64, _message: Vec<u8>) -> std::io::Result<()> {
///         Ok(())
///     }
///     fn receive(&mut self, _from: u64, _message: &mut [u8]) -> std::io::Result<()> {
///         Err(std::io::ErrorKind::NotConnected.into())
///     }
/// }
///
/// let shape = "u8[2,3]".parse()?;
/// let one = Sharding::replicated().place(&shape, Some(1))?;
/// let columns = Shards { layout: Some("{0,1}".parse()?), ..Shards::default() };
/// let member = Member::new(&shape, (&one, &Shards::default()), (&one, &columns), 0, None)?;
/// assert_eq!(member.run(b"abcdef", &mut Alone)?, b"adbecf");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Member {
    source: Option<Shard>,
    destination: Option<Shard>,
    /// The shape of the destination's shard, which may have no element of the array.
    destination_shape: Option<Shape>,
    part: RankPlan,
    rounds: Vec<Round>,
    element_bytes: u64,
    /// The elements of a part of a copy.
    most: usize,
}

impl Member {
    /// The part of `device` in the reshard of an array from one placement and memory layout to another, with at most
    /// `staging_bytes` in messages at a time.
    ///
    /// # Errors
    ///
    /// Where a layout does not fit a shard, or the bound of the messages is less than two elements.
    pub fn new(
        array: &Shape,
        (from, source): (&Placement, &Shards),
        (to, destination): (&Placement, &Shards),
        device: u64,
        staging_bytes: Option<u64>,
    ) -> Result<Self, Error> {
        let part = rank_plan(from, to, device)?;
        let element_bytes = element_bytes(array)?;
        let devices = from.devices().max(to.devices());
        let staging = staging_bytes.unwrap_or(i64::MAX.unsigned_abs());
        Ok(Self {
            source: Shard::new(source, array, from, device)?,
            destination: Shard::new(destination, array, to, device)?,
            destination_shape: destination.shape(array, to, device)?,
            rounds: rounds(&part, device, devices, element_bytes, staging)?,
            part,
            element_bytes,
            most: usize::try_from(staging / element_bytes).unwrap_or(usize::MAX),
        })
    }

    /// The device's rounds, in order. Rounds of one number belong together.
    #[must_use]
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// The image of the destination's shard with what the device had already; `None` where it has no shard there.
    ///
    /// # Errors
    ///
    /// Where `source` is not the image of the device's shard, or a layout has no strides.
    pub fn begin(&self, source: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let Some(shape) = &self.destination_shape else { return Ok(None) };
        let mut image = zeros(shape)?;
        if let (Some(region), Some(from), Some(to)) =
            (&self.part.copy, &self.source, &self.destination)
        {
            let mut parts = Vec::new();
            let elements = region.elements();
            for start in (0..elements).step_by(self.most) {
                let limit = elements.min(start.saturating_add(self.most as u64));
                run(region, start, limit, &mut |part| parts.push(part));
            }
            for part in parts {
                let mut message = self.message(std::iter::once(part.elements()));
                pack(from, &part, source, &mut message)?;
                unpack(to, &part, &message, &mut image)?;
            }
        }
        Ok(Some(image))
    }

    /// Packs and sends what the device sends in a round.
    ///
    /// # Errors
    ///
    /// Where `source` is not the image of the device's shard, or the engine fails.
    pub fn send<E: Engine>(
        &self,
        round: &Round,
        source: &[u8],
        engine: &mut E,
    ) -> Result<(), RunError<E::Error>> {
        let (Some(first), Some(shard)) = (round.sends.first(), &self.source) else {
            return Ok(());
        };
        let mut message = self.message(round.sends.iter().map(|send| send.region.elements()));
        let mut rest = &mut message[..];
        for Transfer { region, .. } in &round.sends {
            let (part, after) = rest.split_at_mut(self.bytes(region.elements()));
            pack(shard, region, source, part)?;
            rest = after;
        }
        engine.send(first.to, message).map_err(RunError::Engine)
    }

    /// Receives what the device receives in a round, and puts it in its place.
    ///
    /// # Errors
    ///
    /// Where `destination` is not what [`Member::begin`] made, or the engine fails.
    pub fn receive<E: Engine>(
        &self,
        round: &Round,
        destination: &mut [u8],
        engine: &mut E,
    ) -> Result<(), RunError<E::Error>> {
        let (Some(first), Some(shard)) = (round.receives.first(), &self.destination) else {
            return Ok(());
        };
        let mut message = self.message(round.receives.iter().map(|part| part.region.elements()));
        engine.receive(first.from, &mut message).map_err(RunError::Engine)?;
        let mut rest = &message[..];
        for Transfer { region, .. } in &round.receives {
            let (part, after) = rest.split_at(self.bytes(region.elements()));
            unpack(shard, region, part, destination)?;
            rest = after;
        }
        Ok(())
    }

    /// Runs the device's part from the image of its shard to that of its other shard, which is empty where it has none.
    ///
    /// # Errors
    ///
    /// Where `source` is not the image of the device's shard, or the engine fails.
    pub fn run<E: Engine>(
        &self,
        source: &[u8],
        engine: &mut E,
    ) -> Result<Vec<u8>, RunError<E::Error>> {
        let mut image = self.begin(source)?.unwrap_or_default();
        for round in &self.rounds {
            self.send(round, source, engine)?;
            self.receive(round, &mut image, engine)?;
        }
        Ok(image)
    }

    fn bytes(&self, elements: u64) -> usize {
        usize::try_from(elements * self.element_bytes).unwrap_or(usize::MAX)
    }

    fn message(&self, elements: impl Iterator<Item = u64>) -> Vec<u8> {
        vec![0; elements.map(|elements| self.bytes(elements)).sum()]
    }
}
