//! `stridec reshard run`: runs the part of a reshard that belongs to one rank, over MPI.

use stridec::mpi::{Exchange, MpiError, World};

use super::{
    errors::{Exit, Failure, note, report},
    image_file::ImageFile,
    input::{is_npy, refuse_archive},
    npy,
    output::Output,
    reshard::{ReshardSides, file, sides},
    reshard_args::{MoveArgs, SidesArgs},
    sharding_arg::sharding,
};

/// Joins the other ranks, and runs this rank's part of the reshard. Prints a failure before MPI
/// ends, because the launcher may stop a rank when another rank leaves early.
pub(super) fn run(args: &MoveArgs) -> Result<u8, Failure> {
    let world = World::join().map_err(failure)?;
    match moved(&world, args) {
        Ok(()) => Ok(0),
        Err(failure) => {
            report(&failure);
            // Wait until every rank has printed its failure.
            let _ = world.agreed(None);
            Ok(failure.exit_code())
        }
    }
}

/// Reads the source shard of this rank, exchanges messages, and writes the destination shard. After
/// each step, all ranks check that none of them has failed.
fn moved(world: &World, args: &MoveArgs) -> Result<(), Failure> {
    let operation = operation(args);
    let read = agreed(world, operation.and_then(|text| Ok((text, sides(&args.sides)?))))?;
    let (operation, ReshardSides { shape, from, to }) = read;
    agreed(world, same(world, &operation))?;
    let exchange = Exchange::new(world, &shape, (&from.0, &from.1), (&to.0, &to.1), args.staging);
    let exchange = agreed(world, exchange.map_err(failure))?;

    let rank = world.rank();
    let opened = (|| {
        let source = match file(&args.input, "--input", &shape, &from, rank)? {
            Some(file) => Some(ImageFile::of_shard(&file)?),
            None => None,
        };
        let Some(to) = file(&args.output, "--output", &shape, &to, rank)? else {
            return Ok((source, None));
        };
        refuse_archive(&to.path)?;
        let mut output = Output::open(&to.path)?;
        let header = if is_npy(&to.path) { npy::header_of(&to.tensor).write() } else { Vec::new() };
        let image = output.image(&header, to.tensor.image_bytes())?;
        Ok((source, Some((output, image))))
    })();
    let (source, mut destination) = agreed(world, opened)?;

    let source = source.as_ref().map_or(&[][..], ImageFile::image);
    let image = destination.as_mut().map_or(&mut [][..], |(_, image)| &mut image[..]);
    agreed(world, exchange.run(source, image).map_err(failure))?;
    let written = destination.map(|(mut output, image)| {
        output.write_image(image)?;
        Ok(output)
    });
    // Give the files their names only when all ranks have written theirs.
    let output = agreed(world, written.transpose())?;
    agreed(world, output.map_or(Ok(()), Output::finish))?;
    if rank == 0 {
        let (sources, shards) = (from.0.regions().count(), to.0.regions().count());
        note(&format!("moved {sources} shards to {shards}, over MPI"));
    }
    Ok(())
}

/// Returns a text with the arguments of the operation. Ranks compare it, to notice if they were
/// started with different arguments.
fn operation(MoveArgs { sides: args, staging, .. }: &MoveArgs) -> Result<String, Failure> {
    let SidesArgs { shape, devices, from_devices, to_devices, from_layout, to_layout, .. } = args;
    let (from, to) = (sharding(&args.from), sharding(&args.to));
    let (from, to) = (
        from.map_err(|failure| failure.about("--from"))?,
        to.map_err(|failure| failure.about("--to"))?,
    );
    let given = |option: &Option<String>| option.clone().unwrap_or_else(|| "none".into());
    let count = |option: &Option<u64>| given(&option.map(|number| number.to_string()));
    Ok([
        format!("stridec {}", env!("CARGO_PKG_VERSION")),
        format!("--shape {shape}"),
        format!("--from {from}"),
        format!("--to {to}"),
        format!("--devices {}", count(devices)),
        format!("--from-devices {}", count(from_devices)),
        format!("--to-devices {}", count(to_devices)),
        format!("--from-layout {}", given(from_layout)),
        format!("--to-layout {}", given(to_layout)),
        format!("--shards {:?}", args.shards),
        format!("--staging {}", count(staging)),
    ]
    .join("\n"))
}

/// Returns a failure if the operation of this rank differs from the operation of rank 0.
fn same(world: &World, operation: &str) -> Result<(), Failure> {
    let Some(first) = value_or_abort(world, world.other_than_first(operation)) else {
        return Ok(());
    };
    let mut lines = first.lines().zip(operation.lines());
    let (expected, given) = lines.find(|(first, own)| first != own).unwrap_or((&first, operation));
    let reason = format!("the ranks disagree: expected `{expected}`, as on rank 0, got `{given}`");
    Err(Failure::invalid(reason))
}

/// Returns this rank's result if no rank failed. Otherwise, returns this rank's failure, or the
/// first failure of another rank if this rank has none. All ranks must call this function together.
fn agreed<T>(world: &World, own: Result<T, Failure>) -> Result<T, Failure> {
    let message = own.as_ref().err().map(|failure| (failure.exit_code(), failure.to_string()));
    let message = message.as_ref().map(|(code, message)| (*code, &message[..]));
    match value_or_abort(world, world.agreed(message)) {
        Some(of) if own.is_ok() => {
            let exit = Exit::of(of.code).unwrap_or(Exit::Failed);
            Err(Failure::new(exit, format!("rank {}: {}", of.rank, of.message)))
        }
        _ => own,
    }
}

/// Returns the value of a successful MPI call. Ends all ranks if the call failed, because the other
/// ranks would wait for this one.
fn value_or_abort<T>(world: &World, result: Result<T, MpiError>) -> T {
    result.unwrap_or_else(|error| world.abort(&error.to_string()))
}

/// Converts an MPI error into a failure. If the number of ranks is wrong, the message contains a
/// command that starts the right number.
fn failure(error: MpiError) -> Failure {
    match error {
        MpiError::Shard(error) => stridec::Error::from(error).into(),
        MpiError::Ranks { expected, .. } => {
            Failure::invalid(format!("{error}: start it with `mpirun -n {expected}`"))
        }
        _ => Failure::new(Exit::Failed, error.to_string()),
    }
}
