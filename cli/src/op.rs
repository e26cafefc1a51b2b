//! Parses the arguments `OP` and `--op`, which describe an operation by flags or by a request in a
//! file.

use std::path::Path;

use stridec::{
    Error, ErrorKind, Operation, Target, Tensor,
    backend::Language,
    hlo::{HloError, Module},
    program::ProgramError,
    proto::stridec::{self as proto, CompileRequest, compile_request::Operation as Kind},
    request::{RequestError, Table},
    stride::StrideDescriptor,
    window::{Slice, Window},
};

use super::{
    args::{OpArgs, OpFlags, OpKind},
    destination::{destination, meant},
    errors::{Exit, Failure, name, quoted},
    image_file::ImageFile,
    list::NumberList,
    npy::FileOf,
    proto_file::Serialized,
    shape_arg::tensor,
};

/// The only flag of a slice that may be omitted.
const OUTPUT_SIZES: &str = "--output-sizes";

/// The end of the error message of commands that do not support programs.
const ONLY_OPERATIONS: &str = "only `run`, `compile` and `explain` take a program";

/// A request for an operation, which may also select the target and the language.
pub(super) struct OperationRequest {
    pub(super) operation: Operation,
    pub(super) target: Option<Target>,
    /// The language into which the kernel must be translated, or `None` for WGSL.
    pub(super) language: Option<Language>,
}

/// A request that was read from the file of `--op`.
pub(super) enum FileRequest {
    Operation(Box<OperationRequest>),
    Program(Box<ProgramRequest>),
}

/// A request for a program, which may also select the target and the language.
pub(super) struct ProgramRequest {
    pub(super) module: Module,
    pub(super) target: Option<Target>,
    /// The language into which the kernels must be translated, or `None` for WGSL.
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
    /// Returns the requested operation. `source` is the operation's source if `--from` is not
    /// given.
    pub(super) fn request(&self, source: Option<Tensor>) -> Result<OperationRequest, Failure> {
        self.flags.request(self.operation, source)
    }

    /// Returns a failure if a module is given, because only programs have one.
    pub(super) fn refuse_module(&self) -> Result<(), Failure> {
        if self.operation == Some(OpKind::Accessor) {
            return Err(only_compiled());
        }
        match &self.module {
            Some(module) => Err(unexpected(module)),
            None => Ok(()),
        }
    }
}

/// Returns the failure for an accessor in any command except `compile`.
pub(super) fn only_compiled() -> Failure {
    Failure::invalid("accessor: only `compile` makes accessors")
}

/// Returns the failure for a module that is given with an operation that has none.
pub(super) fn unexpected(module: &str) -> Failure {
    let module = quoted(module);
    Failure::unexpected(format!(
        "unexpected argument `{module}`; only `hlo` takes a module, and only one"
    ))
}

impl OpFlags {
    /// Returns the operation of `kind`, or the operation in the file of `--op`. `source` is the
    /// operation's source if `--from` is not given.
    pub(super) fn request(
        &self,
        kind: Option<OpKind>,
        source: Option<Tensor>,
    ) -> Result<OperationRequest, Failure> {
        match self.in_file()? {
            Some(FileRequest::Operation(request)) => return Ok(*request),
            Some(FileRequest::Program(_)) => {
                return Err(Failure::invalid(format!("--op: {ONLY_OPERATIONS}")));
            }
            None => {}
        }
        let operation = self.with_table(self.operation(kind, source)?)?;
        Ok(OperationRequest { operation, target: None, language: None })
    }

    /// Returns the request in the file of `--op`, or `None` if the flag is not given.
    pub(super) fn in_file(&self) -> Result<Option<FileRequest>, Failure> {
        self.request.as_deref().map(from_file).transpose()
    }

    /// Returns the name of the first flag that is given, or `None` if there is none.
    pub(super) fn given(&self) -> Option<&'static str> {
        let sides = [
            ("--from", self.from.is_some()),
            ("--to", self.to.is_some()),
            ("--table", self.table.is_some()),
        ];
        let mut flags = sides.into_iter().chain(self.slice_flags());
        flags.find(|&(_, given)| given).map(|(flag, _)| flag)
    }

    /// Adds the table of `--table` to an operation, if the flag is given.
    fn with_table(&self, operation: Operation) -> Result<Operation, Failure> {
        let Some(path) = &self.table else { return Ok(operation) };
        let to = operation.destination_descriptor().element_type();
        let shape = Table::shape(operation.source(), to, self.table_dimension);
        let shape = shape.map_err(|error| Failure::from(Error::from(error)).about("--table"))?;
        let tensor = StrideDescriptor::try_from(&shape).map_err(Error::from)?;
        let file = ImageFile::open(path, &tensor, &shape.to_string(), FileOf::Table)?;
        let table = Table::new(file.image().to_vec(), self.table_dimension);
        Ok(operation.with_table(table)?)
    }

    /// Builds the operation that the flags describe: a slice or a relayout, as `kind` selects.
    fn operation(
        &self,
        kind: Option<OpKind>,
        source: Option<Tensor>,
    ) -> Result<Operation, Failure> {
        if kind == Some(OpKind::Accessor) {
            return Err(only_compiled());
        }
        if kind == Some(OpKind::Hlo) {
            return Err(Failure::invalid(format!("hlo: {ONLY_OPERATIONS}")));
        }
        let source = match (&self.from, source) {
            (Some(argument), _) => tensor(argument).map_err(|failure| failure.about("--from"))?,
            (None, Some(source)) => source,
            (None, None) => {
                return Err(Failure::invalid(
                    "--from: missing; expected a shape (only `run` with a .npy file as input can do without)",
                ));
            }
        };
        if kind == Some(OpKind::Slice) {
            let slice = self.slice()?;
            let descriptor = source.descriptor();
            let window = Window::slice(descriptor.sizes(), &slice).map_err(Error::from)?;
            let sizes: Vec<u64> = window.sizes().collect();
            let destination = self.destination(descriptor, &sizes)?;
            return Ok(Operation::slice(source, &slice, destination)?);
        }
        if let Some((flag, _)) = self.slice_flags().into_iter().find(|&(_, given)| given) {
            return Err(Failure::invalid(format!(
                "{flag}: only a slice takes this flag; a relayout takes --from and --to"
            )));
        }
        let descriptor = source.descriptor();
        match self.destination(descriptor, descriptor.sizes())? {
            Some(destination) => {
                let hint = meant(descriptor.sizes(), destination.descriptor().sizes());
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

    /// Returns the tensor of `--to`, or `None` if the flag is not given. If the flag is only a
    /// layout, the tensor has the extents `sizes` and the element type of the source.
    fn destination(
        &self,
        source: &StrideDescriptor,
        sizes: &[u64],
    ) -> Result<Option<Tensor>, Failure> {
        let Some(argument) = &self.to else { return Ok(None) };
        let tensor = destination(argument, source, sizes);
        tensor.map_err(|failure| failure.about("--to")).map(Some)
    }

    /// Returns the slice that the flags describe. Returns a failure with the names of missing
    /// flags.
    fn slice(&self) -> Result<Slice, Failure> {
        let (Some(NumberList(offsets)), Some(NumberList(sizes)), Some(NumberList(strides))) =
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

    /// Returns the names of the flags of a slice, each with true if the flag is given.
    fn slice_flags(&self) -> [(&'static str, bool); 4] {
        [
            ("--offsets", self.offsets.is_some()),
            ("--sizes", self.sizes.is_some()),
            ("--strides", self.strides.is_some()),
            (OUTPUT_SIZES, self.output_sizes.is_some()),
        ]
    }
}

/// Reads the request in the file of `--op`, which is written `@FILE`.
fn from_file(argument: &str) -> Result<FileRequest, Failure> {
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
    let module = match &request.operation {
        Some(Kind::HloModule(module)) => Some((Module::decode(module), "hlo_module")),
        Some(Kind::HloText(text)) => Some((Module::parse(text), "hlo_text")),
        _ => None,
    };
    if let Some((module, field)) = module {
        let about = |error: HloError| Failure::from(Error::from(error)).about(field);
        let module = module.map_err(|error| about(error).about(name(path)))?;
        return Ok(FileRequest::Program(ProgramRequest { module, target, language }.into()));
    }
    let operation = Operation::try_from(&request).map_err(about)?;
    Ok(FileRequest::Operation(OperationRequest { operation, target, language }.into()))
}
