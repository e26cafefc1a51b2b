//! `stridec reshard`: plans or runs the change from one sharding of an array to another.

use std::{collections::BTreeMap, path::PathBuf};

use stridec::{
    Error,
    reshard::{Shards, plan, simulate},
    shape::{Layout, Shape},
    sharding::Placement,
    stride::StrideDescriptor,
};

use super::{
    errors::{Failure, note},
    image_file::ImageFile,
    input::{is_npy, refuse_archive},
    npy,
    output::Output,
    reshard_args::{MoveArgs, ReshardArgs, ReshardCommand, ShardExtent, SidesArgs},
    reshard_plan::print_plan,
    shape_arg::ShapeArg,
    sharding_arg::sharding,
};

/// Runs `stridec reshard`. An exit code for a failure is returned only by `run`, which has already
/// reported that failure.
pub(super) fn reshard(args: &ReshardArgs) -> Result<u8, Failure> {
    match &args.command {
        ReshardCommand::Plan(args) => {
            let ReshardSides { shape, from, to } = sides(&args.sides)?;
            let plan = plan(&shape, &from.0, &to.0).map_err(Error::from)?;
            print_plan(&plan, args.format)
        }
        ReshardCommand::Simulate(args) => simulated(args),
        #[cfg(feature = "mpi")]
        ReshardCommand::Run(args) => return super::reshard_mpi::run(args),
        #[cfg(not(feature = "mpi"))]
        ReshardCommand::Run(_) => Err(Failure::new(
            super::errors::Exit::NoDevice,
            "reshard run: this stridec was built without MPI, which `cargo install stridec-cli --features mpi` builds in; `reshard simulate` moves the same files in one process",
        )),
    }?;
    Ok(0)
}

/// The array before or after a reshard: its placement on the devices, and the layout of each
/// device's memory.
pub(super) type ShardedSide = (Placement, Shards);

/// The array of a reshard, with its placement and its shards before and after.
pub(super) struct ReshardSides {
    pub(super) shape: Shape,
    pub(super) from: ShardedSide,
    pub(super) to: ShardedSide,
}

/// Parses the arguments that describe the array and its shardings before and after.
pub(super) fn sides(args: &SidesArgs) -> Result<ReshardSides, Failure> {
    let argument = ShapeArg::read(&args.shape)?;
    let Some(shape) = argument.xla().cloned() else {
        return Err(Failure::invalid("--shape: expected an XLA shape, got strides"));
    };
    let side = |flag: &str,
                text: &str,
                devices: Option<u64>,
                layout: &Option<String>|
     -> Result<ShardedSide, Failure> {
        let sharding = sharding(text).map_err(|failure| failure.about(flag))?;
        let placement = sharding.place(&shape, devices.or(args.devices));
        let placement = placement.map_err(|error| Failure::from(Error::from(error)).about(flag))?;
        let layout = layout.as_deref().map(|text| {
            text.parse::<Layout>()
                .map_err(|error| Failure::notation(text, &error).about(format!("{flag}-layout")))
        });
        let whole_tiles = args.shards == ShardExtent::Tile;
        Ok((placement, Shards { layout: layout.transpose()?, whole_tiles }))
    };
    let from = side("--from", &args.from, args.from_devices, &args.from_layout)?;
    let to = side("--to", &args.to, args.to_devices, &args.to_layout)?;
    Ok(ReshardSides { shape, from, to })
}

/// Runs a reshard in this process, with one file for the shard of each device.
fn simulated(args: &MoveArgs) -> Result<(), Failure> {
    let ReshardSides { shape, from, to } = sides(&args.sides)?;
    // Plan the reshard first, so that an unsupported one fails before any file is opened.
    plan(&shape, &from.0, &to.0).map_err(Error::from)?;
    let inputs = files(&args.input, "--input", &shape, &from)?;
    let outputs = files(&args.output, "--output", &shape, &to)?;
    let mut sources = BTreeMap::new();
    for file in &inputs {
        sources.insert(file.device, ImageFile::of_shard(file)?);
    }
    let mut opened = Vec::new();
    for ShardFile { path, .. } in &outputs {
        refuse_archive(path)?;
        opened.push(Output::open(path)?);
    }
    let images = sources.iter().map(|(device, source)| (*device, source.image())).collect();
    let sides = ((&from.0, &from.1), (&to.0, &to.1));
    let mut moved =
        simulate(&shape, sides.0, sides.1, args.staging, &images).map_err(Error::from)?;
    for (ShardFile { device, path, tensor, .. }, output) in outputs.iter().zip(&mut opened) {
        if is_npy(path) {
            output.write(&npy::header_of(tensor).write())?;
        }
        output.write(&moved.remove(device).unwrap_or_default())?;
    }
    // Give the files their names only when all are complete.
    let count = opened.len();
    for output in opened {
        output.finish()?;
    }
    note(&format!("moved {} shards to {count}", sources.len()));
    Ok(())
}

/// A file that contains the shard of one device.
pub(super) struct ShardFile {
    pub(super) device: u64,
    pub(super) path: PathBuf,
    pub(super) tensor: StrideDescriptor,
    /// The shape of the shard as text, for messages.
    pub(super) name: String,
    /// True if the device has no elements.
    pub(super) is_empty: bool,
}

/// Returns the files of all shards, before or after the reshard. Devices without a shard have no
/// file.
fn files(
    pattern: &str,
    flag: &str,
    shape: &Shape,
    side: &ShardedSide,
) -> Result<Vec<ShardFile>, Failure> {
    let devices: Vec<u64> = side.0.regions().map(|(device, _)| device).collect();
    let files = devices.iter().map(|&device| file(pattern, flag, shape, side, device));
    Ok(files.collect::<Result<Vec<_>, Failure>>()?.into_iter().flatten().collect())
}

/// Returns the file of a device's shard, or `None` if the device has no shard. `pattern` is the
/// value of `flag`; `{rank}` in it is replaced by the id of the device.
pub(super) fn file(
    pattern: &str,
    flag: &str,
    shape: &Shape,
    (placement, shards): &ShardedSide,
    device: u64,
) -> Result<Option<ShardFile>, Failure> {
    let count = placement.regions().take(2).count();
    if count > 1 && !pattern.contains("{rank}") {
        let reason = "expected a file with {rank} in its name, one for each device";
        return Err(Failure::invalid(format!("{flag}: {reason}, got {pattern}")));
    }
    let Some(shard) = shards.shape(shape, placement, device).map_err(Error::from)? else {
        return Ok(None);
    };
    let tensor = StrideDescriptor::try_from(&shard).map_err(Error::from)?;
    let path = PathBuf::from(pattern.replace("{rank}", &device.to_string()));
    let is_empty = placement.region(device).is_some_and(|region| region.is_empty());
    let note = if is_empty { ", a shard without elements" } else { "" };
    Ok(Some(ShardFile { device, path, tensor, name: format!("{shard}{note}"), is_empty }))
}
