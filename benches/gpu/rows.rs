//! `--cases rows`: rows that are gathered from a table, or scattered into it, by run-time indices.
//! They are compared with the buffer copy and the identity kernel for the bytes that they write.

use std::{error::Error, fs::File};

use stridec::{
    gpu::Gpu,
    hlo::Module,
    program::{compile_in_place, compile_module},
};

use super::{
    Options,
    programs::{Shares, noise, on_gpu},
};

/// The size of the table. It and the rows are powers of two.
const TABLE_BYTES: usize = 64 << 20;

/// The operation of a case on the rows.
#[derive(Clone, Copy)]
enum RowOperation {
    Gather,
    /// The result has a buffer of its own, so the whole table is written.
    ScatterWithCopy,
    /// The result takes over the table.
    ScatterInPlace,
    /// One row is updated, and the result takes over the table.
    UpdateInPlace,
}

/// Times rows of 64 bytes to 4 KiB. A quarter of the rows of the table are moved, each once, or a
/// single row.
pub fn measure(
    gpu: &Gpu,
    options: &Options,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let target = gpu.limits().target(gpu.name());
    let mut shares = Shares { device: gpu.name(), json, of_identity: Vec::new() };
    for what in [
        RowOperation::Gather,
        RowOperation::ScatterWithCopy,
        RowOperation::ScatterInPlace,
        RowOperation::UpdateInPlace,
    ] {
        for row in [64, 256, 1024, 4096] {
            let rows = TABLE_BYTES / row;
            let count = if matches!(what, RowOperation::UpdateInPlace) { 1 } else { rows / 4 };
            let (name, moved) = match what {
                RowOperation::Gather => ("gather", count * row),
                RowOperation::ScatterWithCopy => ("scatter with a copy", TABLE_BYTES),
                RowOperation::ScatterInPlace => ("scatter in place", count * row),
                RowOperation::UpdateInPlace => ("update in place", row),
            };
            let name = format!("{name}, {count} rows of {row} bytes");
            if !name.contains(&options.only) {
                continue;
            }
            let module = Module::parse(&text(what, rows, row / 4, count))?;
            let program = match what {
                RowOperation::ScatterInPlace | RowOperation::UpdateInPlace => {
                    compile_in_place(&module, &target)?
                }
                RowOperation::Gather | RowOperation::ScatterWithCopy => {
                    compile_module(&module, &target)?
                }
            };
            // An odd factor visits each row of a power of two at most once.
            let at = |n: usize| u32::try_from((n * 40_503 + 77) % rows).expect("a row");
            let indices = (0..count).flat_map(|n| at(n).to_le_bytes()).collect();
            let mut images = vec![noise(TABLE_BYTES as u64), indices];
            if !matches!(what, RowOperation::Gather) {
                images.push(noise((count * row) as u64));
            }
            let measured = on_gpu(gpu, &program, &images, 2 * moved as u64, options);
            let strategies = program.kernels().iter().map(|kernel| kernel.strategy.to_string());
            let strategies = strategies.collect::<Vec<_>>().join(", ");
            shares.add(&name, measured, &strategies)?;
        }
    }
    shares.print();
    Ok(())
}

/// Returns the HLO text of a case.
fn text(what: RowOperation, rows: usize, width: usize, count: usize) -> String {
    let body = match what {
        RowOperation::Gather => {
            "ROOT r = f32[COUNT,W] gather(x, at), offset_dims={1}, collapsed_slice_dims={0},
                start_index_map={0}, index_vector_dim=1, slice_sizes={1,W}"
        }
        RowOperation::UpdateInPlace => {
            "y = f32[COUNT,W] parameter(2)
            zero = s32[] constant(0)
            row = s32[] reshape(at)
            ROOT r = f32[ROWS,W] dynamic-update-slice(x, y, row, zero)"
        }
        RowOperation::ScatterWithCopy | RowOperation::ScatterInPlace => {
            "y = f32[COUNT,W] parameter(2)
            ROOT r = f32[ROWS,W] scatter(x, at, y), update_window_dims={1},
                inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1,
                to_apply=replace"
        }
    };
    let alias = match what {
        RowOperation::ScatterInPlace | RowOperation::UpdateInPlace => {
            ", input_output_alias={ {}: (0, {}, may-alias) }"
        }
        RowOperation::Gather | RowOperation::ScatterWithCopy => "",
    };
    let text = format!(
        "HloModule m{alias}
        replace {{ o = f32[] parameter(0) ROOT n = f32[] parameter(1) }}
        ENTRY e {{
            x = f32[ROWS,W] parameter(0)
            at = s32[COUNT,1] parameter(1)
            {body}
        }}"
    );
    let text = text.replace("ROWS", &rows.to_string()).replace("COUNT", &count.to_string());
    text.replace("W]", &format!("{width}]")).replace("W}", &format!("{width}}}"))
}
