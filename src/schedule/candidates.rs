//! [`candidates`]: the ways to run a nest, each with its cost.

use std::fmt;

use super::{Block, Strategy, Target, cost};
use crate::nest::{CopyNest, Value};

/// One way to run a nest, and what the cost model expects of it.
///
/// [`candidates`] alone makes them; nothing about them can be changed.
///
/// ```compile_fail,E0451
/// use stridec::{Operation, Target, schedule::{Candidate, candidates}};
/// # let operation = Operation::relayout("f32[8,8]".parse()?, "f32[8,8]{0,1}".parse()?)?;
/// let candidate = candidates(operation.nest().clone(), &Target::webgpu()).remove(0);
/// let forged = Candidate { cost: 0, ..candidate };
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub(super) strategy: Strategy,
    /// In a box, so that sorting candidates moves little.
    pub(super) body: Box<Body>,
    pub(super) reason: &'static str,
    cost: u64,
}

/// What the invocations of a kernel share out: the blocks of a nest, or its words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Body {
    Block(Block),
    Nest(CopyNest),
}

impl Body {
    pub(super) fn nest(&self) -> &CopyNest {
        match self {
            Self::Block(block) => &block.nest,
            Self::Nest(nest) => nest,
        }
    }

    pub(super) fn block(&self) -> Option<&Block> {
        match self {
            Self::Block(block) => Some(block),
            Self::Nest(_) => None,
        }
    }
}

impl Candidate {
    fn of_block(strategy: Strategy, reason: &'static str, block: Block, target: &Target) -> Self {
        let cost = cost::of_block(&block, target.kind, &target.model);
        Self { strategy, body: Box::new(Body::Block(block)), reason, cost }
    }

    /// What one invocation does.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The block that an invocation moves; `None` where it computes a word.
    #[must_use]
    pub fn block(&self) -> Option<&Block> {
        self.body.block()
    }

    /// What makes this strategy possible.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// Hundredths of an operation for each word of the destination; to be compared with those of the same nest alone.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// The [`cost`](Self::cost) that another model of the same kind of adapter gives.
    #[must_use]
    pub fn cost_by(&self, target: &Target) -> u64 {
        match &*self.body {
            Body::Block(block) => cost::of_block(block, target.kind, &target.model),
            Body::Nest(_) if self.strategy == Strategy::Empty => 0,
            Body::Nest(nest) => cost::of_gather(nest, &target.model),
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths) = (self.cost / 100, self.cost % 100);
        write!(f, "{}", self.strategy)?;
        if let Some(block) = self.block() {
            write!(f, " of {}", block.rows())?;
            if self.strategy == Strategy::Transpose {
                write!(f, " by {}", block.width())?;
            }
        }
        write!(f, ": {whole}.{hundredths:02}")
    }
}

/// The ways to run a nest, the one of least cost first: the blocks that divide it, and a gather, which any nest allows.
///
/// The kernels of all of them write the same bytes. A copy of one run stands alone, so that it stays one.
#[must_use]
pub fn candidates(nest: CopyNest, target: &Target) -> Vec<Candidate> {
    if nest.dst_units() == 0 {
        let reason = "the destination has no elements";
        let body = Box::new(Body::Nest(nest));
        return vec![Candidate { strategy: Strategy::Empty, body, reason, cost: 0 }];
    }
    let mut list = Vec::new();
    let inner = nest.extents().len() - 1;
    let reason = if nest.refusals().is_none() {
        "what is read differs from case to case"
    } else if nest.src_bits() != nest.dst_bits() {
        "the element size changes"
    } else if !nest.is_exact() {
        "the destination's strides leave a head or a tail"
    } else if nest.src().weight(Value::Axis(inner)) == 1 || is_copy(&nest) {
        rows(&nest, target, &mut list);
        "rows are no whole number of words"
    } else {
        rectangles(&nest, target, &mut list);
        strided_rows(&nest, target, &mut list);
        "no axis gives runs of whole words on both sides"
    };
    if !list.iter().any(|candidate| candidate.strategy == Strategy::Copy) {
        let reason = if list.is_empty() { reason } else { "every block of it costs more" };
        let cost = cost::of_gather(&nest, &target.model);
        let body = Box::new(Body::Nest(nest));
        list.push(Candidate { strategy: Strategy::Gather, body, reason, cost });
    }
    list.sort_by_key(|candidate| candidate.cost);
    list
}

/// Whether all of the nest is one contiguous run on both sides; an axis of one step has no stride.
fn is_copy(nest: &CopyNest) -> bool {
    let [extent] = *nest.extents() else { return false };
    let stride = nest.src().weight(Value::Axis(0));
    nest.reading_guards().is_empty() && nest.quotients().is_empty() && (stride == 1 || extent == 1)
}

/// Runs of 4 to 64 bytes of rows that are contiguous on both sides.
fn rows(nest: &CopyNest, target: &Target, list: &mut Vec<Candidate>) {
    // Sub-byte units have no path that puts a word together from two.
    if nest.dst_bits() < 8 {
        return;
    }
    let (strategy, reason) = if is_copy(nest) {
        (Strategy::Copy, "both sides are one contiguous run")
    } else {
        (Strategy::Rows, "the innermost axis is contiguous on both sides")
    };
    let word = u64::from((32 / nest.dst_bits()).max(1));
    let runs = (0..=4).map(|log| word << log);
    let runs = runs.filter(|rows| rows * u64::from(nest.dst_bits()) <= 512);
    let blocks = runs.filter_map(|rows| Block::run(nest, rows));
    list.extend(blocks.map(|block| Candidate::of_block(strategy, reason, block, target)));
}

/// Runs that fill one store of 8 or 16 bytes, loaded unit by unit.
fn strided_rows(nest: &CopyNest, target: &Target, list: &mut Vec<Candidate>) {
    if nest.dst_bits() < 32 {
        return;
    }
    let runs = [4, 2].into_iter().filter(|rows| rows * nest.dst_bits() <= 128);
    let blocks = runs.filter_map(|rows| Block::run(nest, rows.into()));
    let reason = "the source walks the innermost axis with a stride";
    list.extend(blocks.map(|block| Candidate::of_block(Strategy::Rows, reason, block, target)));
}

/// Rectangles of up to 16 units of 4 bytes and more, or 64 narrower ones: a driver compiles what is unrolled.
fn rectangles(nest: &CopyNest, target: &Target, list: &mut Vec<Candidate>) {
    let inner = nest.extents().len() - 1;
    let src_axis = (0..inner).rev().find(|&axis| nest.src().weight(Value::Axis(axis)) == 1);
    let (Some(src_axis), bits) = (src_axis, nest.dst_bits()) else { return };
    let sides: &[u64] = match bits {
        0..8 => return,
        8 => &[8, 4],
        16 => &[8, 4, 2],
        32 | 64 => &[4, 2, 1],
        _ => &[2, 1],
    };
    for &rows in sides {
        for &width in sides.iter().filter(|&&width| bits < 32 || rows * width > 1) {
            let Some(block) = Block::rectangle(nest, src_axis, rows, width) else { continue };
            if block.is_word_aligned() {
                let reason = "the innermost axes of the two sides differ";
                list.push(Candidate::of_block(Strategy::Transpose, reason, block, target));
            }
        }
    }
}
