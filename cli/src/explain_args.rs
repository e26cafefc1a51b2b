//! The arguments of `stridec explain`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    args::{Layouts, OpFlags},
    list::NumberList,
    reshard_args::SidesArgs,
};

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct ExplainArgs {
    #[command(subcommand)]
    pub(super) reshard: Option<ExplainCommand>,
    /// A shape (`stridec --help` shows the notations), or an operation: `relayout`, `slice` or
    /// `hlo`
    #[arg(value_name = "SHAPE|OP", required_unless_present = "request")]
    pub(super) operation: Option<String>,
    /// hlo: the module in @FILE: a proto of XLA (.pb), HLO text (.txt, .hlo) or StableHLO text
    /// (.mlir)
    #[arg(value_name = "@FILE")]
    pub(super) module: Option<String>,
    #[command(flatten)]
    pub(super) flags: OpFlags,
    /// relayout, slice, hlo: prints the plan of the host's copy with this number of threads, in
    /// place of the drawing
    #[arg(long, value_name = "THREADS", num_args = 0..=1, default_missing_value = "1")]
    pub(super) plan: Option<usize>,
    #[command(flatten)]
    pub(super) program: ProgramFlags,
    #[command(flatten)]
    pub(super) files: PictureFiles,
}

/// The files of a picture. Without files, the picture is printed on stdout as text.
#[derive(Args, Debug)]
pub(super) struct PictureFiles {
    /// Writes an SVG document; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
    /// Writes a page for a browser, which runs the kernel if the browser can; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum ExplainCommand {
    /// Draws the change from one sharding to another: the devices of each part of the array on both
    /// sides, and the bytes that each device sends to each other one
    Reshard(ExplainReshardArgs),
}

#[derive(Args, Debug)]
pub(super) struct ExplainReshardArgs {
    #[command(flatten)]
    pub(super) sides: SidesArgs,
    #[command(flatten)]
    pub(super) files: PictureFiles,
}

/// The flags of a picture of a program.
#[derive(Args, Debug)]
pub(super) struct ProgramFlags {
    /// hlo: the layouts of the parameters and the result
    #[arg(long, value_enum, default_value_t = Layouts::Module)]
    pub(super) layouts: Layouts,
    /// hlo: the number of the result to draw; without it, all results
    #[arg(long, value_name = "N")]
    pub(super) output: Option<PathBuf>,
    /// hlo: the index of the element whose way is shown
    #[arg(long, value_name = "LIST")]
    pub(super) element: Option<NumberList<u64>>,
    /// hlo: the parameters, as for `run`, for starts of slices that are known only at run time;
    /// without them, these starts are 0
    #[arg(short, long, value_name = "IN")]
    pub(super) input: Vec<PathBuf>,
}

impl ProgramFlags {
    /// Returns the first of these flags that is given, or `None`.
    pub(super) fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--layouts", self.layouts != Layouts::Module),
            ("--output", self.output.is_some()),
            ("--element", self.element.is_some()),
            ("--input", !self.input.is_empty()),
        ];
        flags.into_iter().find(|&(_, given)| given).map(|(flag, _)| flag)
    }
}
