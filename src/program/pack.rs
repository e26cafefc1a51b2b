//! Packs buffers: if a step reads more buffers than a kernel can bind, some of them are first
//! copied into one scratch buffer.

use super::{ArrayBuffer, BufferId, Program, ProgramError, ProgramStep};
use crate::{
    nest::pack,
    shape::{ElementType, Shape},
};

impl Program {
    /// Adds steps that pack buffers, until no step reads more than `most` buffers. Kernels need
    /// this because the number of their bindings is limited. On the host, a step may read any
    /// number of buffers.
    ///
    /// Each added step packs the smallest buffers, because the program copies their bytes twice. If
    /// `most` is less than 2, nothing is packed, because a kernel with one source cannot join two
    /// buffers.
    ///
    /// # Errors
    ///
    /// Returns an error if a packed buffer would exceed the size limit of buffers.
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

    /// Returns the sources of `step` to pack next, as indices into its sources. They are the
    /// smallest sources, at most `most` of them. If lookups load from several sources, only these
    /// sources are packed first, because sources for lookups and sources of elements cannot share a
    /// buffer.
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

    /// Adds a step that copies the sources with the indices `packed` into one scratch buffer.
    /// Returns a copy of `step` that reads this buffer instead.
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
