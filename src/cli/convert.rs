//! `stridec convert`: the same layout in another notation.

use stridec::{Error, notation::Array};

use super::{args::ConvertArgs, errors::Failure, output::print, shape_arg::tensor};

pub(super) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let array = Array::try_from(tensor(&args.shape)?)?;
    let text = array.write(args.kind).map_err(Error::from)?;
    print(&format!("{text}\n"))
}
