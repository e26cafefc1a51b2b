//! Packs buffers for steps that read more than a kernel can bind: some of them are first copied
//! into one scratch buffer.

use super::{ArrayBuffer, BufferId, Program, ProgramError, ProgramStep};
use crate::{
    nest::pack,
    shape::{ElementType, Shape},
};

impl Program {
    /// Adds steps that pack buffers, until no step reads more than `most`. Runs on the host do not
    /// need these steps.
    ///
    /// Each of these steps copies the smallest buffers, so that few bytes are copied twice. Kernels
    /// of one source cannot pack, so if `most` is less than 2, nothing is packed.
    ///
    /// # Errors
    ///
    /// Returns an error if packed buffers exceed the size of a buffer.
    pub(crate) fn within_bindings(mut self, most: usize) -> Result<Self, ProgramError> {
        for mut step in std::mem::take(&mut self.steps) {
            while most > 1 && step.sources.len() > most {
                let packed = self.packed(&step, most);
                step = self.pack(step, &packed)?;
            }
            self.steps.push(step);
        }
        Ok(self)
    }

    /// Chooses the buffers to pack next: the smallest ones, and at most `most` of them. Buffers of
    /// lookups are first.
    fn packed(&self, step: &ProgramStep, most: usize) -> Vec<usize> {
        let of = |numbers: bool| -> Vec<usize> {
            let all = 0..step.sources.len();
            all.filter(|&source| step.nest.is_of_numbers(source) == numbers).collect()
        };
        let numbers = of(true);
        let mut packed = if numbers.len() > 1 { numbers } else { of(false) };
        packed.sort_by_key(|&source| self.bytes_of(step.sources[source]));
        packed.truncate(most.min(step.sources.len() - most + 1));
        packed
    }

    /// Adds a step that packs some buffers of `step`, and returns a copy of `step` that reads the
    /// packed one.
    fn pack(&mut self, step: ProgramStep, packed: &[usize]) -> Result<ProgramStep, ProgramError> {
        let scratch = BufferId::Scratch(self.scratch.len());
        let values: Vec<BufferId> = packed.iter().map(|&source| step.sources[source]).collect();
        let images: Vec<u64> = values.iter().map(|&value| self.bytes_of(value)).collect();
        let nest = pack(&images);
        let shape = Shape::new(ElementType::U8, vec![nest.dst_bytes()], None)
            .expect("a vector of bytes is a shape");
        self.scratch.push(ArrayBuffer::new(scratch, shape)?);
        self.steps.push(ProgramStep { nest, sources: values, destination: scratch });
        let kept = (0..step.sources.len()).filter(|source| !packed.contains(source));
        let sources = kept.map(|source| step.sources[source]).chain([scratch]).collect();
        Ok(ProgramStep { nest: step.nest.with_packed(packed), sources, ..step })
    }
}
