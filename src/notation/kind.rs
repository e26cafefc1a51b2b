//! [`Kind`]: the list of all notations, and the detection of the notation of a text.

use std::{fmt, str::FromStr};

use super::{
    Tensor,
    cursor::{Cursor, Result},
    cute, dlpack, dml, ggml, jax, memref,
    named::{self, CUBLASLT, CUDNN, ONNXRUNTIME, TTNN},
    numpy, onednn, tensorrt, torch, triton, tvm, xla,
};
use crate::shape::ParseError;

/// A notation for layouts, either XLA's own or another system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// XLA's own notation. The prefix `xla:` may be omitted.
    Xla,
    /// The `repr` of JAX's `Layout`.
    Jax,
    /// numpy's shape, dtype and strides in bytes.
    Numpy,
    /// torch's size, stride and storage offset.
    Torch,
    /// oneDNN's format tags.
    OneDnn,
    /// ONNX Runtime's blocked layouts.
    OnnxRuntime,
    /// `TensorRT`'s formats.
    TensorRt,
    /// cuDNN's formats.
    Cudnn,
    /// cuBLASLt's orders of matrices, and its layouts of scale factors.
    CublasLt,
    /// `OpenVINO`'s formats of GPU memory.
    OpenVino,
    /// TVM's layouts.
    Tvm,
    /// TT-NN's layouts.
    Ttnn,
    /// ggml's extents and strides in bytes.
    Ggml,
    /// CuTe's nested shapes and strides.
    Cute,
    /// MLIR's memref. The prefix `memref:` may be omitted.
    Memref,
    /// DirectML's buffer descriptions in JSON.
    Dml,
    /// `DLPack`'s tensors in JSON.
    DlPack,
    /// Triton's linear layouts.
    Triton,
}

impl Kind {
    /// All notations.
    pub const ALL: [Self; 18] = [
        Self::Xla,
        Self::Jax,
        Self::Numpy,
        Self::Torch,
        Self::OneDnn,
        Self::OnnxRuntime,
        Self::TensorRt,
        Self::Cudnn,
        Self::CublasLt,
        Self::OpenVino,
        Self::Tvm,
        Self::Ttnn,
        Self::Ggml,
        Self::Cute,
        Self::Memref,
        Self::Dml,
        Self::DlPack,
        Self::Triton,
    ];

    /// Returns the name of the notation, which precedes the `:` in a text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Xla => "xla",
            Self::Jax => "jax",
            Self::Numpy => "numpy",
            Self::Torch => "torch",
            Self::OneDnn => "onednn",
            Self::OnnxRuntime => "onnxruntime",
            Self::TensorRt => "tensorrt",
            Self::Cudnn => "cudnn",
            Self::CublasLt => "cublaslt",
            Self::OpenVino => "openvino",
            Self::Tvm => "tvm",
            Self::Ttnn => "ttnn",
            Self::Ggml => "ggml",
            Self::Cute => "cute",
            Self::Memref => "memref",
            Self::Dml => "dml",
            Self::DlPack => "dlpack",
            Self::Triton => "triton",
        }
    }

    /// Parses a text in this notation, from `cursor` on.
    fn read(self, cursor: &mut Cursor<'_>) -> Result<Tensor> {
        match self {
            Self::Xla => xla::read(cursor),
            Self::Jax => jax::read(cursor),
            Self::Numpy => numpy::read(cursor),
            Self::Torch => torch::read(cursor),
            Self::OneDnn => onednn::read(cursor),
            Self::OnnxRuntime => named::read(cursor, ONNXRUNTIME),
            Self::TensorRt => tensorrt::read(cursor),
            Self::Cudnn => named::read(cursor, CUDNN),
            Self::CublasLt => named::read(cursor, CUBLASLT),
            Self::OpenVino => named::read_openvino(cursor),
            Self::Tvm => tvm::read(cursor),
            Self::Ttnn => named::read(cursor, TTNN),
            Self::Ggml => ggml::read(cursor),
            Self::Cute => cute::read(cursor),
            Self::Memref => memref::read(cursor),
            Self::Dml => dml::read(cursor),
            Self::DlPack => dlpack::read(cursor),
            Self::Triton => triton::read(cursor),
        }
    }

    /// Writes a tensor in this notation. Returns an error with the reason if the notation cannot
    /// describe the tensor.
    pub(super) fn write(self, array: &Tensor) -> std::result::Result<String, String> {
        let bytes = array.descriptor().prefix_bytes();
        if bytes != 0 && self != Self::Xla {
            return Err(format!(
                "{bytes} bytes lie before the data, M({bytes}), which only XLA's notation says"
            ));
        }
        match self {
            Self::Xla => xla::write(array),
            Self::Jax => jax::write(array),
            Self::Numpy => numpy::write(array),
            Self::Torch => torch::write(array),
            Self::OneDnn => onednn::write(array),
            Self::OnnxRuntime => named::write(array, ONNXRUNTIME),
            Self::TensorRt => tensorrt::write(array),
            Self::Cudnn => named::write(array, CUDNN),
            Self::CublasLt => named::write(array, CUBLASLT),
            Self::OpenVino => named::write_openvino(array),
            Self::Tvm => tvm::write(array),
            Self::Ttnn => named::write(array, TTNN),
            Self::Ggml => ggml::write(array),
            Self::Cute => cute::write(array),
            Self::Memref => memref::write(array),
            Self::Dml => dml::write(array),
            Self::DlPack => dlpack::write(array),
            Self::Triton => triton::write(array),
        }
    }

    /// Detects the notation of a text. Returns the notation and the offset at which the text after
    /// `KIND:` begins. Returns `None` for an XLA shape without a prefix.
    ///
    /// # Errors
    ///
    /// Returns an error if the text begins with a word and `:`, but the word is not the name of a
    /// notation.
    fn of(text: &str) -> Result<Option<(Self, usize)>> {
        let start = text.len() - text.trim_ascii_start().len();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let len = text.bytes().skip(start).take_while(is_part).count();
        let name = &text[start..start + len];
        if name == "memref" && text[start + len..].starts_with('<') {
            return Ok(Some((Self::Memref, start)));
        }
        if len == 0 || text.as_bytes().get(start + len) != Some(&b':') {
            return Ok(None);
        }
        match name.parse() {
            Ok(kind) => Ok(Some((kind, start + len + 1))),
            Err(reason) => Err(ParseError::new(start..start + len, reason)),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            format!("expected one of the notations {}", names.join(", "))
        })
    }
}

/// Returns true if a text is of the form `KIND:TEXT` or is a memref, and thus not an XLA shape
/// without a prefix.
///
/// # Errors
///
/// Returns an error if the text begins with a word and `:`, but the word is not the name of a
/// notation.
pub(crate) fn is_other(text: &str) -> Result<bool> {
    Ok(Kind::of(text)?.is_some())
}

/// Parses a tensor in the form `KIND:TEXT`, or a shape in XLA's notation.
///
/// ```
/// use stridec::notation::read;
/// assert_eq!(read("jax:f32[2,3] Layout((1, 0))")?.descriptor().offset(&[1, 2])?, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error with a position if the text is malformed, or if it does not determine the
/// location of every element.
pub fn read(text: &str) -> Result<Tensor> {
    let (kind, start) = Kind::of(text)?.unwrap_or((Kind::Xla, 0));
    kind.read(&mut Cursor::starting_at(text, start)?)
}
