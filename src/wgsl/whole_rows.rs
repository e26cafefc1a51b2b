//! Kernels in which an invocation finds the source of a row once, and then copies a part of the row
//! in a loop, as in `table[ids]`.

use super::{
    cases::{RowLoop, decide},
    form::{AxisNames, DigitWriter},
    gather::{constant_lookups, remark, write_axes},
    lookups::lookups,
    writer::Writer,
};
use crate::{schedule::WholeRows, shape::width};

/// Writes a kernel in which each invocation copies a part of one row.
#[inline(never)] // WebAssembly compiles a function at its first call
pub(super) fn whole_rows(writer: &mut Writer, rows: &WholeRows) {
    let WholeRows { nest, units, lanes } = rows;
    let first = nest.first_of_rows();
    lookups(writer, &first);
    writer.comment(
        "",
        format_args!(
            "An invocation copies {} of a row of {units}. Steps count units of {}.",
            match lanes {
                1 => "all units".to_owned(),
                2 => "every second unit".to_owned(),
                _ => format!("every {lanes}th unit"),
            },
            width(nest.dst_bits()),
        ),
    );
    super::emit::main(writer, "run", rows.invocations(), |writer| {
        let names = AxisNames::of_nest(&first);
        let mut digits = DigitWriter::new("run");
        let lane = (*lanes > 1).then(|| digits.next(writer, *lanes));
        let row = digits.last();
        constant_lookups(writer, &first);
        let axes: Vec<_> = nest.axes().take(nest.extents().len() - 1).collect();
        write_axes(writer, digits, &names, axes.into_iter(), |axis| remark(nest, axis));
        if let Some(lane) = &lane {
            writer.line(format_args!("let lane = {lane};"));
        }
        if nest.scattered().is_none() {
            let place = DigitWriter::times(row, *units);
            writer.line(format_args!("let place = {place};"));
        }
        let first_unit = if lane.is_some() { "lane" } else { "0u" };
        let head = format!("for (var at = {first_unit}; at < {units}u; at += {lanes}u)");
        decide(writer, &first, &names, (nest.src_bits() / 32).max(1), Some(&RowLoop { head }));
    });
}
