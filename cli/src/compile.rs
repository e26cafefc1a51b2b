//! `stridec compile`: prints the kernel of an operation, without opening a device.

use prost::Message;
use stridec::{
    Error, Kernel, Operation, Target,
    backend::{Language, translate},
    program::ProgramError,
    proto,
    schedule::ScheduleError,
    shape::to_json_with_zeros,
};

use super::{
    accessor,
    args::{CompileArgs, Emit, OpKind},
    errors::{Exit, Failure, note},
    op::{FileRequest, OperationRequest},
    output::Output,
    program,
    target::target,
};

/// Runs `stridec compile`. Compiles a relayout or a slice, and passes accessors and programs on to
/// their own modules.
pub(super) fn compile(args: &CompileArgs) -> Result<(), Failure> {
    if let (Some(OpKind::Accessor | OpKind::Hlo), [_, ..]) =
        (args.op.operation, &args.at_run_time[..])
    {
        return Err(Failure::invalid("--at-run-time: expected a relayout or a slice"));
    }
    if args.op.operation == Some(OpKind::Accessor) {
        return accessor::compile(args);
    }
    accessor::refuse_flags(args)?;
    let OperationRequest { operation, target: requested, language } =
        match args.op.flags.in_file()? {
            Some(FileRequest::Program(requested)) => {
                return program::compile(args, Some(*requested));
            }
            Some(FileRequest::Operation(request)) => *request,
            None if args.op.operation == Some(OpKind::Hlo) => return program::compile(args, None),
            None => {
                args.op.refuse_module()?;
                args.op.request(None)?
            }
        };
    let target = target(args.target.as_deref(), &args.limits, requested)?;
    let (kernel, stages) = compiled(operation, args, &target)?;
    let kernel = &kernel;
    let shown = args.emit.language();
    let bytes = match (args.emit, shown) {
        (_, Some(language)) => translate(kernel, language).map_err(Error::from)?.code,
        (Emit::Stages, None) => stages.into_bytes(),
        (Emit::Json, None) => json(kernel, language)?,
        (Emit::Pb, None) => message(kernel, language)?.encode_to_vec(),
        (_, None) => kernel.wgsl.clone().into_bytes(),
    };
    if kernel.dispatches.is_empty() && args.emit != Emit::Stages {
        note("no element moves: the kernel is empty, and there is nothing to dispatch");
    }
    let path = match (&args.file, &args.output) {
        (Some(_), Some(_)) => {
            return Err(Failure::invalid("-o: expected one file, got another one by --output"));
        }
        (given, None) | (None, given) => given.as_deref().unwrap_or("-".as_ref()),
    };
    let mut output = Output::open(path)?;
    if let Some(path) = &args.json {
        let mut output = Output::open(path)?;
        output.write(&json(kernel, shown.or(language))?)?;
        output.finish()?;
    }
    output.write(&bytes)?;
    output.finish()
}

/// Returns the kernel of an operation, and its stages as text.
fn compiled(
    operation: Operation,
    args: &CompileArgs,
    target: &Target,
) -> Result<(Kernel, String), Failure> {
    if args.at_run_time.is_empty() {
        let compilation = operation.compilation(target).map_err(too_large)?;
        return Ok((compilation.kernel().clone(), compilation.stages()));
    }
    let about = |error: Error| Failure::from(error).about("--at-run-time");
    let operation = operation.at_run_time(&args.at_run_time).map_err(about)?;
    let kernel = operation.compile(target).map_err(too_large)?;
    Ok((kernel, operation.stages(target)?))
}

impl Emit {
    /// Returns the language into which the kernel must be translated, or `None` if the format uses
    /// the WGSL itself.
    pub(super) fn language(self) -> Option<Language> {
        match self {
            Self::Spirv => Some(Language::Spirv),
            Self::Msl => Some(Language::Msl),
            Self::Hlsl => Some(Language::Hlsl),
            Self::Glsl => Some(Language::Glsl),
            Self::Wgsl | Self::Stages | Self::Json | Self::Pb => None,
        }
    }
}

/// Returns the kernel as a protobuf message. If `language` is set, the message also contains the
/// translation.
pub(super) fn message(
    kernel: &Kernel,
    language: Option<Language>,
) -> Result<proto::stridec::Kernel, Error> {
    match language {
        None => Ok(kernel.into()),
        Some(language) => Ok((kernel, &translate(kernel, language)?).into()),
    }
}

/// Returns the protobuf message of a kernel as JSON, with all numbers as numbers, like the kernels
/// of the JavaScript package. Fields that are zero are included, except the checksum of saved
/// kernels.
pub(super) fn json(kernel: &Kernel, language: Option<Language>) -> Result<Vec<u8>, Failure> {
    let failed = |error: serde_json::Error| Failure::new(Exit::Failed, error.to_string());
    let text = to_json_with_zeros(&message(kernel, language)?).map_err(Error::from)?;
    let mut fields: serde_json::Map<_, _> = serde_json::from_str(&text).map_err(failed)?;
    fields.shift_remove("checksum");
    let mut text = serde_json::to_vec_pretty(&fields).map_err(failed)?;
    text.push(b'\n');
    Ok(text)
}

/// Converts an error into a failure. If the tensors exceed the limits of one kernel, the message
/// also suggests another way to run the operation.
pub(super) fn too_large(error: Error) -> Failure {
    let (refused, helps) = match &error {
        Error::Schedule(refused) => {
            (refused, "`stridec run` cuts such a copy into parts, each with a kernel that fits")
        }
        Error::Program(ProgramError::Kernel { error, .. }) => {
            (&**error, "`stridec run` cuts the steps of such a program into parts")
        }
        _ => return error.into(),
    };
    match refused {
        ScheduleError::Binding { given, .. } => {
            let limit = format!(
                "for a device that binds more, give --target adapter or --limit max_storage_buffer_binding_size={given}"
            );
            Failure::new(Exit::Unsupported, format!("{error}; {limit}; {helps}"))
        }
        ScheduleError::Index { .. } | ScheduleError::Number { .. } => {
            Failure::new(Exit::Unsupported, format!("{error}; {helps}"))
        }
        _ => error.into(),
    }
}
