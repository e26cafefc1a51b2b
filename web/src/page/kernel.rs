//! A kernel as plain data, as the page runs it with `stridec/gpu`.

use serde_json::{Value, json};
use stridec::request::Table;

use crate::{
    asked::Asked,
    fault::{Fault, Field},
};

/// Compiles the slice of a question. If the question has a `table`, the bytes after the line are
/// its entries, and `table` is its dimension. The kernel has the parts that `stridec/gpu` reads.
pub(crate) fn kernel(asked: &Asked<'_>) -> Result<Value, Fault> {
    let mut operation = asked.operation()?;
    if let Some(dimension) = asked.number("table") {
        let table = Table::new(asked.bytes().to_vec(), usize::try_from(dimension).ok());
        operation =
            operation.with_table(table).map_err(|error| Fault::error(Field::Table, &error))?;
    }
    let kernel = operation.compile(&asked.target()?);
    let kernel = kernel.map_err(|error| Fault::operation(&error))?;
    let bindings = kernel.bindings.iter().map(|binding| {
        json!({
            "binding": binding.binding,
            "writable": binding.writable,
            "sizeInBytes": binding.size_in_bytes,
        })
    });
    let dispatches =
        kernel.dispatches.iter().map(|dispatch| json!({ "workgroups": dispatch.workgroups }));
    Ok(json!({
        "kernel": {
            "wgsl": kernel.wgsl,
            "entryPoint": kernel.entry_point,
            "bindings": bindings.collect::<Vec<_>>(),
            "dispatches": dispatches.collect::<Vec<_>>(),
            "sourceBytes": kernel.source_bytes,
            "destinationBytes": kernel.destination_bytes,
        }
    }))
}
