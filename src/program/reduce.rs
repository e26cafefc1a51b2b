//! Reduces of integers and predicates. They are computed at compile time, or become lookups.
//!
//! Modules that only move data contain reduces, too. For example, JAX's `take` uses a reduce to
//! test that all entries of an index vector are in range.

use super::{
    fold::{MAX_ELEMENTS, Scalar},
    graph::{ArrayOrigin, Graph, GraphNode, TuplePath},
    literal::{element, elements, extents, is_integer, storage_bits, uniform},
    numbers::{LookupBuilder, integer},
    pull::{Halt, Pull, Stop, unsupported},
};
use crate::{
    hlo::{Binary, Instruction, Literal, Opcode},
    nest::{Index, MAX_NUMBERS, WalkRegion},
    shape::ElementType,
};

/// Returns the operation with which a reduce combines elements.
///
/// Returns `None` if the operation is not supported, or if its result depends on the order of the
/// elements. Floats are not supported, because even a sum with a single element may change it: 0.0
/// plus -0.0 is 0.0.
pub(super) fn combiner(graph: &Graph, instruction: &Instruction) -> Option<Binary> {
    let Opcode::Reduce { computation, .. } = *instruction.opcode() else { return None };
    let callee = &graph.computations()[computation];
    let root = &callee.instructions()[callee.root()];
    let Opcode::Binary(binary) = *root.opcode() else { return None };
    let kind = instruction.shape().element_type();
    let is_parameter = |number: usize| root.operands().contains(&callee.parameters()[number]);
    let kind_of = |&place: &usize| callee.instructions()[place].shape().element_type();
    let is_known = matches!(
        binary,
        Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::Add
            | Binary::Multiply
            | Binary::Minimum
            | Binary::Maximum
    ) && (kind == ElementType::Pred || is_integer(kind))
        && callee.parameters().iter().all(|place| kind_of(place) == kind)
        && [0, 1].into_iter().all(is_parameter);
    is_known.then_some(binary)
}

/// Returns the bits of the neutral element of an operation, such as 0 for `add`. A reduce of one
/// element that starts with the neutral element returns that element unchanged. Returns `None` if
/// the operation has no neutral element.
fn neutral(binary: Binary, kind: ElementType) -> Option<u128> {
    let bits = kind.bits()?;
    let ones = u128::MAX >> (128 - bits);
    let (least, greatest) =
        if kind.is_signed_integer() { (1 << (bits - 1), ones >> 1) } else { (0, ones) };
    Some(match binary {
        Binary::And => ones,
        Binary::Or | Binary::Xor | Binary::Add => 0,
        Binary::Multiply => 1,
        Binary::Minimum => greatest,
        Binary::Maximum => least,
        _ => return None,
    })
}

/// Computes the result of a reduce whose operands are constants. Returns `None` if the reduce is
/// not folded, or if its result has more than [`MAX_ELEMENTS`] elements.
pub(super) fn fold(
    instruction: &Instruction,
    binary: Binary,
    operands: &[Literal],
) -> Option<Literal> {
    let Opcode::Reduce { dimensions, .. } = instruction.opcode() else { return None };
    let [array, start] = operands else { return None };
    let (shape, sizes) = (instruction.shape(), extents(array.shape())?);
    let kind = shape.element_type();
    // The result may have elements even if the reduced array has none.
    let count = elements(&extents(shape)?);
    if count > MAX_ELEMENTS {
        return None;
    }
    let start = Scalar::read(kind, element(start, 0))?;
    let mut values = vec![start; usize::try_from(count).ok()?];
    for place in 0..elements(&sizes) {
        let (mut rest, mut of_result, mut weight) = (place, 0, 1);
        for (dimension, size) in sizes.iter().enumerate().rev() {
            if !dimensions.contains(&dimension) {
                of_result += rest % size * weight;
                weight *= size;
            }
            rest /= size;
        }
        let value = &mut values[usize::try_from(of_result).ok()?];
        let next = value.binary(Scalar::read(kind, element(array, place))?, kind, binary)?;
        *value = Scalar::read(kind, next.write(kind)?)?;
    }
    let width = usize::try_from(storage_bits(kind) / 8).ok()?;
    let bits = values.into_iter().map(|value| value.write(kind));
    let bytes = bits.map(|bits| Some(bits?.to_le_bytes()[..width].to_vec()));
    Literal::new(shape, bytes.collect::<Option<Vec<_>>>()?.concat()).ok()
}

impl Pull<'_, '_> {
    /// Returns the index in the operand from which a reduce copies an element. A reduce only copies
    /// elements if all reduced dimensions have extent 1, and if its start value is the neutral
    /// element. Returns `None` for any other reduce.
    pub(super) fn unreduced(
        &mut self,
        node: GraphNode,
        dimensions: &[usize],
        index: &[Index],
    ) -> Result<Option<Vec<Index>>, Halt> {
        let is_one = self.reduced_sizes(node, dimensions)?.iter().all(|&size| size == 1);
        if !is_one || !self.starts_neutral(node)? {
            return Ok(None);
        }
        Ok(Some(spread(index, dimensions, &vec![0; dimensions.len()])))
    }

    /// Adds one element of the result of a reduce to a lookup. The numbers are a chain of
    /// operations on the elements that the reduce combines. Returns the index of the last number,
    /// which is the result.
    pub(super) fn reduced(
        &mut self,
        region: &mut WalkRegion,
        numbers: &mut LookupBuilder,
        node: GraphNode,
        index: &[Index],
        depth: usize,
    ) -> Result<usize, Halt> {
        let instruction = self.graph.instruction(node);
        let combined = combiner(self.graph, instruction);
        let own = integer(instruction.shape().element_type());
        let (Opcode::Reduce { dimensions, .. }, Some(binary), Some(own)) =
            (instruction.opcode(), combined, own)
        else {
            return Err(Halt::Stop(Stop::Compute(node)));
        };
        let [array, start] = [0, 1].map(|number| self.graph.operand(node, number));
        let sizes = self.reduced_sizes(node, dimensions)?;
        let count = elements(&sizes);
        if count > MAX_NUMBERS as u64 {
            let reason = format!(
                " for {count} elements at a time if the result decides which data is moved; expected at most {MAX_NUMBERS}"
            );
            return Err(unsupported(self.graph, node, &reason));
        }
        let mut value = None;
        if count == 0 || !self.starts_neutral(node)? {
            value = Some(self.computed(region, numbers, start, &[], depth)?);
        }
        for place in 0..count {
            let mut rest = place;
            let mut digits = vec![0; sizes.len()];
            for (digit, size) in digits.iter_mut().zip(&sizes).rev() {
                (*digit, rest) = (rest % size, rest / size);
            }
            let at = spread(index, dimensions, &digits);
            let next = self.computed(region, numbers, array, &at, depth)?;
            value = Some(match value {
                Some(value) => match numbers.binary(own, binary, value, next)? {
                    Some(of) => numbers.compute(own, of)?,
                    None => return Err(Halt::Stop(Stop::Compute(node))),
                },
                None => next,
            });
        }
        Ok(value.expect("the start, or an element"))
    }

    /// Returns the extents of the reduced dimensions.
    fn reduced_sizes(&self, node: GraphNode, dimensions: &[usize]) -> Result<Vec<u64>, Halt> {
        let extents = self.extents(self.graph.operand(node, 0))?;
        Ok(dimensions.iter().map(|&dimension| extents[dimension]).collect())
    }

    /// Returns true if the start value of a reduce is known to be the neutral element.
    fn starts_neutral(&mut self, node: GraphNode) -> Result<bool, Halt> {
        let instruction = self.graph.instruction(node);
        let Some(binary) = combiner(self.graph, instruction) else { return Ok(false) };
        let start = self.graph.operand(node, 1);
        let origin = self.graph.origin(start, TuplePath::new())?;
        let bits = match (self.buffers.folded.get(&origin), &origin) {
            (Some(literal), _) => uniform(literal),
            (None, ArrayOrigin::Instruction(found)) => {
                match self.graph.instruction(*found).opcode() {
                    Opcode::Constant(literal) => uniform(literal),
                    _ => None,
                }
            }
            _ => None,
        };
        Ok(bits.is_some() && bits == neutral(binary, instruction.shape().element_type()))
    }
}

/// Converts the index of an element in the result of a reduce to the index of one element in the
/// operand. `digits` has the index along each of the reduced dimensions, which the result lacks.
fn spread(index: &[Index], dimensions: &[usize], digits: &[u64]) -> Vec<Index> {
    let mut kept = index.iter();
    let entry = |dimension: usize| match dimensions.iter().position(|&d| d == dimension) {
        Some(of) => Index::constant(digits[of]),
        None => kept.next().expect("one for each dimension of the result").clone(),
    };
    (0..index.len() + dimensions.len()).map(entry).collect()
}
