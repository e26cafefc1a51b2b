//! One instruction on the index of its value: which operand the elements come from, and at which index of that.

use super::{
    graph::{Graph, Node, Origin, Path},
    literal::{signed, storage_bits},
    pull::{Halt, Item, Pull, Stop},
    window::{Window, padded},
};
use crate::{
    hlo::Opcode,
    nest::{Index, NestError, Region},
};

impl Pull<'_, '_> {
    /// Follows a node one instruction back.
    pub(super) fn instruction(&mut self, item: Item, node: Node) -> Result<(), Halt> {
        let instruction = self.graph.instruction(node);
        if let Opcode::Select = instruction.opcode() {
            return self.select(node, item);
        }
        if let Opcode::Other { .. } = instruction.opcode() {
            return Err(Halt::Stop(Stop::Compute(node)));
        }
        let own = self.extents(node)?;
        let Item { mut region, index, part, .. } = item;
        if let Some((operand, index, part)) =
            self.moved(node, &mut region, &index, &part, self.unit)?
        {
            self.go_on(operand, region, index, part);
            return Ok(());
        }
        let operand = |graph: &Graph, number: usize| graph.operand(node, number);
        match instruction.opcode() {
            Opcode::Constant(literal) => {
                let item = Item { node, path: Path::new(), region, index, part };
                self.constant(item, Origin::Node(node), literal)
            }
            Opcode::Pad { dimensions } => {
                let (value, fill) = (operand(self.graph, 0), operand(self.graph, 1));
                let windows = padded(&self.extents(value)?, dimensions);
                let outer = Item { node: fill, path: Path::new(), region, index: vec![], part };
                self.replaced(value, outer, &index, windows)
            }
            Opcode::DynamicUpdateSlice => {
                let (array, update) = (operand(self.graph, 0), operand(self.graph, 1));
                let extents = self.extents(update)?;
                let starts = self.starts(&mut region, (node, 2), &own, &extents)?;
                let windows = starts.into_iter().zip(&extents);
                let windows = windows.map(|(start, &extent)| Window {
                    start,
                    starts: None,
                    extent,
                    every: 1,
                });
                let windows = windows.collect();
                let whole = index.clone();
                let outer = Item { node: array, path: Path::new(), region, index: whole, part };
                self.replaced(update, outer, &index, windows)
            }
            Opcode::Concatenate { dimension } => {
                self.concatenate(node, *dimension, region, &index, &part)
            }
            Opcode::Scatter(scatter) => {
                self.scatter(node, scatter, Item { node, path: Path::new(), region, index, part })
            }
            Opcode::Complex => self.complex(node, &region, &index, &part),
            // Of a number that is not complex.
            Opcode::Imag => Ok(self.assembly.bits(region, 0)?),
            _ => Err(Halt::Stop(Stop::Compute(node))),
        }
    }

    /// A complex number has its real part first in memory, then the imaginary one.
    fn complex(
        &mut self,
        node: Node,
        region: &Region,
        index: &[Index],
        part: &Index,
    ) -> Result<(), Halt> {
        let half = storage_bits(self.graph.instruction(node).shape().element_type()) / 2;
        if self.unit > half {
            return Err(Halt::Unit(half));
        }
        let parts = u64::from(half / self.unit);
        let [real, imaginary] = [0, 1].map(|number| self.graph.operand(node, number));
        let asked = self.assembly.ask(region, part, 0, parts)?;
        if let Some((region, part)) = asked.outside {
            let part = part.scaled(1, -signed(parts)).ok_or(NestError::PAST_LIMIT)?;
            self.go_on(imaginary, region, index.to_vec(), part);
        }
        if let Some((region, part)) = asked.inside {
            self.go_on(real, region, index.to_vec(), part);
        }
        Ok(())
    }

    /// A value is what an operand is at another index.
    pub(super) fn go_on(&mut self, node: Node, region: Region, index: Vec<Index>, part: Index) {
        self.items.push(Item { node, path: Path::new(), region, index, part });
    }

    /// A value inside a part is another one; `outer` is taken where the index lies outside.
    fn replaced(
        &mut self,
        value: Node,
        outer: Item,
        index: &[Index],
        windows: Vec<Window>,
    ) -> Result<(), Halt> {
        let (inside, outside) = self.inside(&outer.region, index, windows)?;
        let part = outer.part.clone();
        self.items.extend(outside.map(|region| Item { region, ..outer }));
        if let Some((region, index)) = inside {
            self.go_on(value, region, index, part);
        }
        Ok(())
    }

    /// Operands one after the other: each is taken where no earlier one is.
    fn concatenate(
        &mut self,
        node: Node,
        dimension: usize,
        region: Region,
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
            let asked = self.assembly.ask(&region, &along, first, end)?;
            if let Some((region, along)) = asked.inside {
                let mut index = index.to_vec();
                index[dimension] = along.scaled(1, -signed(first)).ok_or(NestError::PAST_LIMIT)?;
                let part = part.clone();
                items.push(Item { node: operand, path: Path::new(), region, index, part });
            }
            rest = asked.outside;
        }
        self.items.extend(items.into_iter().rev());
        Ok(())
    }
}
