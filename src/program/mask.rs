//! Masks: predicates that depend only on the index of the element. They become conditions on the
//! loop counters, called guards.
//!
//! For example, JAX zeroes a triangle with `select(row >= column, x, 0)`, in which `iota` gives the
//! row and the column. stridec does not compute the comparison as a value. Instead, the predicate
//! becomes the guard `0 <= row - column`, like the guards of padding.

use super::{
    graph::{ArrayOrigin, GraphNode, TuplePath},
    literal::{element, elements, extents, is_integer, storage_bits},
    number::NumberRange,
    pull::{Halt, PendingValue, Pull},
};
use crate::{
    hlo::{Binary, ComparisonDirection, Opcode},
    nest::{Index, WalkRegion},
    shape::ElementType,
};

/// The greatest number of instructions that the compiler follows from a predicate or an integer to
/// write it as an affine expression. If the chain is longer, a lookup computes the value at run
/// time.
const MAX_DEPTH: usize = 32;

/// A predicate, expressed as a guard: the predicate is true if `0 <= index < end`, or if this
/// condition fails and `negated` is set.
struct Mask {
    index: Index,
    end: u64,
    negated: bool,
}

impl Pull<'_, '_> {
    /// Traces an element of `select`. A guard tests the predicate: the trace continues in `on_true`
    /// for elements at which the predicate is true, and in `on_false` for the others. If the
    /// predicate cannot be expressed as a [`Mask`], a lookup loads it at run time.
    pub(super) fn select(&mut self, node: GraphNode, item: PendingValue) -> Result<(), Halt> {
        let [predicate, on_true, on_false] =
            [0, 1, 2].map(|number| self.graph.operand(node, number));
        let PendingValue { mut region, index, part, .. } = item;
        let is_scalar = self.graph.instruction(predicate).shape().rank() == 0;
        let at = if is_scalar { &[] } else { &index[..] };
        let mask = if let Some(mask) = self.mask(&mut region, predicate, at)? {
            mask
        } else {
            let holds = self.number(&mut region, predicate, at, NumberRange::clamped(1))?;
            Mask { index: holds, end: 1, negated: true }
        };
        let split = self.assembly.split_region(&region, &mask.index, 0, mask.end)?;
        let (inside, outside) =
            if mask.negated { (on_false, on_true) } else { (on_true, on_false) };
        if let Some((region, _)) = split.outside {
            self.go_on(outside, region, index.clone(), part.clone());
        }
        if let Some((region, _)) = split.inside {
            self.go_on(inside, region, index, part);
        }
        Ok(())
    }

    /// Expresses the predicate at `index` of `node` as a guard. Returns `None` if the predicate
    /// depends on anything except the index.
    fn mask(
        &mut self,
        region: &mut WalkRegion,
        mut node: GraphNode,
        index: &[Index],
    ) -> Result<Option<Mask>, Halt> {
        use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
        let mut index = index.to_vec();
        for _ in 0..MAX_DEPTH {
            let ArrayOrigin::Instruction(found) = self.graph.origin(node, TuplePath::new())? else {
                return Ok(None);
            };
            let Opcode::Compare { direction, total_order: false } =
                self.graph.instruction(found).opcode()
            else {
                // If the instruction only moves the predicate, continue in its operand.
                match self.substituted(region, found, &index)? {
                    Some((operand, moved)) => (node, index) = (operand, moved),
                    None => return Ok(None),
                }
                continue;
            };
            let sides = [0, 1].map(|number| self.graph.operand(found, number));
            let Some(left) = self.integer(region, sides[0], &index, 0)? else { return Ok(None) };
            let Some(right) = self.integer(region, sides[1], &index, 0)? else { return Ok(None) };
            let (above, below, least) = match direction {
                Ge | Eq | Ne => (&left, &right, 0),
                Gt => (&left, &right, -1),
                Le => (&right, &left, 0),
                Lt => (&right, &left, -1),
            };
            let difference = above.plus(-1, below).and_then(|index| index.scaled(1, least));
            let Some(index) = difference else { return Ok(None) };
            let end = match direction {
                Eq | Ne => 1,
                _ => index.greatest().map_or(1, |greatest| greatest + 1),
            };
            return Ok(Some(Mask { index, end, negated: *direction == Ne }));
        }
        Ok(None)
    }

    /// Expresses the integer at `index` of `node` as an affine expression. Returns `None` if the
    /// integer depends on anything except the index, or if it may wrap around in its type.
    pub(super) fn integer(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
        depth: usize,
    ) -> Result<Option<Index>, Halt> {
        let ArrayOrigin::Instruction(found) = self.graph.origin(node, TuplePath::new())? else {
            return Ok(None);
        };
        let instruction = self.graph.instruction(found);
        let element_type = instruction.shape().element_type();
        if depth == MAX_DEPTH || !is_integer(element_type) {
            return Ok(None);
        }
        let value = match instruction.opcode() {
            Opcode::Iota { dimension } => Some(index[*dimension].clone()),
            Opcode::Constant(literal) => {
                let one = extents(literal.shape()).is_some_and(|sizes| elements(&sizes) == 1);
                one.then(|| number(element_type, element(literal, 0))).flatten()
            }
            Opcode::Convert => {
                let operand = self.graph.operand(found, 0);
                self.integer(region, operand, index, depth + 1)?
            }
            Opcode::Binary(binary @ (Binary::Add | Binary::Subtract)) => {
                let sides = [0, 1].map(|number| self.graph.operand(found, number));
                let scale = if *binary == Binary::Add { 1 } else { -1 };
                let left = self.integer(region, sides[0], index, depth + 1)?;
                let right = self.integer(region, sides[1], index, depth + 1)?;
                left.zip(right).and_then(|(left, right)| left.plus(scale, &right))
            }
            _ => match self.substituted(region, found, index)? {
                Some((operand, moved)) => self.integer(region, operand, &moved, depth + 1)?,
                None => None,
            },
        };
        Ok(value.filter(|value| fits(value, element_type)))
    }

    /// Returns the operand from which the element at `index` is copied, and the index of the
    /// element in that operand. Returns `None` if the instruction does more than move elements, or
    /// if it is not one of the simple instructions listed here.
    fn substituted(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
    ) -> Result<Option<(GraphNode, Vec<Index>)>, Halt> {
        let instruction = self.graph.instruction(node);
        if !matches!(
            instruction.opcode(),
            Opcode::Broadcast { .. }
                | Opcode::Transpose { .. }
                | Opcode::Reverse { .. }
                | Opcode::Slice { .. }
                | Opcode::Reshape
                | Opcode::Reduce { .. }
        ) {
            return Ok(None);
        }
        let unit = storage_bits(instruction.shape().element_type());
        let moved = self.moved(node, region, index, &Index::constant(0), unit)?;
        Ok(moved.map(|(operand, index, _)| (operand, index)))
    }
}

/// Returns the integer that the bits of an element encode, or `None` if an `i64` cannot hold it.
fn number(element_type: ElementType, bits: u128) -> Option<Index> {
    let unused = 128 - element_type.bits()?;
    let high = bits << unused;
    let number = if element_type.is_signed_integer() {
        high.cast_signed() >> unused
    } else {
        (high >> unused).cast_signed()
    };
    Some(Index::constant_signed(i64::try_from(number).ok()?))
}

/// Returns true if the range of the integer type includes all values of `index`.
fn fits(index: &Index, element_type: ElementType) -> bool {
    let bits = element_type.bits().unwrap_or(0);
    let (least, most) = if element_type.is_signed_integer() {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    } else {
        (0, (1_i128 << bits) - 1)
    };
    let (low, high) = index.interval();
    i128::from(low) >= least && i128::from(high) <= most
}
