//! The end of a trace: an element is read from a buffer, or consists of constant bits.

use std::collections::HashSet;

use super::{
    BufferId, ProgramError,
    graph::ArrayOrigin,
    literal::{element, extents, parts, storage_bits, uniform},
    pull::{Halt, PendingValue, Pull, unsupported},
};
use crate::{
    hlo::Literal,
    nest::{Index, NestError},
    shape::Shape,
    stride::StrideDescriptor,
};

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
        let (element_type, bits) = (shape.element_type(), descriptor.element_bits());
        // The low bits of a wider element are a unit of their own if each takes a byte.
        let is_cut = !self.packs && element_type.bits() != Some(self.bits);
        if self.bits < 8 && self.unit == 8 && is_cut {
            return Err(Halt::Unit(self.bits));
        }
        let is_whole = self.unit < 8 || bits == storage_bits(element_type);
        let memory = if self.unit < 8 { bits } else { storage_bits(element_type) };
        let descriptor = if memory == self.unit {
            descriptor
        } else if is_whole && bits.is_multiple_of(self.unit) {
            index.push(part);
            descriptor.split_elements(bits / self.unit)
        } else {
            let reason = "; elements that its layout packs would be taken apart";
            return Err(unsupported(self.graph, node, reason));
        };
        match self.source(value, false, |assembly| assembly.source(&descriptor)) {
            // Some sources pack their elements, and others give each a byte.
            Err(NestError::Widths { .. }) if self.width < self.unit => Err(Halt::Unit(self.width)),
            source => Ok(self.assembly.read(region, source?, &descriptor, index.into())?),
        }
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
        let is_cut = self.bits < 8 && self.unit == 8;
        let kept = if is_cut { u128::MAX >> (128 - self.bits) } else { u128::MAX };
        self.bits(item, bits & kept, parts(shape.element_type(), self.unit))
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

    /// Adds cases for the units of an element whose bits are known, of `parts` units. If the unit
    /// is known or all units are equal, one case is enough; otherwise each unit gets a case.
    fn bits(&mut self, item: PendingValue, bits: u128, parts: u32) -> Result<(), Halt> {
        let PendingValue { region, part, .. } = item;
        let mask = u128::MAX >> (128 - self.unit);
        let is_negative = |unit: u128| self.extends && unit >> (self.unit - 1) & 1 == 1;
        let unit = |part: u64| {
            let unit = bits >> (u32::try_from(part).unwrap_or(0) * self.unit) & mask;
            if is_negative(unit) { unit | !mask } else { unit }
        };
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
