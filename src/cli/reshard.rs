//! `stridec reshard`: from any sharding of an array to any other.

use std::{collections::BTreeMap, path::PathBuf};

use stridec::{
    Error, Tensor,
    reshard::{Shards, plan, simulate},
    shape::{Layout, Shape},
    sharding::Placement,
    stride::StrideDescriptor,
};

use super::{
    errors::{Exit, Failure, note},
    image_file::ImageFile,
    input::{is_npy, refuse_archive},
    npy,
    output::Output,
    reshard_args::{MoveArgs, ReshardArgs, ReshardCommand, ShardExtent, SidesArgs},
    reshard_plan::print_plan,
    shape_arg::tensor,
    sharding_arg::sharding,
};

pub(super) fn reshard(args: &ReshardArgs) -> Result<(), Failure> {
    match &args.command {
        ReshardCommand::Plan(args) => {
            let Sides { shape, from, to } = sides(&args.sides)?;
            let plan = plan(&shape, &from.0, &to.0).map_err(Error::from)?;
            print_plan(&plan, args.format)
        }
        ReshardCommand::Simulate(args) => simulated(args),
        ReshardCommand::Run(_) => Err(Failure::new(
            Exit::NoDevice,
            "reshard run: this stridec was built without MPI; `reshard simulate` moves the same files in one process",
        )),
    }
}

/// Where the shards of a side lie, and how.
type Side = (Placement, Shards);

/// The array and its sides.
struct Sides {
    shape: Shape,
    from: Side,
    to: Side,
}

fn sides(args: &SidesArgs) -> Result<Sides, Failure> {
    let Tensor::Shape(shape) = tensor(&args.shape)? else {
        return Err(Failure::invalid("--shape: expected an XLA shape, got strides"));
    };
    let side = |flag: &str,
                text: &str,
                devices: Option<u64>,
                layout: &Option<String>|
     -> Result<Side, Failure> {
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
    Ok(Sides { shape, from, to })
}

/// Moves the files of all devices in this process.
fn simulated(args: &MoveArgs) -> Result<(), Failure> {
    let Sides { shape, from, to } = sides(&args.sides)?;
    // What is refused is refused before any file is opened.
    plan(&shape, &from.0, &to.0).map_err(Error::from)?;
    let inputs = files(&args.input, "--input", &shape, &from)?;
    let outputs = files(&args.output, "--output", &shape, &to)?;
    let mut sources = BTreeMap::new();
    for (device, path, tensor, name) in &inputs {
        sources.insert(*device, ImageFile::open(path, tensor, name)?);
    }
    let mut opened = Vec::new();
    for (_, path, ..) in &outputs {
        refuse_archive(path)?;
        opened.push(Output::open(path)?);
    }
    let images = sources.iter().map(|(device, source)| (*device, source.image())).collect();
    let sides = ((&from.0, &from.1), (&to.0, &to.1));
    let mut moved = simulate(&shape, sides.0, sides.1, args.staging, &images)?;
    for ((device, path, tensor, _), output) in outputs.iter().zip(&mut opened) {
        if is_npy(path) {
            output.write(&npy::header_of(tensor).write())?;
        }
        output.write(&moved.remove(device).unwrap_or_default())?;
    }
    // Only when all are written does the first appear.
    let count = opened.len();
    for output in opened {
        output.finish()?;
    }
    note(&format!("moved {} shards to {count}", sources.len()));
    Ok(())
}

/// The device, file and memory of every shard of a side, and its shape for messages.
fn files(
    pattern: &str,
    flag: &str,
    shape: &Shape,
    (placement, shards): &Side,
) -> Result<Vec<(u64, PathBuf, StrideDescriptor, String)>, Failure> {
    let mut files = Vec::new();
    for (device, _) in placement.tiles() {
        let Some(shard) = shards.shape(shape, placement, device)? else { continue };
        let descriptor = StrideDescriptor::try_from(&shard).map_err(Error::from)?;
        let path = PathBuf::from(pattern.replace("{rank}", &device.to_string()));
        files.push((device, path, descriptor, shard.to_string()));
    }
    if files.len() > 1 && !pattern.contains("{rank}") {
        let reason = format!(
            "expected a file with {{rank}} in its name, one for each of {} devices",
            files.len()
        );
        return Err(Failure::invalid(format!("{flag}: {reason}, got {pattern}")));
    }
    Ok(files)
}
