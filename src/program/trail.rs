//! [`Trail`]: a record of the instructions that `pull` passes while it builds a nest.
//!
//! [`Ways`](super::Ways) uses the trail to report the origin of an element. The trail evaluates the
//! expressions of the nest itself, so that the report cannot contradict the copy.

use super::{
    BufferId, ProgramError,
    graph::Graph,
    pull::PendingValue,
    way::{Origin, Passed},
};
use crate::{
    nest::{Affine, Case, CaseValue, CopyNest, Lookup},
    stride::StrideDescriptor,
};

/// The instructions through which the elements of one kernel pass. The index of an element in the
/// value of an instruction is an expression of the loops of the nest.
#[derive(Debug)]
pub(super) struct Trail {
    /// The width of a unit, in bits.
    unit: u32,
    /// The number of units, or parts, of an element of the destination.
    parts: u32,
    visits: Vec<Visit>,
    /// The visit that added each case, as an index into `visits`.
    ends: Vec<usize>,
    /// The visit that added each element on the stack of pending elements, as an index into
    /// `visits`. `None` for the element with which the trace starts.
    parents: Vec<Option<usize>>,
    cases: Vec<Case>,
    /// The nest before any pass changes it, because the expressions of the visits refer to its axes
    /// and quotients.
    nest: Option<CopyNest>,
    sources: Vec<BufferId>,
}

/// One step of `pull`, which traces some elements back through one instruction.
#[derive(Debug)]
struct Visit {
    parent: Option<usize>,
    /// The instructions whose value contains the elements. Each entry has the index of the
    /// computation, and the index of the instruction in that computation.
    passed: Vec<[usize; 2]>,
    index: Vec<Affine>,
    part: Affine,
}

/// The end of an element's trace in one kernel.
pub(super) enum End {
    /// An element of an array: the buffer of the array, the index of the element, the index of the
    /// requested bit inside the element, and the index of that bit inside the buffer.
    Array { value: BufferId, index: Vec<u64>, within: u32, bit: u64 },
    /// Constant bits.
    Bits(u128),
}

impl Trail {
    pub(super) fn new(unit: u32, parts: u32) -> Self {
        Self {
            unit,
            parts,
            visits: vec![],
            ends: vec![],
            parents: vec![None],
            cases: vec![],
            nest: None,
            sources: vec![],
        }
    }

    /// Starts a visit for `item`, which `pull` has just taken from its stack of pending elements.
    pub(super) fn enter(
        &mut self,
        item: &PendingValue,
        graph: &mut Graph,
    ) -> Result<(), ProgramError> {
        let mut passed = vec![];
        let pass = |computation, place| passed.push([computation, place]);
        graph.origin_passing(item.node, item.path.clone(), pass)?;
        self.visits.push(Visit {
            parent: self.parents.pop().flatten(),
            passed,
            index: item.index.iter().map(|index| index.form().clone()).collect(),
            part: item.part.form().clone(),
        });
        Ok(())
    }

    /// Ends a visit, and assigns the new cases and the new pending elements to it. `items` is the
    /// number of pending elements after the visit, and `cases` has all cases so far.
    pub(super) fn leave(&mut self, items: usize, cases: &[Case]) {
        let visit = self.visits.len() - 1;
        self.parents.resize(items, Some(visit));
        self.ends.resize(cases.len(), visit);
        self.cases.extend_from_slice(&cases[self.cases.len()..]);
    }

    /// Returns the complete trail, which also holds the nest and the sources of the kernel.
    pub(super) fn finished(mut self, nest: &CopyNest, sources: &[BufferId]) -> Self {
        (self.nest, self.sources) = (Some(nest.clone()), sources.to_vec());
        self
    }

    /// Returns the buffers from which the lookups of the nest load. A buffer may appear more than
    /// once.
    pub(super) fn lookup_buffers(&self) -> impl Iterator<Item = BufferId> {
        let loads = self.nest.iter().flat_map(CopyNest::lookups).flat_map(Lookup::loads);
        loads.map(|(source, _)| self.sources[source])
    }

    /// Follows one bit of an element back to its source. Returns the instructions that it passes,
    /// with the index of the element in each, and the end of the trace in this kernel.
    ///
    /// `index` is the index of the element in the destination, and `bit` the index of the bit
    /// inside the element. `image` returns the contents of a buffer; if it returns `None`, every
    /// integer that a lookup loads from that buffer is 0. The result is `None` if the bit belongs
    /// to no element, such as an unused bit of a byte that holds a smaller element.
    pub(super) fn way<'a>(
        &self,
        destination: &StrideDescriptor,
        index: &[u64],
        bit: u32,
        image: &dyn Fn(BufferId) -> Option<&'a [u8]>,
    ) -> Option<(Vec<Passed>, End)> {
        let nest = self.nest.as_ref()?;
        let (part, bit) = (bit / self.unit, bit % self.unit);
        if part >= self.parts {
            return None;
        }
        let place = if self.parts > 1 {
            let index: Vec<u64> = index.iter().copied().chain([part.into()]).collect();
            unit(&destination.split_elements(self.parts), &index)?
        } else {
            unit(destination, index)?
        };
        let images: Vec<&[u8]> =
            self.sources.iter().map(|&of| image(of).unwrap_or_default()).collect();
        let position = place.checked_add_signed(-nest.dst_base())?;
        let values = nest.position(position, Some(&images));
        let case = values.first(&self.cases)?;
        let number = |form: &Affine| values.form(form).unsigned_abs();
        let within = |form: &Affine| u32::try_from(number(form)).unwrap_or(0) * self.unit + bit;
        let mut passed = vec![];
        let mut next = Some(self.ends[case]);
        while let Some(visit) = next.map(|visit| &self.visits[visit]) {
            let index: Vec<u64> = visit.index.iter().map(number).collect();
            let bit = within(&visit.part);
            passed.extend(visit.passed.iter().rev().map(|&[computation, instruction]| Passed {
                computation,
                instruction,
                index: index.clone(),
                bit,
            }));
            next = visit.parent;
        }
        passed.reverse();
        let last = &self.visits[self.ends[case]];
        // A bit of a converted element depends on all bits of the element before the conversion.
        // The report names the first of these bits.
        let is_converted = nest.conversion().is_some();
        let end = match &self.cases[case].take {
            CaseValue::Bits(bits) => End::Bits(bits >> bit),
            CaseValue::Read { source, at } => End::Array {
                value: self.sources[*source],
                index: last.index.iter().map(number).collect(),
                within: if is_converted { 0 } else { within(&last.part) },
                bit: number(at) * u64::from(nest.src_bits())
                    + if is_converted { 0 } else { bit.into() },
            },
        };
        Some((passed, end))
    }
}

/// Returns the offset of an element from the start of the buffer, in units. Returns `None` if the
/// array has no element at `index`.
fn unit(descriptor: &StrideDescriptor, index: &[u64]) -> Option<u64> {
    Some(descriptor.prefix_elements()? + descriptor.offset(index).ok()?)
}

impl End {
    /// Returns the origin of the element. Returns `None` if the element is in a scratch buffer,
    /// because its trace continues in the kernel that writes this buffer.
    pub(super) fn origin(&self, constants: &[Vec<u8>]) -> Option<Origin> {
        match self {
            Self::Bits(bits) => Some(Origin::Constant { bits: *bits }),
            Self::Array { value: BufferId::Parameter(number), index, bit, .. } => {
                Some(Origin::Parameter { number: *number, index: index.clone(), bit: *bit })
            }
            Self::Array { value: BufferId::Constant(number), bit, .. } => {
                let first = usize::try_from(bit / 8).unwrap_or(usize::MAX);
                let bytes = constants[*number][first..].iter().take(16).rev();
                let bits = bytes.fold(0_u128, |bits, &byte| bits << 8 | u128::from(byte));
                Some(Origin::Constant { bits: bits >> (bit % 8) })
            }
            Self::Array { .. } => None,
        }
    }
}
