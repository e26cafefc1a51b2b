//! `OP`: from the arguments or a request to an operation.

use std::path::Path;

use stridec::{
    Error, ErrorKind, Operation, Target, Tensor,
    backend::Language,
    proto::stridec::{self as proto, CompileRequest},
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

/// What is asked: an operation, and the target and the language that a request names.
pub(super) struct Request {
    pub(super) operation: Operation,
    pub(super) target: Option<Target>,
    /// `None` for WGSL.
    pub(super) language: Option<Language>,
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
            Some(module) => {
                let mistake = mistakes::explained(&mistakes::arguments());
                Err(Failure::invalid(mistake.unwrap_or_else(|| {
                    format!("unexpected argument `{}`; only `hlo` takes a module", quoted(module))
                })))
            }
            None => Ok(()),
        }
    }
}

impl OpFlags {
    /// The operation of a kind, or of a file where there is none; it reads `source` where `--from` says nothing.
    pub(super) fn request(
        &self,
        kind: Option<OpKind>,
        source: Option<Tensor>,
    ) -> Result<Request, Failure> {
        if let Some(request) = &self.request {
            return from_file(request);
        }
        let operation = self.operation(kind, source)?;
        Ok(Request { operation, target: None, language: None })
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
            let reason = "hlo: only `run` and `compile` take a program";
            return Err(Failure::invalid(reason));
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

fn from_file(argument: &str) -> Result<Request, Failure> {
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
    Ok(Request {
        language: language.translation(),
        operation: Operation::try_from(&request).map_err(about)?,
        target: request.target.as_ref().map(Target::try_from).transpose().map_err(about)?,
    })
}
