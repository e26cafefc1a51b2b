//! The command line, run as a program: the promises of `CLI.md` to scripts.

mod accessor;
mod at_run_time;
mod bad_input;
mod bench;
mod calibrate;
mod compile;
mod describe;
mod embedding;
mod explain;
#[cfg(feature = "gpu")]
mod faults;
mod files;
#[path = "../../../tests/support/folder.rs"]
mod folder;
mod hlo;
mod hlo_text;
mod memory;
mod mistakes;
mod notations;
mod npy;
mod offset;
mod onto;
mod reshard;
mod run;
mod same;
mod sandbox;
mod whole;
