//! [`PendingMessages`]: the messages of one rank that are in transit.
#![allow(unsafe_code)]

use std::{ffi::c_int, marker::PhantomData};

use mpi_sys::{
    MPI_Aint, MPI_Datatype, MPI_ERR_IN_STATUS, MPI_Irecv, MPI_Isend, MPI_Request, MPI_SUCCESS,
    MPI_Status, MPI_Testsome, MPI_Type_commit, MPI_Type_create_hvector, MPI_Type_free,
    MPI_Waitsome, RSMPI_UINT8_T,
};

use super::{MpiError, World, world::done};
use crate::reshard::Runs;

/// An MPI datatype that describes runs of bytes in a shard's memory, with which MPI can send them
/// without packing.
#[derive(Debug)]
pub(super) struct Vector {
    offset: usize,
    end: usize,
    count: c_int,
    datatype: MPI_Datatype,
    /// True if this value created the datatype and must free it.
    own: bool,
}

impl Vector {
    pub(super) fn new(runs: &Runs) -> Result<Self, MpiError> {
        // SAFETY: This is a constant of the library.
        let byte = unsafe { RSMPI_UINT8_T };
        let (offset, end) = (runs.offset, runs.end());
        let mut vector = Self { offset, end, count: int(runs.run), datatype: byte, own: false };
        for &(count, step) in runs.steps().iter().rev() {
            let step = MPI_Aint::try_from(step).unwrap_or(MPI_Aint::MAX);
            let mut outer = vector.datatype;
            // SAFETY: These types were created here and are not freed yet. An inner type may be
            // freed as soon as the outer type has been created from it.
            unsafe {
                let (inner, length) = (vector.datatype, vector.count);
                let code = MPI_Type_create_hvector(int(count), length, step, inner, &raw mut outer);
                done("MPI_Type_create_hvector", code)?;
                vector.free();
            }
            (vector.datatype, vector.count, vector.own) = (outer, 1, true);
        }
        if vector.own {
            // SAFETY: The type was created here.
            done("MPI_Type_commit", unsafe { MPI_Type_commit(&raw mut vector.datatype) })?;
        }
        Ok(vector)
    }

    fn free(&mut self) {
        if self.own {
            // SAFETY: The type was created here and is freed only once. Messages in transit keep it
            // alive.
            unsafe { MPI_Type_free(&raw mut self.datatype) };
            self.own = false;
        }
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        self.free();
    }
}

/// A message whose transfer is complete: it was received, or all of its bytes were sent.
#[derive(Debug)]
pub(super) struct CompletedMessage {
    /// The number by which the caller identifies the message.
    pub(super) number: usize,
    pub(super) sent: bool,
    /// The buffer of the message, for further use. `None` if the message was sent directly from the
    /// memory of a shard, or received directly into it.
    pub(super) message: Option<Vec<u8>>,
}

/// The messages of one rank that are in transit. The bytes of a message are either in the memory of
/// a shard or in a separate buffer.
///
/// MPI accesses these bytes until the message completes. If this value is dropped earlier, which
/// happens only after an MPI error, the program ends on all ranks.
#[derive(Debug)]
pub(super) struct PendingMessages<'a> {
    world: &'a World,
    source: &'a [u8],
    destination: *mut u8,
    length: usize,
    requests: Vec<MPI_Request>,
    /// The message of each request, at the same index.
    messages: Vec<CompletedMessage>,
    indices: Vec<c_int>,
    statuses: Vec<MPI_Status>,
    error: Option<MpiError>,
    _destination: PhantomData<&'a mut [u8]>,
}

impl<'a> PendingMessages<'a> {
    pub(super) fn new(world: &'a World, source: &'a [u8], destination: &'a mut [u8]) -> Self {
        Self {
            world,
            source,
            destination: destination.as_mut_ptr(),
            length: destination.len(),
            requests: Vec::new(),
            messages: Vec::new(),
            indices: Vec::new(),
            statuses: Vec::new(),
            error: None,
            _destination: PhantomData,
        }
    }

    /// Returns true if no message is in transit.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Returns the memory of the destination shard. The caller must not access bytes that a message
    /// in transit fills directly.
    pub(super) fn destination(&mut self) -> &mut [u8] {
        // SAFETY: The memory is borrowed for the lifetime of `self`. MPI writes to it only
        // inside functions that take `self` as mutable, or from outside the process. The bytes that
        // it writes are not accessed here: boxes of different messages share no element, and
        // elements of messages that are received in place are whole bytes.
        unsafe { std::slice::from_raw_parts_mut(self.destination, self.length) }
    }

    pub(super) fn send_in_place(&mut self, number: usize, to: u64, runs: &Vector) {
        assert!(runs.end <= self.source.len(), "the runs lie in the image");
        let start = self.source[runs.offset..].as_ptr();
        self.post_send(number, to, start, runs.count, runs.datatype, None);
    }

    pub(super) fn send(&mut self, number: usize, to: u64, message: Vec<u8>) {
        // SAFETY: This is a constant of the library.
        let byte = unsafe { RSMPI_UINT8_T };
        self.post_send(number, to, message.as_ptr(), int(message.len()), byte, Some(message));
    }

    /// Starts to send `count` elements of `datatype` from `start`. `start` points into the memory
    /// of the source shard, or into `message` if there is one. `number` identifies the message when
    /// it completes.
    fn post_send(
        &mut self,
        number: usize,
        to: u64,
        start: *const u8,
        count: c_int,
        datatype: MPI_Datatype,
        message: Option<Vec<u8>>,
    ) {
        // SAFETY: Until the request is complete, the bytes to send are borrowed by `self`, or owned
        // by `messages`, which does not move their buffer.
        self.post(
            "MPI_Isend",
            CompletedMessage { number, sent: true, message },
            |world, request| unsafe {
                MPI_Isend(start.cast(), count, datatype, int(to), 0, world.communicator(), request)
            },
        );
    }

    pub(super) fn receive_in_place(&mut self, number: usize, from: u64, runs: &Vector) {
        assert!(runs.end <= self.length, "the runs lie in the image");
        let start = self.destination.wrapping_add(runs.offset);
        self.post_receive(number, from, start, runs.count, runs.datatype, None);
    }

    /// Starts to receive a message from rank `from` into the buffer `message`, which must be as
    /// long as the message. `number` identifies the message when it completes.
    pub(super) fn receive(&mut self, number: usize, from: u64, mut message: Vec<u8>) {
        // SAFETY: This is a constant of the library.
        let byte = unsafe { RSMPI_UINT8_T };
        let (start, count) = (message.as_mut_ptr(), int(message.len()));
        self.post_receive(number, from, start, count, byte, Some(message));
    }

    /// Starts to receive `count` elements of `datatype` to `start`. `start` points into the memory
    /// of the destination shard, or into `message` if there is one.
    fn post_receive(
        &mut self,
        number: usize,
        from: u64,
        start: *mut u8,
        count: c_int,
        datatype: MPI_Datatype,
        message: Option<Vec<u8>>,
    ) {
        // SAFETY: As in `post_send`. The bytes belong to this message alone and are not accessed
        // before the request is complete.
        self.post(
            "MPI_Irecv",
            CompletedMessage { number, sent: false, message },
            |world, request| unsafe {
                MPI_Irecv(
                    start.cast(),
                    count,
                    datatype,
                    int(from),
                    0,
                    world.communicator(),
                    request,
                )
            },
        );
    }

    fn post(
        &mut self,
        function: &'static str,
        message: CompletedMessage,
        start: impl FnOnce(&World, *mut MPI_Request) -> c_int,
    ) {
        // SAFETY: This is a constant of the library.
        let mut request = unsafe { mpi_sys::RSMPI_REQUEST_NULL };
        match done(function, start(self.world, &raw mut request)) {
            Ok(()) => {
                self.requests.push(request);
                self.messages.push(message);
            }
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }

    /// Returns the messages that have completed since the last call. If `wait` is true and messages
    /// are in transit, waits until at least one completes.
    pub(super) fn completed(&mut self, wait: bool) -> Result<Vec<CompletedMessage>, MpiError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let count = self.requests.len();
        self.indices.resize(count, 0);
        // SAFETY: A status consists of a few numbers, for which zero is a valid value.
        self.statuses.resize(count, unsafe { std::mem::zeroed() });
        let mut found = 0;
        let (function, call) = if wait {
            ("MPI_Waitsome", MPI_Waitsome as unsafe extern "C" fn(_, _, _, _, _) -> _)
        } else {
            ("MPI_Testsome", MPI_Testsome as unsafe extern "C" fn(_, _, _, _, _) -> _)
        };
        // SAFETY: Both lists have `count` entries.
        let code = unsafe {
            let (indices, statuses) = (self.indices.as_mut_ptr(), self.statuses.as_mut_ptr());
            call(int(count), self.requests.as_mut_ptr(), &raw mut found, indices, statuses)
        };
        // If there are no requests, the number found is `MPI_UNDEFINED`, which is negative.
        let found = usize::try_from(found).unwrap_or(0);
        if code == MPI_ERR_IN_STATUS.cast_signed() {
            for status in &self.statuses[..found] {
                if status.MPI_ERROR != MPI_SUCCESS.cast_signed() {
                    self.error = done(function, status.MPI_ERROR).err();
                }
            }
        }
        if let Err(error) = done(function, code) {
            return Err(self.error.get_or_insert(error).clone());
        }
        self.indices.truncate(found);
        // Remove entries from the last to the first, so that earlier indices stay valid.
        self.indices.sort_unstable();
        let completed = self.indices.iter().rev().map(|&index| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            self.requests.swap_remove(index);
            self.messages.swap_remove(index)
        });
        Ok(completed.collect())
    }
}

impl Drop for PendingMessages<'_> {
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            let reason =
                self.error.as_ref().map_or_else(|| "a panic".to_owned(), MpiError::to_string);
            self.world.abort(&reason);
        }
    }
}

/// Converts a number to an `int` for MPI. This cannot fail, because messages have at most 1 MiB,
/// and ranks are `int`s in MPI itself.
fn int(number: impl TryInto<c_int>) -> c_int {
    number.try_into().unwrap_or_else(|_| unreachable!("messages are at most 1 MiB"))
}
