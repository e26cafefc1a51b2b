//! Sorts constants at compile time, by the comparator of a `sort` instruction.

use super::{
    fold::element_bits,
    literal::{element, elements, extents, storage_bits},
};
use crate::{
    hlo::{Computation, Instruction, Literal, Opcode},
    shape::ElementType,
};

/// The maximum number of elements of a constant that is sorted at compile time. The sort evaluates
/// the comparator a few dozen times for each element. With a higher limit, compilation may take
/// longer; with a lower one, more modules are refused.
const MAX_SORTED: u64 = 1 << 16;

/// Sorts the constants `operands` along a dimension, and returns the sorted constants. The
/// comparator compares elements of all constants at once, and all of them take the same order.
/// Returns `None` if there are too many elements, or if the comparator has an instruction that is
/// not folded.
///
/// The sort is stable. This is correct for every `sort` instruction, because an instruction that is
/// not stable permits any order of equal elements.
pub(super) fn sort(
    dimension: usize,
    comparator: &Computation,
    operands: &[Literal],
) -> Option<Vec<Literal>> {
    let first = operands.first()?.shape();
    let sizes = extents(first).filter(|sizes| elements(sizes) <= MAX_SORTED)?;
    let length = *sizes.get(dimension)?;
    let inner: u64 = sizes[dimension + 1..].iter().product();
    let outer: u64 = sizes[..dimension].iter().product();
    let mut comparator = Comparator::new(comparator, operands);
    // The place in the operands from which each place in the results takes its element.
    let mut from: Vec<u64> = (0..elements(&sizes)).collect();
    for row in 0..outer * inner {
        let place = |along: u64| row / inner * length * inner + along * inner + row % inner;
        let places = (0..length).map(place).collect();
        for (along, sorted) in comparator.sorted(places)?.into_iter().enumerate() {
            from[usize::try_from(place(along as u64)).ok()?] = sorted;
        }
    }
    let moved = operands.iter().map(|operand| {
        let width = usize::try_from(storage_bits(operand.shape().element_type()) / 8).ok()?;
        let bytes = from
            .iter()
            .flat_map(|&place| element(operand, place).to_le_bytes().into_iter().take(width));
        Literal::new(operand.shape(), bytes.collect()).ok()
    });
    moved.collect()
}

/// An evaluator of the comparator of a sort, for the constants that are sorted.
struct Comparator<'a> {
    instructions: &'a [Instruction],
    root: usize,
    operands: &'a [Literal],
    /// The type and the bits of the value of each instruction, for the two places that are being
    /// compared.
    values: Vec<(ElementType, u128)>,
}

impl<'a> Comparator<'a> {
    fn new(computation: &'a Computation, operands: &'a [Literal]) -> Self {
        let (instructions, root) = (computation.instructions(), computation.root());
        Self { instructions, root, operands, values: Vec::with_capacity(instructions.len()) }
    }

    /// Returns true if the elements at place `first` must be sorted before the elements at place
    /// `second`. Returns `None` if the comparator has an instruction that is not folded.
    fn is_before(&mut self, first: u64, second: u64) -> Option<bool> {
        self.values.clear();
        for instruction in self.instructions {
            let operand =
                |number: usize| self.values.get(*instruction.operands().get(number)?).copied();
            let bits = match instruction.opcode() {
                Opcode::Parameter { number } => {
                    let place = if number % 2 == 0 { first } else { second };
                    element(self.operands.get(number / 2)?, place)
                }
                Opcode::Constant(literal) => element(literal, 0),
                Opcode::Copy | Opcode::OptBarrier | Opcode::Reshape => operand(0)?.1,
                Opcode::BitcastConvert | Opcode::Bitcast
                    if operand(0)?.0.bits() == instruction.shape().element_type().bits() =>
                {
                    operand(0)?.1
                }
                _ => element_bits(instruction, operand)?,
            };
            self.values.push((instruction.shape().element_type(), bits));
        }
        Some(self.values.get(self.root)?.1 != 0)
    }

    /// Sorts places with a merge sort. The sorts of `std` cannot be used, because they require a
    /// total order, which a comparator of floats does not define if there are NaNs. Returns `None`
    /// if the comparator has an instruction that is not folded.
    fn sorted(&mut self, mut places: Vec<u64>) -> Option<Vec<u64>> {
        if places.len() < 2 {
            return Some(places);
        }
        let right = places.split_off(places.len() / 2);
        let (left, right) = (self.sorted(places)?, self.sorted(right)?);
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        while let (Some(&one), Some(&other)) = (left.peek(), right.peek()) {
            let next = if self.is_before(other, one)? { right.next() } else { left.next() };
            merged.extend(next);
        }
        merged.extend(left.chain(right));
        Some(merged)
    }
}
