//! [`respond`]: the whole compiler as one function from a serialized request to a serialized
//! response.

use std::panic::{AssertUnwindSafe, catch_unwind};

use prost::Message;

use super::{
    answer,
    language::{self, language},
};
use crate::{
    error::Error,
    error_kind::ErrorKind,
    hlo::Module,
    program::compile_module,
    proto::stridec as proto,
    request::Operation,
    schedule::Target,
    shape::{self, FieldPath},
    trace::span,
};

/// Answers a serialized `stridec.CompileRequest`. Returns a serialized `stridec.CompileResponse`.
///
/// Every input gets a response. It is an error if the bytes are not a valid request, or if stridec
/// panics on the request. Equal bytes get equal responses on every machine.
///
/// ```
/// use prost::Message;
/// use stridec::{proto::stridec::{CompileResponse, compile_response::Result}, service::respond};
/// let response = CompileResponse::decode(respond(&[]).as_slice())?;
/// let Some(Result::Error(error)) = response.result else { return Ok(()) };
/// assert_eq!(error.message, "operation: missing; expected a relayout, a slice or an hlo_module");
/// assert_eq!(error.field, "operation");
/// # Ok::<(), prost::DecodeError>(())
/// ```
#[must_use]
pub fn respond(request: &[u8]) -> Vec<u8> {
    proto::CompileResponse::encode_to_vec(&answer_with(|| compile(&decode(request)?)))
}

/// Answers a request that is already decoded, in the same way as [`respond`].
#[cfg(feature = "capi")]
pub(crate) fn answer_request(request: &proto::CompileRequest) -> proto::CompileResponse {
    answer_with(|| compile(request))
}

/// Calls `compile` and returns its response. If `compile` fails or panics, returns an error
/// response.
fn answer_with(
    compile: impl FnOnce() -> Result<proto::CompileResponse, Error>,
) -> proto::CompileResponse {
    // Catching a panic is safe here, because no state outlives this call.
    match catch_unwind(AssertUnwindSafe(compile)) {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => proto::Error::from(&error).into(),
        Err(_) => proto::Error {
            code: proto::error::Code::Failed.into(),
            message: "a defect of stridec: compiling panicked".into(),
            field: String::new(),
        }
        .into(),
    }
}

fn compile(request: &proto::CompileRequest) -> Result<proto::CompileResponse, Error> {
    let target = request.target.as_ref().map(Target::try_from).transpose()?.unwrap_or_default();
    let language = language(request.language)?;
    if let Some(module) = module(request) {
        let program = module
            .and_then(|module| Ok(compile_module(&module, &target)?))
            .map_err(|error| error.below(&operation_field(request)))?;
        return Ok(answer::program(&program, language)?.into());
    }
    let kernel = Operation::try_from(request)?.compile(&target).map_err(|error| match &error {
        Error::Schedule(of) if of.operand().is_some() => error.below(&operation_field(request)),
        _ => error,
    })?;
    Ok(language::answer(&kernel, language)?.into())
}

/// Returns the path of the request's field that contains the operation, for use in errors.
fn operation_field(request: &proto::CompileRequest) -> FieldPath {
    use proto::compile_request::Operation::{HloModule, HloText, Relayout, Slice};
    match request.operation {
        Some(Relayout(_)) => FieldPath::new("relayout"),
        Some(Slice(_)) => FieldPath::new("slice"),
        Some(HloModule(_)) => FieldPath::new("hlo_module"),
        Some(HloText(_)) => FieldPath::new("hlo_text"),
        None => FieldPath::default(),
    }
}

/// Parses the module of a request, or returns `None` if the request has no module.
fn module(request: &proto::CompileRequest) -> Option<Result<Module, Error>> {
    use proto::compile_request::Operation::{HloModule, HloText};
    Some(match request.operation.as_ref()? {
        HloModule(module) => Module::decode(module).map_err(Error::from),
        HloText(text) => Module::parse(text).map_err(Error::from),
        _ => return None,
    })
}

fn decode(request: &[u8]) -> Result<proto::CompileRequest, Error> {
    span!("decode");
    Ok(shape::decode(request)?)
}

impl From<proto::Kernel> for proto::CompileResponse {
    fn from(kernel: proto::Kernel) -> Self {
        Self { result: Some(proto::compile_response::Result::Kernel(kernel)) }
    }
}

impl From<proto::Program> for proto::CompileResponse {
    fn from(program: proto::Program) -> Self {
        Self { result: Some(proto::compile_response::Result::Program(program)) }
    }
}

impl From<proto::Error> for proto::CompileResponse {
    fn from(error: proto::Error) -> Self {
        Self { result: Some(proto::compile_response::Result::Error(error)) }
    }
}

impl From<&Error> for proto::Error {
    fn from(error: &Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Invalid => proto::error::Code::Invalid,
            ErrorKind::Unsupported => proto::error::Code::Unsupported,
            ErrorKind::NoDevice => proto::error::Code::NoDevice,
            ErrorKind::Failed => proto::error::Code::Failed,
        };
        Self {
            code: code.into(),
            message: error.to_string(),
            field: error.field().unwrap_or_default().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proto::{
        compile_request::Operation as Kind,
        compile_response::Result as Answer,
        error::Code::{Invalid, Unsupported},
    };

    use super::*;
    use crate::{
        hlo::{Builder, Opcode},
        notation::dml::{BufferTensorDesc, TensorDataType},
        request::Tensor,
    };

    /// Returns the tensor that a text denotes. The text `dml` denotes a DirectML tensor of two by
    /// three integers.
    fn tensor(text: &str) -> proto::Tensor {
        if text == "dml" {
            let desc = BufferTensorDesc::new(TensorDataType::Int32, &[2, 3], None);
            return (&Tensor::try_from(desc.unwrap()).unwrap()).try_into().unwrap();
        }
        if let Ok(tensor) = text.parse::<Tensor>() {
            return (&tensor).try_into().unwrap();
        }
        // Shapes that have no memory can be converted to messages too.
        let shape = text.parse::<shape::Shape>().unwrap();
        proto::Tensor { kind: Some(proto::tensor::Kind::Shape((&shape).into())) }
    }

    fn answer(operation: Kind, target: Option<proto::Target>) -> Answer {
        let operation = Some(operation);
        let request = proto::CompileRequest { operation, target, ..Default::default() };
        let response = respond(&request.encode_to_vec());
        proto::CompileResponse::decode(response.as_slice()).unwrap().result.unwrap()
    }

    fn relayout(source: &str, destination: &str) -> Kind {
        let (source, destination) = (Some(tensor(source)), Some(tensor(destination)));
        Kind::Relayout(proto::Relayout { source, destination })
    }

    #[test]
    fn a_kernel_is_the_kernel_of_the_operation() {
        let Answer::Kernel(kernel) = answer(relayout("f32[64,8]", "f32[64,8]{0,1}"), None) else {
            panic!("no kernel")
        };
        let (source, destination) = ("f32[64,8]", "f32[64,8]{0,1}");
        let operation =
            Operation::relayout(source.parse().unwrap(), destination.parse().unwrap()).unwrap();
        assert_eq!(kernel, (&operation.compile(&Target::webgpu()).unwrap()).into());
    }

    #[test]
    fn errors_give_the_path_of_the_field() {
        let slice = |source: &str, strides: &[i64]| {
            Kind::Slice(proto::Slice {
                source: Some(tensor(source)),
                destination: None,
                window_offsets: vec![0, 0],
                window_sizes: vec![2, 2],
                window_strides: strides.to_vec(),
                output_sizes: vec![],
            })
        };
        let mut duplicate = tensor("f32[2,3]");
        if let Some(proto::tensor::Kind::Shape(shape)) = &mut duplicate.kind {
            shape.layout.get_or_insert_default().minor_to_major = vec![1, 1];
        }
        let duplicate = Kind::Relayout(proto::Relayout {
            source: Some(tensor("f32[2,3]")),
            destination: Some(duplicate),
        });
        for (operation, code, field) in [
            (duplicate, Invalid, "relayout.destination.shape.layout.minor_to_major[1]"),
            (relayout("token[]", "f32[2]"), Unsupported, "relayout.source.shape.element_type"),
            (relayout("f32[2,3]", "f32[2,4]"), Invalid, "relayout.destination.shape.dimensions[1]"),
            (relayout("f32[2,?]", "f32[2,3]"), Unsupported, "relayout.source.shape.dimensions[1]"),
            (relayout("c64[2]", "f32[2]"), Unsupported, "relayout.destination.shape.element_type"),
            (
                relayout("f32[2,2]", "f32[2,2] strided<[0,1]>"),
                Invalid,
                "relayout.destination.strided.strides[0]",
            ),
            (
                relayout("f32[2,3]", "f32[2,4] strided<[4,1]>"),
                Invalid,
                "relayout.destination.strided.sizes[1]",
            ),
            (
                relayout("c64[2,3]", "dml"),
                Unsupported,
                "relayout.destination.buffer_tensor_desc.data_type",
            ),
            (
                relayout("f32[3,2]", "f32[3,2]{1,0:SC(0:1)}"),
                Unsupported,
                "relayout.destination.shape.layout.split_configs",
            ),
            (relayout("f32[8192,8192]", "f32[8192,8192]{0,1}"), Unsupported, "relayout.source"),
            (slice("f32[4,4]", &[1, 0]), Invalid, "slice.window_strides[1]"),
            (slice("f32[4,1]", &[1, 1]), Invalid, "slice.window_offsets[1]"),
        ] {
            let Answer::Error(error) = answer(operation, None) else { panic!("{field}: compiled") };
            assert_eq!((error.field.as_str(), error.code()), (field, code), "{}", error.message);
            assert!(error.message.starts_with(field), "{}", error.message);
        }
    }

    #[test]
    fn a_module_is_answered_with_its_program() {
        let mut builder = Builder::new("joined");
        let x = builder.parameter("f32[2,3]".parse().unwrap()).unwrap();
        let y = builder.parameter("f32[4,3]".parse().unwrap()).unwrap();
        let root = builder.add(Opcode::Concatenate { dimension: 0 }, &[x, y]).unwrap();
        let module = builder.finish("main", root).unwrap().encode();
        let Answer::Program(program) = answer(Kind::HloModule(module.clone()), None) else {
            panic!("no program")
        };
        assert_eq!(program.name, "joined");
        let sizes = |images: &[proto::Image]| -> Vec<u64> {
            images.iter().map(|image| image.size_in_bytes).collect()
        };
        assert_eq!((sizes(&program.parameters), sizes(&program.results)), (vec![24, 48], vec![72]));
        let [kernel] = &program.kernels[..] else { panic!("{} kernels", program.kernels.len()) };
        let bound = |binding: &proto::Binding| {
            let source = binding.source.unwrap();
            (source.kind().as_str_name(), source.number, binding.size_in_bytes)
        };
        assert_eq!(
            kernel.bindings.iter().map(bound).collect::<Vec<_>>(),
            [("PARAMETER", 0, 24), ("PARAMETER", 1, 48), ("RESULT", 0, 72)]
        );
        let proof = kernel.proof.as_ref().unwrap();
        assert_eq!((proof.last_source_word, proof.source_words), (Some(5), 6));
        let further = proto::SourceProof { last_word: Some(11), words: 12 };
        assert_eq!(proof.further_sources, [further]);

        let text = "ENTRY e { p = u8[3] parameter(0)\n ROOT r = u8[3] reverse(p), dimensions={0} }";
        let Answer::Program(program) = answer(Kind::HloText(text.into()), None) else {
            panic!("no program")
        };
        assert_eq!((program.kernels.len(), sizes(&program.results)), (1, vec![3]));
        let Answer::Error(error) = answer(Kind::HloText("ENTRY".into()), None) else {
            panic!("compiled")
        };
        assert!(error.message.starts_with("hlo_text"), "{error:?}");

        let cut = Kind::HloModule(module[..module.len() - 1].to_vec());
        let Answer::Error(error) = answer(cut, None) else { panic!("compiled") };
        assert_eq!(error.code(), Invalid);
        assert!(error.field.starts_with("hlo_module"), "{error:?}");
    }

    #[cfg(feature = "backends")]
    #[test]
    fn a_kernel_comes_in_the_language_that_is_asked_for() {
        let request = proto::CompileRequest {
            operation: Some(relayout("f32[64,8]", "f32[64,8]{0,1}")),
            language: proto::Language::Spirv.into(),
            ..Default::default()
        };
        let response = respond(&request.encode_to_vec());
        let response = proto::CompileResponse::decode(response.as_slice()).unwrap();
        let Some(Answer::Kernel(kernel)) = response.result else { panic!("no kernel") };
        let translation = kernel.translation.unwrap();
        assert_eq!(translation.code[..4], [0x03, 0x02, 0x23, 0x07]);
        assert_eq!(kernel.bindings[1].slot.as_ref().unwrap().index, 1);
    }

    #[test]
    fn a_target_names_its_field() {
        let target = proto::Target { preset: "abacus".into(), ..Default::default() };
        let Answer::Error(error) = answer(relayout("f32[2]", "f32[2]"), Some(target)) else {
            panic!("compiled")
        };
        assert_eq!(error.field, "target.preset");
        assert!(
            error.message.starts_with("target.preset: ") && error.message.contains("\"abacus\""),
            "{}",
            error.message
        );
    }

    #[test]
    fn every_input_has_an_answer() {
        let request = proto::CompileRequest {
            operation: Some(relayout("f32[5,6]{0,1:T(2,3)}", "f32[5,6] strided<[7,1]>")),
            ..Default::default()
        };
        let seed = request.encode_to_vec();
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..20_000 {
            let mut bytes = seed.clone();
            for _ in 0..3 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = usize::try_from(state >> 8).unwrap() % bytes.len();
                bytes[at] = state.to_le_bytes()[0];
            }
            let response = proto::CompileResponse::decode(respond(&bytes).as_slice()).unwrap();
            match response.result.unwrap() {
                Answer::Kernel(_) | Answer::Program(_) => {}
                Answer::Error(error) => {
                    assert_ne!(error.code(), proto::error::Code::Failed, "{}", error.message);
                }
            }
        }
    }
}
