//! Answers to the questions of the JavaScript package in `js/`.
//!
//! | kind | fields | the answer |
//! |---|---|---|
//! | `relayout` | `from`, `to` | `kernel`, as `stridec compile --emit json` prints it |
//! | `slice` | `from`, `to`, `offsets`, `sizes`, `strides` | the same |
//! | `program` | a module | `program`, its kernels and buffers |
//! | `describe` | `from` | the object that `stridec describe --format json` prints |
//! | `offset` | `from`, `index` | `offset`, in elements |
//! | `convert` | `from`, `to`, the name of a notation | `text` |
//! | `memory` | a module, a report, or a shape | the bytes of each buffer, and their sums |
//!
//! Those that compile also have a `target`, `limits` that replace the target's, and `gaps`, which
//! is `keep` or missing. If the question has a `table`, the bytes after the line are its entries,
//! and `table` is its dimension or -1. The answer to an invalid question has an `error` instead.
//! So does an answer with a number that JavaScript would round.

use serde_json::{Number, Value, json};
use stridec::{
    Error, Target, Tensor,
    nest::Gaps,
    notation::{Kind, description, read},
    program::{ArrayBuffer, BufferId, Program, compile_module},
    request::Table,
};

use crate::{
    asked::Asked,
    fault::{Fault, Field},
    memory::measured,
    plain::of_kernel,
};

/// Answers one question. A panic ends the instance, because the module is built to abort;
/// `js/index.js` then makes another instance.
pub(crate) fn show(input: &[u8]) -> Vec<u8> {
    let answer = Asked::read(input).and_then(|asked| exact(&asked, answer(&asked)?));
    let answer = answer.unwrap_or_else(|fault| json!({ "error": fault.json() }));
    answer.to_string().into_bytes()
}

fn answer(asked: &Asked<'_>) -> Result<Value, Fault> {
    match asked.text("kind") {
        "relayout" | "slice" => compiled(asked),
        "program" => compiled_program(asked),
        "describe" => described(asked),
        "offset" => offset(asked),
        "convert" => converted(asked),
        "memory" => memory(asked),
        kind => Err(Fault::new(Field::None, format!("{kind}: no such kind"))),
    }
}

// Engines compile a function at its first call. Inlined, all kinds of answers would be one function
// of 42 KB, which the first kernel would wait for.

#[inline(never)]
fn compiled(asked: &Asked<'_>) -> Result<Value, Fault> {
    let mut operation = asked.operation()?;
    if asked.text("gaps") == "keep" {
        operation = operation.with_gaps(Gaps::Keep);
    }
    if let Some(dimension) = asked.number("table") {
        let table = Table::new(asked.bytes().to_vec(), usize::try_from(dimension).ok());
        operation = operation.with_table(table).map_err(|error| Fault::operation(&error))?;
    }
    let kernel = operation.compile(&target(asked)?);
    let kernel = kernel.map_err(|error| Fault::operation(&error))?;
    Ok(json!({ "kernel": of_kernel(&kernel) }))
}

#[inline(never)]
fn compiled_program(asked: &Asked<'_>) -> Result<Value, Fault> {
    let (module, target) = (asked.module()?, target(asked)?);
    let program = compile_module(&module, &target).map_err(Fault::program)?;
    Ok(json!({ "program": of_program(&program) }))
}

#[inline(never)]
fn described(asked: &Asked<'_>) -> Result<Value, Fault> {
    Ok(description(&layout(asked)?))
}

#[inline(never)]
fn offset(asked: &Asked<'_>) -> Result<Value, Fault> {
    let tensor = layout(asked)?;
    let index = asked.numbers::<u64>(Field::Index)?;
    let offset = tensor.descriptor().offset(&index);
    let offset = offset.map_err(|error| Fault::error(Field::Index, &error.into()))?;
    Ok(json!({ "offset": offset }))
}

#[inline(never)]
fn converted(asked: &Asked<'_>) -> Result<Value, Fault> {
    let name = asked.text(Field::To.name());
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let names = Kind::ALL.map(Kind::name).join(", ");
        Fault::new(Field::As, format!("expected one of {names}, got {name:?}"))
    })?;
    let text = layout(asked)?.write(kind);
    let text = text.map_err(|error| Fault::error(Field::As, &Error::from(error)))?;
    Ok(json!({ "text": text }))
}

#[inline(never)]
fn memory(asked: &Asked<'_>) -> Result<Value, Fault> {
    Ok(measured(asked)?.json(None))
}

/// Returns the answer, or a fault if it has a number above 2^53. The numbers of JavaScript are
/// doubles, and not every integer beyond that is one.
fn exact(asked: &Asked<'_>, answer: Value) -> Result<Value, Fault> {
    let Some(number) = rounded(&answer) else { return Ok(answer) };
    let field = match asked.text("kind") {
        "program" | "memory" => Field::Module,
        _ => Field::From,
    };
    let message = format!(
        "the answer has the number {number}, and JavaScript rounds numbers above 2^53; expected a smaller layout"
    );
    Err(Fault::unsupported(field, message))
}

/// Returns the first integer whose absolute value is above 2^53.
fn rounded(value: &Value) -> Option<&Number> {
    match value {
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            (size? > 1 << 53).then_some(number)
        }
        Value::Array(values) => values.iter().find_map(rounded),
        Value::Object(fields) => fields.values().find_map(rounded),
        _ => None,
    }
}

/// Returns a layout that is only described, so it may be one that no operation accepts.
fn layout(asked: &Asked<'_>) -> Result<Tensor, Fault> {
    let text = asked.text(Field::From.name());
    read(text).map_err(|error| Fault::notation(Field::From, text, &error))
}

/// Returns the target of the question, with the limits of a device if it has them.
fn target(asked: &Asked<'_>) -> Result<Target, Fault> {
    let mut target = asked.target()?;
    let small = |name| asked.number(name).map(|given| u32::try_from(given).unwrap_or(u32::MAX));
    if let Some(given) = asked.number("maxStorageBufferBindingSize") {
        target.max_storage_buffer_binding_size = u64::try_from(given).unwrap_or_default();
    }
    for (name, limit) in [
        ("maxComputeWorkgroupsPerDimension", &mut target.max_compute_workgroups_per_dimension),
        ("maxComputeInvocationsPerWorkgroup", &mut target.max_compute_invocations_per_workgroup),
        ("maxStorageBuffersPerShaderStage", &mut target.max_storage_buffers_per_shader_stage),
    ] {
        *limit = small(name).unwrap_or(*limit);
    }
    Ok(target)
}

/// Returns a program: its kernels, whose bindings name their buffers, and the sizes of the buffers.
/// `sizeInBytes` is the size of an array, as in `stridec.Image`, and `bindingBytes` the size that
/// the kernels bind, as [`Program::binding_bytes`] returns it.
fn of_program(program: &Program) -> Value {
    let kernels = program.kernels().iter().zip(program.steps()).map(|(kernel, step)| {
        let mut value = of_kernel(kernel);
        let buffers = step.sources().iter().copied().chain([step.destination()]);
        for (number, buffer) in buffers.enumerate().take(kernel.bindings.len()) {
            value["bindings"][number]["source"] = of_buffer(buffer);
        }
        value
    });
    let images = |buffers: &[ArrayBuffer], id: fn(usize) -> BufferId| -> Vec<Value> {
        let image = |(number, buffer): (usize, &ArrayBuffer)| {
            json!({
                "shape": buffer.shape().to_string(),
                "sizeInBytes": buffer.bytes(),
                "bindingBytes": program.binding_bytes(id(number)),
            })
        };
        buffers.iter().enumerate().map(image).collect()
    };
    let sizes = program.scratch_sizes();
    let scratch = sizes.iter().map(|size| json!({ "bindingBytes": size }));
    let constants = program.constants().iter().enumerate().map(|(number, bytes)| {
        let bound = program.binding_bytes(BufferId::Constant(number));
        json!({ "bytes": bytes, "bindingBytes": bound })
    });
    json!({
        "name": program.name(),
        "kernels": kernels.collect::<Vec<_>>(),
        "parameters": images(program.parameters(), BufferId::Parameter),
        "results": images(program.results(), BufferId::Result),
        "scratch": scratch.collect::<Vec<_>>(),
        "constants": constants.collect::<Vec<_>>(),
    })
}

fn of_buffer(buffer: BufferId) -> Value {
    let (kind, number) = match buffer {
        BufferId::Parameter(number) => ("PARAMETER", number),
        BufferId::Constant(number) => ("CONSTANT", number),
        BufferId::Scratch(number) => ("SCRATCH", number),
        BufferId::Result(number) => ("RESULT", number),
    };
    json!({ "kind": kind, "number": number })
}
