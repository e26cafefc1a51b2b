//! The kernel of a slice, as the page runs it with `stridec/gpu`.

use serde_json::{Value, json};
use stridec::request::Table;

use crate::{
    asked::Asked,
    fault::{Fault, Field},
    plain::of_kernel,
};

/// Compiles the slice of a question. If the question has a `table`, the bytes after the line are
/// its entries, and `table` is its dimension.
pub(crate) fn kernel(asked: &Asked<'_>) -> Result<Value, Fault> {
    let mut operation = asked.operation()?;
    if let Some(dimension) = asked.number("table") {
        let table = Table::new(asked.bytes().to_vec(), usize::try_from(dimension).ok());
        operation =
            operation.with_table(table).map_err(|error| Fault::error(Field::Table, &error))?;
    }
    let kernel = operation.compile(&asked.target()?);
    let kernel = kernel.map_err(|error| Fault::operation(&error))?;
    Ok(json!({ "kernel": of_kernel(&kernel) }))
}
