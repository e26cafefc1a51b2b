//! `stridec explain`: pictures of a layout, an operation or a program.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use stridec::{
    Target,
    explain::{self, ProgramPicture},
    hlo::Module,
    program::Ways,
};

use super::{
    args::{ExplainArgs, OpKind, ProgramFlags},
    errors::Failure,
    image_file::ImageFile,
    list::List,
    op::{Asked, Request, unexpected},
    output::{Output, print},
    program,
    shape_arg::tensor,
};

/// Columns of a picture that does not go to a terminal.
const COLUMNS: usize = 80;
/// The widest picture; wider ones are harder to read.
const MAX_COLUMNS: usize = 120;

pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let given = args.operation.as_deref();
    let kind = given.map(|operation| (operation, OpKind::from_str(operation, false)));
    let asked = args.flags.asked()?;
    let asked = match (asked, &kind) {
        (Some(Asked::Program(requested)), _) => return program(args, Some(requested.module)),
        (None, Some((_, Ok(OpKind::Hlo)))) => return program(args, None),
        (Some(Asked::Operation(request)), _) => Some(*request),
        (None, _) => None,
    };
    if let Some(flag) = args.program.given() {
        return Err(Failure::invalid(format!("{flag}: only `hlo` takes this flag")));
    }
    if let Some(module) = &args.module {
        return Err(unexpected(module));
    }
    match kind {
        Some((shape, Err(_))) => {
            let tensor = tensor(shape)?;
            if let Some(flag) = args.flags.given() {
                return Err(Failure::invalid(format!(
                    "{flag}: a shape alone takes no such flag; `relayout` and `slice` do"
                )));
            }
            tensor.draw(|picture| {
                let page = || Ok(explain::html(picture, None));
                write(
                    args,
                    |width| explain::terminal(picture, width),
                    || explain::svg(picture),
                    page,
                )
            })?
        }
        operation => {
            let kind = operation.and_then(|(_, kind)| kind.ok());
            let request = asked.map_or_else(|| args.flags.request(kind, None), Ok)?;
            let Request { operation, target, language: _ } = request;
            let page = || Ok(operation.page(&target.unwrap_or_default())?);
            operation.draw(|picture| {
                write(
                    args,
                    |width| explain::terminal(picture, width),
                    || explain::svg(picture),
                    page,
                )
            })
        }
    }
}

/// Draws the results of a program.
fn program(args: &ExplainArgs, requested: Option<Module>) -> Result<(), Failure> {
    let ProgramFlags { layouts, output, element, input } = &args.program;
    let module = program::module(requested, args.module.as_deref(), *layouts, &args.flags)?;
    let mut ways = Ways::new(&module)?;
    if !input.is_empty() {
        let parameters = program::parameters(input, ways.program())?;
        let images: Vec<&[u8]> = parameters.iter().map(ImageFile::image).collect();
        ways = ways.with_parameters(&images)?;
    }
    let mut picture = ProgramPicture::new(&ways);
    let results = ways.program().results().len();
    let chosen = match output {
        Some(given) => Some(program::result(given, ways.program())?),
        None => (results == 1).then_some(0),
    };
    if let Some(result) = chosen {
        picture = picture.result(result);
    }
    if let Some(List(index)) = element {
        let Some(result) = chosen else {
            return Err(Failure::invalid(format!(
                "--element: expected --output N with it, the number of one of the {results} results"
            )));
        };
        if ways.way(result, index, 0).is_none() {
            let shape = ways.program().results()[result].shape();
            return Err(Failure::invalid(format!(
                "--element: expected an index of {shape}, got `{}`",
                index.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
            )));
        }
        picture = picture.element(index);
    }
    let page = || Ok(picture.html(&Target::webgpu())?);
    write(args, |width| picture.terminal(width), || picture.svg(), page)
}

/// Writes what was asked for: files, or else text on stdout.
fn write(
    args: &ExplainArgs,
    terminal: impl FnOnce(usize) -> String,
    svg: impl FnOnce() -> String,
    page: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    if args.svg.is_none() && args.html.is_none() {
        return show(terminal);
    }
    if let Some(path) = &args.svg {
        let mut output = Output::open(path)?;
        output.write(svg().as_bytes())?;
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
fn show(draw: impl FnOnce(usize) -> String) -> Result<(), Failure> {
    let stdout = io::stdout();
    let columns = terminal_size::terminal_size().map_or(COLUMNS, |(width, _)| width.0.into());
    let columns = if stdout.is_terminal() { columns.min(MAX_COLUMNS) } else { COLUMNS };
    let text = draw(columns);
    match anstream::AutoStream::choice(&stdout) {
        anstream::ColorChoice::Never => print(&anstream::adapter::strip_str(&text).to_string()),
        _ => print(&text),
    }
}
