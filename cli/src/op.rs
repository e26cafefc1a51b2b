//! `OP`: from the arguments or a request to an operation.

use std::path::Path;

use stridec::{
    Error, ErrorKind, Operation, Target, Tensor,
    backend::Language,
    hlo::{HloError, Module},
    program::ProgramError,
    proto::stridec::{self as proto, CompileRequest, compile_request::Operation as Kind},
    request::RequestError,
    stride::StrideDescriptor,
    window::{Slice, Window},
};

use super::{
    args::{OpArgs, OpFlags, OpKind},
    destination::{destination, meant},
    errors::{Exit, Failure, name, quoted},
    list::List,
    mistakes,
    proto_file::Serialized,
    shape_arg::tensor,
};

/// The flag of a slice that has a default.
const OUTPUT_SIZES: &str = "--output-sizes";

/// Where a program is no operation.
const ONLY_OPERATIONS: &str = "only `run`, `compile` and `explain` take a program";

/// What is asked: an operation, and the target and the language that a request names.
pub(super) struct Request {
    pub(super) operation: Operation,
    pub(super) target: Option<Target>,
    /// `None` for WGSL.
    pub(super) language: Option<Language>,
}

/// What a file asks for.
pub(super) enum Asked {
    Operation(Box<Request>),
    Program(Box<Requested>),
}

/// A program, and the target and the language that its request names.
pub(super) struct Requested {
    pub(super) module: Module,
    pub(super) target: Option<Target>,
    /// `None` for WGSL.
    pub(super) language: Option<Language>,
}

impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = match error.kind() {
            ErrorKind::Invalid => Exit::Invalid,
            ErrorKind::Unsupported => Exit::Unsupported,
            ErrorKind::NoDevice => Exit::NoDevice,
            _ => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

impl OpArgs {
    /// The operation; it reads `source` where `--from` says nothing.
    pub(super) fn request(&self, source: Option<Tensor>) -> Result<Request, Failure> {
        self.flags.request(self.operation, source)
    }

    /// Refuses what only a program takes.
    pub(super) fn refuse_module(&self) -> Result<(), Failure> {
        match &self.module {
            Some(module) => Err(unexpected(module)),
            None => Ok(()),
        }
    }
}

/// An argument where only `hlo` takes one.
pub(super) fn unexpected(module: &str) -> Failure {
    let mistake = mistakes::explained(&mistakes::arguments());
    Failure::invalid(mistake.unwrap_or_else(|| {
        format!("unexpected argument `{}`; only `hlo` takes a module", quoted(module))
    }))
}

impl OpFlags {
    /// The operation of a kind, or of a file where there is none; it reads `source` where `--from` says nothing.
    pub(super) fn request(
        &self,
        kind: Option<OpKind>,
        source: Option<Tensor>,
    ) -> Result<Request, Failure> {
        match self.asked()? {
            Some(Asked::Operation(request)) => return Ok(*request),
            Some(Asked::Program(_)) => {
                return Err(Failure::invalid(format!("--op: {ONLY_OPERATIONS}")));
            }
            None => {}
        }
        let operation = self.operation(kind, source)?;
        Ok(Request { operation, target: None, language: None })
    }

    /// What the file of `--op` asks for, where there is one.
    pub(super) fn asked(&self) -> Result<Option<Asked>, Failure> {
        self.request.as_deref().map(from_file).transpose()
    }

    /// The first flag that was given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let sides = [("--from", self.from.is_some()), ("--to", self.to.is_some())];
        let mut flags = sides.into_iter().chain(self.slice_flags());
        flags.find(|&(_, given)| given).map(|(flag, _)| flag)
    }

    fn operation(
        &self,
        kind: Option<OpKind>,
        source: Option<Tensor>,
    ) -> Result<Operation, Failure> {
        if kind == Some(OpKind::Hlo) {
            return Err(Failure::invalid(format!("hlo: {ONLY_OPERATIONS}")));
        }
        let source = match (&self.from, source) {
            (Some(argument), _) => lowered(tensor(argument), "--from")?,
            (None, Some(source)) => source,
            (None, None) => {
                return Err(Failure::invalid(
                    "--from: missing; expected a shape (only `run` with a .npy file as input can do without)",
                ));
            }
        };
        if kind == Some(OpKind::Slice) {
            let slice = self.slice()?;
            let descriptor = source.descriptor()?;
            let window = Window::slice(descriptor.sizes(), &slice).map_err(Error::from)?;
            let sizes: Vec<u64> = window.sizes().collect();
            let destination = self.destination(&descriptor, &sizes)?;
            return Ok(Operation::slice(source, &slice, destination)?);
        }
        if let Some((flag, _)) = self.slice_flags().into_iter().find(|&(_, given)| given) {
            return Err(Failure::invalid(format!(
                "{flag}: only a slice takes this flag; a relayout takes --from and --to"
            )));
        }
        let descriptor = source.descriptor()?;
        match self.destination(&descriptor, descriptor.sizes())? {
            Some(destination) => {
                let sizes = destination.descriptor()?;
                let hint = meant(descriptor.sizes(), sizes.sizes());
                Operation::relayout(source, destination).map_err(|error| match hint {
                    Some(layout) => {
                        let hint =
                            "a relayout keeps the logical extents; for this order in memory, use";
                        Failure::invalid(format!("{error}; {hint} --to {layout}"))
                    }
                    None => error.into(),
                })
            }
            None => Err(Failure::invalid(
                "--to: missing; expected the destination of the relayout, a shape or a layout",
            )),
        }
    }

    /// What `--to` says, of the elements and sizes that the operation gives.
    fn destination(
        &self,
        source: &StrideDescriptor,
        sizes: &[u64],
    ) -> Result<Option<Tensor>, Failure> {
        let Some(argument) = &self.to else { return Ok(None) };
        lowered(destination(argument, source, sizes), "--to").map(Some)
    }

    fn slice(&self) -> Result<Slice, Failure> {
        let (Some(List(offsets)), Some(List(sizes)), Some(List(strides))) =
            (&self.offsets, &self.sizes, &self.strides)
        else {
            let needed = self.slice_flags().into_iter().filter(|&(flag, _)| flag != OUTPUT_SIZES);
            let missing = needed.filter(|&(_, given)| !given).map(|(flag, _)| flag);
            return Err(Failure::invalid(format!(
                "{}: missing; a slice needs --offsets, --sizes and --strides",
                missing.collect::<Vec<_>>().join(", ")
            )));
        };
        let mut slice = Slice::new(&offsets[..], &sizes[..], &strides[..]);
        slice.output_sizes = self.output_sizes.clone().map(|sizes| sizes.0);
        Ok(slice)
    }

    /// The flags that only a slice has, and whether they are given.
    fn slice_flags(&self) -> [(&'static str, bool); 4] {
        [
            ("--offsets", self.offsets.is_some()),
            ("--sizes", self.sizes.is_some()),
            ("--strides", self.strides.is_some()),
            (OUTPUT_SIZES, self.output_sizes.is_some()),
        ]
    }
}

/// The tensor of a flag, once it is known to lower, so that an error names the flag.
fn lowered(tensor: Result<Tensor, Failure>, flag: &str) -> Result<Tensor, Failure> {
    let tensor = tensor.map_err(|failure| failure.about(flag))?;
    match tensor.descriptor() {
        Ok(_) => Ok(tensor),
        Err(error) => Err(Failure::from(error).about(flag)),
    }
}

fn from_file(argument: &str) -> Result<Asked, Failure> {
    let Some(file) = argument.strip_prefix('@') else {
        return Err(Failure::invalid(format!(
            "--op: expected @FILE, a serialized stridec.CompileRequest, got `{}`",
            quoted(argument)
        )));
    };
    let path = Path::new(file);
    let about = |error: Error| Failure::from(error).about(name(path));
    let request: CompileRequest = Serialized::read(path)?.message()?;
    let given = request.language;
    let language = proto::Language::try_from(given)
        .map_err(|_| about(RequestError::Language { given }.into()))?;
    let language = language.translation();
    let target = request.target.as_ref().map(Target::try_from).transpose().map_err(about)?;
    if let Some(Kind::HloModule(module)) = &request.operation {
        let about = |error: HloError| Failure::from(Error::from(error)).about("hlo_module");
        let module = Module::decode(module).map_err(|error| about(error).about(name(path)))?;
        return Ok(Asked::Program(Requested { module, target, language }.into()));
    }
    let operation = Operation::try_from(&request).map_err(about)?;
    Ok(Asked::Operation(Request { operation, target, language }.into()))
}
