//! [`Member`]: performs one device's part of a reshard: packs, sends, receives and unpacks messages
//! over any transport.

use super::{
    Engine, RankPlan, ReshardError, Round, RunError, Runs, Shards, Transfer,
    message::{pack, runs, unpack, write_padding},
    plan::element_bytes,
    rank_plan, rounds,
    shards::Shard,
    split,
};
use crate::{
    host::{HostError, zeroed},
    nest::Operand,
    shape::{Layout, Shape},
    sharding::{Placement, Region},
    stride::StrideDescriptor,
};

/// The maximum size of one piece of a local copy, in bytes. Each piece is packed into a buffer and
/// then unpacked from it, so the buffer should be small enough to stay in the cache.
const COPY_BYTES: u64 = 1 << 20;

/// One device's part of a reshard: its transfers, and the shapes of its source and destination
/// shards.
///
/// Elements that the device already holds are copied locally, without a message.
///
/// ```
/// use std::collections::HashMap;
/// use stridec::{reshard::{Engine, Member, Shards}, sharding::Sharding};
///
/// /// A transport for a device that has no peers.
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
    /// The shape of the destination shard. A shard without elements has no `destination`, but it
    /// still has a shape, and its memory may contain padding.
    destination_shape: Option<Shape>,
    source_bytes: u64,
    destination_bytes: u64,
    /// The order of dimensions in messages. It equals the order in the destination's memory, so
    /// that the receiver writes long contiguous runs.
    order: Layout,
    part: RankPlan,
    rounds: Vec<Round>,
    element_bytes: u64,
    /// The maximum number of elements in one piece of a local copy.
    copy_elements: usize,
}

impl Member {
    /// Plans the part of `device` in a reshard of `array`. `from` and `to` are the placements
    /// before and after the reshard, each with the memory layout of its shards. If `staging_bytes`
    /// is given, the messages of the device occupy at most that number of bytes at any time.
    ///
    /// # Errors
    ///
    /// Returns an error if a layout does not match a shard, or if `staging_bytes` is less than the
    /// size of two elements.
    pub fn new(
        array: &Shape,
        (from, source): (&Placement, &Shards),
        (to, destination): (&Placement, &Shards),
        device: u64,
        staging_bytes: Option<u64>,
    ) -> Result<Self, ReshardError> {
        let part = rank_plan(from, to, device)?;
        let element_bytes = element_bytes(array)?;
        let devices = from.devices().max(to.devices());
        let staging = staging_bytes.unwrap_or(i64::MAX.unsigned_abs());
        let destination_shape = destination.shape(array, to, device)?;
        let bytes = |shape: &Option<Shape>| match shape {
            Some(shape) => StrideDescriptor::try_from(shape).map(|shard| shard.image_bytes()),
            None => Ok(0),
        };
        // Transfers that are too large for a message are cut along the most major dimension of the
        // destination's memory, so that the contiguous runs in that memory stay long.
        let order = destination.order(array);
        let cut = |list: &[Transfer]| list.iter().map(|of| reordered(of, &order, true)).collect();
        let cut = RankPlan { sends: cut(&part.sends), receives: cut(&part.receives), copy: None };
        let mut rounds = rounds(&cut, device, devices, element_bytes, staging)?;
        for round in &mut rounds {
            for transfer in round.sends.iter_mut().chain(&mut round.receives) {
                *transfer = reordered(transfer, &order, false);
            }
        }
        Ok(Self {
            source: Shard::new(source, array, from, device)?,
            order,
            destination: Shard::new(destination, array, to, device)?,
            source_bytes: bytes(&source.shape(array, from, device)?)?,
            destination_bytes: bytes(&destination_shape)?,
            destination_shape,
            rounds,
            part,
            element_bytes,
            copy_elements: usize::try_from(
                staging.min(COPY_BYTES.max(element_bytes)) / element_bytes,
            )
            .unwrap_or(usize::MAX),
        })
    }

    /// Returns the rounds in which the device takes part, in order. A message is sent and received
    /// in rounds with the same [number](Round::number).
    #[must_use]
    pub fn rounds(&self) -> &[Round] {
        &self.rounds
    }

    /// Returns the size of the destination shard's memory in bytes, or `None` if the device has no
    /// destination shard.
    #[must_use]
    pub fn destination_bytes(&self) -> Option<u64> {
        self.destination_shape.as_ref().map(|_| self.destination_bytes)
    }

    /// Begins the reshard: allocates the memory of the destination shard, writes its padding, and
    /// copies the elements that the device already holds. Returns `None` if the device has no
    /// destination shard.
    ///
    /// # Errors
    ///
    /// Returns an error if `source` is not the memory of the device's source shard, if a layout
    /// cannot be expressed with strides, or if there is not enough memory.
    pub fn begin(&self, source: &[u8]) -> Result<Option<Vec<u8>>, ReshardError> {
        let Some(bytes) = self.destination_bytes() else { return Ok(None) };
        let mut image = zeroed(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        self.pad(&mut image)?;
        self.copy(source, &mut image)?;
        Ok(Some(image))
    }

    /// Checks that `source` and `destination` have the lengths of the device's two shards. If the
    /// device lacks one of the shards, the buffer in its place must be empty.
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer has the wrong length.
    pub fn check(&self, source: &[u8], destination: &[u8]) -> Result<(), ReshardError> {
        for (operand, given, expected) in [
            (Operand::Source(0), source.len(), self.source_bytes),
            (Operand::Destination, destination.len(), self.destination_bytes),
        ] {
            if given as u64 != expected {
                return Err(HostError::Length { operand, given, expected }.into());
            }
        }
        Ok(())
    }

    /// Writes the padding of the destination shard into `image`, the shard's memory. Call this
    /// while the memory is still all zeros, because elements written before could be overwritten.
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer has the wrong length.
    pub fn pad(&self, image: &mut [u8]) -> Result<(), ReshardError> {
        match &self.destination_shape {
            Some(shape) => write_padding(shape, image),
            None => Ok(()),
        }
    }

    /// Copies the elements that stay on the device from `source`, the memory of its source shard,
    /// to `image`, the memory of its destination shard.
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer has the wrong length.
    pub fn copy(&self, source: &[u8], image: &mut [u8]) -> Result<(), ReshardError> {
        let (Some(region), Some(from), Some(to)) =
            (&self.part.copy, &self.source, &self.destination)
        else {
            return Ok(());
        };
        let mut parts = Vec::new();
        let elements = region.elements();
        for start in (0..elements).step_by(self.copy_elements) {
            let limit = elements.min(start.saturating_add(self.copy_elements as u64));
            let along = along_memory(region, &self.order, true);
            split::each_part(&along, start, limit, &mut |part| {
                parts.push(along_memory(&part, &self.order, false));
            });
        }
        let mut message = Vec::new();
        for part in parts {
            message.resize(self.bytes(part.elements()), 0);
            pack(from, &part, &self.order, source, &mut message)?;
            unpack(to, &part, &self.order, &message, image)?;
        }
        Ok(())
    }

    /// Returns the length of the message that the device sends in `round`, in bytes, or 0 if it
    /// sends no message.
    #[must_use]
    pub fn sent_bytes(&self, round: &Round) -> usize {
        self.message_bytes(&round.sends)
    }

    /// Returns the length of the message that the device receives in `round`, in bytes, or 0 if it
    /// receives no message.
    #[must_use]
    pub fn received_bytes(&self, round: &Round) -> usize {
        self.message_bytes(&round.receives)
    }

    /// Returns the contiguous runs of the source shard's memory that make up the message sent in
    /// `round`, so that a transport can send them directly. Returns `None` if there is no message,
    /// or if the message must be packed first.
    ///
    /// # Errors
    ///
    /// Returns an error if a layout cannot be expressed with strides.
    pub fn sent_runs(&self, round: &Round) -> Result<Option<Runs>, ReshardError> {
        self.runs(self.source.as_ref(), &round.sends)
    }

    /// Returns the contiguous runs of the destination shard's memory that the message received in
    /// `round` fills, so that a transport can write to them directly. Returns `None` if there is no
    /// message, or if the message must be unpacked.
    ///
    /// # Errors
    ///
    /// Returns an error if a layout cannot be expressed with strides.
    pub fn received_runs(&self, round: &Round) -> Result<Option<Runs>, ReshardError> {
        self.runs(self.destination.as_ref(), &round.receives)
    }

    /// Packs the message that the device sends in `round` into `message`, whose length must be at
    /// least [`sent_bytes`](Self::sent_bytes). Bytes after the packed message stay unchanged.
    ///
    /// # Errors
    ///
    /// Returns an error if `source` is not the memory of the device's source shard.
    ///
    /// # Panics
    ///
    /// Panics if `message` is too short.
    pub fn pack(
        &self,
        round: &Round,
        source: &[u8],
        message: &mut [u8],
    ) -> Result<(), ReshardError> {
        let Some(shard) = &self.source else { return Ok(()) };
        let mut rest = message;
        for Transfer { region, .. } in &round.sends {
            let (part, after) = rest.split_at_mut(self.bytes(region.elements()));
            pack(shard, region, &self.order, source, part)?;
            rest = after;
        }
        Ok(())
    }

    /// Copies the elements of a received message to `destination`, the memory of the destination
    /// shard. Only the first [`received_bytes`](Self::received_bytes) bytes of `message` are used.
    ///
    /// # Errors
    ///
    /// Returns an error if `destination` is not the memory of the device's destination shard.
    ///
    /// # Panics
    ///
    /// Panics if `message` is too short.
    pub fn unpack(
        &self,
        round: &Round,
        message: &[u8],
        destination: &mut [u8],
    ) -> Result<(), ReshardError> {
        let Some(shard) = &self.destination else { return Ok(()) };
        let mut rest = message;
        for Transfer { region, .. } in &round.receives {
            let (part, after) = rest.split_at(self.bytes(region.elements()));
            unpack(shard, region, &self.order, part, destination)?;
            rest = after;
        }
        Ok(())
    }

    /// Packs the message of `round` and sends it through `engine`. Does nothing if the device sends
    /// no message in this round.
    ///
    /// # Errors
    ///
    /// Returns an error if `source` is not the memory of the device's source shard, or if the
    /// engine fails.
    pub fn send<E: Engine>(
        &self,
        round: &Round,
        source: &[u8],
        engine: &mut E,
    ) -> Result<(), RunError<E::Error>> {
        let Some(first) = round.sends.first() else { return Ok(()) };
        let mut message = zeroed(self.sent_bytes(round)).map_err(ReshardError::from)?;
        self.pack(round, source, &mut message)?;
        engine.send(first.to, message).map_err(RunError::Engine)
    }

    /// Receives the message of `round` through `engine` and unpacks it into `destination`. Does
    /// nothing if the device receives no message in this round.
    ///
    /// # Errors
    ///
    /// Returns an error if `destination` is not memory that [`Member::begin`] created, or if the
    /// engine fails.
    pub fn receive<E: Engine>(
        &self,
        round: &Round,
        destination: &mut [u8],
        engine: &mut E,
    ) -> Result<(), RunError<E::Error>> {
        let Some(first) = round.receives.first() else { return Ok(()) };
        let mut message = zeroed(self.received_bytes(round)).map_err(ReshardError::from)?;
        engine.receive(first.from, &mut message).map_err(RunError::Engine)?;
        Ok(self.unpack(round, &message, destination)?)
    }

    /// Performs the device's entire part of the reshard, and returns the memory of its destination
    /// shard. The result is empty if the device has no destination shard.
    ///
    /// # Errors
    ///
    /// Returns an error if `source` is not the memory of the device's source shard, or if the
    /// engine fails.
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

    fn message_bytes(&self, transfers: &[Transfer]) -> usize {
        transfers.iter().map(|transfer| self.bytes(transfer.region.elements())).sum()
    }

    /// Returns the contiguous runs of a shard's memory that make up a message. Returns `None` if
    /// the message has several transfers or is not a box, or if the runs cannot be described with
    /// constant strides.
    fn runs(
        &self,
        shard: Option<&Shard>,
        transfers: &[Transfer],
    ) -> Result<Option<Runs>, ReshardError> {
        match (shard, transfers) {
            (Some(shard), [transfer]) => runs(shard, &transfer.region, &self.order),
            _ => Ok(None),
        }
    }
}

/// Reorders the dimensions of a region. If `to_memory` is true, the result has them in memory
/// order, major to minor; otherwise, `region` is in memory order, and the result in logical order.
fn along_memory(region: &Region, order: &Layout, to_memory: bool) -> Region {
    let mut dimensions: Vec<usize> = order.minor_to_major.iter().rev().copied().collect();
    if !to_memory {
        let order = dimensions.clone();
        for (at, dimension) in order.into_iter().enumerate() {
            dimensions[dimension] = at;
        }
    }
    region.permuted(&dimensions)
}

/// Reorders the dimensions of a transfer's region, as [`along_memory`] does.
fn reordered(transfer: &Transfer, order: &Layout, to_memory: bool) -> Transfer {
    Transfer { region: along_memory(&transfer.region, order, to_memory), ..*transfer }
}
