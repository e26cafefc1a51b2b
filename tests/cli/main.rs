//! The command line, run as a program: what `CLI.md` promises to scripts.
#![cfg(feature = "cli")]

mod bad_input;
mod bench;
mod compile;
mod describe;
mod embedding;
mod explain;
mod files;
mod npy;
mod offset;
mod run;
mod sandbox;
