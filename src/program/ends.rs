//! The end of a trace: an element is read from a buffer, or consists of constant bits.

use std::collections::HashSet;

use super::{
    BufferId, ProgramError,
    graph::ArrayOrigin,
    literal::{element, extents, storage_bits, uniform},
    pull::{Halt, PendingValue, Pull, unsupported},
};
use crate::{hlo::Literal, nest::Index, shape::Shape, stride::StrideDescriptor};

impl Pull<'_, '_> {
    /// Adds a case that reads the element from a buffer. The buffer holds an array of this shape.
    pub(super) fn read(
        &mut self,
        item: PendingValue,
        value: BufferId,
        shape: &Shape,
    ) -> Result<(), Halt> {
        let PendingValue { node, region, mut index, part, .. } = item;
        let descriptor = StrideDescriptor::try_from(shape)
            .map_err(|error| ProgramError::layout(value, shape, error))?;
        let storage = storage_bits(shape.element_type());
        let parts = storage / self.unit;
        if self.bits < 8 && !self.packs && shape.element_type().bits() != Some(self.bits) {
            let reason = "; its low bits would take a byte each";
            return Err(unsupported(self.graph, node, reason));
        }
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
        Ok(self.assembly.read(region, source, &descriptor, index.into())?)
    }

    /// Adds the cases for an element of a constant. If it is known which element, or if all are
    /// equal, the case is made of bits. Otherwise it reads a buffer that holds the constant.
    pub(super) fn constant(
        &mut self,
        item: PendingValue,
        origin: ArrayOrigin,
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
            let value = self.constant_buffer(origin, literal);
            return self.read(item, value, shape);
        };
        let kept = if self.bits < 8 { u128::MAX >> (128 - self.bits) } else { u128::MAX };
        self.bits(item, bits & kept, storage_bits(shape.element_type()))
    }

    /// Returns the buffer that holds a constant, and adds it if it is new.
    pub(super) fn constant_buffer(&mut self, origin: ArrayOrigin, literal: &Literal) -> BufferId {
        let next = self.buffers.constants.len();
        let number = *self.buffers.constant_of.entry(origin).or_insert(next);
        if number == next {
            self.buffers.constants.push((literal.shape().clone(), literal.bytes().to_vec()));
        }
        BufferId::Constant(number)
    }

    /// Adds cases for the parts of an element whose `storage` bits are known. If it is known which
    /// part, or if all are equal, one case is enough; otherwise each part gets a case.
    fn bits(&mut self, item: PendingValue, bits: u128, storage: u32) -> Result<(), Halt> {
        let PendingValue { region, part, .. } = item;
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
            let split = self.assembly.split_region(&region, &part, number, number + 1)?;
            if let Some((region, _)) = split.inside {
                self.assembly.bits(region, bits)?;
            }
            rest = split.outside;
        }
        Ok(())
    }
}
