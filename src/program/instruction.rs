//! One instruction on the index of its value: which operand the elements come from, and at which index of that.

use super::{
    graph::{Graph, Node, Origin, Path},
    literal::{extents, storage_bits},
    pull::{Halt, Item, Pull, Stop, unsupported},
    regroup::regroup,
};
use crate::{
    hlo::Opcode,
    nest::{Index, NestError, Region},
};

impl Pull<'_, '_> {
    /// Follows a node one instruction back.
    pub(super) fn instruction(&mut self, item: Item, node: Node) -> Result<(), Halt> {
        let instruction = self.graph.instruction(node);
        let item = match instruction.opcode() {
            Opcode::Select => match self.select(node, item)? {
                Some(item) => item,
                None => return Ok(()),
            },
            _ => item,
        };
        let own = self.extents(node)?;
        let Item { region, index, part, .. } = item;
        let operand = |graph: &Graph, number: usize| graph.operand(node, number);
        let past = || NestError::PAST_LIMIT;
        match instruction.opcode() {
            Opcode::Constant(literal) => {
                let item = Item { node, path: Path::new(), region, index, part };
                self.constant(item, Origin::Node(node), literal)
            }
            Opcode::Transpose { dimensions } => {
                let mut source = vec![Index::constant(0); index.len()];
                for (index, &dimension) in index.into_iter().zip(dimensions) {
                    source[dimension] = index;
                }
                self.go_on(operand(self.graph, 0), region, source, part);
                Ok(())
            }
            Opcode::Broadcast { dimensions } => {
                let source = dimensions.iter().map(|&dimension| index[dimension].clone());
                let source = source.collect();
                self.go_on(operand(self.graph, 0), region, source, part);
                Ok(())
            }
            Opcode::Reverse { dimensions } => {
                let mut source = index;
                for &dimension in dimensions {
                    let last = signed(own[dimension] - 1);
                    source[dimension] = source[dimension].scaled(-1, last).ok_or_else(past)?;
                }
                self.go_on(operand(self.graph, 0), region, source, part);
                Ok(())
            }
            Opcode::Slice { dimensions } => {
                let moved = index.iter().zip(dimensions).map(|(index, of)| {
                    let stride = i64::try_from(of.stride).unwrap_or(1);
                    // A stride that is never taken may be any number.
                    let stride = if index.as_constant() == Some(0) { 1 } else { stride };
                    index.scaled(stride, signed(of.start))
                });
                let source = moved.collect::<Option<_>>().ok_or_else(past)?;
                self.go_on(operand(self.graph, 0), region, source, part);
                Ok(())
            }
            Opcode::Reshape => {
                let from = operand(self.graph, 0);
                let extents = self.extents(from)?;
                let mut region = region;
                let source = regroup(&mut self.assembly, &mut region, &index, &own, &extents)?;
                self.go_on(from, region, source, part);
                Ok(())
            }
            Opcode::BitcastConvert => self.bitcast(node, region, &index, part, false),
            Opcode::Bitcast => self.bitcast(node, region, &index, part, true),
            Opcode::Pad { dimensions } => {
                let (value, fill) = (operand(self.graph, 0), operand(self.graph, 1));
                let extents = self.extents(value)?;
                let boxes = extents.iter().zip(dimensions).map(|(&extent, of)| {
                    let gaps = extent.saturating_sub(1).saturating_mul(of.interior_padding);
                    let every = of.interior_padding.saturating_add(1);
                    let low = Index::constant_signed(of.edge_padding_low);
                    (low, extent.saturating_add(gaps), every)
                });
                let boxes = boxes.collect();
                let outer = Item { node: fill, path: Path::new(), region, index: vec![], part };
                self.inside(value, outer, &index, boxes)
            }
            Opcode::DynamicUpdateSlice => {
                let (array, update) = (operand(self.graph, 0), operand(self.graph, 1));
                let extents = self.extents(update)?;
                let starts = self.starts(node, 2, &own, &extents)?;
                let boxes = starts.into_iter().zip(&extents);
                let boxes = boxes.map(|(start, &extent)| (start, extent, 1)).collect();
                let whole = index.clone();
                let outer = Item { node: array, path: Path::new(), region, index: whole, part };
                self.inside(update, outer, &index, boxes)
            }
            Opcode::DynamicSlice { .. } => {
                let array = operand(self.graph, 0);
                let extents = self.extents(array)?;
                let starts = self.starts(node, 1, &extents, &own)?;
                let moved = index.iter().zip(&starts).map(|(index, start)| index.plus(1, start));
                let source = moved.collect::<Option<_>>().ok_or_else(past)?;
                self.go_on(array, region, source, part);
                Ok(())
            }
            Opcode::Concatenate { dimension } => {
                self.concatenate(node, *dimension, region, &index, &part)
            }
            _ => Err(Halt::Stop(Stop::Compute(node))),
        }
    }

    /// A value is what an operand is at another index.
    pub(super) fn go_on(&mut self, node: Node, region: Region, index: Vec<Index>, part: Index) {
        self.items.push(Item { node, path: Path::new(), region, index, part });
    }

    /// A value inside a box is another one: along each dimension from a start on, so many steps, and only every so many
    /// of them. `outer` is taken where the index lies outside.
    fn inside(
        &mut self,
        value: Node,
        outer: Item,
        index: &[Index],
        boxes: Vec<(Index, u64, u64)>,
    ) -> Result<(), Halt> {
        let mut region = outer.region.clone();
        let mut source = Vec::with_capacity(index.len());
        let mut outside = Vec::new();
        let mut is_there = true;
        for (index, (start, extent, every)) in index.iter().zip(boxes) {
            let moved = index.plus(-1, &start).ok_or(NestError::PAST_LIMIT)?;
            let asked = self.assembly.ask(&region, &moved, 0, extent);
            outside.extend(asked.outside.map(|(region, _)| region));
            let Some((inside, mut moved)) = asked.inside else {
                is_there = false;
                break;
            };
            region = inside;
            if every > 1 {
                let [step, rest] = self.assembly.divide(&mut region, &moved, every)?;
                let asked = self.assembly.ask(&region, &rest, 0, 1);
                outside.extend(asked.outside.map(|(region, _)| region));
                let Some((inside, _)) = asked.inside else {
                    is_there = false;
                    break;
                };
                (region, moved) = (inside, step);
            }
            source.push(moved);
        }
        let part = outer.part.clone();
        // Where one guard alone divides the two, what is outside is known.
        let outer = match outside.len() {
            0 => None,
            1 if is_there => outside.pop().map(|region| Item { region, ..outer }),
            _ => Some(outer),
        };
        self.items.extend(outer);
        if is_there {
            self.go_on(value, region, source, part);
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
            let asked = self.assembly.ask(&region, &along, first, end);
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

    /// The same memory under another type: elements are taken apart, or put together. Of a bitcast the dimensions are
    /// those of memory.
    fn bitcast(
        &mut self,
        node: Node,
        mut region: Region,
        index: &[Index],
        part: Index,
        in_memory: bool,
    ) -> Result<(), Halt> {
        let operand = self.graph.operand(node, 0);
        let sides = [node, operand].map(|node| self.graph.instruction(node).shape().clone());
        let widths = [&sides[0], &sides[1]].map(|shape| {
            let element_type = shape.element_type();
            (storage_bits(element_type), element_type.bits())
        });
        let packs = |&(storage, bits): &(u32, Option<u32>)| bits != Some(storage);
        let ([own, source], [changes, ..]) = (widths, [widths[0].1 != widths[1].1]);
        if changes && (packs(&own) || packs(&source)) {
            let reason = "; one of its types has elements below a byte";
            return Err(unsupported(self.graph, node, reason));
        }
        if source.0 < self.unit {
            return Err(Halt::Unit(source.0));
        }
        let mut dimensions = Vec::new();
        for (shape, (storage, _)) in sides.iter().zip(widths) {
            let Some(extents) = extents(shape) else {
                return Err(unsupported(self.graph, node, "; its extents are not fixed"));
            };
            let layout = shape.layout_or_default();
            let packed = sides[0].layout_or_default().element_size_in_bits;
            if in_memory && !(layout.tiles.is_empty() && layout.element_size_in_bits == packed) {
                let reason = "; its layouts have tiles, or one of them packs elements";
                return Err(unsupported(self.graph, node, reason));
            }
            let order: Vec<usize> = if in_memory {
                layout.minor_to_major.iter().rev().copied().collect()
            } else {
                (0..extents.len()).collect()
            };
            let mut sizes: Vec<u64> = order.iter().map(|&dimension| extents[dimension]).collect();
            sizes.push(u64::from(storage / self.unit));
            dimensions.push((order, sizes));
        }
        let [(order, from), (source_order, to)] = &dimensions[..] else {
            unreachable!("two sides")
        };
        let mut own: Vec<Index> = order.iter().map(|&dimension| index[dimension].clone()).collect();
        own.push(part);
        let mut found = regroup(&mut self.assembly, &mut region, &own, from, to)?;
        let part = found.pop().unwrap_or(Index::constant(0));
        let mut source = vec![Index::constant(0); source_order.len()];
        for (index, &dimension) in found.into_iter().zip(source_order) {
            source[dimension] = index;
        }
        self.go_on(operand, region, source, part);
        Ok(())
    }
}

fn signed(extent: u64) -> i64 {
    i64::try_from(extent).unwrap_or(i64::MAX)
}
