//! `stridec run hlo` and `stridec compile hlo`: a module on files, and its kernels.

use std::path::{Path, PathBuf};

use prost::Message as _;
use stridec::{
    Kernel,
    backend::translate,
    hlo::Module,
    program::{Buffer, Program, compile_module},
    run::Device as Where,
};

use super::{
    args::{CompileArgs, Device, Emit, Layouts, OpArgs, RunArgs},
    compile::{json, message, too_large},
    errors::{Failure, note, quoted},
    input::{Bytes, Input, is_npy, refuse_archive},
    module_file::ModuleFile,
    npy::{self, Header},
    output::Output,
    target::target,
};

/// The module of the arguments, with the layouts that they ask for.
fn module(args: &OpArgs) -> Result<Module, Failure> {
    if let Some(flag) = args.flags.given() {
        return Err(Failure::invalid(format!("{flag}: a program takes no such flag")));
    }
    let Some(argument) = &args.module else {
        return Err(Failure::invalid(
            "hlo: missing; expected @FILE, a serialized HloModuleProto or HLO text",
        ));
    };
    let Some(file) = argument.strip_prefix('@') else {
        let quoted = quoted(argument);
        return Err(Failure::invalid(format!("hlo: expected @FILE, got `{quoted}`")));
    };
    let module = ModuleFile::read(Path::new(file))?.module()?;
    Ok(match args.layouts {
        Layouts::Module => module,
        Layouts::Default => module.with_default_layouts(),
    })
}

/// Runs a program on files.
pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let program = Program::lower(&module(&args.op)?)?;
    count("--input", "parameter", &args.input, program.parameters())?;
    count("--output", "result", &args.output, program.results())?;
    let parameters: Result<Vec<Parameter>, Failure> = args
        .input
        .iter()
        .zip(program.parameters())
        .map(|(path, buffer)| Parameter::open(path, buffer))
        .collect();
    let parameters = parameters?;
    let images: Vec<&[u8]> = parameters.iter().map(|of| &of.bytes[of.start..]).collect();
    let mut outputs = Vec::new();
    for path in &args.output {
        refuse_archive(path)?;
        outputs.push(Output::open(path)?);
    }
    let device = match args.device {
        Device::Auto => Where::Auto,
        Device::Host => Where::Host,
        #[cfg(feature = "gpu")]
        Device::Gpu => Where::Gpu,
        #[cfg(not(feature = "gpu"))]
        Device::Gpu => return Err(super::devices::without_gpu()),
    };
    let (results, ran) = program.run(device, &images)?;
    note(&format!("ran on {ran}"));
    let files = args.output.iter().zip(outputs).zip(program.results()).zip(results);
    for (((path, mut output), buffer), result) in files {
        if is_npy(path) {
            output.write(&npy::header_of(buffer.descriptor()).write())?;
        }
        output.write(&result)?;
        output.finish()?;
    }
    Ok(())
}

/// Refuses another number of files than the program has parameters or results.
fn count(flag: &str, noun: &str, files: &[PathBuf], buffers: &[Buffer]) -> Result<(), Failure> {
    if files.len() == buffers.len() {
        return Ok(());
    }
    let shapes: Vec<String> = buffers.iter().map(|buffer| buffer.shape().to_string()).collect();
    let shapes = if shapes.is_empty() { "none".to_owned() } else { shapes.join(", ") };
    Err(Failure::invalid(format!(
        "{flag}: expected {} file{}, one for each {noun} ({shapes}), got {}",
        buffers.len(),
        if buffers.len() == 1 { "" } else { "s" },
        files.len()
    )))
}

/// The image of a parameter.
struct Parameter {
    bytes: Bytes,
    /// Where the image starts: behind the header of a `.npy` file.
    start: usize,
}

impl Parameter {
    fn open(path: &Path, buffer: &Buffer) -> Result<Self, Failure> {
        let mut input = Input::open(path)?;
        let name = input.name();
        let mut start = 0;
        if input.is_npy() {
            let invalid = |reason: String| Failure::invalid(reason).about(&name);
            let (header, length) = Header::read(input.read_start()?).map_err(invalid)?;
            npy::check(&header, buffer.descriptor()).map_err(invalid)?;
            start = length;
        }
        let bytes = input.read_image(start, buffer.bytes(), &buffer.shape().to_string())?;
        Ok(Self { bytes, start })
    }
}

/// Prints the kernels of a program, or all of its stages.
pub(super) fn compile(args: &CompileArgs) -> Result<(), Failure> {
    let module = module(&args.op)?;
    let target = target(args.target.as_deref(), &args.limits, None)?;
    let program = compile_module(&module, &target).map_err(too_large)?;
    let chosen = args.output.as_deref().map(|given| result(given, &program)).transpose()?;
    if args.emit == Emit::Stages && chosen.is_none() {
        return write(&args.file, program.stages(&target)?.as_bytes());
    }
    let chosen = match (chosen, program.results()) {
        (Some(number), _) => number,
        (None, [_]) => 0,
        (None, results) => {
            return Err(Failure::invalid(format!(
                "--output: missing; expected the number of one of the {} results",
                results.len()
            )));
        }
    };
    if args.emit == Emit::Stages {
        return write(&args.file, program.stages_of(chosen, &target)?.as_bytes());
    }
    let kernels: Vec<&Kernel> =
        program.steps_of(chosen).into_iter().map(|step| &program.kernels()[step]).collect();
    let language = args.emit.language();
    let shader = |kernel: &Kernel| -> Result<Vec<u8>, Failure> {
        Ok(match (args.emit, language) {
            (_, Some(language)) => translate(kernel, language)?.code,
            (Emit::Json, None) => json(kernel, None)?,
            (Emit::Pb, None) => message(kernel, None)?.encode_to_vec(),
            (_, None) => kernel.wgsl.clone().into_bytes(),
        })
    };
    if let (Emit::Spirv | Emit::Pb, [_, _, ..]) = (args.emit, &kernels[..]) {
        return Err(Failure::invalid(format!(
            "--emit: result {chosen} takes {} kernels; expected wgsl, json or stages",
            kernels.len()
        )));
    }
    let shaders: Result<Vec<_>, Failure> = kernels.iter().map(|kernel| shader(kernel)).collect();
    write(&args.file, &shaders?.join(&b'\n'))
}

/// The number of a result.
fn result(given: &Path, program: &Program) -> Result<usize, Failure> {
    let results = program.results().len();
    let number = given.to_str().and_then(|given| given.parse().ok());
    number.filter(|&number| number < results).ok_or_else(|| {
        let given = given.to_string_lossy();
        Failure::invalid(format!(
            "--output: expected the number of a result, below {results}, got `{}`; -o names the file to write",
            quoted(&given)
        ))
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut output = Output::open(path)?;
    output.write(bytes)?;
    output.finish()
}
