//! The arguments of `stridec reshard`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug)]
pub(super) struct ReshardArgs {
    #[command(subcommand)]
    pub(super) command: ReshardCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ReshardCommand {
    /// Prints the boxes that each device sends to each other one, and the number of bytes
    Plan(PlanArgs),
    /// Moves the shards in the files of all devices, in this process
    Simulate(MoveArgs),
    /// Moves the shards over MPI, each rank its own: `mpirun -n N stridec reshard run …`. Needs a
    /// build with MPI
    Run(MoveArgs),
}

/// The arguments for both sides of a reshard.
#[derive(Args, Debug)]
pub(super) struct SidesArgs {
    /// The whole array
    #[arg(long, value_name = "SHAPE")]
    pub(super) shape: String,
    /// The sharding of the array: XLA's text, such as '{devices=[4,1]<=[4]}' or "{mesh['x'=4],
    /// [{'x'}, {}]}"; Shardy's text, such as '<mesh<["x"=4]>, [{"x"}, {}]>'; blocks that are dealt
    /// out in turn, '{devices=[2,2]<=[4] blocks=[36,36]}'; or @FILE with an xla.OpSharding (.pb,
    /// .textproto, .json) or with boxes (.json: {"0": [[start, limit], …], …})
    #[arg(long, value_name = "SHARDING")]
    pub(super) from: String,
    /// The sharding that the array gets
    #[arg(long, value_name = "SHARDING")]
    pub(super) to: String,
    /// The number of devices on both sides, if a sharding does not give it
    #[arg(long, value_name = "N")]
    pub(super) devices: Option<u64>,
    /// The number of devices that have the array before the move
    #[arg(long, value_name = "N", conflicts_with = "devices")]
    pub(super) from_devices: Option<u64>,
    /// The number of devices that have the array after the move
    #[arg(long, value_name = "N", conflicts_with = "devices")]
    pub(super) to_devices: Option<u64>,
    /// The layout of the shards that are read, such as '{0,1}' or '{1,0:T(8,128)}' [default: the
    /// layout of --shape]
    #[arg(long, value_name = "LAYOUT")]
    pub(super) from_layout: Option<String>,
    /// The layout of the shards that are written [default: the layout of --shape]
    #[arg(long, value_name = "LAYOUT")]
    pub(super) to_layout: Option<String>,
    /// The contents of a shard's memory
    #[arg(long, value_enum, default_value_t = ShardExtent::Box)]
    pub(super) shards: ShardExtent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ShardExtent {
    /// The device's box of the array
    Box,
    /// XLA's shard: the whole shape of the tile, which begins with the box
    Tile,
}

#[derive(Args, Debug)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) sides: SidesArgs,
    /// The format of the plan
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub(super) format: PlanFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PlanFormat {
    /// Text for readers
    Text,
    /// JSON for programs
    Json,
    /// A serialized stridec.ReshardPlan
    Pb,
    /// A textproto of stridec.ReshardPlan
    Textproto,
}

#[derive(Args, Debug)]
pub(super) struct MoveArgs {
    #[command(flatten)]
    pub(super) sides: SidesArgs,
    /// The shards, one file for each device: .npy or raw memory; `{rank}` is the number of the
    /// device
    #[arg(short, long, value_name = "IN")]
    pub(super) input: String,
    /// The files for the new shards, one for each device; `{rank}` is the number of the device
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: String,
    /// The most bytes that a device has in messages at a time, such as 64MiB; `run` takes at most 8
    /// MiB
    #[arg(long, value_name = "BYTES", value_parser = staging)]
    pub(super) staging: Option<u64>,
}

fn staging(text: &str) -> Result<u64, String> {
    super::target::bytes(text)
        .ok_or_else(|| format!("expected a number of bytes, such as 65536 or 64MiB, got `{text}`"))
}
