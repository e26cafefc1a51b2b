//! `stridec reshard run`: four ranks over MPI, against the relayout of the whole array on one
//! machine.
//!
//! `STRIDEC_MPI_PROGRAM` is a stridec that was built with another MPI, and `STRIDEC_MPIRUN` its
//! launcher. Without a launcher the tests print that they are skipped; with `STRIDEC_REQUIRE_MPI=1`
//! they fail instead.
#![cfg(all(feature = "mpi", target_os = "linux"))]

mod failures;
#[path = "../../../tests/support/folder.rs"]
mod folder;
mod killed;
mod large;
mod launcher;
mod pairs;
