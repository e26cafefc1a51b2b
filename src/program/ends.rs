//! Where ways end: in a buffer, or in bits. And the starts of dynamic slices, which end in numbers.

use std::collections::HashSet;

use super::{
    ProgramError, Value,
    graph::{Node, Origin, Path},
    literal::{element, elements, extents, is_integer, start, storage_bits, uniform},
    pull::{Halt, Item, Pull, Stop, unsupported},
};
use crate::{
    hlo::{Literal, Opcode},
    nest::{Index, Lookup},
    shape::Shape,
    stride::StrideDescriptor,
};

impl Pull<'_, '_> {
    /// A way ends in a buffer.
    pub(super) fn read(&mut self, item: Item, value: Value, shape: &Shape) -> Result<(), Halt> {
        let Item { node, region, mut index, part, .. } = item;
        let descriptor = StrideDescriptor::try_from(shape)
            .map_err(|error| ProgramError::layout(value, shape, error))?;
        let storage = storage_bits(shape.element_type());
        let parts = storage / self.unit;
        let descriptor = if parts > 1 {
            if descriptor.element_bits() != storage {
                let reason = "; elements that its layout packs would be taken apart";
                return Err(unsupported(self.graph, node, reason));
            }
            index.push(part);
            descriptor.split_elements(parts)
        } else {
            descriptor
        };
        let source = self.source(value, false, |assembly| assembly.source(&descriptor))?;
        Ok(self.assembly.read(region, source, &descriptor, index)?)
    }

    pub(super) fn literal(&self, node: Node, path: &[usize]) -> Literal {
        let Opcode::Constant(literal) = self.graph.instruction(node).opcode() else {
            unreachable!("the origin of a part is a constant")
        };
        path.iter()
            .fold(Literal::clone(literal), |literal, &part| literal.parts().swap_remove(part))
    }

    /// A way ends in a constant: in bits where one element is meant or all are alike, else in a buffer that holds it.
    pub(super) fn constant(
        &mut self,
        item: Item,
        origin: Origin,
        literal: &Literal,
    ) -> Result<(), Halt> {
        let shape = literal.shape();
        let sizes = extents(shape).unwrap_or_default();
        let known: Option<Vec<u64>> = item.index.iter().map(Index::as_constant).collect();
        let place = known.map(|index| {
            index.iter().zip(&sizes).fold(0, |place, (index, size)| place * size + index)
        });
        let bits = uniform(literal).or_else(|| place.map(|place| element(literal, place)));
        let Some(bits) = bits else {
            let next = self.kept.constants.len();
            let number = *self.kept.constant_of.entry(origin).or_insert(next);
            if number == next {
                self.kept.constants.push((shape.clone(), literal.bytes().to_vec()));
            }
            return self.read(item, Value::Constant(number), shape);
        };
        self.bits(item, bits, storage_bits(shape.element_type()))
    }

    /// A way ends in an element of so many bits.
    fn bits(&mut self, item: Item, bits: u128, storage: u32) -> Result<(), Halt> {
        let Item { region, part, .. } = item;
        let mask = u128::MAX >> (128 - self.unit);
        let parts = storage / self.unit;
        let unit = |part: u64| bits >> (u32::try_from(part).unwrap_or(0) * self.unit) & mask;
        let alike = (0..u64::from(parts)).map(unit).collect::<HashSet<_>>().len() == 1;
        if let Some(part) = part.as_constant().or(alike.then_some(0)) {
            return Ok(self.assembly.bits(region, unit(part))?);
        }
        let mut rest = Some((region, part));
        for number in 0..u64::from(parts) {
            let Some((region, part)) = rest.take() else { break };
            let bits = unit(number);
            let asked = self.assembly.ask(&region, &part, number, number + 1);
            if let Some((region, _)) = asked.inside {
                self.assembly.bits(region, bits)?;
            }
            rest = asked.outside;
        }
        Ok(())
    }

    /// The starts of a dynamic slice of `sizes` out of `extents`, clamped so that it lies inside: the operands from
    /// `first` on, a scalar for each dimension, or one vector of them.
    pub(super) fn starts(
        &mut self,
        node: Node,
        first: usize,
        extents: &[u64],
        sizes: &[u64],
    ) -> Result<Vec<Index>, Halt> {
        let operands = self.graph.instruction(node).operands().len();
        let vector = operands == first + 1
            && self.graph.instruction(self.graph.operand(node, first)).shape().rank() == 1;
        let mut starts = Vec::with_capacity(extents.len());
        for (dimension, (extent, size)) in extents.iter().zip(sizes).enumerate() {
            let last = extent.saturating_sub(*size);
            let (operand, place) = if vector { (first, dimension) } else { (first + dimension, 0) };
            let operand = self.graph.operand(node, operand);
            starts.push(if last == 0 {
                Index::constant(0)
            } else {
                self.number(operand, place as u64, last)?
            });
        }
        Ok(starts)
    }

    /// An integer of a scalar or of a vector, clamped to `0..=last`.
    fn number(&mut self, mut node: Node, mut place: u64, last: u64) -> Result<Index, Halt> {
        loop {
            let origin = self.graph.origin(node, Path::new())?;
            if let Some(literal) = self.kept.folded.get(&origin) {
                return self.known(node, literal, place, last);
            }
            let kept = self.kept.scratch_of.get(&origin).copied();
            let (value, shape) = match (kept, origin) {
                (Some(scratch), _) => (Value::Scratch(scratch), self.kept.scratch[scratch].clone()),
                (None, Origin::Parameter(number, path)) => {
                    let (place, shape) = self.kept.parameter(number, &path);
                    (Value::Parameter(place), shape)
                }
                (None, Origin::Part(node, path)) => {
                    let literal = self.literal(node, &path);
                    return self.known(node, &literal, place, last);
                }
                (None, Origin::Node(found)) => {
                    let instruction = self.graph.instruction(found);
                    if let Opcode::Constant(literal) = instruction.opcode() {
                        return self.known(found, literal, place, last);
                    }
                    // One element stays one, whatever its dimensions are called.
                    let same = matches!(
                        instruction.opcode(),
                        Opcode::Reshape | Opcode::Broadcast { .. } | Opcode::Transpose { .. }
                    );
                    let one = |extents: Vec<u64>| elements(&extents) == 1;
                    if same && one(self.extents(self.graph.operand(found, 0))?) {
                        node = self.graph.operand(found, 0);
                        place = 0;
                        continue;
                    }
                    return Err(Halt::Stop(Stop::Before(found)));
                }
            };
            let element_type = shape.element_type();
            let descriptor = StrideDescriptor::try_from(&shape)
                .map_err(|error| ProgramError::layout(value, &shape, error))?;
            let bits = storage_bits(element_type);
            if !is_integer(element_type)
                || element_type.bits() != Some(bits)
                || !(descriptor.prefix_bytes() * 8).is_multiple_of(bits.into())
            {
                return Err(unsupported(self.graph, node, "; a start of a dynamic slice takes it"));
            }
            let sizes = descriptor.sizes().to_vec();
            let mut rest = place;
            let mut index = vec![0; sizes.len()];
            for (index, size) in index.iter_mut().zip(&sizes).rev() {
                *index = rest % size;
                rest /= size;
            }
            let prefix = descriptor.prefix_bytes() * 8 / u64::from(bits);
            let at = prefix + descriptor.offset(&index).unwrap_or_default();
            let units = prefix + descriptor.physical_elements();
            let source =
                self.source(value, true, |assembly| Ok(assembly.number_source(units, bits)))?;
            let is_signed = element_type.is_signed_integer();
            return Ok(self.assembly.lookup(Lookup { source, at, last, bits, is_signed }));
        }
    }

    fn known(&self, node: Node, literal: &Literal, place: u64, last: u64) -> Result<Index, Halt> {
        match start(literal.shape().element_type(), element(literal, place)) {
            Some(start) => Ok(Index::constant(start.min(last))),
            None => Err(unsupported(self.graph, node, "; a start of a dynamic slice takes it")),
        }
    }
}
