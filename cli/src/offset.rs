//! `stridec offset`: converts an index to an offset or back, or lists all offsets.

use std::{
    fmt::Write as _,
    io::{self, ErrorKind, Write as _},
    path::Path,
};

use stridec::{Error, stride::StrideDescriptor, xla::index_util::bump_indices};

use super::{
    args::{OffsetArgs, OffsetsFormat},
    errors::Failure,
    list::NumberList,
    output::print,
    shape_arg::any_tensor,
};

/// The number of bytes that are collected before they are written.
const BLOCK: usize = 1 << 16;

/// Runs `stridec offset`. Prints offsets in elements.
pub(super) fn offset(args: &OffsetArgs) -> Result<(), Failure> {
    let tensor = any_tensor(&args.shape)?;
    let descriptor = tensor.descriptor();
    let place = match (&args.index, args.linear) {
        (Some(index), _) => descriptor.offset(&index.0).map_err(Error::from)?.to_string(),
        (None, Some(linear)) => match descriptor.index(linear).map_err(Error::from)? {
            Some(index) => NumberList(index).to_string(),
            None => "padding".to_owned(),
        },
        (None, None) if args.all => return all(descriptor, args.format),
        (None, None) => return Err(Failure::invalid("--index, --linear or --all is needed")),
    };
    print(&format!("{place}\n"))
}

/// Prints the offset of every index, in row-major order.
fn all(descriptor: &StrideDescriptor, format: OffsetsFormat) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let (mut text, mut bytes) = (String::new(), Vec::new());
    let mut index = vec![0; descriptor.rank()];
    let mut left = descriptor.elements();
    while left > 0 {
        let offset = descriptor.offset(&index).map_err(Error::from)?;
        left -= 1;
        match format {
            // Writing to a string succeeds.
            OffsetsFormat::Text => drop(writeln!(text, "{offset}")),
            OffsetsFormat::Le64 => bytes.extend(offset.to_le_bytes()),
        }
        if left == 0 || text.len() >= BLOCK || bytes.len() >= BLOCK {
            match output.write_all(text.as_bytes()).and_then(|()| output.write_all(&bytes)) {
                Ok(()) => {}
                // A closed pipe is not a failure.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => return Err(Failure::unwritable(Path::new("-"), &error)),
            }
            text.clear();
            bytes.clear();
        }
        let _ = bump_indices(descriptor.sizes(), &mut index);
    }
    Ok(())
}
