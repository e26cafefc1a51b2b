//! `stridec run hlo` and `stridec compile hlo`: runs a module on files, or prints its kernels.

use std::path::{Path, PathBuf};

use prost::Message as _;
use stridec::{
    Error, Kernel,
    backend::translate,
    hlo::Module,
    program::{
        AliasRefusal, ArrayBuffer, BufferId, Program, ProgramAlias, compile_in_place,
        compile_module,
    },
    run::Device,
};

use super::{
    args::{CompileArgs, DeviceArg, Emit, Layouts, OpArgs, OpFlags, RunArgs},
    compile::{json, message, too_large},
    errors::{Exit, Failure, input_name, note, quoted},
    image_file::ImageFile,
    input::{is_npy, refuse_archive},
    module_file::ModuleFile,
    npy::{self, FileOf},
    op::{ProgramRequest, unexpected},
    output::Output,
    target::target,
};

/// Returns the requested module, or reads the module that the arguments name. Applies `layouts` to
/// its parameters and results.
pub(super) fn module(
    requested: Option<Module>,
    argument: Option<&str>,
    layouts: Layouts,
    flags: &OpFlags,
) -> Result<Module, Failure> {
    let module = match (requested, argument) {
        (Some(module), None) => module,
        (Some(_), Some(argument)) => return Err(unexpected(argument)),
        (None, argument) => from_file(argument, flags)?,
    };
    Ok(match layouts {
        Layouts::Module => module,
        Layouts::Default => module.with_default_layouts(),
    })
}

/// Reads the module in `@FILE`. Returns a failure if a flag is given that applies only to relayouts
/// and slices.
fn from_file(argument: Option<&str>, flags: &OpFlags) -> Result<Module, Failure> {
    if let Some(flag) = flags.given() {
        return Err(Failure::invalid(format!("{flag}: a program takes no such flag")));
    }
    let Some(argument) = argument else {
        return Err(Failure::invalid(
            "hlo: missing; expected @FILE, a serialized HloModuleProto, HLO text or StableHLO text",
        ));
    };
    let Some(file) = argument.strip_prefix('@') else {
        let quoted = quoted(argument);
        return Err(Failure::invalid(format!("hlo: expected @FILE, got `{quoted}`")));
    };
    ModuleFile::read(Path::new(file))?.module()
}

/// Runs a program on files: reads one for each parameter, and writes one for each result.
pub(super) fn run(args: &RunArgs, requested: Option<ProgramRequest>) -> Result<(), Failure> {
    let OpArgs { module, layouts, flags, .. } = &args.op;
    let requested = requested.map(|requested| requested.module);
    let program = Program::lower(&self::module(requested, module.as_deref(), *layouts, flags)?)?;
    let parameters = self::parameters(&args.input, &program)?;
    count("--output", "result", &args.output, program.results())?;
    for (number, path) in args.output.iter().enumerate() {
        if args.output[..number].contains(path) {
            let path = input_name(path);
            return Err(Failure::invalid(format!("--output: {path} is given for two results")));
        }
    }
    let images: Vec<&[u8]> = parameters.iter().map(ImageFile::image).collect();
    let mut outputs = Vec::new();
    for path in &args.output {
        refuse_archive(path)?;
        outputs.push(Output::open(path)?);
    }
    let device = match args.device {
        DeviceArg::Auto => Device::Auto,
        DeviceArg::Host => Device::Host,
        #[cfg(feature = "gpu")]
        DeviceArg::Gpu => Device::Gpu,
        #[cfg(not(feature = "gpu"))]
        DeviceArg::Gpu => return Err(super::devices::without_gpu()),
    };
    let (results, ran) = program.run(device, &images)?;
    note(&format!("ran on {ran}"));
    for (path, buffer) in args.output.iter().zip(program.results()) {
        if is_npy(path) && !npy::is_array(buffer.descriptor()) {
            let (path, shape) = (input_name(path), buffer.shape());
            note(&format!(
                "{path} holds the memory of {shape}, major dimensions first; --layouts default gives the array itself"
            ));
        }
    }
    let files = args.output.iter().zip(outputs).zip(program.results()).zip(results);
    let mut written = Vec::new();
    for (((path, mut output), buffer), result) in files {
        if is_npy(path) {
            output.write(&npy::header_of(buffer.descriptor()).write())?;
        }
        output.write(&result)?;
        written.push(output);
    }
    // Give the files their names only when all are complete.
    written.into_iter().try_for_each(Output::finish)
}

/// Opens the files of all parameters.
pub(super) fn parameters(files: &[PathBuf], program: &Program) -> Result<Vec<ImageFile>, Failure> {
    count("--input", "parameter", files, program.parameters())?;
    let files = files.iter().zip(program.parameters()).enumerate();
    files
        .map(|(number, (path, buffer))| {
            let shape = buffer.shape().to_string();
            ImageFile::open(path, buffer.descriptor(), &shape, FileOf::Parameter(number))
        })
        .collect()
}

/// Returns a failure if the number of files differs from the number of parameters or results.
fn count(
    flag: &str,
    noun: &str,
    files: &[PathBuf],
    buffers: &[ArrayBuffer],
) -> Result<(), Failure> {
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

/// Prints the kernels of a program, or all of its stages.
pub(super) fn compile(
    args: &CompileArgs,
    requested: Option<ProgramRequest>,
) -> Result<(), Failure> {
    let OpArgs { module, layouts, flags, .. } = &args.op;
    let (requested, wanted, translated) = match requested {
        Some(ProgramRequest { module, target, language }) => (Some(module), target, language),
        None => (None, None, None),
    };
    let module = self::module(requested, module.as_deref(), *layouts, flags)?;
    let target = target(args.target.as_deref(), &args.limits, wanted)?;
    // Aliases are recorded only in JSON and messages, so only these formats compile the program in
    // place.
    let compiled = match args.emit {
        Emit::Json | Emit::Pb => compile_in_place(&module, &target),
        _ => compile_module(&module, &target),
    };
    let program = compiled.map_err(|error| too_large(error.into()))?;
    let results = program.results().len();
    let chosen = args.output.as_deref().map(|given| result(given, results)).transpose()?;
    let file = args.file.as_deref().unwrap_or("-".as_ref());
    if args.emit == Emit::Stages && chosen.is_none() {
        return write(file, program.stages(&target)?.as_bytes());
    }
    if args.emit == Emit::Pb && chosen.is_none() && translated.is_none() {
        return write(file, &program.encode()?);
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
        return write(file, program.stages_of(chosen, &target)?.as_bytes());
    }
    let kernels: Vec<&Kernel> =
        program.steps_of(chosen).into_iter().map(|step| &program.kernels()[step]).collect();
    let language = args.emit.language();
    let shader = |kernel: &Kernel| -> Result<Vec<u8>, Failure> {
        Ok(match (args.emit, language) {
            (_, Some(language)) => translate(kernel, language).map_err(Error::from)?.code,
            (Emit::Json, None) => with_aliases(&json(kernel, translated)?, &program)?,
            (Emit::Pb, None) => message(kernel, translated)?.encode_to_vec(),
            (_, None) => kernel.wgsl.clone().into_bytes(),
        })
    };
    if let (Emit::Spirv | Emit::Pb, [_, _, ..]) = (args.emit, &kernels[..]) {
        return Err(Failure::invalid(format!(
            "--emit: result {chosen} takes {} kernels; expected wgsl, json or stages, or pb without --output for the whole program",
            kernels.len()
        )));
    }
    let shaders: Result<Vec<_>, Failure> = kernels.iter().map(|kernel| shader(kernel)).collect();
    write(file, &shaders?.join(&b'\n'))
}

/// Adds the aliases of a program to its kernel in JSON. An alias is a result that is written to the
/// buffer of a parameter.
///
/// `aliases` lists the aliases that the kernels honour, and `refused_aliases` lists the others with
/// a reason for each. `order` lists the results in the order in which they must be computed. A
/// program without aliases gets no such fields.
fn with_aliases(kernel: &[u8], program: &Program) -> Result<Vec<u8>, Failure> {
    let (honoured, refused) = (program.aliases(), program.refused_aliases());
    if honoured.is_empty() && refused.is_empty() {
        return Ok(kernel.to_vec());
    }
    let failed = |error: serde_json::Error| Failure::new(Exit::Failed, error.to_string());
    let mut value: serde_json::Value = serde_json::from_slice(kernel).map_err(failed)?;
    let honoured = honoured
        .iter()
        .map(|of| serde_json::json!({"result": of.result, "parameter": of.parameter}));
    value["aliases"] = honoured.collect();
    let refused = refused.iter().map(|(of, reason): &(ProgramAlias, AliasRefusal)| {
        let reason = reason.to_string();
        serde_json::json!({"result": of.result, "parameter": of.parameter, "reason": reason})
    });
    value["refused_aliases"] = refused.collect();
    let order = program.steps().iter().filter_map(|step| match step.destination() {
        BufferId::Result(number) => Some(serde_json::Value::from(number)),
        _ => None,
    });
    value["order"] = order.collect();
    let mut text = serde_json::to_vec_pretty(&value).map_err(failed)?;
    text.push(b'\n');
    Ok(text)
}

/// Parses the value of `--output` as the index of a result. The program has `results` results.
pub(super) fn result(given: &Path, results: usize) -> Result<usize, Failure> {
    let number = given.to_str().and_then(|given| given.parse().ok());
    let number: Option<usize> = number;
    number.filter(|&number| number < results).ok_or_else(|| {
        let given = given.to_string_lossy();
        Failure::invalid(format!(
            "--output: expected the number of a result, below {results}, got `{}`{}",
            quoted(&given),
            if number.is_none() { "; -o names the file to write" } else { "" }
        ))
    })
}

/// Writes bytes to a file, or to stdout if the path is `-`.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut output = Output::open(path)?;
    output.write(bytes)?;
    output.finish()
}
