use std::fmt;

use super::{AdapterKind, Block, Strategy, cost};
use crate::nest::{CopyNest, Value};

/// One way to run a nest, and what the cost model expects of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// What one invocation does.
    pub strategy: Strategy,
    /// What makes this strategy possible.
    pub reason: &'static str,
    /// Hundredths of an operation for each word of the destination; to be compared with those of the same nest alone.
    pub cost: u64,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths) = (self.cost / 100, self.cost % 100);
        f.write_str(self.strategy.name())?;
        match &self.strategy {
            Strategy::Empty(_) | Strategy::Gather(_) => {}
            Strategy::Copy(block) | Strategy::Rows(block) => write!(f, " of {}", block.rows)?,
            Strategy::Transpose(block) => write!(f, " of {} by {}", block.rows, block.width)?,
        }
        write!(f, ": {whole}.{hundredths:02}")
    }
}

/// The ways to run a nest, the one of least cost first: the blocks that divide it, and a gather, which any nest allows.
///
/// The kernels of all of them write the same bytes. A copy of one run stands alone, so that it stays one.
#[must_use]
pub fn candidates(nest: CopyNest, kind: AdapterKind) -> Vec<Candidate> {
    if nest.dst_elements == 0 {
        let reason = "the destination has no cells";
        return vec![Candidate { strategy: Strategy::Empty(nest), reason, cost: 0 }];
    }
    let mut list = Vec::new();
    let inner = nest.extents.len() - 1;
    let reason = if nest.src_bits != nest.dst_bits {
        "the element size changes"
    } else if !nest.is_exact() {
        "the destination's strides leave a head or a tail"
    } else if nest.src.weight(Value::Axis(inner)) == 1 || is_copy(&nest) {
        rows(&nest, kind, &mut list);
        "rows are no whole number of words"
    } else {
        rectangles(&nest, kind, &mut list);
        strided_rows(&nest, kind, &mut list);
        "no axis gives runs of whole words on both sides"
    };
    if !list.iter().any(|candidate| matches!(candidate.strategy, Strategy::Copy(_))) {
        let reason = if list.is_empty() { reason } else { "every block of it costs more" };
        let cost = cost::of_gather(&nest, kind);
        list.push(Candidate { strategy: Strategy::Gather(nest), reason, cost });
    }
    list.sort_by_key(|candidate| candidate.cost);
    list
}

/// Whether all of the nest is one contiguous run on both sides; an axis of one step has no stride.
fn is_copy(nest: &CopyNest) -> bool {
    let [extent] = nest.extents[..] else { return false };
    let stride = nest.src.weight(Value::Axis(0));
    nest.guards.is_empty() && nest.digits.is_empty() && (stride == 1 || extent == 1)
}

/// Runs of 4 to 64 bytes of rows that are contiguous on both sides.
fn rows(nest: &CopyNest, kind: AdapterKind, list: &mut Vec<Candidate>) {
    // Of units below a byte no two words are put together.
    if nest.dst_bits < 8 {
        return;
    }
    let (strategy, reason): (fn(Block) -> Strategy, _) = if is_copy(nest) {
        (Strategy::Copy, "both sides are one contiguous run")
    } else {
        (Strategy::Rows, "the innermost axis is contiguous on both sides")
    };
    let word = u64::from((32 / nest.dst_bits).max(1));
    let runs = (0..=4).map(|log| word << log);
    let runs = runs.filter(|rows| rows * u64::from(nest.dst_bits) <= 512);
    for block in runs.filter_map(|rows| Block::run(nest, rows)) {
        let cost = cost::of_block(&block, kind);
        list.push(Candidate { strategy: strategy(block), reason, cost });
    }
}

/// Runs that fill one store of 8 or 16 bytes, loaded unit by unit.
fn strided_rows(nest: &CopyNest, kind: AdapterKind, list: &mut Vec<Candidate>) {
    if nest.dst_bits < 32 {
        return;
    }
    let runs = [4, 2].into_iter().filter(|rows| rows * nest.dst_bits <= 128);
    for block in runs.filter_map(|rows| Block::run(nest, rows.into())) {
        let cost = cost::of_block(&block, kind);
        let reason = "the source walks the innermost axis with a stride";
        list.push(Candidate { strategy: Strategy::Rows(block), reason, cost });
    }
}

/// Rectangles of up to 16 units of 4 bytes and more, or 64 narrower ones: a driver compiles what is unrolled.
fn rectangles(nest: &CopyNest, kind: AdapterKind, list: &mut Vec<Candidate>) {
    let inner = nest.extents.len() - 1;
    let src_axis = (0..inner).rev().find(|&axis| nest.src.weight(Value::Axis(axis)) == 1);
    let (Some(src_axis), bits) = (src_axis, nest.dst_bits) else { return };
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
                let cost = cost::of_block(&block, kind);
                let reason = "the innermost axes of the two sides differ";
                list.push(Candidate { strategy: Strategy::Transpose(block), reason, cost });
            }
        }
    }
}
