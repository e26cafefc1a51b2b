//! `stridec compile`: the kernel of an operation, without a device.

use prost::Message;
use stridec::{
    Error, Operation, Target,
    backend::{Language, translate},
    proto,
    schedule::ScheduleError,
    shape::to_json,
};

use super::{
    args::{CompileArgs, Emit},
    devices,
    errors::{Exit, Failure, note},
    op::Request,
    output::Output,
};

pub(super) fn compile(args: &CompileArgs) -> Result<(), Failure> {
    let Request { operation, target, language } = args.op.request(None)?;
    let target = match args.target.as_deref() {
        None => target.unwrap_or_else(Target::webgpu),
        Some("adapter") => devices::adapter_target()?,
        Some(name) => Target::preset(name)
            .map_err(|error| Failure::from(Error::from(error)).about("--target"))?,
    };
    let bytes = emitted(&operation, &target, args.emit, language).map_err(too_large)?;
    let mut output = Output::open(&args.output)?;
    output.write(&bytes)?;
    output.finish()
}

/// What was asked for of the kernel.
fn emitted(
    operation: &Operation,
    target: &Target,
    emit: Emit,
    language: Option<Language>,
) -> Result<Vec<u8>, Error> {
    let kernel = || {
        let kernel = operation.compile(target)?;
        if kernel.dispatches.is_empty() {
            note("no element moves: the kernel is empty, and there is nothing to dispatch");
        }
        Ok::<_, Error>(kernel)
    };
    let code = |language| Ok(translate(&kernel()?, language)?.code);
    let message = || -> Result<proto::stridec::Kernel, Error> {
        let kernel = kernel()?;
        match language {
            None => Ok((&kernel).into()),
            Some(language) => Ok((&kernel, &translate(&kernel, language)?).into()),
        }
    };
    match emit {
        Emit::Stages => Ok(operation.stages(target)?.into_bytes()),
        Emit::Spirv => code(Language::Spirv),
        Emit::Msl => code(Language::Msl),
        Emit::Hlsl => code(Language::Hlsl),
        Emit::Glsl => code(Language::Glsl),
        Emit::Wgsl => Ok(kernel()?.into_parts().wgsl.into_bytes()),
        Emit::Json => Ok(to_json(&message()?)?.into_bytes()),
        Emit::Pb => Ok(message()?.encode_to_vec()),
    }
}

/// The failure; where one kernel does not hold the tensors, with what does.
fn too_large(error: Error) -> Failure {
    match error {
        Error::Schedule(ScheduleError::Binding { .. } | ScheduleError::Index { .. }) => {
            let way = "`stridec run` cuts such a copy into parts, each with a kernel that fits";
            Failure::new(Exit::Unsupported, format!("{error}; {way}"))
        }
        error => error.into(),
    }
}
