//! Reshards over MPI, with one rank for each device.
//!
//! [`World`] represents the ranks that were started together, and [`Exchange`] is one rank's part
//! of a reshard. The crate mpi-sys finds the installed MPI, either Open MPI or MPICH, and exposes
//! its C functions. rsmpi, which is built on mpi-sys, is not used because it drops the return codes
//! of the C functions.
//!
//! A rank that fails must not leave other ranks waiting. Before and after the exchange,
//! [`World::agreed`] informs all ranks if one of them has failed. If MPI fails on a rank during the
//! exchange, that rank ends the program on all ranks with [`World::abort`].
//!
//! ```no_run
//! use stridec::{mpi::{Exchange, World}, reshard::Shards, sharding::Sharding};
//! let world = World::join()?;
//! let shape = "f32[8192,8192]".parse()?;
//! let rows = "{devices=[4,1]<=[4]}".parse::<Sharding>()?.place(&shape, None)?;
//! let columns = "{devices=[1,4]<=[4]}".parse::<Sharding>()?.place(&shape, None)?;
//! let shards = Shards::default();
//! let exchange = Exchange::new(&world, &shape, (&rows, &shards), (&columns, &shards), None)?;
//! let mine = vec![0; 2048 * 8192 * 4];
//! let mut received = vec![0; 8192 * 2048 * 4];
//! exchange.run(&mine, &mut received)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agree;
mod error;
mod exchange;
mod pending;
mod world;

pub use agree::RankFailure;
pub use error::MpiError;
pub use exchange::Exchange;
pub use world::World;
