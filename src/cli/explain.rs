//! `stridec explain`: pictures of a layout or an operation.

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use stridec::{
    Operation, Target, Tensor,
    explain::{self, Compiled, Movement, Picture, Side},
};

use super::{
    args::{OpArgs, OpKind},
    errors::Failure,
    list::{List, integers, naturals},
    op::Request,
    output::{Output, print},
    shape_arg::tensor,
};

/// Columns of a picture that does not go to a terminal.
const COLUMNS: usize = 80;
/// The widest picture; wider ones are harder to read.
const MAX_COLUMNS: usize = 120;

#[derive(Args, Debug)]
#[command(
    subcommand_negates_reqs = true,
    subcommand_value_name = "OP",
    disable_help_subcommand = true
)]
pub(super) struct ExplainArgs {
    /// The shape; `stridec --help` shows the notations
    #[arg(required = true)]
    shape: Option<String>,
    #[command(subcommand)]
    operation: Option<ExplainOp>,
    /// Writes an SVG document; `-` is stdout
    #[arg(long, value_name = "FILE", global = true)]
    svg: Option<PathBuf>,
    /// Writes a page that runs the kernel in a browser; `-` is stdout
    #[arg(long, value_name = "FILE", global = true)]
    html: Option<PathBuf>,
}

/// The operations, as `stridec compile` takes them.
#[derive(Clone, Debug, Subcommand)]
enum ExplainOp {
    /// Every element goes to its place in another layout
    Relayout {
        /// The layout that is read
        #[arg(long, value_name = "SHAPE")]
        from: String,
        /// The layout that is written
        #[arg(long, value_name = "SHAPE")]
        to: String,
    },
    /// DirectML's SLICE1: a window in each dimension and a stride inside it
    Slice {
        /// The layout that is read
        #[arg(long, value_name = "SHAPE")]
        from: String,
        /// The first index of the window, one per dimension
        #[arg(long, value_name = "LIST", value_parser = naturals, allow_hyphen_values = true)]
        offsets: List<u64>,
        /// The extents of the window
        #[arg(long, value_name = "LIST", value_parser = naturals, allow_hyphen_values = true)]
        sizes: List<u64>,
        /// The steps inside the window; a negative one walks back from its end
        #[arg(long, value_name = "LIST", value_parser = integers, allow_hyphen_values = true)]
        strides: List<i64>,
        /// The extents of the output; the most that the window holds unless this says fewer
        #[arg(long, value_name = "LIST", value_parser = naturals, allow_hyphen_values = true)]
        output_sizes: Option<List<u64>>,
        /// The layout that is written; the default layout unless this says another
        #[arg(long, value_name = "SHAPE")]
        to: Option<String>,
    },
}

pub(super) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    match (&args.shape, &args.operation) {
        (Some(shape), None) => layout(args, &tensor(shape)?),
        (None, Some(operation)) => {
            let asked = operation.args();
            let Request { operation, .. } = asked.request(None)?;
            explain_operation(args, &asked, &operation)
        }
        _ => Err(Failure::invalid("explain: a shape, or an operation, is accepted")),
    }
}

fn layout(args: &ExplainArgs, tensor: &Tensor) -> Result<(), Failure> {
    let descriptor = tensor.descriptor()?;
    let notation = tensor.to_string();
    let picture = Picture::layout(Side { notation: &notation, descriptor: &descriptor });
    write(args, &picture, || Ok(explain::html(&picture, None)))
}

fn explain_operation(
    args: &ExplainArgs,
    asked: &OpArgs,
    operation: &Operation,
) -> Result<(), Failure> {
    let from = asked.from.as_deref().map(tensor).transpose()?;
    let from = from.map(|from| from.to_string()).unwrap_or_default();
    let destination = operation.destination();
    let to = match &asked.to {
        Some(to) => tensor(to)?,
        None => Tensor::dense(destination.element_type(), operation.window().sizes())?,
    };
    let to = to.to_string();
    let source = Side { notation: &from, descriptor: operation.source() };
    let destination = Side { notation: &to, descriptor: destination };
    let movement = Movement { destination, window: operation.window(), nest: operation.nest() };
    let picture = Picture::operation(operation.title(), source, movement);
    write(args, &picture, || {
        let target = Target::webgpu();
        let kernel = operation.compile(&target)?;
        let dispatches: Vec<_> = kernel.dispatches.iter().map(|d| d.workgroups).collect();
        let compiled = Compiled {
            wgsl: &kernel.wgsl,
            entry_point: &kernel.entry_point,
            workgroup_size: kernel.workgroup_size,
            binding_bytes: [0, 1].map(|n| kernel.bindings.get(n).map_or(0, |b| b.size_in_bytes)),
            dispatches: &dispatches,
            schedule: &operation.schedule(&target)?.to_string(),
            stages: &operation.stages(&target)?,
        };
        Ok(explain::html(&picture, Some(&compiled)))
    })
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

impl ExplainOp {
    fn args(&self) -> OpArgs {
        let none = OpArgs {
            operation: None,
            from: None,
            to: None,
            offsets: None,
            sizes: None,
            strides: None,
            output_sizes: None,
            request: None,
        };
        match self.clone() {
            Self::Relayout { from, to } => {
                OpArgs { operation: Some(OpKind::Relayout), from: Some(from), to: Some(to), ..none }
            }
            Self::Slice { from, offsets, sizes, strides, output_sizes, to } => OpArgs {
                operation: Some(OpKind::Slice),
                from: Some(from),
                to,
                offsets: Some(offsets),
                sizes: Some(sizes),
                strides: Some(strides),
                output_sizes,
                ..none
            },
        }
    }
}
