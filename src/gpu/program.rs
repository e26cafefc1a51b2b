//! Runs a program, which is a module compiled to several kernels. The kernels run one after the
//! other, and the buffers between them stay on the device.

use std::collections::BTreeMap;

use super::buffer::rounded;
use super::check;
use super::encode::Job;
use super::scope::scoped;
use super::{Buffer, Gpu, GpuError};
use crate::{
    nest::Operand,
    program::{BufferId, Program, ProgramStep},
    schedule::{Target, schedule},
    wgsl::{self, Kernel},
};

impl Gpu {
    /// Runs a program on host bytes: takes the contents of each parameter, and returns the contents
    /// of each result.
    ///
    /// If the program was compiled for a target, its own kernels run. If the program was only
    /// lowered, this method first compiles its steps for this device. The buffers between kernels
    /// stay on the device, and so do the copies of parameters that results take over.
    ///
    /// A program that was only lowered, and that exceeds a limit or the memory of the device, is
    /// run by [`run_program_in_parts`](Self::run_program_in_parts).
    ///
    /// # Errors
    /// Returns [`GpuError::ImageSize`] if a parameter is missing or has the wrong size, and the
    /// errors of [`run`](Self::run) and [`run_program_in_parts`](Self::run_program_in_parts).
    pub fn run_program(
        &self,
        program: &Program,
        parameters: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, GpuError> {
        Ok(self.run_program_counted(program, parameters)?.0)
    }

    /// Runs a program, and also returns the number of kernels that it took if it was run in parts,
    /// and otherwise 1. In all other respects, this is [`run_program`](Self::run_program).
    pub(crate) fn run_program_counted(
        &self,
        program: &Program,
        parameters: &[&[u8]],
    ) -> Result<(Vec<Vec<u8>>, usize), GpuError> {
        check_parameters(program, parameters)?;
        if program.kernels().len() == program.steps().len() {
            return Ok((self.run_whole(program, program.kernels(), parameters)?, 1));
        }
        let target = self.limits.target(self.name());
        let packed = program.clone().within_bindings(target.max_sources());
        let ran = packed.map_err(GpuError::Program).and_then(|program| {
            self.run_whole(&program, &compile_steps(&program, &target)?, parameters)
        });
        match ran {
            Err(error) if error.is_beyond_limits() => {
                self.trim();
                self.run_program_in_parts(program, &target, parameters)
            }
            ran => Ok((ran?, 1)),
        }
    }

    /// Runs a program of any size on host bytes, step by step. Returns the contents of each result,
    /// and the number of kernels that ran. A step that exceeds the limits of the target or of the
    /// device is split into parts, as by [`run_in_parts`](Self::run_in_parts). The values between
    /// steps are kept on the host.
    ///
    /// The starts of dynamic slices are known before the parts are made, so a part reads a part of
    /// the operand. In a gather, indices may select any element, so each part uploads the whole
    /// extent of the dimensions that are indexed.
    ///
    /// # Errors
    /// Returns [`GpuError::ImageSize`] if a parameter is missing or has the wrong size, and the
    /// errors of [`run`](Self::run). Returns [`GpuError::Program`] if a step cannot run in parts:
    /// if a gather or a table may read any element of a buffer that the target cannot bind, or if
    /// elements are scattered into such a buffer.
    pub fn run_program_in_parts(
        &self,
        program: &Program,
        target: &Target,
        parameters: &[&[u8]],
    ) -> Result<(Vec<Vec<u8>>, usize), GpuError> {
        check_parameters(program, parameters)?;
        let mut kernels = 0;
        let results = program.run_steps(parameters, |step, sources, written| {
            let nest = step.nest();
            let ran = self.run_nest_of(nest, target, sources, written, |_| {});
            kernels += ran.map_err(|error| match error {
                GpuError::Schedule(error) => GpuError::Program(program.refused(step, error)),
                error => error,
            })?;
            Ok::<_, GpuError>(())
        })?;
        Ok((results, kernels))
    }

    /// Runs the kernels of a program. Each buffer is as a whole on the device.
    fn run_whole(
        &self,
        program: &Program,
        kernels: &[Kernel],
        parameters: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, GpuError> {
        let buffers = self.buffers(program, kernels, &BTreeMap::new())?;
        for (number, bytes) in parameters.iter().enumerate() {
            // A parameter that no kernel reads has no buffer.
            if let Some(buffer) = buffers.get(&BufferId::Parameter(number)) {
                self.write(buffer, bytes)?;
            }
        }
        let encoder = self.encode_steps(program, kernels, &buffers)?;
        let mut encoder = Some(encoder);
        let mut results = Vec::with_capacity(program.results().len());
        for (number, result) in program.results().iter().enumerate() {
            let mut bytes = vec![0; usize::try_from(result.bytes()).unwrap_or(usize::MAX)];
            // Reading the first result submits the kernels. An empty result is not read, because
            // its read would submit nothing.
            if !bytes.is_empty() {
                let encoder = encoder.take().map_or_else(|| self.encoder(), Ok)?;
                let home = program.home(BufferId::Result(number));
                self.read(encoder, &buffers[&home], &mut bytes)?;
            }
            results.push(bytes);
        }
        Ok(results)
    }

    /// Runs a compiled program on buffers of this device, one for each parameter and each result,
    /// and waits until the program is done. A result that takes over a parameter
    /// ([`Program::aliases`]) has the parameter's buffer.
    ///
    /// # Errors
    /// Returns [`GpuError::BufferTooSmall`], [`GpuError::ForeignBuffer`],
    /// [`GpuError::SameBuffer`] or [`GpuError::NotInPlace`] if a buffer is not suitable,
    /// [`GpuError::BufferCount`] if there are too few or too many buffers, and the errors of
    /// [`run`](Self::run).
    ///
    /// # Panics
    /// Panics if the program was only lowered. [`compile_module`](crate::program::compile_module)
    /// returns a program with kernels.
    pub fn dispatch_program(
        &self,
        program: &Program,
        parameters: &[&Buffer],
        results: &[&Buffer],
    ) -> Result<(), GpuError> {
        let kernels = program.kernels();
        program.assert_compiled();
        let (given, expected) = (
            [parameters.len(), results.len()],
            [program.parameters().len(), program.results().len()],
        );
        if given != expected {
            return Err(GpuError::BufferCount { given, expected });
        }
        for (number, result) in results.iter().enumerate() {
            let home = program.home(BufferId::Result(number));
            let is_same = |parameter: usize| parameters[parameter].handle == result.handle;
            check::in_place(number, home, is_same)?;
            let others = parameters.iter().enumerate();
            let others = others.filter(|&(other, _)| home != BufferId::Parameter(other));
            let mut others = others.map(|(_, other)| other).chain(&results[..number]);
            if others.any(|other| other.handle == result.handle) {
                return Err(GpuError::SameBuffer { source_offset: 0, destination_offset: 0 });
            }
        }
        let parameters = (0..).map(BufferId::Parameter).zip(parameters);
        let results = (0..).map(BufferId::Result).zip(results);
        let given: BTreeMap<BufferId, &Buffer> =
            parameters.chain(results).map(|(value, &buffer)| (value, buffer)).collect();
        let buffers = self.buffers(program, kernels, &given)?;
        let encoder = self.encode_steps(program, kernels, &buffers)?;
        let doing = "running the program";
        let submission = scoped(&self.device, doing, || self.queue.submit([encoder.finish()]))?;
        self.wait(doing, submission)
    }

    /// Encodes the kernels of all steps, in order.
    fn encode_steps(
        &self,
        program: &Program,
        kernels: &[Kernel],
        buffers: &BTreeMap<BufferId, wgpu::Buffer>,
    ) -> Result<wgpu::CommandEncoder, GpuError> {
        let mut encoder = self.encoder()?;
        for (step, kernel) in program.steps().iter().zip(kernels) {
            if kernel.dispatches.is_empty() {
                continue;
            }
            let sizes = check::kernel(kernel, &self.limits)?;
            let sources = step.sources().iter().map(|source| (&buffers[source], 0)).collect();
            let destination = (&buffers[&program.home(step.destination())], 0);
            let job = Job { kernel, sizes, sources, destination, times: 1 };
            self.encode_job(&mut encoder, &job, None)?;
        }
        Ok(encoder)
    }

    /// Returns the buffers of all values, and uploads the constants. If `given` has no buffer for a
    /// value, creates a buffer that is large enough for all bindings of the value.
    fn buffers(
        &self,
        program: &Program,
        kernels: &[Kernel],
        given: &BTreeMap<BufferId, &Buffer>,
    ) -> Result<BTreeMap<BufferId, wgpu::Buffer>, GpuError> {
        let mut sizes: BTreeMap<BufferId, u64> = BTreeMap::new();
        let results = (0..program.results().len()).map(BufferId::Result);
        sizes.extend(results.map(|value| (program.home(value), rounded(program.bytes_of(value)))));
        for (step, kernel) in program.steps().iter().zip(kernels) {
            let destination = step.destination();
            let values = step.sources().iter().chain([&destination]);
            for (&value, binding) in values.zip(&kernel.bindings) {
                let least = rounded(program.bytes_of(value)).max(binding.size_in_bytes);
                let size = sizes.entry(program.home(value)).or_insert(least);
                *size = least.max(*size);
            }
        }
        let mut buffers = BTreeMap::new();
        for (value, size) in sizes {
            let buffer = match given.get(&value) {
                Some(buffer) => {
                    let operand = match value {
                        BufferId::Parameter(number) => Operand::Source(number),
                        _ => Operand::Destination,
                    };
                    self.check_buffer(operand, buffer, size)?;
                    buffer.handle.clone()
                }
                None => self.create_buffer(size)?,
            };
            if let BufferId::Constant(number) = value {
                self.write(&buffer, &program.constants()[number])?;
            }
            buffers.insert(value, buffer);
        }
        Ok(buffers)
    }
}

/// Checks that each parameter of the program has a slice of its size.
fn check_parameters(program: &Program, parameters: &[&[u8]]) -> Result<(), GpuError> {
    for (number, parameter) in program.parameters().iter().enumerate() {
        let given = parameters.get(number).map_or(0, |bytes| bytes.len());
        check::image(Operand::Source(number), given, parameter.bytes())?;
    }
    Ok(())
}

fn compile_steps(program: &Program, target: &Target) -> Result<Vec<Kernel>, GpuError> {
    let compile = |step: &ProgramStep| {
        let schedule = schedule(step.nest().clone(), target).map_err(GpuError::Schedule)?;
        Ok(wgsl::emit(&schedule, target, &[]))
    };
    program.steps().iter().map(compile).collect()
}
