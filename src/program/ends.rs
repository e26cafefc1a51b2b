//! The ends of a trace. The trace of an element through the instructions ends at a buffer, from
//! which a kernel reads the element, or at a constant, whose bits are known at compile time. If
//! some instruction divides elements, they are traced in parts, called *units*.

use std::collections::HashSet;

use super::{
    BufferId, ProgramError,
    graph::{ArrayOrigin, TuplePath},
    literal::{element, extents, parts, storage_bits, uniform},
    pull::{Halt, PendingValue, Pull, Stop, unsupported},
};
use crate::{
    hlo::Literal,
    nest::{Index, NestError},
    shape::Shape,
    stride::StrideDescriptor,
};

impl Pull<'_, '_> {
    /// Adds a case that reads the element from `value`, a buffer that holds an array of this shape.
    ///
    /// Returns [`Halt::Unit`] if the trace has to start again with smaller units.
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
        if let Some(before) = self.converted.read(node)? {
            return match self.source(value, false, |assembly| assembly.source(&descriptor)) {
                // Two sources store their elements in different widths, which one nest cannot read.
                Err(NestError::Widths { .. }) => {
                    Err(Halt::Stop(Stop::Before(before, TuplePath::new())))
                }
                source => Ok(self.assembly.read(region, source?, &descriptor, index.into())?),
            };
        }
        // An element of less than 8 bits may occupy a whole byte in memory. If the source's
        // elements have another width, the nest copies only their low bits, so the trace starts
        // again in units of these bits.
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
            // A source that packs its elements needs smaller units than a source with a byte for
            // each element.
            Err(NestError::Widths { .. }) if self.width < self.unit => Err(Halt::Unit(self.width)),
            source => Ok(self.assembly.read(region, source?, &descriptor, index.into())?),
        }
    }

    /// Adds the cases for an element of a constant.
    ///
    /// If the index of the element is known at compile time, or if all elements are equal, the case
    /// contains the bits of the element. Otherwise the constant is stored in a buffer, from which
    /// the case reads.
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
        let (bits, element_type) = match self.converted.inside() {
            Some(conversion) => (conversion.apply(bits), conversion.to()),
            None => (bits, shape.element_type()),
        };
        self.bits(item, bits, parts(element_type, self.unit))
    }

    /// Returns the buffer that holds the constant `literal`. The first call for the same `origin`
    /// adds this buffer to the program.
    pub(super) fn constant_buffer(&mut self, origin: ArrayOrigin, literal: &Literal) -> BufferId {
        let next = self.buffers.constants.len();
        let number = *self.buffers.constant_of.entry(origin).or_insert(next);
        if number == next {
            self.buffers.constants.push((literal.shape().clone(), literal.bytes().to_vec()));
        }
        BufferId::Constant(number)
    }

    /// Adds the cases for an element whose bits are known. The nest writes the element in `parts`
    /// units.
    ///
    /// A single case suffices if the index of the unit is known, or if all units have the same
    /// bits. Otherwise each unit gets a case.
    fn bits(&mut self, item: PendingValue, bits: u128, parts: u32) -> Result<(), Halt> {
        let PendingValue { region, part, .. } = item;
        // A byte of an element that has fewer bits keeps only these.
        let is_cut = self.bits < 8 && self.unit == 8;
        let mask = u128::MAX >> (128 - if is_cut { self.bits } else { self.unit });
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
