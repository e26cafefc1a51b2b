//! The arguments of `stridec reshard`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug)]
pub(super) struct ReshardArgs {
    #[command(subcommand)]
    pub(super) command: ReshardCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ReshardCommand {
    /// Prints which box goes from which device to which, and how many bytes that is
    Plan(PlanArgs),
    /// Moves the shards in the files of every device, with all devices in this process
    Simulate(MoveArgs),
    /// Moves the shards over MPI, each rank its own: `mpirun -n N stridec reshard run …`. Needs a
    /// build with MPI
    Run(MoveArgs),
}

/// The two sides.
#[derive(Args, Debug)]
pub(super) struct SidesArgs {
    /// The whole array
    #[arg(long, value_name = "SHAPE")]
    pub(super) shape: String,
    /// How the array is sharded: XLA's text, such as '{devices=[4,1]<=[4]}' or "{mesh['x'=4],
    /// [{'x'}, {}]}"; Shardy's, such as '<mesh<["x"=4]>, [{"x"}, {}]>'; blocks dealt out in turn,
    /// '{devices=[2,2]<=[4] blocks=[36,36]}'; or @FILE, an xla.OpSharding (.pb, .textproto, .json)
    /// or boxes (.json: {"0": [[start, limit], …], …})
    #[arg(long, value_name = "SHARDING")]
    pub(super) from: String,
    /// How it is to be sharded
    #[arg(long, value_name = "SHARDING")]
    pub(super) to: String,
    /// The number of devices of both sides, where a sharding does not say it
    #[arg(long, value_name = "N")]
    pub(super) devices: Option<u64>,
    /// The number of devices that have the array
    #[arg(long, value_name = "N", conflicts_with = "devices")]
    pub(super) from_devices: Option<u64>,
    /// The number of devices that are to have it
    #[arg(long, value_name = "N", conflicts_with = "devices")]
    pub(super) to_devices: Option<u64>,
    /// The layout of the shards that are read, such as '{0,1}' or '{1,0:T(8,128)}' [default: that
    /// of --shape]
    #[arg(long, value_name = "LAYOUT")]
    pub(super) from_layout: Option<String>,
    /// The layout of the shards that are written [default: that of --shape]
    #[arg(long, value_name = "LAYOUT")]
    pub(super) to_layout: Option<String>,
    /// What a shard's memory holds
    #[arg(long, value_enum, default_value_t = ShardExtent::Box)]
    pub(super) shards: ShardExtent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ShardExtent {
    /// The device's box of the array
    Box,
    /// XLA's shard: the tile's whole shape, with the box at its front
    Tile,
}

#[derive(Args, Debug)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) sides: SidesArgs,
    /// How to print the plan
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub(super) format: PlanFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PlanFormat {
    /// For people
    Text,
    /// For programs
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
    /// The shards, one file a device: .npy or raw memory; `{rank}` is the device's number
    #[arg(short, long, value_name = "IN")]
    pub(super) input: String,
    /// Where to write the shards, one file a device; `{rank}` is the device's number
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: String,
    /// The most that a device has in messages at a time, such as 64MiB; `run` takes 8 MiB at most
    #[arg(long, value_name = "BYTES", value_parser = staging)]
    pub(super) staging: Option<u64>,
}

fn staging(text: &str) -> Result<u64, String> {
    super::target::bytes(text)
        .ok_or_else(|| format!("expected a number of bytes, such as 65536 or 64MiB, got `{text}`"))
}
