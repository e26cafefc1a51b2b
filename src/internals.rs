//! Items that only stridec's own tests and benchmarks use. They may change in any version.

// `tests/it/blocks.rs` checks every element that a block moves.
pub use crate::schedule::{
    block::{Block, BlockAxis, Run},
    numbering::BlockDigit,
    seam::{RowAlignment, Seam},
};

// `tests/it/blocks.rs` and `tests/it/checker` look at the blocks of candidates and schedules.
pub use crate::schedule::{candidates::block_of_candidate, schedule::block_of_schedule};

// `tests/it/checker` runs small kernels in several rounds.
pub use crate::schedule::candidates::in_rounds;

// The tests of modules read ones that are just too large.
pub use crate::hlo::limits::{
    MAX_COMPUTATIONS, MAX_INSTRUCTIONS, MAX_LITERAL_BYTES, MAX_MODULE_BYTES,
};

// `tests/it/passes.rs`, `kernels.rs`, `several_sources.rs` and `extremes.rs` run passes one by one.
pub use crate::nest::{
    build::build,
    coalesce::coalesce,
    gaps::keep_gaps,
    refine::{refine, split_off},
    regular::regular,
    widen::widen,
};

// `tests/it/hlo/decode.rs` changes the messages of modules.
pub mod hlo_proto {
    //! XLA's messages of HLO modules.

    pub use crate::proto::hlo::*;
}

// The checker, the benchmark on paper and the tests of splits look at the parts of nests, and make
// nests that no operation makes.
pub use crate::nest::{
    copy_nest::{LastRead, Quotient},
    inspect::{Inspect, unproved_nest},
    known::know_lookups,
    lookup::Lookup,
    part::{Part, Rows},
    split::{Split, SplitError, slabs, split},
};

// `tests/hostile/limits.rs` reads shapes that are just too large.
pub use crate::shape::limits::{MAX_DEPTH, MAX_SHAPES, MAX_TILES};
