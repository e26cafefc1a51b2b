//! The argument `SHAPE`: a notation, or `@FILE` with an `xla.Shape`.

use std::path::Path;

use stridec::{
    Tensor,
    notation::{Array, read},
    proto::{stridec::CompileRequest, xla},
    shape::{Shape, parse_leaf_path},
};

use super::{
    errors::{Failure, input_name},
    proto_file::Serialized,
};

/// Reads a `SHAPE` argument.
pub(super) fn tensor(argument: &str) -> Result<Tensor, Failure> {
    match argument.strip_prefix('@') {
        Some(file) => Ok(Tensor::Shape(shape_in_file(file)?)),
        None => argument.parse().map_err(|error| Failure::notation(argument, &error)),
    }
}

/// Reads a `SHAPE` argument whose elements have places, also those that no operation takes.
pub(super) fn array(argument: &str) -> Result<Array, Failure> {
    if argument.starts_with('@') {
        return Ok(Array::try_from(tensor(argument)?)?);
    }
    read(argument).map_err(|error| Failure::notation(argument, &error))
}

/// Reads the shape in a file. If the name ends in `#1,0`, returns that part of the tuple.
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
