//! [`World`]: the ranks that were started together.
#![allow(unsafe_code)]

use std::{ffi::c_int, marker::PhantomData, ptr};

use mpi_sys::{
    MPI_Abort, MPI_Allgather, MPI_Bcast, MPI_Comm, MPI_Comm_dup, MPI_Comm_free, MPI_Comm_rank,
    MPI_Comm_set_errhandler, MPI_Comm_size, MPI_Comm_split_type, MPI_Error_string, MPI_Finalize,
    MPI_Finalized, MPI_Init_thread, MPI_Initialized, MPI_MAX_ERROR_STRING, MPI_SUCCESS,
    RSMPI_COMM_NULL, RSMPI_COMM_TYPE_SHARED, RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN,
    RSMPI_INFO_NULL, RSMPI_THREAD_FUNNELED, RSMPI_UINT8_T, RSMPI_UINT64_T,
};

use super::MpiError;

/// The ranks that were started together, with a communicator that only this crate uses.
///
/// Ranks on one machine share its processors. Therefore a loop on the host uses only this rank's
/// share of the threads, if it starts on the thread that called [`join`](Self::join).
///
/// If `join` started MPI, dropping the world finalizes MPI. If the world is dropped during a panic,
/// the program ends on all ranks.
#[derive(Debug)]
pub struct World {
    communicator: MPI_Comm,
    rank: u64,
    size: u64,
    /// True if [`join`](Self::join) started MPI.
    started: bool,
    /// A thread pool with this rank's share of the machine's processors. The current thread belongs
    /// to the pool.
    threads: Option<rayon::ThreadPool>,
    /// Makes the type neither `Send` nor `Sync`, because MPI is called from one thread only.
    _one_thread: PhantomData<*const ()>,
}

impl World {
    /// Joins the ranks that were started together. Starts MPI, or uses the MPI that this process
    /// has already started.
    ///
    /// # Errors
    ///
    /// Returns an error if MPI cannot be started or was already finalized.
    pub fn join() -> Result<Self, MpiError> {
        let (mut initialized, mut finalized, mut level) = (0, 0, 0);
        let mut world = Self {
            // SAFETY: This is a constant of the library.
            communicator: unsafe { RSMPI_COMM_NULL },
            rank: 0,
            size: 0,
            started: false,
            threads: None,
            _one_thread: PhantomData,
        };
        let (mut rank, mut size) = (0, 0);
        // SAFETY: The pointers are to numbers that outlive the calls, or null because MPI gets no
        // arguments. `MPI_Finalized` and `MPI_Initialized` may be called at any time,
        // `MPI_Init_thread` is called before MPI starts, and the other functions are called while
        // it runs.
        unsafe {
            done("MPI_Finalized", MPI_Finalized(&raw mut finalized))?;
            if finalized != 0 {
                return Err(MpiError::Finalized);
            }
            done("MPI_Initialized", MPI_Initialized(&raw mut initialized))?;
            if initialized == 0 {
                let (none, level) = (ptr::null_mut(), &raw mut level);
                let code = MPI_Init_thread(none, ptr::null_mut(), RSMPI_THREAD_FUNNELED, level);
                done("MPI_Init_thread", code)?;
                world.started = true;
                let code = MPI_Comm_set_errhandler(RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN);
                done("MPI_Comm_set_errhandler", code)?;
            }
            let own = &raw mut world.communicator;
            done("MPI_Comm_dup", MPI_Comm_dup(RSMPI_COMM_WORLD, own))?;
            let code = MPI_Comm_set_errhandler(world.communicator, RSMPI_ERRORS_RETURN);
            done("MPI_Comm_set_errhandler", code)?;
            done("MPI_Comm_rank", MPI_Comm_rank(world.communicator, &raw mut rank))?;
            done("MPI_Comm_size", MPI_Comm_size(world.communicator, &raw mut size))?;
        }
        (world.rank, world.size) = (u64::from(rank.unsigned_abs()), u64::from(size.unsigned_abs()));
        let own = threads(world.ranks_here()?);
        // If the thread already belongs to a pool, it stays in that pool, and the error is ignored.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(own).use_current_thread().build();
        world.threads = pool.ok();
        Ok(world)
    }

    /// Returns the number of this rank, counted from 0, which is also the number of the rank's
    /// device.
    #[must_use]
    pub fn rank(&self) -> u64 {
        self.rank
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn communicator(&self) -> MPI_Comm {
        self.communicator
    }

    /// Returns the number of ranks on this machine.
    fn ranks_here(&self) -> Result<usize, MpiError> {
        let mut size = 0;
        // SAFETY: The communicator is used only between its creation and its release, and the
        // pointers are to local variables.
        unsafe {
            let mut here = RSMPI_COMM_NULL;
            let (own, kind) = (self.communicator, RSMPI_COMM_TYPE_SHARED);
            let code = MPI_Comm_split_type(own, kind, 0, RSMPI_INFO_NULL, &raw mut here);
            done("MPI_Comm_split_type", code)?;
            done("MPI_Comm_size", MPI_Comm_size(here, &raw mut size))?;
            done("MPI_Comm_free", MPI_Comm_free(&raw mut here))?;
        }
        Ok(usize::try_from(size).unwrap_or(1))
    }

    /// Sends `own` to all ranks, and returns the numbers that all ranks sent, in order of rank. All
    /// ranks must call this function.
    pub(super) fn all(&self, own: u64) -> Result<Vec<u64>, MpiError> {
        let mut all = vec![0_u64; usize::try_from(self.size).unwrap_or(usize::MAX)];
        // SAFETY: One number is sent, and the list has room for one number from each rank.
        let code = unsafe {
            let (from, to) = ((&raw const own).cast(), all.as_mut_ptr().cast());
            MPI_Allgather(from, 1, RSMPI_UINT64_T, to, 1, RSMPI_UINT64_T, self.communicator)
        };
        done("MPI_Allgather", code)?;
        Ok(all)
    }

    /// Copies `bytes` from the rank `root` to all other ranks. All ranks must call this function,
    /// with the same number of bytes.
    pub(super) fn broadcast(&self, root: u64, bytes: &mut [u8]) -> Result<(), MpiError> {
        let root = c_int::try_from(root).unwrap_or(c_int::MAX);
        for part in bytes.chunks_mut(1 << 30) {
            let length = c_int::try_from(part.len()).unwrap_or(c_int::MAX);
            // SAFETY: `length` is the length of `part`.
            let code = unsafe {
                let start = part.as_mut_ptr().cast();
                MPI_Bcast(start, length, RSMPI_UINT8_T, root, self.communicator)
            };
            done("MPI_Bcast", code)?;
        }
        Ok(())
    }

    /// Prints `reason` to stderr and ends the program on all ranks.
    pub fn abort(&self, reason: &str) -> ! {
        eprintln!("error: rank {}: {reason}", self.rank);
        // SAFETY: MPI runs until `self` is dropped.
        unsafe { MPI_Abort(self.communicator, 1) };
        std::process::abort()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort("a panic");
        }
        // SAFETY: Requests borrow the world, so none is in transit. Errors of these calls are
        // ignored, because nobody is left to handle them.
        unsafe {
            if self.communicator != RSMPI_COMM_NULL {
                MPI_Comm_free(&raw mut self.communicator);
            }
            if self.started {
                MPI_Finalize();
            }
        }
    }
}

/// Returns the number of threads that each rank may use if `ranks` ranks share this machine.
fn threads(ranks: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (processors / ranks.max(1)).max(1)
}

/// Converts the return code of an MPI function to a result. `function` is its name, for the error.
pub(super) fn done(function: &'static str, code: c_int) -> Result<(), MpiError> {
    if code == MPI_SUCCESS.cast_signed() {
        return Ok(());
    }
    let mut text = [0_u8; MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: The buffer has room for the longest message.
    let told = unsafe { MPI_Error_string(code, text.as_mut_ptr().cast(), &raw mut length) };
    let length = usize::try_from(length).unwrap_or(0);
    let reason = match text.get(..length) {
        Some(text) if told == MPI_SUCCESS.cast_signed() => {
            String::from_utf8_lossy(text).into_owned()
        }
        _ => format!("error {code}"),
    };
    Err(MpiError::Function { function, reason })
}
