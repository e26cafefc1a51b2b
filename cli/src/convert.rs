//! `stridec convert`: prints a layout in another notation.

use stridec::Error;

use super::{args::ConvertArgs, errors::Failure, output::print, shape_arg::any_tensor};

pub(super) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let text = any_tensor(&args.shape)?.write(args.kind).map_err(Error::from)?;
    print(&format!("{text}\n"))
}
