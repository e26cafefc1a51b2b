//! `stridec offset`: an index to its element offset, and back.

use stridec::Error;

use super::{args::OffsetArgs, errors::Failure, list::List, output::print, shape_arg::tensor};

pub(super) fn offset(args: &OffsetArgs) -> Result<(), Failure> {
    let descriptor = tensor(&args.shape)?.descriptor()?;
    let place = match (&args.index, args.linear) {
        (Some(index), _) => descriptor.offset(&index.0).map_err(Error::from)?.to_string(),
        (None, Some(linear)) => match descriptor.index(linear).map_err(Error::from)? {
            Some(index) => List(index).to_string(),
            None => "padding".to_owned(),
        },
        (None, None) => return Err(Failure::invalid("--index or --linear is needed")),
    };
    print(&format!("{place}\n"))
}
