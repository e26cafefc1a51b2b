//! Reshards over MPI: a device is a rank.
//!
//! [`World`] is the ranks that were started together, and [`Exchange`] is this rank's part of a reshard. The crate mpi-sys finds the MPI that is
//! installed, Open MPI or MPICH, and has its functions as they are in C: rsmpi, which is built on it, drops the codes that they return.
//!
//! A rank that fails must not leave the others waiting. Before and after the exchange, [`World::agreed`] makes the failure of one rank
//! that of all. During it a rank whose transport fails ends the program of all of them with [`World::abort`].
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
