//! `stridec explain`: pictures of a layout or an operation.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use stridec::explain::{self, Picture};

use super::{
    args::{ExplainArgs, OpKind},
    errors::Failure,
    op::Request,
    output::{Output, print},
    shape_arg::tensor,
};

/// Columns of a picture that does not go to a terminal.
const COLUMNS: usize = 80;
/// The widest picture; wider ones are harder to read.
const MAX_COLUMNS: usize = 120;

pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let given = args.operation.as_deref();
    match given.map(|operation| (operation, OpKind::from_str(operation, false))) {
        Some((shape, Err(_))) => {
            let tensor = tensor(shape)?;
            if let Some(flag) = args.flags.given() {
                return Err(Failure::invalid(format!(
                    "{flag}: a shape alone takes no such flag; `relayout` and `slice` do"
                )));
            }
            tensor.draw(|picture| write(args, picture, || Ok(explain::html(picture, None))))?
        }
        operation => {
            let kind = operation.and_then(|(_, kind)| kind.ok());
            let Request { operation, target, language: _ } = args.flags.request(kind, None)?;
            let page = || Ok(operation.page(&target.unwrap_or_default())?);
            operation.draw(|picture| write(args, picture, page))
        }
    }
}

/// Writes what was asked for: files, or else text on stdout.
fn write(
    args: &ExplainArgs,
    picture: &Picture<'_>,
    page: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    if args.svg.is_none() && args.html.is_none() {
        return show(picture);
    }
    if let Some(path) = &args.svg {
        let mut output = Output::open(path)?;
        output.write(explain::svg(picture).as_bytes())?;
        output.finish()?;
    }
    if let Some(path) = &args.html {
        let mut output = Output::open(path)?;
        output.write(page()?.as_bytes())?;
        output.finish()?;
    }
    Ok(())
}

/// Draws on stdout, with colour where that is a terminal which has any and `NO_COLOR` is not set.
fn show(picture: &Picture<'_>) -> Result<(), Failure> {
    let stdout = io::stdout();
    let columns = terminal_size::terminal_size().map_or(COLUMNS, |(width, _)| width.0.into());
    let columns = if stdout.is_terminal() { columns.min(MAX_COLUMNS) } else { COLUMNS };
    let text = explain::terminal(picture, columns);
    match anstream::AutoStream::choice(&stdout) {
        anstream::ColorChoice::Never => print(&anstream::adapter::strip_str(&text).to_string()),
        _ => print(&text),
    }
}
