//! The entry points for untrusted bytes. Each function passes the bytes to a parser, and returns
//! true if they were accepted. Accepted inputs are checked further.
//!
//! `tests/hostile/` and the fuzz targets of `fuzz/` call the same functions.

use prost::Message;
use stridec::{
    Error, Operation, Tensor,
    hlo::{MemoryReport, Module},
    notation::{TensorForm, dml::minor_to_major_from_letters},
    proto::{
        stridec::{
            CompileRequest, CompileResponse, compile_response::Result as Answer, error::Code,
        },
        xla,
    },
    service::respond,
    shape::{
        Layout, Shape, ShapeError, from_json, from_textproto, parse_leaf_path, to_json,
        to_textproto,
    },
    stride::StrideDescriptor,
};

use crate::npy;

/// An entry point.
pub(crate) type Entry = fn(&[u8]) -> bool;

/// Reads a serialized `xla.Shape`.
pub(crate) fn shape(bytes: &[u8]) -> bool {
    match Shape::decode(bytes) {
        Ok(shape) => accepted(shape),
        Err(error) => refused(&error.to_string()),
    }
}

/// Reads XLA's notation of a tensor, a layout or a path, and the letters of a layout.
pub(crate) fn notation(bytes: &[u8]) -> bool {
    let text = &String::from_utf8_lossy(bytes);
    let is_tensor = match text.parse::<Tensor>() {
        Ok(tensor) => match tensor.form() {
            TensorForm::Shape(shape) => accepted(shape.clone()),
            // A DirectML description prints as an array with strides, which is read as another kind
            // of tensor.
            TensorForm::Buffer(_) => {
                assert!(tensor.to_string().parse::<Tensor>().is_ok(), "{tensor}");
                lowered(&tensor);
                true
            }
            _ => {
                assert_eq!(tensor.to_string().parse::<Tensor>().as_ref(), Ok(&tensor), "{tensor}");
                lowered(&tensor);
                true
            }
        },
        Err(Error::Parse(error)) => {
            assert!(error.offset() <= text.len() && text.is_char_boundary(error.offset()));
            refused(&error.to_string())
        }
        // A shape without memory, such as a tuple, is read again from its text.
        Err(error @ (Error::Stride(_) | Error::Shape(_) | Error::Dml(_))) => {
            refused(&error.to_string());
            text.parse::<Shape>().is_ok_and(accepted)
        }
        Err(error) => panic!("{text}: {error}"),
    };
    if let Err(error) = text.parse::<Layout>() {
        refused(&error.to_string());
    }
    if let Err(error) = parse_leaf_path(text) {
        refused(&error.to_string());
    }
    for rank in [0, 4, 65] {
        if let Err(error) = minor_to_major_from_letters(text, None, rank) {
            refused(&error.to_string());
        }
    }
    is_tensor
}

/// Reads a textproto, as `xla.Shape` and as `stridec.CompileRequest`.
pub(crate) fn textproto(bytes: &[u8]) -> bool {
    text(bytes, from_textproto, to_textproto, from_textproto)
}

/// Reads protobuf's JSON, as `xla.Shape` and as `stridec.CompileRequest`.
pub(crate) fn json(bytes: &[u8]) -> bool {
    text(bytes, from_json, to_json, from_json)
}

/// Reads a text as either message.
fn text(
    bytes: &[u8],
    shape: fn(&str) -> Result<xla::Shape, ShapeError>,
    written: fn(&xla::Shape) -> Result<String, ShapeError>,
    request: fn(&str) -> Result<CompileRequest, ShapeError>,
) -> bool {
    let text = &String::from_utf8_lossy(bytes);
    let is_shape = match shape(text) {
        Ok(proto) => {
            let written = written(&proto).expect("a message is written");
            assert_eq!(shape(&written), Ok(proto.clone()));
            read(&proto)
        }
        Err(error) => refused(&error.to_string()),
    };
    let is_request = match request(text) {
        Ok(request) => asked(&request),
        Err(error) => refused(&error.to_string()),
    };
    is_shape || is_request
}

/// Reads the header of a `.npy` file, alone and together with a tensor.
pub(crate) fn npy(bytes: &[u8]) -> bool {
    match npy::Header::read(bytes) {
        Err(reason) => refused(&reason),
        Ok((header, start)) => {
            assert!(start <= bytes.len());
            match npy::tensor_of(&header) {
                Err(reason) => drop(refused(&reason)),
                Ok(shape) => {
                    let tensor = StrideDescriptor::try_from(&shape).expect("an array has strides");
                    npy::check(&header, &tensor, npy::FileOf::Source)
                        .expect("a file is the image of what it says");
                }
            }
            let tensor: Shape = "f32[2,3]{0,1}".parse().expect("a shape");
            let tensor = StrideDescriptor::try_from(&tensor).expect("an array has strides");
            if let Err(reason) = npy::check(&header, &tensor, npy::FileOf::Source) {
                refused(&reason);
            }
            true
        }
    }
}

/// Compiles a serialized `stridec.CompileRequest`.
pub(crate) fn request(bytes: &[u8]) -> bool {
    let response = respond(bytes);
    let response = CompileResponse::decode(response.as_slice()).expect("a response is a message");
    match response.result.expect("every input has an answer") {
        Answer::Kernel(kernel) => {
            let bound: u64 = kernel.bindings.iter().map(|binding| binding.size_in_bytes).sum();
            assert!(kernel.dispatches.is_empty() || bound > 0);
            true
        }
        Answer::Program(program) => {
            assert!(
                program
                    .kernels
                    .iter()
                    .all(|kernel| kernel.dispatches.is_empty() || kernel.proof.is_some())
            );
            true
        }
        Answer::Error(error) => {
            assert_ne!(error.code(), Code::Failed, "{}", error.message);
            refused(&error.message)
        }
    }
}

/// Reads a serialized `xla.HloModuleProto` or `xla.HloProto`.
pub(crate) fn module(bytes: &[u8]) -> bool {
    if let Err(error) = MemoryReport::of_proto(bytes) {
        refused(&error.to_string());
    }
    match Module::decode(bytes) {
        Ok(module) => program(&module),
        Err(error) => refused(&error.to_string()),
    }
}

/// Reads HLO text or StableHLO text.
pub(crate) fn hlo(bytes: &[u8]) -> bool {
    let text = &String::from_utf8_lossy(bytes);
    if let Err(error) = MemoryReport::of_text(text) {
        refused(&error.to_string());
    }
    match Module::parse(text) {
        Ok(module) => program(&module),
        Err(error) => refused(&error.to_string()),
    }
}

/// Checks that a module is read again from its bytes and from its text.
fn program(module: &Module) -> bool {
    let bytes = module.encode();
    let again = Module::decode(&bytes).map(|again| again.encode());
    assert!(again.as_ref() == Ok(&bytes), "{again:?}\n{module}");
    let text = module.to_string();
    // Sparse arrays of TensorFlow can be printed, but they are read from protos only.
    if !text.contains("]sparse{") {
        let again = Module::parse(&text).map(|again| again.to_string());
        assert_eq!(again.as_ref(), Ok(&text));
    }
    true
}

/// Checks a proto that was read, valid or not.
fn read(proto: &xla::Shape) -> bool {
    match Shape::try_from(proto) {
        Ok(shape) => accepted(shape),
        Err(error) => refused(&error.to_string()),
    }
}

fn asked(request: &CompileRequest) -> bool {
    match Operation::try_from(request) {
        Ok(_) => true,
        Err(error) => {
            assert_ne!(error.kind(), stridec::ErrorKind::Failed);
            refused(&error.to_string())
        }
    }
}

/// Checks that a shape is read again from all of its forms, and that it is lowered or refused.
fn accepted(shape: Shape) -> bool {
    let text = shape.to_string();
    let again = text.parse::<Shape>();
    if text.contains("]sparse{") {
        // Sparse arrays of TensorFlow can be printed, but they are read from protos only.
        assert!(again.is_err(), "{text}");
    } else {
        // As in XLA, the notation is the same for a scalar with an empty layout and without a
        // layout.
        assert_eq!(again.map(|again| again.to_string()).as_ref(), Ok(&text));
    }
    assert_eq!(Shape::decode(&shape.encode()).as_ref(), Ok(&shape), "{text}");
    match Tensor::try_from(shape) {
        Ok(tensor) => lowered(&tensor),
        Err(error) => drop(refused(&error.to_string())),
    }
    true
}

/// Checks that the first and the last element of a tensor have offsets inside its memory.
fn lowered(tensor: &Tensor) {
    let descriptor = tensor.descriptor();
    let last: Vec<u64> = descriptor.sizes().iter().map(|size| size.saturating_sub(1)).collect();
    if descriptor.sizes().contains(&0) {
        return;
    }
    for index in [vec![0; last.len()], last] {
        let offset = descriptor.offset(&index).expect("an index inside the sizes has an offset");
        assert!(offset < descriptor.physical_elements(), "{tensor} puts {index:?} at {offset}");
    }
}

/// Checks that an error message is a few lines long, and has no control characters except from the
/// input.
fn refused(message: &str) -> bool {
    assert!(
        !message.is_empty() && message.len() < 1500 && message.lines().count() <= 4,
        "{message}"
    );
    false
}
