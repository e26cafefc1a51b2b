//! Kernels in other languages.
//!
//! A question has the kind `relayout`, `slice` or `program`, the fields that the page has for that
//! kind, and a `language`. The answer has the `texts` of the kernels, or an `error`.

use rspirv::{binary::Disassemble, dr};
use serde_json::{Value, json};
use stridec::{
    Kernel,
    backend::{Language, translate},
    program::compile_module,
};

use crate::{
    asked::Asked,
    fault::{Fault, Field},
};

/// Answers one question.
pub(crate) fn show(input: &[u8]) -> Vec<u8> {
    let answer = Asked::read(input).and_then(|asked| texts(&asked));
    let answer = match answer {
        Ok(texts) => json!({ "texts": texts }),
        Err(fault) => json!({ "error": fault.json() }),
    };
    Value::to_string(&answer).into_bytes()
}

/// Returns the texts of the kernels that the question describes.
fn texts(asked: &Asked<'_>) -> Result<Vec<String>, Fault> {
    let target = asked.target()?;
    let language = asked.text("language");
    if asked.text("kind") == "program" {
        let program = compile_module(&asked.module()?, &target).map_err(fault)?;
        return program.kernels().iter().map(|kernel| text(kernel, language)).collect();
    }
    let kernel = asked.operation()?.compile(&target).map_err(fault)?;
    Ok(vec![text(&kernel, language)?])
}

/// Returns the kernel in the language with this name. SPIR-V is returned as assembly.
fn text(kernel: &Kernel, language: &str) -> Result<String, Fault> {
    if kernel.dispatches.is_empty() {
        return Ok(kernel.wgsl.clone());
    }
    let language: Language = language.parse().map_err(fault)?;
    let translated = translate(kernel, language).map_err(fault)?;
    if let Some(text) = translated.text() {
        return Ok(text.to_owned());
    }
    let module = dr::load_bytes(&translated.code).map_err(fault)?;
    Ok(module.disassemble())
}

fn fault(error: impl std::fmt::Display) -> Fault {
    Fault::new(Field::None, error)
}
