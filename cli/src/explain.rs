//! `stridec explain`: draws a layout, an operation, a program or a reshard.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use stridec::{
    Error, Target,
    explain::{self, ProgramPicture, ReshardPicture},
    hlo::Module,
    host,
    program::Ways,
    reshard::plan,
};

use super::{
    args::OpKind,
    errors::Failure,
    explain_args::{ExplainArgs, ExplainCommand, ExplainReshardArgs, PictureFiles, ProgramFlags},
    image_file::ImageFile,
    list::NumberList,
    op::{FileRequest, OperationRequest, only_compiled, unexpected},
    output::{Output, print},
    program,
    reshard::{ReshardSides, sides},
    shape_arg::tensor,
    sharding_arg::sharding,
};

/// The width of a drawing if stdout is not a terminal, in columns.
const COLUMNS: usize = 80;
/// The maximum width of a drawing, in columns. Wider drawings are harder to read.
const MAX_COLUMNS: usize = 120;

/// Runs `stridec explain`: draws the shape, the operation, the program or the reshard of the
/// arguments.
pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    if let Some(ExplainCommand::Reshard(args)) = &args.reshard {
        return reshard(args);
    }
    let given = args.operation.as_deref();
    let kind = given.map(|operation| (operation, OpKind::from_str(operation, false)));
    let in_file = args.flags.in_file()?;
    let in_file = match (in_file, &kind) {
        (None, Some((_, Err(_)))) if args.plan.is_some() => {
            let reason = "--plan: only `relayout`, `slice` and `hlo` take this flag";
            return Err(Failure::invalid(reason.to_owned()));
        }
        (Some(FileRequest::Program(requested)), _) => return program(args, Some(requested.module)),
        (None, Some((_, Ok(OpKind::Hlo)))) => return program(args, None),
        (None, Some((_, Ok(OpKind::Accessor)))) => return Err(only_compiled()),
        (Some(FileRequest::Operation(request)), _) => Some(*request),
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
                    &args.files,
                    |width| explain::terminal(picture, width),
                    || explain::svg(picture),
                    page,
                )
            })
        }
        operation => {
            let kind = operation.and_then(|(_, kind)| kind.ok());
            let request = in_file.map_or_else(|| args.flags.request(kind, None), Ok)?;
            let OperationRequest { operation, target, language: _ } = request;
            if let Some(threads) = args.plan {
                return print(&host::plan(operation.nest(), threads.max(1)));
            }
            let target = target.unwrap_or_default();
            let page = || Ok(operation.compilation(&target)?.page());
            operation.draw(|picture| {
                write(
                    &args.files,
                    |width| explain::terminal(picture, width),
                    || explain::svg(picture),
                    page,
                )
            })
        }
    }
}

/// Draws the results of a program, or prints the plan of the host's copies if `--plan` is given.
fn program(args: &ExplainArgs, requested: Option<Module>) -> Result<(), Failure> {
    let ProgramFlags { layouts, output, element, input } = &args.program;
    let module = program::module(requested, args.module.as_deref(), *layouts, &args.flags)?;
    let mut ways = Ways::new(&module)?;
    if !input.is_empty() {
        let parameters = program::parameters(input, ways.program())?;
        let images: Vec<&[u8]> = parameters.iter().map(ImageFile::image).collect();
        ways = ways.with_parameters(&images)?;
    }
    if let Some(threads) = args.plan {
        let steps = ways.program().steps().iter().map(|step| {
            format!("{}:\n{}", step.destination(), host::plan(step.nest(), threads.max(1)))
        });
        return print(&steps.collect::<String>());
    }
    let mut picture = ProgramPicture::new(&ways);
    let results = ways.program().results().len();
    let chosen = match output {
        Some(given) => Some(program::result(given, ways.program().results().len())?),
        None => (results == 1).then_some(0),
    };
    if let Some(result) = chosen {
        picture = picture.result(result);
    }
    if let Some(NumberList(index)) = element {
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
    let page = || Ok(picture.html(&Target::webgpu()).map_err(Error::from)?);
    write(&args.files, |width| picture.terminal(width), || picture.svg(), page)
}

/// Draws the reshard from one sharding to another.
fn reshard(ExplainReshardArgs { sides: args, files }: &ExplainReshardArgs) -> Result<(), Failure> {
    let ReshardSides { shape, from, to } = sides(args)?;
    let plan = plan(&shape, &from.0, &to.0).map_err(Error::from)?;
    let name = |text: &str, layout: &Option<String>| -> Result<String, Failure> {
        let sharding = sharding(text)?;
        Ok(match layout {
            Some(layout) => format!("{sharding}, shards of {layout}"),
            None => sharding.to_string(),
        })
    };
    let from = name(&args.from, &args.from_layout)?;
    let to = name(&args.to, &args.to_layout)?;
    let picture = ReshardPicture::new(&plan, [&from, &to]);
    write(files, |width| picture.terminal(width), || picture.svg(), || Ok(picture.html()))
}

/// Writes the files that the user requested, or prints the drawing on stdout if there are none.
///
/// `terminal` draws the text for a number of columns, `svg` returns an SVG document, and `page`
/// returns a page for a browser. Only the functions that are needed are called.
fn write(
    files: &PictureFiles,
    terminal: impl FnOnce(usize) -> String,
    svg: impl FnOnce() -> String,
    page: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    if files.svg.is_none() && files.html.is_none() {
        return show(terminal);
    }
    if let Some(path) = &files.svg {
        let mut output = Output::open(path)?;
        output.write(svg().as_bytes())?;
        output.finish()?;
    }
    if let Some(path) = &files.html {
        let mut output = Output::open(path)?;
        output.write(page()?.as_bytes())?;
        output.finish()?;
    }
    Ok(())
}

/// Prints a drawing on stdout, in colours if stdout is a terminal that supports them and `NO_COLOR`
/// is not set.
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
