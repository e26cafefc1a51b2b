//! The rules of instructions that copy all elements from one operand, such as transpose, slice and
//! gather. A rule converts the index of an element of the result to the index of its origin in the
//! operand. For example, element (i,j) of a transpose is element (j,i) of its operand. If some
//! instruction divides elements, they are traced in parts, called *units*.

use super::{
    graph::{Graph, GraphNode},
    literal::{extents, is_integer, packed_bits, parts, signed, storage_bits},
    number::NumberRange,
    pull::{Halt, Pull, unsupported},
    regroup::regroup,
};
use crate::{
    hlo::{Gather, Opcode},
    nest::{Index, NestError, WalkRegion},
    shape::Shape,
    stride::StrideDescriptor,
};

/// An operand, the index of an element in that operand, and the index of a unit, a part of the
/// element, inside it.
pub(super) type Moved = (GraphNode, Vec<Index>, Index);

impl Pull<'_, '_> {
    /// Traces the element at `index` of `node` back through the instruction: returns the operand
    /// from which the element is copied, the index of the element in the operand, and the index of
    /// the unit inside it. Returns `None` if the instruction chooses between operands or computes
    /// elements.
    ///
    /// Elements are moved in units of `unit` bits. `part` is the index of the unit inside the
    /// element.
    pub(super) fn moved(
        &mut self,
        node: GraphNode,
        region: &mut WalkRegion,
        index: &[Index],
        part: &Index,
        unit: u32,
    ) -> Result<Option<Moved>, Halt> {
        let instruction = self.graph.instruction(node);
        let past = || NestError::PAST_LIMIT;
        let operands = instruction.operands().len();
        if operands == 0 {
            return Ok(None);
        }
        let operand = self.graph.operand(node, 0);
        let source = match instruction.opcode() {
            Opcode::Transpose { dimensions } => {
                let mut source = vec![Index::constant(0); index.len()];
                for (index, &dimension) in index.iter().zip(dimensions) {
                    source[dimension] = index.clone();
                }
                source
            }
            Opcode::Broadcast { dimensions } => {
                dimensions.iter().map(|&dimension| index[dimension].clone()).collect()
            }
            Opcode::Reverse { dimensions } => {
                let own = self.extents(node)?;
                let mut source = index.to_vec();
                for &dimension in dimensions {
                    let last = signed(own[dimension] - 1);
                    source[dimension] = source[dimension].scaled(-1, last).ok_or_else(past)?;
                }
                source
            }
            Opcode::Slice { dimensions } => {
                let moved = index.iter().zip(dimensions).map(|(index, of)| {
                    let stride = i64::try_from(of.stride).unwrap_or(1);
                    // In a dimension with a single element, the stride has no effect and may be any
                    // number.
                    let stride = if index.as_constant() == Some(0) { 1 } else { stride };
                    index.scaled(stride, signed(of.start))
                });
                moved.collect::<Option<_>>().ok_or_else(past)?
            }
            Opcode::Reshape => {
                let (own, extents) = (self.extents(node)?, self.extents(operand)?);
                regroup(&mut self.assembly, region, index, &own, &extents)?
            }
            Opcode::DynamicSlice { sizes } => {
                let extents = self.extents(operand)?;
                let starts = self.starts(region, (node, 1), &extents, sizes)?;
                let moved = index.iter().zip(&starts).map(|(index, start)| index.plus(1, start));
                moved.collect::<Option<_>>().ok_or_else(past)?
            }
            Opcode::Gather(gather) => self.gather(node, region, gather, index)?,
            Opcode::Reduce { dimensions, .. } => match self.unreduced(node, dimensions, index)? {
                Some(source) => source,
                None => return Ok(None),
            },
            Opcode::BitcastConvert => {
                return self.bitcast(node, region, index, (part, unit), false).map(Some);
            }
            Opcode::Bitcast => {
                return self.bitcast(node, region, index, (part, unit), true).map(Some);
            }
            Opcode::Real | Opcode::Imag => {
                let [own, from] = [node, operand]
                    .map(|node| storage_bits(self.graph.instruction(node).shape().element_type()));
                let parts = match instruction.opcode() {
                    Opcode::Imag if own == from => return Ok(None),
                    Opcode::Imag => signed((own / unit).into()),
                    _ => 0,
                };
                let part = part.scaled(1, parts).ok_or_else(past)?;
                return Ok(Some((operand, index.to_vec(), part)));
            }
            Opcode::Convert
                if self.converted.inside().is_none() && self.keeps(node, operand, part) =>
            {
                index.to_vec()
            }
            _ => return Ok(None),
        };
        Ok(Some((operand, source, part.clone())))
    }

    /// Returns the index in the operand of a gather from which an element is copied. It is the
    /// start of a slice plus the index inside the slice. A lookup loads the start from the array of
    /// indices at run time, and clamps it so that the slice is inside the operand.
    fn gather(
        &mut self,
        node: GraphNode,
        region: &mut WalkRegion,
        gather: &Gather,
        index: &[Index],
    ) -> Result<Vec<Index>, Halt> {
        let [operand, indices] = [0, 1].map(|number| self.graph.operand(node, number));
        let extents = self.extents(operand)?;
        if gather.slice_sizes.contains(&0) {
            return Err(unsupported(self.graph, node, "; its slices are empty"));
        }
        let is_offset = |dimension: &usize| gather.offset_dims.contains(dimension);
        let batch: Vec<&Index> =
            (0..index.len()).filter(|d| !is_offset(d)).map(|d| &index[d]).collect();
        let mut source = vec![Index::constant(0); extents.len()];
        for (number, &dimension) in gather.start_index_map.iter().enumerate() {
            let range = NumberRange::clamped(extents[dimension] - gather.slice_sizes[dimension]);
            let at = vector_at(&batch, gather.index_vector_dim, number, self.rank(indices));
            source[dimension] = self.number(region, indices, &at, range)?;
        }
        let pairs = gather.operand_batching_dims.iter().zip(&gather.start_indices_batching_dims);
        for (&dimension, &of_indices) in pairs {
            let before = usize::from(of_indices > gather.index_vector_dim);
            source[dimension] = batch[of_indices - before].clone();
        }
        let gone = |dimension: &usize| {
            gather.collapsed_slice_dims.contains(dimension)
                || gather.operand_batching_dims.contains(dimension)
        };
        let kept = (0..extents.len()).filter(|dimension| !gone(dimension));
        for (dimension, &offset) in kept.zip(&gather.offset_dims) {
            let moved = source[dimension].plus(1, &index[offset]);
            source[dimension] = moved.ok_or(NestError::PAST_LIMIT)?;
        }
        Ok(source)
    }

    /// Returns true if a conversion between integers keeps all bits that the kernel writes, so that
    /// the nest can copy them without a conversion. `part` is the index of the unit inside the
    /// element.
    ///
    /// If a unit is a byte or more, this applies only to elements of which the kernel writes fewer
    /// than 8 bits. For wider elements, the nest performs the conversion instead.
    pub(super) fn keeps(&self, node: GraphNode, operand: GraphNode, part: &Index) -> bool {
        let types = [node, operand].map(|of| self.graph.instruction(of).shape().element_type());
        if !types.into_iter().all(is_integer) {
            return false;
        }
        if self.unit < 8 {
            // Both types are divided into units of this size.
            return part.interval().1 < signed(parts(types[1], self.unit).into());
        }
        self.bits < 8 && types.into_iter().all(|of| of.bits() >= Some(self.bits))
    }

    fn rank(&self, node: GraphNode) -> usize {
        self.graph.instruction(node).shape().rank()
    }

    /// Traces an element of a bitcast, which may divide elements into smaller ones or join them. If
    /// `in_memory` is true, the bitcast keeps the bytes in memory, so dimensions are taken from the
    /// major to the minor one of the layout. Otherwise dimensions are taken in the order of the
    /// shape.
    fn bitcast(
        &mut self,
        node: GraphNode,
        region: &mut WalkRegion,
        index: &[Index],
        (part, unit): (&Index, u32),
        in_memory: bool,
    ) -> Result<Moved, Halt> {
        let operand = self.graph.operand(node, 0);
        let sides = [node, operand].map(|node| self.graph.instruction(node).shape().clone());
        let types = sides.each_ref().map(Shape::element_type);
        let storage = types.map(storage_bits);
        let logical = types.map(packed_bits);
        let widths = if in_memory { memory_bits(&sides) } else { logical };
        let least = widths[0].min(widths[1]);
        // In a byte that holds a smaller integer, the unused bits repeat the sign if the type is
        // signed, and are zero otherwise. So a change of signedness changes the byte.
        let changes_sign =
            !in_memory && least < 8 && types[0].is_signed_integer() != types[1].is_signed_integer();
        if unit > least && (widths[0] != widths[1] || changes_sign) {
            return Err(Halt::Unit(least));
        }
        let fits = if unit < 8 {
            widths == logical
        } else {
            widths == storage || widths[0] == widths[1] && logical[0] == logical[1]
        };
        if in_memory && !fits {
            return Err(unsupported(self.graph, node, "; one of its layouts packs elements"));
        }
        let has_tiles = |shape: &Shape| !shape.layout_or_default().tiles.is_empty();
        if in_memory && sides.iter().any(has_tiles) {
            return self.tiled_bitcast((node, operand), region, index, (part, unit), &sides);
        }
        let mut dimensions = Vec::new();
        for shape in &sides {
            let Some(extents) = extents(shape) else {
                return Err(unsupported(self.graph, node, "; its extents are not fixed"));
            };
            let layout = shape.layout_or_default();
            let order: Vec<usize> = if in_memory {
                layout.minor_to_major.iter().rev().copied().collect()
            } else {
                (0..extents.len()).collect()
            };
            let mut sizes: Vec<u64> = order.iter().map(|&dimension| extents[dimension]).collect();
            sizes.push(u64::from(parts(shape.element_type(), unit)));
            dimensions.push((order, sizes));
        }
        let [(order, from), (source_order, to)] = &dimensions[..] else {
            unreachable!("two sides")
        };
        let mut own: Vec<Index> = order.iter().map(|&dimension| index[dimension].clone()).collect();
        own.push(part.clone());
        let mut found = regroup(&mut self.assembly, region, &own, from, to)?;
        let part = found.pop().unwrap_or(Index::constant(0));
        let mut source = vec![Index::constant(0); source_order.len()];
        for (index, &dimension) in found.into_iter().zip(source_order) {
            source[dimension] = index;
        }
        Ok((operand, source, part))
    }
}

impl Pull<'_, '_> {
    /// Traces an element of a bitcast between tiled layouts. The bitcast does not move the element
    /// in memory, so the element has the same address in both layouts.
    fn tiled_bitcast(
        &mut self,
        (node, operand): (GraphNode, GraphNode),
        region: &mut WalkRegion,
        index: &[Index],
        (part, unit): (&Index, u32),
        sides: &[Shape; 2],
    ) -> Result<Moved, Halt> {
        let refusal = |graph: &Graph, reason: &str| unsupported(graph, node, reason);
        let [Ok(own), Ok(source)] = sides.each_ref().map(StrideDescriptor::try_from) else {
            return Err(refusal(self.graph, "; its layouts have no strides"));
        };
        let parts = sides.each_ref().map(|side| u64::from(parts(side.element_type(), unit)));
        if own.prefix_bytes() != source.prefix_bytes() {
            return Err(refusal(self.graph, "; one of its layouts has a prefix"));
        }
        let extents = |descriptor: &StrideDescriptor, parts: u64| -> Vec<u64> {
            descriptor.axes().iter().map(|axis| axis.extent).chain([parts]).collect()
        };
        let mut places = self.assembly.along_axes(region, &own, index)?;
        places.push(part.clone());
        let (from, to) = (extents(&own, parts[0]), extents(&source, parts[1]));
        let mut places = regroup(&mut self.assembly, region, &places, &from, &to)?;
        let part = places.pop().unwrap_or(Index::constant(0));
        match self.assembly.at_axes(region, &source, places, index)? {
            Some(index) => Ok((operand, index, part)),
            None => Err(refusal(self.graph, "; its elements would come from padding of tiles")),
        }
    }
}

/// Returns the index, in an array of indices, of one entry of an index vector. The array has `rank`
/// dimensions; `number` is the index of the entry in its vector, and `batch` the index of the
/// vector along the other dimensions. Gather and scatter use this to find the start of a slice or a
/// window.
pub(super) fn vector_at(
    batch: &[&Index],
    index_vector_dim: usize,
    number: usize,
    rank: usize,
) -> Vec<Index> {
    let mut at: Vec<Index> = batch.iter().map(|&index| index.clone()).collect();
    if index_vector_dim < rank {
        at.insert(index_vector_dim, Index::constant(number as u64));
    }
    at
}

/// Returns the size of an element in memory for each of the two arrays, in bits.
fn memory_bits(sides: &[Shape; 2]) -> [u32; 2] {
    sides.each_ref().map(|side| {
        let descriptor = StrideDescriptor::try_from(side).ok();
        descriptor.map_or(storage_bits(side.element_type()), |of| of.element_bits())
    })
}
