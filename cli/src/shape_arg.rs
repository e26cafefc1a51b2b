//! Parses the argument `SHAPE`, which is a notation or an `@FILE` with an `xla.Shape`.

use std::{fmt, path::Path};

use stridec::{
    Error, Tensor,
    notation::{TensorForm, read},
    proto::{stridec::CompileRequest, xla},
    shape::{Notation, Shape, parse_leaf_path},
};

use super::{
    errors::{Failure, input_name},
    proto_file::Serialized,
};

/// A parsed argument `SHAPE`.
#[expect(clippy::large_enum_variant, reason = "a command has one")]
pub(super) enum ShapeArg {
    Tensor(Tensor),
    /// An XLA shape without memory, such as a tuple. The error is reported if a command needs
    /// memory.
    Abstract(Shape, Error),
}

impl ShapeArg {
    /// Parses the argument.
    pub(super) fn read(argument: &str) -> Result<Self, Failure> {
        if let Some(file) = argument.strip_prefix('@') {
            return Ok(Self::from(shape_in_file(file)?));
        }
        match argument.parse() {
            Ok(tensor) => Ok(Self::Tensor(tensor)),
            Err(Error::Parse(error)) => Err(Failure::notation(argument, &error)),
            Err(error) => match argument.parse() {
                Ok(Notation::Shape(shape)) => Ok(Self::Abstract(shape, error)),
                _ => Err(error.into()),
            },
        }
    }

    /// Returns the tensor, or a failure if the shape has no memory.
    pub(super) fn tensor(self) -> Result<Tensor, Failure> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            Self::Abstract(_, error) => Err(error.into()),
        }
    }

    /// Returns the XLA shape. Returns `None` if the argument is given by strides or as a buffer of
    /// DirectML.
    pub(super) fn xla(&self) -> Option<&Shape> {
        match self {
            Self::Tensor(tensor) => match tensor.form() {
                TensorForm::Shape(shape) => Some(shape),
                _ => None,
            },
            Self::Abstract(shape, _) => Some(shape),
        }
    }
}

impl From<Shape> for ShapeArg {
    fn from(shape: Shape) -> Self {
        match Tensor::try_from(shape.clone()) {
            Ok(tensor) => Self::Tensor(tensor),
            Err(error) => Self::Abstract(shape, error.into()),
        }
    }
}

impl fmt::Display for ShapeArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(tensor) => tensor.fmt(f),
            Self::Abstract(shape, _) => shape.fmt(f),
        }
    }
}

/// Parses a `SHAPE` argument that must have memory, for an operation.
pub(super) fn tensor(argument: &str) -> Result<Tensor, Failure> {
    ShapeArg::read(argument)?.tensor()
}

/// Parses a `SHAPE` argument that is only described, so that it may have a layout that no operation
/// accepts.
pub(super) fn any_tensor(argument: &str) -> Result<Tensor, Failure> {
    if argument.starts_with('@') {
        return tensor(argument);
    }
    read(argument).map_err(|error| Failure::notation(argument, &error))
}

/// Reads the shape in a file. A suffix of the name such as `#1,0` selects a leaf of a tuple.
fn shape_in_file(file: &str) -> Result<Shape, Failure> {
    let (file, part) = match file.rsplit_once('#') {
        Some((file, part)) if !part.contains(['.', '/']) => (file, Some(part)),
        _ => (file, None),
    };
    let path = Path::new(file);
    let invalid = |reason: String| Failure::invalid(reason).about(input_name(path));
    let serialized = Serialized::read(path)?;
    if serialized.is_empty() {
        return Err(invalid("empty; expected a serialized xla.Shape".to_owned()));
    }
    let proto: xla::Shape = serialized.message()?;
    if proto.element_type == 0 {
        let is_request = |request: CompileRequest| request.operation.is_some();
        return Err(invalid(if serialized.message().is_ok_and(is_request) {
            "a stridec.CompileRequest; expected an xla.Shape. --op takes a request".to_owned()
        } else {
            "element_type: missing; expected a serialized xla.Shape".to_owned()
        }));
    }
    let shape = Shape::try_from(&proto).map_err(|error| invalid(error.to_string()))?;
    match part {
        None => Ok(shape),
        Some(part) => {
            let numbers = parse_leaf_path(part).map_err(|error| Failure::notation(part, &error))?;
            shape.leaf(&numbers).cloned().map_err(|error| invalid(error.to_string()))
        }
    }
}
