//! The rules of instructions that choose between operands, and the function that selects the rule
//! for an instruction.
//!
//! A rule traces an element back through one instruction: it finds the operand from which the
//! element is copied, and the index of the element there. For example, an element of `concatenate`
//! along dimension 0 is in the first operand if its row is less than the number of rows of that
//! operand. The rules of instructions that copy all elements from one operand, such as `transpose`,
//! are in `moved`.

use super::{
    graph::{ArrayOrigin, Graph, GraphNode, TuplePath},
    literal::{signed, storage_bits},
    number::NumberRange,
    pull::{Halt, PendingValue, Pull, Stop},
    window::{WindowRange, padded},
};
use crate::{
    hlo::Opcode,
    nest::{Index, NestError, OutOfRange, WalkRegion},
    shape::ElementType,
};

impl Pull<'_, '_> {
    /// Traces an element back through the instruction `node`. Adds the operands from which the
    /// element may be copied to `pending`. If the trace ends here, adds cases to the nest instead.
    pub(super) fn instruction(&mut self, item: PendingValue, node: GraphNode) -> Result<(), Halt> {
        let instruction = self.graph.instruction(node);
        if let Opcode::Select = instruction.opcode() {
            return self.select(node, item);
        }
        match instruction.opcode() {
            Opcode::Conditional { computations } => {
                return self.conditional(node, computations.len(), item);
            }
            Opcode::Scatter(scatter) => return self.scatter(node, scatter, item),
            Opcode::Constant(literal) => {
                return self.constant(item, ArrayOrigin::Instruction(node), literal);
            }
            Opcode::Other { .. } => return Err(Halt::Stop(Stop::Compute(node))),
            // If any other instruction returns a tuple, it computes the arrays in it.
            _ if !item.path.is_empty() => return Err(Halt::Stop(Stop::Compute(node))),
            _ => {}
        }
        if let Some(operand) = self.converted_operand(node)?
            && self.converts(node, operand, &item)?
        {
            self.go_on(operand, item.region, item.index, item.part);
            return Ok(());
        }
        let unit = self.unit_before(node)?;
        let own = self.extents(node)?;
        let PendingValue { mut region, index, part, .. } = item;
        if let Some((operand, index, part)) = self.moved(node, &mut region, &index, &part, unit)? {
            self.go_on(operand, region, index, part);
            return Ok(());
        }
        let operand = |graph: &Graph, number: usize| graph.operand(node, number);
        match instruction.opcode() {
            Opcode::Pad { dimensions } => {
                let (value, fill) = (operand(self.graph, 0), operand(self.graph, 1));
                let windows = padded(&self.extents(value)?, dimensions);
                let outer = PendingValue {
                    node: fill,
                    path: TuplePath::new(),
                    region,
                    index: vec![],
                    part,
                };
                self.replaced(value, outer, &index, windows)
            }
            Opcode::DynamicUpdateSlice => {
                let (array, update) = (operand(self.graph, 0), operand(self.graph, 1));
                let extents = self.extents(update)?;
                let starts = self.starts(&mut region, (node, 2), &own, &extents)?;
                let windows = starts.into_iter().zip(&extents);
                let windows = windows.map(|(start, &extent)| WindowRange {
                    start,
                    starts: None,
                    extent,
                    every: 1,
                });
                let windows = windows.collect();
                let whole = index.clone();
                let outer = PendingValue {
                    node: array,
                    path: TuplePath::new(),
                    region,
                    index: whole,
                    part,
                };
                self.replaced(update, outer, &index, windows)
            }
            Opcode::Concatenate { dimension } => {
                self.concatenate(node, *dimension, region, &index, &part)
            }
            Opcode::Complex => self.complex(node, &region, &index, &part),
            // The imaginary part of a real number is 0.
            Opcode::Imag => Ok(self.assembly.bits(region, 0)?),
            _ => Err(Halt::Stop(Stop::Compute(node))),
        }
    }

    /// Traces an element of `complex`, which stores the real part in the low half of the element
    /// and the imaginary part in the high half.
    fn complex(
        &mut self,
        node: GraphNode,
        region: &WalkRegion,
        index: &[Index],
        part: &Index,
    ) -> Result<(), Halt> {
        let half = storage_bits(self.graph.instruction(node).shape().element_type()) / 2;
        if self.unit > half {
            return Err(Halt::Unit(half));
        }
        let parts = u64::from(half / self.unit);
        let [real, imaginary] = [0, 1].map(|number| self.graph.operand(node, number));
        let split = self.assembly.split_region(region, part, 0, parts)?;
        if let Some((region, part)) = split.outside {
            let part = part.scaled(1, -signed(parts)).ok_or(NestError::PAST_LIMIT)?;
            self.go_on(imaginary, region, index.to_vec(), part);
        }
        if let Some((region, part)) = split.inside {
            self.go_on(real, region, index.to_vec(), part);
        }
        Ok(())
    }

    /// Traces an element of a conditional. Guards test the predicate or the index of the branch,
    /// and the trace continues in the root of each branch.
    fn conditional(
        &mut self,
        node: GraphNode,
        count: usize,
        item: PendingValue,
    ) -> Result<(), Halt> {
        let chooser = self.graph.operand(node, 0);
        let is_index = self.graph.instruction(chooser).shape().element_type() != ElementType::Pred;
        let last = count as u64 - 1;
        let range = NumberRange { last, out_of_range: OutOfRange::Last };
        let PendingValue { path, mut region, index, part, .. } = item;
        let chosen = self.number(&mut region, chooser, &[], range)?;
        let mut rest = Some((region, chosen));
        let mut items = Vec::new();
        for number in 0..count {
            let Some((region, chosen)) = rest.take() else { break };
            self.graph.step()?;
            // Branch 0 belongs to the predicate `true`, which is the integer 1, so the order of the
            // two branches is reversed.
            let branch = if is_index { number } else { count - 1 - number };
            let split =
                self.assembly.split_region(&region, &chosen, number as u64, number as u64 + 1)?;
            if let Some((region, _)) = split.inside {
                let node = self.graph.branch(node, branch);
                let (path, index, part) = (path.clone(), index.clone(), part.clone());
                items.push(PendingValue { node, path, region, index, part });
            }
            rest = split.outside;
        }
        self.pending.extend(items.into_iter().rev());
        Ok(())
    }

    /// Adds an element of the array `node` to `pending`, so that the trace continues in `node`.
    pub(super) fn go_on(
        &mut self,
        node: GraphNode,
        region: WalkRegion,
        index: Vec<Index>,
        part: Index,
    ) {
        self.pending.push(PendingValue { node, path: TuplePath::new(), region, index, part });
    }

    /// Traces an element of an array in which a window was replaced. The element is copied from
    /// `value` if its index is inside the window, and otherwise from `outer`. `windows` has the
    /// range of the window in each dimension.
    fn replaced(
        &mut self,
        value: GraphNode,
        outer: PendingValue,
        index: &[Index],
        windows: Vec<WindowRange>,
    ) -> Result<(), Halt> {
        let (inside, outside) = self.inside(&outer.region, index, windows)?;
        let part = outer.part.clone();
        self.pending.extend(outside.map(|region| PendingValue { region, ..outer }));
        if let Some((region, index)) = inside {
            self.go_on(value, region, index, part);
        }
        Ok(())
    }

    /// Traces an element of `concatenate`. Guards test one operand after the other, to find the
    /// operand that contains the element.
    fn concatenate(
        &mut self,
        node: GraphNode,
        dimension: usize,
        region: WalkRegion,
        index: &[Index],
        part: &Index,
    ) -> Result<(), Halt> {
        let count = self.graph.instruction(node).operands().len();
        let mut items = Vec::new();
        let mut rest = Some((region, index[dimension].clone()));
        let mut end = 0;
        for number in 0..count {
            let Some((region, along)) = rest.take() else { break };
            self.graph.step()?;
            let operand = self.graph.operand(node, number);
            let first = end;
            end += self.extents(operand)?[dimension];
            let split = self.assembly.split_region(&region, &along, first, end)?;
            if let Some((region, along)) = split.inside {
                let mut index = index.to_vec();
                index[dimension] = along.scaled(1, -signed(first)).ok_or(NestError::PAST_LIMIT)?;
                let part = part.clone();
                items.push(PendingValue {
                    node: operand,
                    path: TuplePath::new(),
                    region,
                    index,
                    part,
                });
            }
            rest = split.outside;
        }
        self.pending.extend(items.into_iter().rev());
        Ok(())
    }
}
