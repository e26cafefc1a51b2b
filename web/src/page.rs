//! Answers to the questions of the page.
//!
//! | kind | fields | the answer |
//! |---|---|---|
//! | `layout` | `from` | the content of the page that `explain` makes, and the layout's parts |
//! | `relayout` | `from`, `to` | the same for an operation |
//! | `slice` | `from`, `to`, `offsets`, `sizes`, `strides` | the same |
//! | `program` | a module | the same for a program |
//! | `memory` | a module, a report, or a shape | the memory of each buffer |
//! | `text` | a serialized module | its text |
//! | `targets` | | the names of the targets |
//! | `kernel` | `from`, `offsets`, `sizes`, `strides`, `to`, a table | a kernel as plain data |
//! | `notations` | `from` | the layout in every notation that can express it |
//!
//! The first four kinds accept a `part`. If it is `below`, the answer is the markup for the part of
//! the page below the content, which takes longer to make. A question may also have a `target`. The
//! answer to an invalid question has an `error` instead, with `field`, `message` and `place`. If
//! the target's limits are too low for an operation, the answer has the picture of the operation,
//! and in `refused` the reason why there is no kernel.

use serde_json::{Value, json};
use stridec::{
    Target,
    explain::{self, Content, Picture, ProgramPicture},
    notation::{self, Kind},
    program::Ways,
};

use crate::{
    asked::Asked,
    fault::{Fault, Field},
};

mod fields;
mod kernel;
mod memory;

use fields::{fields, fields_of};

/// Answers one question.
pub(crate) fn show(input: &[u8]) -> Vec<u8> {
    let answer = match Asked::read(input) {
        Ok(asked) => {
            let mut answer =
                answer(&asked).unwrap_or_else(|fault| json!({ "error": fault.json() }));
            answer["fields"]["from"] = fields(asked.text("from"));
            // An order such as `NHWC` has the parts of the layout that it means.
            answer["fields"]["to"] = match asked.completed() {
                Some(tensor) => fields_of(&tensor),
                None => fields(asked.text("to")),
            };
            answer
        }
        Err(fault) => json!({ "error": fault.json() }),
    };
    answer.to_string().into_bytes()
}

fn answer(asked: &Asked<'_>) -> Result<Value, Fault> {
    let is_below = asked.text("part") == "below";
    match asked.text("kind") {
        "layout" => {
            let tensor = asked.tensor(Field::From)?;
            Ok(tensor.draw(|picture| drawn(picture, is_below)))
        }
        "relayout" | "slice" => {
            let (operation, target) = (asked.operation()?, asked.target()?);
            let compiled = if is_below {
                operation.compilation(&target).map(|compilation| below(compilation.page_below()))
            } else {
                let compilation = operation.compilation_unvalidated(&target);
                compilation.map(|compilation| json(compilation.page_content()))
            };
            Ok(compiled.unwrap_or_else(|error| {
                // The layouts are shown even if there is no kernel.
                let mut answer = operation.draw(|picture| drawn(picture, is_below));
                answer["refused"] = error.to_string().into();
                answer
            }))
        }
        "program" => {
            let module = asked.module()?;
            let fault = |error| Fault::new(Field::Module, error);
            let ways = Ways::new(&module).map_err(|error| Fault::new(Field::Module, error))?;
            let (picture, target) = (ProgramPicture::new(&ways), asked.target()?);
            if is_below {
                picture.below(&target).map(below).map_err(fault)
            } else {
                picture.content(&target).map(json).map_err(fault)
            }
        }
        "targets" => {
            let names: Vec<String> =
                Target::presets().into_iter().map(|target| target.name).collect();
            Ok(json!({ "names": names }))
        }
        "kernel" => kernel::kernel(asked),
        "notations" => {
            let text = asked.text(Field::From.name());
            let tensor =
                notation::read(text).map_err(|error| Fault::notation(Field::From, text, &error))?;
            let written = Kind::ALL.into_iter().filter_map(|kind| {
                let text = tensor.write(kind).ok()?;
                let prefix = match kind {
                    Kind::Xla | Kind::Memref => String::new(),
                    _ => format!("{}:", kind.name()),
                };
                Some(json!({ "name": kind.name(), "text": text, "typed": prefix + &text }))
            });
            Ok(json!({ "notations": written.collect::<Vec<_>>() }))
        }
        "memory" => memory::report(asked),
        "text" => Ok(json!({ "text": asked.module()?.to_string() })),
        kind => Err(Fault::new(Field::None, format!("{kind}: no such kind"))),
    }
}

/// Returns the drawing of a picture without a kernel.
fn drawn(picture: &Picture<'_>, is_below: bool) -> Value {
    if is_below {
        below(explain::below(picture, None))
    } else {
        json(explain::content(picture, None))
    }
}

fn json(content: Content) -> Value {
    let Content { title, body, data, .. } = content;
    json!({ "title": title, "body": body, "data": data })
}

fn below(markup: String) -> Value {
    json!({ "below": Value::from(markup) })
}
