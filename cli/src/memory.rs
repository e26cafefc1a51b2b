//! `stridec memory`: prints the size of every buffer of a module, and of its padding.

use std::path::Path;

use stridec::hlo::{DefaultTiles, MemoryReport};

use super::{
    args::{DeviceTiles, MemoryArgs, MemoryFormat},
    errors::{Failure, input_name, printable},
    module_file::ModuleFile,
    output::print,
    shape_arg::ShapeArg,
};

/// The number of instructions in a table if `--top` is not given.
const TOP: usize = 20;

/// The number of dimension orders that are listed for a single shape if `--top` is not given.
const ORDERS: usize = 8;

/// The extensions of files that contain a shape and not a module.
const SHAPES: [&str; 4] = ["textproto", "pbtxt", "txtpb", "json"];

pub(super) fn memory(args: &MemoryArgs) -> Result<(), Failure> {
    // Accept `-` for standard input even without `@`, because it is not a valid shape.
    let path = if args.module == "-" { Some("-") } else { args.module.strip_prefix('@') };
    let tiles = match args.tiles {
        Some(DeviceTiles::Tpu) => DefaultTiles::Tpu,
        None => DefaultTiles::None,
    };
    let mut top = args.top;
    let report = match path.map(Path::new) {
        Some(path) if !is_shape(path) => ModuleFile::read(path)?.memory(tiles)?,
        _ => {
            let argument = ShapeArg::read(&args.module).map_err(|failure| {
                if !Path::new(&args.module).is_file() {
                    return failure;
                }
                let name = input_name(Path::new(&args.module));
                Failure::invalid(format!("expected a shape, or @{name} for the file"))
            })?;
            let Some(shape) = argument.xla() else {
                let reason = format!(
                    "{argument}: expected an XLA shape, got strides; `describe` measures these"
                );
                return Err(Failure::invalid(reason));
            };
            if args.tiles.is_some() {
                top = top.or(Some(ORDERS));
                MemoryReport::of_orders(shape, tiles)
            } else {
                MemoryReport::of_shape(shape)
            }
        }
    };
    match args.format {
        MemoryFormat::Text => print(&printable(&report.table(top.unwrap_or(TOP)))),
        MemoryFormat::Json => print(&format!("{:#}\n", report.json(top))),
    }
}

/// Returns true if the extension of the file is in [`SHAPES`].
fn is_shape(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SHAPES.contains(&ending))
}
