//! The program `stridec`.

use std::process::ExitCode;

fn main() -> ExitCode {
    stridec_cli::run(std::env::args_os()).into()
}
