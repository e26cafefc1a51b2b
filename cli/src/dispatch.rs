//! From the arguments to an exit code.

use std::process::ExitCode;

use clap::{Parser, error::ErrorKind};

use super::{
    args::{Cli, Command},
    bench, calibrate, compile, convert, describe, devices, diff, doctor,
    errors::{Failure, printable, report},
    explain, memory, mistakes, offset, reshard, run as run_command, serve, shell,
};

/// Runs the command that the arguments name; errors go to stderr.
pub(crate) fn run() -> ExitCode {
    match Cli::try_parse() {
        Ok(Cli { command }) => match execute(&command) {
            Ok(code) => code,
            Err(failure) => {
                report(&failure);
                failure.exit_code()
            }
        },
        Err(error) => usage(&error),
    }
}

/// Runs a command. Only `diff --exit-code` and `reshard run` give another code than success without an error.
fn execute(command: &Command) -> Result<ExitCode, Failure> {
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
    Ok(ExitCode::SUCCESS)
}

/// Prints what clap has to say: help on stdout, errors on stderr with what the user typed escaped.
fn usage(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A reader that went away has seen enough.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // clap repeats arguments as they are: the error of the escaped ones is the same, on lines of its own.
    let args = mistakes::arguments();
    if let Some(message) = mistakes::explained(&args) {
        let failure = Failure::invalid(message);
        report(&failure);
        return failure.exit_code();
    }
    let text = match Cli::try_parse_from(&args) {
        Err(escaped) => escaped.render().to_string(),
        Ok(_) => error.render().to_string(),
    };
    // Where nobody reads stderr, the exit code still tells.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), printable(&text).as_bytes());
    ExitCode::from(2)
}
