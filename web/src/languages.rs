//! Kernels as text in other languages.

use rspirv::{binary::Disassemble, dr};
use stridec::{
    Kernel,
    backend::{Language, translate},
};

use crate::fault::{Fault, Field};

/// Returns the kernel in the language with this name. SPIR-V is returned as assembly.
pub(crate) fn text(kernel: &Kernel, language: &str) -> Result<String, Fault> {
    let fault = |error: &dyn std::fmt::Display| Fault::new(Field::None, error);
    if language == "wgsl" || kernel.dispatches.is_empty() {
        return Ok(kernel.wgsl.clone());
    }
    let language: Language = language.parse().map_err(|error| fault(&error))?;
    let translated = translate(kernel, language).map_err(|error| fault(&error))?;
    if let Some(text) = translated.text() {
        return Ok(text.to_owned());
    }
    let module = dr::load_bytes(&translated.code).map_err(|error| fault(&error))?;
    Ok(module.disassemble())
}
