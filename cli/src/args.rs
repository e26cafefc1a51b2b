//! The arguments of all commands, as clap reads them. clap prints the doc comments of this file as
//! the help of the command line.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use stridec::notation::Kind;

use super::{
    explain_args::ExplainArgs, list::NumberList, reshard_args::ReshardArgs, target::Limit,
};

const EXAMPLES: &str = "\
Examples:
  stridec run relayout --from 'f32[8,64,112,112]{3,2,1,0}' --to 'f32[8,64,112,112]{1,3,2,0}' \\
      -i x.npy -o y.npy
  stridec compile slice --from 'f32[1,1,4,4]' --offsets 0,0,0,1 --sizes 1,1,4,3 --strides 1,1,-2,2
  stridec run hlo @module.pb --layouts default -i x.npy -i y.npy -o z.npy

SHAPE is one of
  f32[2,3]{0,1}                    XLA's notation, tiles too: bf16[16,256]{1,0:T(8,128)(2,1)}
  f32[2,3]{0,1:PAD(3,5,zero)}      padded_dimensions and padding_value, with or without tiles
  f32[2,3] strided<[5,1]>          strides and an offset, in elements: strided<[5,1], offset: 2>
  @FILE                            an xla.Shape: .pb, .binpb, .textproto, .pbtxt, .txtpb or .json
  @-                               an xla.Shape on standard input, in any of these formats
  KIND:TEXT                        another system's: jax:f32[2,3] Layout(major_to_minor=(1, 0));
                                   numpy, torch, dlpack, dml, memref, triton, cute, onednn,
                                   onnxruntime, openvino, tvm, tensorrt, cudnn, cublaslt, ttnn, ggml
and #1,0 after it names a part of a tuple. Write it in single quotes: shells expand braces.

Targets of `compile`: webgpu; webgpu-cpu for any software driver, lavapipe and swiftshader for
these; adapter for the best adapter of this machine; or @FILE, which `stridec calibrate` writes.

Exit codes: 0 done, 1 the run failed, 2 invalid input, 3 valid but not supported, 4 no such device.";

/// Compiles tensor layout changes: reads XLA shapes, and writes one specialised WGSL kernel or runs
/// it on a GPU or on the host
#[derive(Debug, Parser)]
#[command(name = "stridec", bin_name = "stridec", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Shows the lowered form of a shape: axes, strides and sizes in memory
    Describe(DescribeArgs),
    /// Converts a logical index to a linear element offset, or back
    Offset(OffsetArgs),
    /// Writes a layout in the notation of another system: XLA, JAX, numpy, torch, oneDNN and others
    Convert(ConvertArgs),
    /// Compiles an operation and prints the kernel, without opening a device
    Compile(CompileArgs),
    /// Compiles an operation, runs it on a file and writes the result
    Run(RunArgs),
    /// Times an operation, and the device's own copy of the same number of bytes
    Bench(BenchArgs),
    /// Fits a target's cost model to this machine's device, which takes half a minute of small runs
    Calibrate(CalibrateArgs),
    /// Lists the adapters of this machine, and the host
    Devices(DevicesArgs),
    /// Draws a layout or an operation: in the terminal, as SVG, or as a page that runs the kernel
    Explain(Box<ExplainArgs>),
    /// Answers requests on stdin with responses on stdout; each message follows its length as a
    /// varint
    Serve,
    /// Plans and runs the change from one sharding of an array over many devices to another
    Reshard(ReshardArgs),
    /// Shows the size of every buffer of a module and of its padding, the most padding first
    Memory(MemoryArgs),
    /// Shows the changes between two snapshots or two outputs of `compile --emit stages`, stage by
    /// stage, or between the layouts, copies and bytes of two modules
    Diff(DiffArgs),
    /// Lists drivers and adapters, and what to install if there are none
    Doctor,
    /// Prints completions for a shell
    Completions(CompletionsArgs),
    /// Prints the manual page
    Man,
}

#[derive(Args, Debug)]
pub(super) struct DiffArgs {
    /// The older file; `-` is stdin
    pub(super) old: PathBuf,
    /// The newer file; `-` is stdin
    pub(super) new: PathBuf,
    /// Exits with 1 if the two files differ
    #[arg(long)]
    pub(super) exit_code: bool,
}

#[derive(Args, Debug)]
pub(super) struct MemoryArgs {
    /// A module in @FILE: a proto of XLA (.pb), HLO text or XLA's out-of-memory report (.txt,
    /// .hlo), or StableHLO text (.mlir); `@-` is stdin. Or a single shape; `stridec --help` shows
    /// the notations
    #[arg(value_name = "@FILE|SHAPE")]
    pub(super) module: String,
    /// The number of instructions to show [default: 20 in a table, all for programs; 8 orders]
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,
    /// Gives shapes without tiles the tiles of a device; a single shape is then listed in every
    /// order of its dimensions, the cheapest first
    #[arg(long, value_enum)]
    pub(super) tiles: Option<DeviceTiles>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = MemoryFormat::Text)]
    pub(super) format: MemoryFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DeviceTiles {
    /// Tiles of 8 rows of 128 elements, and smaller tiles for few rows
    Tpu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MemoryFormat {
    /// A table for readers
    Text,
    /// JSON for programs
    Json,
}

#[derive(Args, Debug)]
pub(super) struct CompletionsArgs {
    /// The shell
    pub(super) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(super) struct DescribeArgs {
    /// The shape; `stridec --help` shows the notations
    pub(super) shape: String,
    /// The sharding of the array; the box of every device is then shown, too. `stridec reshard plan
    /// --help` shows the notations
    #[arg(long, value_name = "SHARDING")]
    pub(super) sharding: Option<String>,
    /// The number of devices, if the sharding does not give it
    #[arg(long, value_name = "N", requires = "sharding")]
    pub(super) devices: Option<u64>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = DescribeFormat::Text)]
    pub(super) format: DescribeFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DescribeFormat {
    /// Text for readers
    Text,
    /// JSON for programs
    Json,
    /// The shape as a serialized xla.Shape
    Pb,
    /// The shape as a textproto of xla.Shape
    Textproto,
    /// The shape as protobuf's JSON of xla.Shape
    JsonProto,
}

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("place").required(true).args(["index", "linear", "all"])))]
pub(super) struct OffsetArgs {
    /// The shape; `stridec --help` shows the notations
    pub(super) shape: String,
    /// A logical index, one number for each dimension ('' at rank 0): prints the element offset
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) index: Option<NumberList<u64>>,
    /// An element offset: prints the index of the element there, or `padding`
    #[arg(long, value_name = "OFFSET", allow_hyphen_values = true)]
    pub(super) linear: Option<u64>,
    /// Prints the element offset of every index, in row-major order
    #[arg(long)]
    pub(super) all: bool,
    /// The format of the offsets of `--all`
    #[arg(long, value_enum, default_value_t = OffsetsFormat::Text, conflicts_with_all = ["index", "linear"])]
    pub(super) format: OffsetsFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OffsetsFormat {
    /// One number on each line
    Text,
    /// int64 numbers, little-endian, with nothing between them
    Le64,
}

#[derive(Args, Debug)]
pub(super) struct ConvertArgs {
    /// The shape; `stridec --help` shows the notations
    pub(super) shape: String,
    /// The notation to write
    #[arg(long = "as", value_name = "KIND", value_parser = str::parse::<Kind>)]
    pub(super) kind: Kind,
}

/// The arguments of an operation.
#[derive(Args, Debug)]
pub(super) struct OpArgs {
    /// The operation
    #[arg(value_name = "OP", required_unless_present = "request")]
    pub(super) operation: Option<OpKind>,
    /// hlo: the module, @FILE: a proto of XLA (.pb), HLO text (.txt, .hlo), StableHLO text
    /// (.mlir). accessor: a shape, or `hlo`
    #[arg(value_name = "@FILE")]
    pub(super) module: Option<String>,
    /// hlo: the layouts of the parameters and the result
    #[arg(long, value_enum, default_value_t = Layouts::Module)]
    pub(super) layouts: Layouts,
    #[command(flatten)]
    pub(super) flags: OpFlags,
}

/// The layouts of a program's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Layouts {
    /// The layouts in the module
    Module,
    /// The default layouts: row-major, without tiles
    Default,
}

/// Reads the name of a dimension, such as `d3`.
fn dimension(text: &str) -> Result<usize, String> {
    let number = text.strip_prefix('d').and_then(|number| number.parse().ok());
    number.ok_or_else(|| "expected a dimension of the source, such as d3".to_owned())
}

/// Reads the extent of a dimension, such as `d0=17`.
fn extent(text: &str) -> Result<(usize, u64), String> {
    let expected = "expected a dimension and its extent, such as d0=17";
    let (name, extent) = text.split_once('=').ok_or(expected)?;
    let extent = extent.parse().map_err(|_| expected)?;
    Ok((dimension(name).map_err(|_| expected)?, extent))
}

/// The flags of an operation.
#[derive(Args, Debug)]
pub(super) struct OpFlags {
    /// The layout that is read: a shape; without it, `run` takes the shape of a .npy input
    #[arg(long, value_name = "SHAPE")]
    pub(super) from: Option<String>,
    /// The layout that is written: a shape with the extents of `--from`, or only a layout, such as
    /// '{1,3,2,0}' or NHWC. Without it, a slice writes the default layout
    #[arg(long, value_name = "SHAPE")]
    pub(super) to: Option<String>,
    /// slice: the first index of the window, one number for each dimension
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) offsets: Option<NumberList<u64>>,
    /// slice: the extents of the window
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) sizes: Option<NumberList<u64>>,
    /// slice: the steps inside the window; a negative step starts at its end
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) strides: Option<NumberList<i64>>,
    /// slice: the extents of the output; without it, all elements of the window
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(super) output_sizes: Option<NumberList<u64>>,
    /// The elements that the values of a source with elements of at most 8 bits become: the memory
    /// of an array [entries] of the destination's type, with an entry for each value; .npy or raw
    #[arg(long, value_name = "FILE")]
    pub(super) table: Option<PathBuf>,
    /// The dimension of the source whose indices have tables of their own, as in d3; the table is
    /// then an array [extent, entries]
    #[arg(long, value_name = "DIMENSION", requires = "table", value_parser = dimension)]
    pub(super) table_dimension: Option<usize>,
    /// The whole operation as a serialized stridec.CompileRequest, in the formats that @FILE has
    /// for a SHAPE
    #[arg(
        long = "op",
        id = "request",
        value_name = "@FILE",
        conflicts_with_all = ["operation", "from", "to", "offsets", "sizes", "strides", "output_sizes", "table", "table_dimension"]
    )]
    pub(super) request: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OpKind {
    /// Copies every element to its place in another layout
    Relayout,
    /// DirectML's SLICE1: copies a window, with a stride in each dimension
    Slice,
    /// A program: an HLO module that moves data from its parameters to its results
    Hlo,
    /// compile: WGSL functions that other kernels call: `accessor SHAPE` for the elements of a
    /// layout, `accessor hlo @FILE` for those of a program's result
    Accessor,
}

#[derive(Args, Debug)]
pub(super) struct CompileArgs {
    #[command(flatten)]
    pub(super) op: OpArgs,
    /// accessor hlo: the module
    #[arg(value_name = "@FILE")]
    pub(super) accessor_module: Option<String>,
    /// accessor: the start of the functions' names, and the name of a layout's buffer [default:
    /// tensor, and result for a program]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// accessor: read-write adds the function `NAME_store`, which needs elements of whole words
    /// [default: read-write if the layout can be stored into]
    #[arg(long, value_enum)]
    pub(super) access: Option<AccessArg>,
    /// The output to print
    #[arg(long, value_enum, default_value_t = Emit::Wgsl)]
    pub(super) emit: Emit,
    /// The target of the kernel: webgpu, webgpu-cpu (any software driver), lavapipe, swiftshader,
    /// adapter (the best adapter of this machine), or @FILE, which `calibrate` writes [default:
    /// webgpu]
    #[arg(long, value_name = "NAME|@FILE")]
    pub(super) target: Option<String>,
    /// The dimensions whose extents are given when the kernel runs, such as d0 or d0,d1; their
    /// extents in `--from` are the maxima
    #[arg(long, value_name = "DIMENSIONS", value_delimiter = ',', value_parser = dimension)]
    pub(super) at_run_time: Vec<usize>,
    /// Changes a limit of the target, such as `max_storage_buffer_binding_size=1GiB`; may be
    /// repeated. The other limits are `max_compute_workgroups_per_dimension`,
    /// `max_compute_invocations_per_workgroup` and `max_storage_buffers_per_shader_stage`
    #[arg(long = "limit", value_name = "LIMIT=VALUE")]
    pub(super) limits: Vec<Limit>,
    /// Also writes the kernel as JSON, with its bindings and dispatches, in the language of
    /// `--emit`; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// The file to write; `-`, the default, is stdout
    #[arg(short = 'o', value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// hlo: the number of the result whose kernel is printed; for other operations, the file to
    /// write
    #[arg(long, value_name = "N|FILE")]
    pub(super) output: Option<PathBuf>,
}

/// The access to the buffer of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AccessArg {
    /// The functions `NAME_offset` and `NAME_bits`
    Read,
    /// `NAME_store` too
    ReadWrite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Emit {
    /// The shader
    Wgsl,
    /// SPIR-V 1.3, for Vulkan
    Spirv,
    /// Metal's language
    Msl,
    /// Direct3D's language
    Hlsl,
    /// OpenGL's language
    Glsl,
    /// Every stage from the shapes to the shader, as text
    Stages,
    /// The kernel as protobuf's JSON of stridec.Kernel, with every field
    Json,
    /// The kernel as a serialized stridec.Kernel, or a module as a stridec.Program
    Pb,
}

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) op: OpArgs,
    /// The input: a .npy file, or the raw memory of `--from`; `-` is stdin, raw. A program takes
    /// one input for each parameter
    #[arg(short, long, value_name = "IN")]
    pub(super) input: Vec<PathBuf>,
    /// The output: a .npy file, or the raw memory of `--to`; `-` is stdout, raw. A .npy file has
    /// the dimensions of the memory, from major to minor, with padding: 'f32[2,3]{0,1}' loads as an
    /// array of (3, 2). A program takes one output for each result
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Vec<PathBuf>,
    /// A file with the destination's bytes before the operation, at least as large as `--to`; the
    /// output has the same size. The elements are written, and every other bit keeps its value
    #[arg(long, value_name = "FILE")]
    pub(super) onto: Option<PathBuf>,
    /// The dimensions whose extents are given when the kernel runs, such as d0 or d0,d1; their
    /// extents in `--from` are the maxima
    #[arg(long, value_name = "DIMENSIONS", value_delimiter = ',', value_parser = dimension, requires_all = ["extents", "from"])]
    pub(super) at_run_time: Vec<usize>,
    /// The extents of the dimensions of `--at-run-time`, such as d0=17 or d0=17,d1=5
    #[arg(long, value_name = "DIMENSION=EXTENT", value_delimiter = ',', value_parser = extent, requires = "at_run_time")]
    pub(super) extents: Vec<(usize, u64)>,
    /// The device to run on
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto)]
    pub(super) device: DeviceArg,
}

#[derive(Args, Debug)]
pub(super) struct BenchArgs {
    #[command(flatten)]
    pub(super) op: OpArgs,
    /// The device to run on
    #[arg(long, value_enum, default_value_t = DeviceArg::Auto)]
    pub(super) device: DeviceArg,
    /// The number of runs of each implementation, taken in turns; at least 15
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(15..))]
    pub(super) repetitions: u16,
    /// Also writes the results to this file, as one JSON object on each line, with the best and the
    /// median time
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DeviceArg {
    /// A GPU if there is one that is not a software driver, and otherwise the host
    Auto,
    /// The best adapter, which may be a software driver
    Gpu,
    /// The CPU, without a driver
    Host,
}

#[derive(Args, Debug)]
pub(super) struct CalibrateArgs {
    /// The device to measure
    #[arg(long, value_enum, default_value_t = CalibrateDevice::Gpu)]
    pub(super) device: CalibrateDevice,
    /// The file for the target, as JSON for `compile --target @FILE`; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CalibrateDevice {
    /// The best GPU that is not a software driver
    Auto,
    /// The best adapter, which may be a software driver
    Gpu,
    /// The CPU, which has no cost model to fit
    Host,
}

#[derive(Args, Debug)]
pub(super) struct DevicesArgs {
    /// The format of the output
    #[arg(long, value_enum, default_value_t = DevicesFormat::Text)]
    pub(super) format: DevicesFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DevicesFormat {
    /// Text for readers
    Text,
    /// JSON for programs
    Json,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_names_every_preset_and_every_limit() {
        let mut program = Cli::command();
        let general = program.render_help().to_string();
        let compile = program.find_subcommand_mut("compile").unwrap().render_long_help();
        let compile = compile.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        let unknown = stridec::Target::preset("").unwrap_err();
        let stridec::schedule::ScheduleError::Preset { accepted, .. } = unknown else { panic!() };
        for preset in accepted.split(", ") {
            assert!(general.contains(preset) && compile.contains(preset), "{preset}");
        }
        for limit in super::super::target::LIMITS {
            assert!(compile.contains(limit), "{limit}");
        }
    }

    #[test]
    fn lists_take_negative_numbers_after_a_blank() {
        let line = "stridec compile slice --from f32[4,4] --offsets 0,1 --sizes 4,3 --strides -2,2";
        let cli = Cli::try_parse_from(line.split(' ')).unwrap();
        let Command::Compile(args) = cli.command else { panic!("{cli:?}") };
        assert_eq!(args.op.flags.strides, Some(NumberList(vec![-2, 2])));
    }
}
