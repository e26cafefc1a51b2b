//! The command line, as a library: the program `stridec` and the Python package call [`run`]. Each
//! command has its own module, and so has each task that several commands share.

mod accessor;
mod args;
mod bench;
mod calibrate;
mod compile;
mod convert;
mod describe;
mod describe_sharding;
mod describe_text;
mod destination;
mod devices;
mod diff;
mod dispatch;
mod doctor;
mod errors;
mod execute;
mod explain;
mod explain_args;
#[cfg(feature = "gpu")]
mod fit;
mod image_file;
mod input;
mod list;
mod map;
mod measure;
mod memory;
mod mistakes;
mod module_file;
mod npy;
mod offset;
mod onto;
mod op;
mod output;
mod program;
mod progress;
mod proto_file;
mod replacement;
mod reshard;
mod reshard_args;
#[cfg(feature = "mpi")]
mod reshard_mpi;
mod reshard_plan;
mod run;
mod serve;
mod shape_arg;
mod sharding_arg;
mod shell;
mod stdin;
mod target;
#[cfg(feature = "gpu")]
mod trials;

use std::ffi::OsString;

/// Runs the command that the arguments select, and returns its exit code. The first argument is the
/// name of the program. Results are written to stdout, and errors to stderr.
///
/// ```
/// assert_eq!(stridec_cli::run(["stridec".into(), "offset".into()]), 2);
/// ```
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    dispatch::run(&arguments.into_iter().collect::<Vec<_>>())
}
