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
    errors::{Exit, Failure},
    op::Request,
    output::Output,
};

pub(super) fn compile(args: &CompileArgs) -> Result<(), Failure> {
    let Request { operation, target } = args.op.request(None)?;
    let target = match args.target.as_deref() {
        None => target.unwrap_or_else(Target::webgpu),
        Some("adapter") => devices::adapter_target()?,
        Some(name) => Target::preset(name)
            .map_err(|error| Failure::from(Error::from(error)).about("--target"))?,
    };
    let bytes = emitted(&operation, &target, args.emit).map_err(too_large)?;
    let mut output = Output::open(&args.output)?;
    output.write(&bytes)?;
    output.finish()
}

/// What was asked for of the kernel.
fn emitted(operation: &Operation, target: &Target, emit: Emit) -> Result<Vec<u8>, Error> {
    let kernel = || operation.compile(target);
    let code = |language| Ok(translate(&kernel()?, language)?.code);
    match emit {
        Emit::Stages => Ok(operation.stages(target)?.into_bytes()),
        Emit::Spirv => code(Language::Spirv),
        Emit::Msl => code(Language::Msl),
        Emit::Hlsl => code(Language::Hlsl),
        Emit::Glsl => code(Language::Glsl),
        Emit::Wgsl => Ok(kernel()?.wgsl.into_bytes()),
        Emit::Json => Ok(to_json(&proto::stridec::Kernel::from(&kernel()?))?.into_bytes()),
        Emit::Pb => Ok(proto::stridec::Kernel::from(&kernel()?).encode_to_vec()),
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
