//! [`PendingMessages`]: messages in transit between the images of two shards.
#![allow(unsafe_code)]

use std::{ffi::c_int, marker::PhantomData};

use mpi_sys::{
    MPI_Aint, MPI_Datatype, MPI_ERR_IN_STATUS, MPI_Irecv, MPI_Isend, MPI_Request, MPI_SUCCESS,
    MPI_Status, MPI_Testsome, MPI_Type_commit, MPI_Type_create_hvector, MPI_Type_free,
    MPI_Waitsome, RSMPI_UINT8_T,
};

use super::{MpiError, World, world::done};
use crate::reshard::Runs;

/// Runs of bytes as an MPI datatype.
#[derive(Debug)]
pub(super) struct Vector {
    offset: usize,
    end: usize,
    count: c_int,
    datatype: MPI_Datatype,
    /// True if the datatype was created here and must be freed.
    own: bool,
}

impl Vector {
    pub(super) fn new(runs: &Runs) -> Result<Self, MpiError> {
        // SAFETY: a constant of the library.
        let byte = unsafe { RSMPI_UINT8_T };
        let (offset, end) = (runs.offset, runs.end());
        let mut vector = Self { offset, end, count: int(runs.run), datatype: byte, own: false };
        for &(count, step) in runs.steps().iter().rev() {
            let step = MPI_Aint::try_from(step).unwrap_or(MPI_Aint::MAX);
            let mut outer = vector.datatype;
            // SAFETY: the types were made here and not freed. An inner type may be freed once an
            // outer one is made of it.
            unsafe {
                let (inner, length) = (vector.datatype, vector.count);
                let code = MPI_Type_create_hvector(int(count), length, step, inner, &raw mut outer);
                done("MPI_Type_create_hvector", code)?;
                vector.free();
            }
            (vector.datatype, vector.count, vector.own) = (outer, 1, true);
        }
        if vector.own {
            // SAFETY: a type that was made here.
            done("MPI_Type_commit", unsafe { MPI_Type_commit(&raw mut vector.datatype) })?;
        }
        Ok(vector)
    }

    fn free(&mut self) {
        if self.own {
            // SAFETY: the type was made here and not freed before. Messages in transit keep it.
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

/// A message that was received, or whose buffer may be reused after sending.
#[derive(Debug)]
pub(super) struct CompletedMessage {
    /// The number that the caller gave it.
    pub(super) number: usize,
    pub(super) sent: bool,
    /// Its buffer. `None` if the message was sent from, or received into, the image of a shard.
    pub(super) message: Option<Vec<u8>>,
}

/// Messages in transit from the image of one shard and into the image of another.
///
/// Dropping it while a message is in transit, after an MPI error, ends the program on all ranks:
/// MPI may still write into the memory of messages.
#[derive(Debug)]
pub(super) struct PendingMessages<'a> {
    world: &'a World,
    source: &'a [u8],
    destination: *mut u8,
    length: usize,
    requests: Vec<MPI_Request>,
    /// The message of each request.
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

    /// Returns the image of the destination. The caller must not touch bytes that a message
    /// received in place will fill.
    pub(super) fn destination(&mut self) -> &mut [u8] {
        // SAFETY: the image is borrowed for the lifetime of `self`. MPI writes into it only from
        // functions that take `self` as mutable, or from outside the process. The bytes that it
        // writes are neither read nor written here, since boxes of different messages share no
        // element, and elements of messages received in place are whole bytes.
        unsafe { std::slice::from_raw_parts_mut(self.destination, self.length) }
    }

    pub(super) fn send_in_place(&mut self, number: usize, to: u64, runs: &Vector) {
        assert!(runs.end <= self.source.len(), "the runs lie in the image");
        let start = self.source[runs.offset..].as_ptr();
        self.post_send(number, to, start, runs.count, runs.datatype, None);
    }

    pub(super) fn send(&mut self, number: usize, to: u64, message: Vec<u8>) {
        // SAFETY: a constant of the library.
        let byte = unsafe { RSMPI_UINT8_T };
        self.post_send(number, to, message.as_ptr(), int(message.len()), byte, Some(message));
    }

    /// Sends `count` elements of `datatype` from `start`, which is in the source or in `message`.
    fn post_send(
        &mut self,
        number: usize,
        to: u64,
        start: *const u8,
        count: c_int,
        datatype: MPI_Datatype,
        message: Option<Vec<u8>>,
    ) {
        // SAFETY: the bytes to send are borrowed by `self`, or kept in `messages`, where their
        // buffer does not move, until the request is complete.
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

    /// Receives a message of the length of `message`.
    pub(super) fn receive(&mut self, number: usize, from: u64, mut message: Vec<u8>) {
        // SAFETY: a constant of the library.
        let byte = unsafe { RSMPI_UINT8_T };
        let (start, count) = (message.as_mut_ptr(), int(message.len()));
        self.post_receive(number, from, start, count, byte, Some(message));
    }

    /// Receives `count` elements of `datatype` to `start`, which is in the destination or in
    /// `message`.
    fn post_receive(
        &mut self,
        number: usize,
        from: u64,
        start: *mut u8,
        count: c_int,
        datatype: MPI_Datatype,
        message: Option<Vec<u8>>,
    ) {
        // SAFETY: as in `post_send`. The bytes belong to this message alone, and are not accessed
        // before it is complete.
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
        // SAFETY: a constant of the library.
        let mut request = unsafe { mpi_sys::RSMPI_REQUEST_NULL };
        match done(function, start(self.world, &raw mut request)) {
            Ok(()) => {
                self.requests.push(request);
                self.messages.push(message);
            }
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }

    /// Returns the messages that are complete. If `wait` is set and any is in transit, it waits for
    /// at least one.
    pub(super) fn completed(&mut self, wait: bool) -> Result<Vec<CompletedMessage>, MpiError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let count = self.requests.len();
        self.indices.resize(count, 0);
        // SAFETY: a status is a few numbers, for which zeros are valid.
        self.statuses.resize(count, unsafe { std::mem::zeroed() });
        let mut found = 0;
        let (function, call) = if wait {
            ("MPI_Waitsome", MPI_Waitsome as unsafe extern "C" fn(_, _, _, _, _) -> _)
        } else {
            ("MPI_Testsome", MPI_Testsome as unsafe extern "C" fn(_, _, _, _, _) -> _)
        };
        // SAFETY: both lists have `count` entries.
        let code = unsafe {
            let (indices, statuses) = (self.indices.as_mut_ptr(), self.statuses.as_mut_ptr());
            call(int(count), self.requests.as_mut_ptr(), &raw mut found, indices, statuses)
        };
        // Without a request, the number found is `MPI_UNDEFINED`, which is negative.
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
        // Removed from the last to the first, so that earlier indices stay valid.
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

/// Converts a number to an `int` for MPI. Messages are at most 1 MiB, and ranks are counted in
/// `int`.
fn int(number: impl TryInto<c_int>) -> c_int {
    number.try_into().unwrap_or_else(|_| unreachable!("messages are at most 1 MiB"))
}
