//! `stridec run`: runs an operation on a file, or a program on several files.

use std::path::{Path, PathBuf};

use stridec::{Error, Operation, Tensor, nest::Gaps, notation::TensorForm, request::AtRunTime};

use super::{
    args::{OpKind, RunArgs},
    errors::{Failure, note},
    execute::{execute, execute_with_extents},
    input::{Input, InputBytes, is_npy, refuse_archive},
    npy::{self, FileOf, Header},
    onto::Onto,
    op::FileRequest,
    output::Output,
    program,
};

/// Runs `stridec run`. Runs a relayout or a slice, and passes programs on to their own module.
pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let known = match args.op.flags.in_file()? {
        Some(FileRequest::Program(requested)) => {
            refuse_flags_of_operations(args)?;
            return program::run(args, Some(*requested));
        }
        Some(FileRequest::Operation(request)) => Some(request.operation),
        None if args.op.operation == Some(OpKind::Hlo) => {
            refuse_flags_of_operations(args)?;
            return program::run(args, None);
        }
        None => None,
    };
    args.op.refuse_module()?;
    let (input, path) = (the_one(&args.input, "--input")?, the_one(&args.output, "--output")?);
    refuse_archive(path)?;
    let mut source = OperationInput::open(args, input, known)?;
    let onto = match &args.onto {
        Some(file) => Some(Onto::open(file, source.operation.destination())?),
        None if source.operation.gaps() == Gaps::Keep => {
            let reason = "missing; the operation keeps gaps, so expected the file that holds them";
            return Err(Failure::invalid(format!("--onto: {reason}")));
        }
        None => None,
    };
    let gaps = if onto.is_some() { Gaps::Keep } else { Gaps::Fill };
    source.operation = source.operation.with_gaps(gaps);
    let at_run_time = source.at_run_time.take().map(|(of, extents)| (of.with_gaps(gaps), extents));
    let image = source.image();
    let destination = source.operation.destination_descriptor();
    let header = match &onto {
        _ if !is_npy(path) => vec![],
        Some(onto) => onto.header(path, destination)?,
        None => npy::header_of(destination).write(),
    };
    let mut output = Output::open(path)?;
    let bytes = onto.as_ref().map_or(destination.image_bytes(), |onto| onto.bytes().len() as u64);
    let mut result = output.image(&header, bytes)?;
    let written = match &onto {
        Some(onto) => {
            result.copy_from_slice(onto.bytes());
            let length = usize::try_from(destination.image_bytes());
            length.ok().and_then(|length| result.get_mut(..length)).unwrap_or_default()
        }
        None => &mut result,
    };
    let took = match &at_run_time {
        None => execute(&source.operation, args.device, image, written),
        Some((of, extents)) => execute_with_extents(of, extents, args.device, image, written),
    }?;
    note(&format!("ran on {took}"));
    output.write_image(result)?;
    output.finish()
}

/// Returns a failure if a flag is given that programs do not support.
fn refuse_flags_of_operations(args: &RunArgs) -> Result<(), Failure> {
    let flag = match (&args.onto, &args.at_run_time[..]) {
        (Some(_), _) => "--onto",
        (None, [_, ..]) => "--at-run-time",
        (None, []) => return Ok(()),
    };
    Err(Failure::invalid(format!("{flag}: expected a relayout or a slice, got a program")))
}

/// Returns the only file of a flag. Returns a failure if there are several, because only programs
/// accept more than one.
fn the_one<'a>(paths: &'a [PathBuf], flag: &str) -> Result<&'a Path, Failure> {
    match paths {
        [path] => Ok(path),
        [] => Err(Failure::invalid(format!("{flag}: missing; expected a file"))),
        [_, _, ..] => Err(Failure::invalid(format!(
            "{flag}: expected one file, got {}; only a program takes several",
            paths.len()
        ))),
    }
}

/// An operation, with the file of its source.
struct OperationInput {
    operation: Operation,
    /// The operation for all extents up to the maxima, and the extents of `operation`, if
    /// `--at-run-time` is given.
    at_run_time: Option<(AtRunTime, Vec<u64>)>,
    bytes: InputBytes,
    /// The offset of the image in the file, in bytes. It is the end of the header in a `.npy` file,
    /// and otherwise 0.
    start: usize,
}

impl OperationInput {
    /// Opens the input, and checks that it fits the operation. `known` is the operation in the file
    /// of `--op`, if there is one. Otherwise the flags describe the operation. If `--from` is
    /// missing, a `.npy` file determines the source's shape.
    fn open(args: &RunArgs, path: &Path, known: Option<Operation>) -> Result<Self, Failure> {
        let requested = |source| match known {
            Some(operation) => Ok(operation),
            None => args.op.request(source).map(|request| request.operation),
        };
        let operation = |source| at_extents(args, requested(source)?);
        let mut input = Input::open(path)?;
        if !input.is_npy() {
            let (operation, at_run_time) = operation(None)?;
            let bytes = read_image(input, 0, &operation)?;
            return Ok(Self { operation, at_run_time, bytes, start: 0 });
        }
        let name = input.name();
        let invalid = |reason: String| Failure::invalid(reason).about(&name);
        let (header, start) = Header::read(input.read_start()?).map_err(invalid)?;
        let source = match (&args.op.flags.from, &args.op.flags.request) {
            (None, None) => {
                let shape = npy::tensor_of(&header).map_err(invalid)?;
                Some(Tensor::try_from(shape).map_err(Error::from)?)
            }
            _ => None,
        };
        let (operation, at_run_time) = operation(source)?;
        if !(is_view(&operation) && npy::is_storage(&header, operation.source_descriptor())) {
            npy::check(&header, operation.source_descriptor(), FileOf::Source).map_err(invalid)?;
        }
        let bytes = read_image(input, start, &operation)?;
        Ok(Self { operation, at_run_time, bytes, start })
    }

    /// Returns the image of the source. Leaves out the end of the file if it is a larger storage.
    fn image(&self) -> &[u8] {
        let rest = &self.bytes[self.start..];
        let length = usize::try_from(self.operation.source_descriptor().image_bytes());
        length.ok().and_then(|length| rest.get(..length)).unwrap_or(rest)
    }
}

/// Returns the operation at the extents of `--extents`, with the operation for all extents. Without
/// `--at-run-time`, returns the operation itself.
#[allow(clippy::type_complexity)] // the second part belongs to the first
fn at_extents(
    args: &RunArgs,
    operation: Operation,
) -> Result<(Operation, Option<(AtRunTime, Vec<u64>)>), Failure> {
    if args.at_run_time.is_empty() {
        return Ok((operation, None));
    }
    let about = |error: Error| Failure::from(error).about("--at-run-time");
    let of = operation.at_run_time(&args.at_run_time).map_err(about)?;
    let given = |dimension: &usize| {
        let mut all = args.extents.iter().filter(|(given, _)| given == dimension);
        match (all.next(), all.next()) {
            (Some(&(_, extent)), None) => Ok(extent),
            (found, _) => {
                let got = if found.is_some() { "two" } else { "none" };
                Err(Failure::invalid(format!("--extents: expected d{dimension} once, got {got}")))
            }
        }
    };
    let extents = args.at_run_time.iter().map(given).collect::<Result<Vec<u64>, Failure>>()?;
    let unknown = args.extents.iter().find(|(given, _)| !args.at_run_time.contains(given));
    if let Some((dimension, _)) = unknown {
        let reason = format!("--extents: expected dimensions of --at-run-time, got d{dimension}");
        return Err(Failure::invalid(reason));
    }
    // The message begins with `extents`.
    let about = |error: Error| Failure::invalid(format!("--{error}"));
    let operation = of.with_extents(&extents).map_err(about)?;
    Ok((operation, Some((of, extents))))
}

/// Reads an input that consists of `header` bytes and the image of the source.
fn read_image(input: Input, header: usize, operation: &Operation) -> Result<InputBytes, Failure> {
    let tensor = operation.source().to_string();
    input.read_image(
        header,
        operation.source_descriptor().image_bytes(),
        &tensor,
        is_view(operation),
    )
}

/// Returns true if the source is described by strides. It may then be a view of a larger storage.
fn is_view(operation: &Operation) -> bool {
    matches!(operation.source().form(), TensorForm::Strided(_))
}
