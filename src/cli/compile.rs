//! `stridec compile`: the kernel of an operation, without a device.

use prost::Message;
use stridec::{
    Error, Target,
    backend::{Language, translate},
    proto,
    shape::to_json,
};

use super::{
    args::{CompileArgs, Emit},
    devices,
    errors::Failure,
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
    let bytes = match args.emit {
        Emit::Stages => operation.stages(&target)?.into_bytes(),
        Emit::Spirv => translate(&operation.compile(&target)?, Language::Spirv)?.code,
        Emit::Msl => translate(&operation.compile(&target)?, Language::Msl)?.code,
        Emit::Hlsl => translate(&operation.compile(&target)?, Language::Hlsl)?.code,
        Emit::Glsl => translate(&operation.compile(&target)?, Language::Glsl)?.code,
        Emit::Wgsl => operation.compile(&target)?.wgsl.into_bytes(),
        Emit::Json => to_json(&proto::stridec::Kernel::from(&operation.compile(&target)?))
            .map_err(Error::from)?
            .into_bytes(),
        Emit::Pb => proto::stridec::Kernel::from(&operation.compile(&target)?).encode_to_vec(),
    };
    let mut output = Output::open(&args.output)?;
    output.write(&bytes)?;
    output.finish()
}
