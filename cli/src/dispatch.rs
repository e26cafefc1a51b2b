//! Runs the command that the arguments select, and converts its result to an exit code.

use std::ffi::OsString;

use clap::{Parser, error::ErrorKind};

use super::{
    args::{Cli, Command},
    bench, calibrate, compile, convert, describe, devices, diff, doctor,
    errors::{Failure, printable, report},
    explain, memory, mistakes, offset, reshard, run as run_command, serve, shell,
};

/// Runs the command that the arguments select. Prints errors on stderr.
pub(crate) fn run(arguments: &[OsString]) -> u8 {
    match Cli::try_parse_from(arguments) {
        Ok(Cli { command }) => match execute(&command) {
            Ok(code) => code,
            Err(failure) => {
                let mistake = failure
                    .is_unexpected()
                    .then(|| mistakes::explained(&mistakes::escaped(arguments)));
                let failure = mistake.flatten().map_or(failure, Failure::invalid);
                report(&failure);
                failure.exit_code()
            }
        },
        Err(error) => usage(&error, arguments),
    }
}

/// Runs a command. `diff --exit-code` and `reshard run` may return an exit code for a failure,
/// after they have reported the reason themselves.
fn execute(command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Describe(args) => describe::describe(args),
        Command::Offset(args) => offset::offset(args),
        Command::Convert(args) => convert::convert(args),
        Command::Compile(args) => compile::compile(args),
        Command::Run(args) => run_command::run(args),
        Command::Bench(args) => bench::bench(args),
        Command::Calibrate(args) => calibrate::calibrate(args),
        Command::Devices(args) => devices::devices(args),
        Command::Serve => serve::serve(),
        Command::Diff(args) => return diff::diff(args),
        Command::Doctor => doctor::doctor(),
        Command::Completions(args) => shell::completions(args),
        Command::Man => shell::man(),
        Command::Reshard(args) => return reshard::reshard(args),
        Command::Memory(args) => memory::memory(args),
        Command::Explain(args) => explain::explain(args),
    }?;
    Ok(0)
}

/// Prints help on stdout, or a usage error on stderr. Escapes the user's text in a usage error.
fn usage(error: &clap::Error, arguments: &[OsString]) -> u8 {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A closed pipe is not a failure.
        let _ = error.print();
        return 0;
    }
    // clap prints arguments unescaped. Therefore the escaped arguments are parsed again, which
    // produces the same error in a form that is safe to print.
    let args = mistakes::escaped(arguments);
    if let Some(message) = mistakes::explained(&args) {
        let failure = Failure::invalid(message);
        report(&failure);
        return failure.exit_code();
    }
    let text = match Cli::try_parse_from(&args) {
        Err(escaped) => escaped.render().to_string(),
        Ok(_) => error.render().to_string(),
    };
    // If stderr is closed, the exit code still reports the failure.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), printable(&text).as_bytes());
    2
}
