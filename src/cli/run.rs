//! `stridec run`: an operation on a file.

use stridec::{Operation, Tensor};

use super::{
    args::RunArgs,
    errors::{Failure, note},
    execute::execute,
    input::{Bytes, Input, is_npy},
    npy::{self, Header},
    output::Output,
};

pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let source = Source::open(args)?;
    let image = source.image();
    let destination = source.operation.destination();
    let header = if is_npy(&args.output) { npy::header_of(destination).write() } else { vec![] };
    let mut output = Output::open(&args.output)?;
    let mut result = output.image(&header, destination.image_bytes())?;
    let took = execute(&source.operation, args.device, image, &mut result)?;
    note(&format!("ran on {took}"));
    output.write_image(result)?;
    output.finish()
}

/// The operation, and the input that it reads.
struct Source {
    operation: Operation,
    bytes: Bytes,
    /// Where the image starts: behind the header of a `.npy` file.
    start: usize,
}

impl Source {
    /// Opens the input and checks it against the operation.
    fn open(args: &RunArgs) -> Result<Self, Failure> {
        let input = Input::open(&args.input)?;
        if !input.is_npy() {
            let operation = args.op.request(None)?.operation;
            let bytes = input.read_exactly(operation.source().image_bytes())?;
            return Ok(Self { operation, bytes, start: 0 });
        }
        let name = input.name();
        let invalid = |reason: String| Failure::invalid(reason).about(&name);
        let bytes = input.read()?;
        let (header, start) = Header::read(&bytes).map_err(invalid)?;
        let source = match (&args.op.flags.from, &args.op.flags.request) {
            (None, None) => Some(Tensor::Shape(npy::tensor_of(&header).map_err(invalid)?)),
            _ => None,
        };
        let operation = args.op.request(source)?.operation;
        npy::check(&header, operation.source()).map_err(invalid)?;
        let (given, expected) = (bytes.len() - start, operation.source().image_bytes());
        if given as u64 != expected {
            return Err(invalid(format!(
                "{given} bytes of data; its header says {expected}, and just as many are accepted"
            )));
        }
        Ok(Self { operation, bytes, start })
    }

    fn image(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}
