//! Records a program into the caller's commands. The program runs on the caller's buffers.

use super::check;
use super::recording::{Recorder, Recording};
use super::scope::scoped;
use super::{Gpu, GpuError};
use crate::{
    nest::Operand,
    program::{BufferId, Program},
    shape::Count,
    trace::span,
};

impl Gpu {
    /// Records a compiled program into the caller's encoder or open compute pass. `buffers` has one
    /// range for each parameter, then one for each result, and then one for each scratch buffer, in
    /// the order of the program's lists.
    ///
    /// Each range needs the size [`Program::binding_bytes`]; the range of a parameter that no
    /// kernel reads may be empty. The other conditions are those of [`encode`](Self::encode). If
    /// the target has [`read_write_sources`](crate::schedule::Target::read_write_sources), all
    /// ranges may be in one buffer. Otherwise no kernel may read and write the same buffer. A range
    /// of a result or a scratch buffer must not overlap another range. A result that takes over a
    /// parameter ([`Program::aliases`]) has the range of that parameter, which must not overlap
    /// others. Constants of the program are written to buffers that the recorded commands keep
    /// alive.
    ///
    /// Nothing is submitted, and the call does not wait. To record a program often on the same
    /// ranges, use [`bind_program`](Self::bind_program), which is faster.
    ///
    /// # Errors
    /// Returns [`GpuError::RangeCount`] if there are too few or too many ranges,
    /// [`GpuError::ProgramBuffer`] or [`GpuError::ProgramOverlap`] if a range is not suitable, and
    /// the errors of [`encode`](Self::encode). After an error, nothing has been recorded.
    ///
    /// # Panics
    /// Panics if the program was only lowered. [`compile_module`](crate::program::compile_module)
    /// returns a program with kernels.
    pub fn encode_program<'a, 'pass>(
        &self,
        program: &Program,
        into: impl Into<Recorder<'a, 'pass>>,
        buffers: &[wgpu::BufferBinding<'_>],
    ) -> Result<(), GpuError>
    where
        'pass: 'a,
    {
        self.bind_program(program, buffers)?.record(into)
    }

    /// Prepares a program, so that it can be recorded any number of times on the given ranges of
    /// the caller's buffers. The conditions for the ranges are those of
    /// [`encode_program`](Self::encode_program). The result keeps the buffers alive.
    ///
    /// # Errors
    /// Returns the errors of [`encode_program`](Self::encode_program).
    ///
    /// # Panics
    /// Panics if the program was only lowered.
    pub fn bind_program(
        &self,
        program: &Program,
        buffers: &[wgpu::BufferBinding<'_>],
    ) -> Result<Recording, GpuError> {
        span!("run");
        let kernels = program.kernels();
        program.assert_compiled();
        let (parameters, results) = (program.parameters().len(), program.results().len());
        let scratch = program.scratch().len();
        let (given, expected) = (buffers.len(), parameters + results + scratch);
        if given != expected {
            let roles = format!(
                "{}, {} and {}",
                Count(parameters as u64, "parameter"),
                Count(results as u64, "result"),
                Count(scratch as u64, "scratch buffer")
            );
            return Err(GpuError::RangeCount { given, expected, roles });
        }
        self.check_ranges(program, buffers)?;
        let constants = program.constants().iter().enumerate();
        let constants = constants
            .map(|(number, bytes)| {
                self.constant(bytes, program.binding_bytes(BufferId::Constant(number)))
            })
            .collect::<Result<Vec<_>, GpuError>>()?;
        let range = |value: BufferId| match value {
            BufferId::Parameter(number) => buffers[number].clone(),
            BufferId::Result(number) => buffers[parameters + number].clone(),
            BufferId::Scratch(number) => buffers[parameters + results + number].clone(),
            BufferId::Constant(number) => constants[number].as_entire_buffer_binding(),
        };
        let mut bound = Vec::with_capacity(kernels.len());
        for (step, kernel) in program.steps().iter().zip(kernels) {
            if !kernel.dispatches.is_empty() {
                let values = step.sources().iter().copied().chain([step.destination()]);
                let ranges: Vec<_> = values.map(range).collect();
                bound.push(self.bind_ranges(kernel, &ranges)?);
            }
        }
        Ok(Recording::new(&self.device, bound))
    }

    /// Checks that every range has the size that the program needs. Checks as well that a range
    /// which the program writes overlaps no other range.
    fn check_ranges(
        &self,
        program: &Program,
        buffers: &[wgpu::BufferBinding<'_>],
    ) -> Result<(), GpuError> {
        let is_taken =
            |id| program.aliases().iter().any(|alias| id == BufferId::Parameter(alias.parameter));
        let mut used = Vec::with_capacity(buffers.len());
        for (id, range) in program.buffers().zip(buffers) {
            let needed = program.binding_bytes(id);
            if let BufferId::Result(number) = id {
                let is_same = |parameter: usize| {
                    let taken = &buffers[parameter];
                    (taken.buffer, taken.offset) == (range.buffer, range.offset)
                };
                check::in_place(number, program.home(id), is_same)?;
            }
            // A result that takes over a parameter has the same range, which was checked with the
            // parameter.
            if needed == 0 || program.home(id) != id {
                continue;
            }
            let of = |error| GpuError::ProgramBuffer { buffer: id, error: Box::new(error) };
            let (operand, written) = match id {
                BufferId::Parameter(number) => (Operand::Source(number), is_taken(id)),
                _ => (Operand::Destination, true),
            };
            check::range(operand, range, needed, &self.limits).map_err(of)?;
            let others = used.iter().filter(|other: &&(_, _, _, bool)| written || other.3);
            for &(other_id, other, other_needed, _) in others {
                if let Some([range, other_range]) =
                    check::overlap((range, needed), (other, other_needed))
                {
                    let (buffer, other) = (id, other_id);
                    return Err(GpuError::ProgramOverlap { buffer, range, other, other_range });
                }
            }
            used.push((id, range, needed, written));
        }
        Ok(())
    }

    /// Creates a buffer of `size` bytes and fills its start with `bytes`, without a submission.
    fn constant(&self, bytes: &[u8], size: u64) -> Result<wgpu::Buffer, GpuError> {
        let written = scoped(&self.device, "writing a constant", || {
            let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stridec constant"),
                size: size.max(4),
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: true,
            });
            // If the buffer could not be created, it has no range, and the scope reports the error.
            if let Ok(mut mapped) = buffer.get_mapped_range_mut(..) {
                mapped.slice(..bytes.len()).copy_from_slice(bytes);
            }
            buffer.unmap();
            buffer
        })?;
        Ok(written)
    }
}
