//! [`Program`]: a compiled module, which consists of steps and of buffers. Each step is a copy, and
//! the buffers are the memory that the steps read and write.
//!
//! A step reads parameters, constants and scratch buffers, and writes one scratch buffer or result.
//! The steps run in order, on a device or on the host.

use std::fmt;

use super::{AliasRefusal, ProgramAlias, ProgramError, lower::lower};
use crate::{
    hlo::Module,
    host,
    nest::CopyNest,
    schedule::{Estimate, Target, estimate, schedule},
    shape::Shape,
    stride::StrideDescriptor,
    wgsl::{self, Kernel},
};

/// The name of a buffer of a program: its kind, and its index in the program's list of buffers of
/// that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferId {
    /// An array of the parameters, as an index into [`Program::parameters`]. If a parameter is a
    /// tuple, each array inside it has a buffer.
    Parameter(usize),
    /// A constant of the module, as an index into [`Program::constants`].
    Constant(usize),
    /// A buffer that one step writes and later steps read, as an index into [`Program::scratch`].
    Scratch(usize),
    /// An array of the result, as an index into [`Program::results`]. If the result is a tuple,
    /// each array inside it has a buffer.
    Result(usize),
}

impl BufferId {
    /// Returns the kind of the buffer: "parameter", "constant", "scratch" or "result".
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Parameter(_) => "parameter",
            Self::Constant(_) => "constant",
            Self::Scratch(_) => "scratch",
            Self::Result(_) => "result",
        }
    }

    /// Returns the index of the buffer in the program's list of buffers of its kind.
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Self::Parameter(number)
            | Self::Constant(number)
            | Self::Scratch(number)
            | Self::Result(number) => number,
        }
    }
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.number())
    }
}

/// The array that a buffer holds: its shape, and its layout in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayBuffer {
    shape: Shape,
    descriptor: StrideDescriptor,
}

impl ArrayBuffer {
    /// Returns the buffer of an array of this shape. `value` is the name of the buffer in error
    /// messages.
    pub(crate) fn new(value: BufferId, shape: Shape) -> Result<Self, ProgramError> {
        let descriptor = StrideDescriptor::try_from(&shape)
            .map_err(|error| ProgramError::layout(value, &shape, error))?;
        Ok(Self { shape, descriptor })
    }

    /// Returns the shape of the array, including its layout.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the layout of the array as strides and an offset, from which the place of each
    /// element can be computed.
    #[must_use]
    pub fn descriptor(&self) -> &StrideDescriptor {
        &self.descriptor
    }

    /// Returns the size of the whole buffer, with padding, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.descriptor.image_bytes()
    }
}

/// One step of a program, which runs as one kernel. It consists of a copy as a nest, the buffers
/// that this copy reads, and the buffer that it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStep {
    pub(super) nest: CopyNest,
    pub(super) sources: Vec<BufferId>,
    pub(super) destination: BufferId,
}

impl ProgramStep {
    /// Returns the nest of the copy.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        &self.nest
    }

    /// Returns the buffer of each source, in the order of the kernel's bindings.
    #[must_use]
    pub fn sources(&self) -> &[BufferId] {
        &self.sources
    }

    /// Returns the buffer that the step writes. It is the last binding of the kernel.
    #[must_use]
    pub fn destination(&self) -> BufferId {
        self.destination
    }
}

/// A compiled module: a list of steps that run one after the other, and the buffers of these steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub(super) name: String,
    pub(super) parameters: Vec<ArrayBuffer>,
    pub(super) results: Vec<ArrayBuffer>,
    pub(super) scratch: Vec<ArrayBuffer>,
    pub(super) constants: Vec<Vec<u8>>,
    pub(super) steps: Vec<ProgramStep>,
    pub(super) kernels: Vec<Kernel>,
    /// The results that take over the buffer of a parameter.
    pub(super) aliases: Vec<ProgramAlias>,
    /// The aliases of the module that the program does not honour.
    pub(super) refused_aliases: Vec<(ProgramAlias, AliasRefusal)>,
    /// The names of the parameters in texts. A parameter without a name is called by its number.
    pub(super) parameter_names: Vec<String>,
    /// The names of the results in texts. A result without a name is called by its number.
    pub(super) result_names: Vec<String>,
}

/// Compiles all results of a module for a target.
///
/// # Errors
///
/// Returns an error if an instruction does more than move data, if a layout cannot be described by
/// strides, or if the target's limits are too low.
pub fn compile_module(module: &Module, target: &Target) -> Result<Program, ProgramError> {
    Program::lower(module)?.compiled(target)
}

impl Program {
    /// Lowers all results of a module to steps. The steps can run on the host, or
    /// [`compiled`](Self::compiled) can add their kernels.
    ///
    /// The steps may read any number of buffers, because the host has no limit. In contrast,
    /// [`compile_module`] adds steps that pack buffers if a step reads more buffers than a kernel
    /// can bind.
    ///
    /// # Errors
    ///
    /// Returns an error if an instruction does more than move data, or if a layout cannot be
    /// described by strides.
    pub fn lower(module: &Module) -> Result<Self, ProgramError> {
        lower(module)
    }

    /// Lowers one result of a module as a dense, row-major array, without merging loops. Because of
    /// that, the nest of the last step has one axis for each dimension with an extent of more than
    /// 1.
    ///
    /// # Panics
    ///
    /// Panics if the module has no such result.
    #[cfg(feature = "accessors")]
    pub(crate) fn lower_dense(module: &Module, result: usize) -> Result<Self, ProgramError> {
        super::lower::lower_dense(module, result)
    }

    /// Returns the number of arrays in the result of a module.
    #[cfg(feature = "accessors")]
    pub(crate) fn result_count(module: &Module) -> usize {
        super::lower::results(module).len()
    }

    /// Returns the module's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the arrays that the program reads, in the order of the parameters. If a parameter is
    /// a tuple, each array inside it is listed.
    #[must_use]
    pub fn parameters(&self) -> &[ArrayBuffer] {
        &self.parameters
    }

    /// Returns the arrays that the program writes. If the result is a tuple, each array inside it
    /// is listed, in order.
    #[must_use]
    pub fn results(&self) -> &[ArrayBuffer] {
        &self.results
    }

    /// Returns the scratch buffers, which hold values between steps.
    #[must_use]
    pub fn scratch(&self) -> &[ArrayBuffer] {
        &self.scratch
    }

    /// Returns the shape and layout of a buffer. Returns `None` if the program has no buffer
    /// `value`, and also for a constant, which is stored as bytes without a shape.
    #[must_use]
    pub fn buffer(&self, value: BufferId) -> Option<&ArrayBuffer> {
        match value {
            BufferId::Parameter(number) => self.parameters.get(number),
            BufferId::Scratch(number) => self.scratch.get(number),
            BufferId::Result(number) => self.results.get(number),
            BufferId::Constant(_) => None,
        }
    }

    /// Returns the bytes of the constants that kernels read, indexed by [`BufferId::Constant`].
    #[must_use]
    pub fn constants(&self) -> &[Vec<u8>] {
        &self.constants
    }

    /// Returns the steps, in the order in which they run.
    #[must_use]
    pub fn steps(&self) -> &[ProgramStep] {
        &self.steps
    }

    /// Returns the kernel of each step, for the target that was passed to [`compile_module`]. The
    /// slice is empty if the program was only lowered.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Gives the parameters names, in their order. The names appear where those of
    /// [results](Self::with_result_names) do. [`parameter_names`](super::parameter_names) returns
    /// the ones that a module has.
    #[must_use]
    pub fn with_parameter_names(mut self, names: &[String]) -> Self {
        self.parameter_names = names.to_vec();
        self
    }

    /// Gives the results names, in their order. The comments of kernels and the texts of
    /// [`stages`](Self::stages) show them after the numbers of the results. A name that is empty or
    /// that equals its number is not shown.
    #[must_use]
    pub fn with_result_names(mut self, names: &[String]) -> Self {
        self.result_names = names.to_vec();
        self
    }

    /// Returns the name that a parameter or a result was given, or `None` if it has no name, or one
    /// that says nothing because it is empty or equals the number.
    #[must_use]
    pub fn name_of(&self, value: BufferId) -> Option<&str> {
        let names = match value {
            BufferId::Parameter(_) => &self.parameter_names,
            BufferId::Result(_) => &self.result_names,
            BufferId::Constant(_) | BufferId::Scratch(_) => return None,
        };
        let number = value.number();
        let name = names.get(number)?;
        (!name.is_empty() && *name != number.to_string()).then_some(name)
    }

    /// Compiles a kernel for each step, and returns the program with these kernels. If a step reads
    /// more buffers than a kernel can bind, this function first adds steps that pack some of them.
    ///
    /// # Errors
    ///
    /// Returns an error if the target's limits are too low.
    pub fn compiled(self, target: &Target) -> Result<Self, ProgramError> {
        let mut program = self.within_bindings(target.max_sources())?;
        program.kernels = program.compile(target)?;
        Ok(program)
    }

    /// Compiles a kernel for each step, and validates each kernel with naga.
    ///
    /// # Errors
    ///
    /// Returns an error if the target's limits are too low. Also returns an error if the program
    /// was only lowered and a step reads more buffers than a kernel can bind. To avoid this error,
    /// call [`compiled`](Self::compiled), which adds steps that pack buffers.
    pub fn compile(&self, target: &Target) -> Result<Vec<Kernel>, ProgramError> {
        let kernels = self.compile_unvalidated(target)?;
        for kernel in kernels.iter().filter(|kernel| !kernel.dispatches.is_empty()) {
            wgsl::validate(&kernel.wgsl)?;
        }
        Ok(kernels)
    }

    /// Compiles a kernel for each step, without validation. This saves time if another tool, such
    /// as wgpu, validates the kernels anyway.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`compile`](Self::compile), except those of validation.
    pub fn compile_unvalidated(&self, target: &Target) -> Result<Vec<Kernel>, ProgramError> {
        let compile = |step: &ProgramStep| {
            let schedule =
                schedule(step.nest.clone(), target).map_err(|error| self.refused(step, error))?;
            Ok(wgsl::emit(&schedule, target, &self.header(step)))
        };
        self.steps.iter().map(compile).collect()
    }

    /// Returns the estimated memory traffic and time of the program on `target`: the sum over its
    /// steps. Nothing is compiled. A step is zero if it copies all bytes of a buffer to the same
    /// places of another one, as for a result that is a bitcast of a parameter: a compiler passes
    /// on the buffer instead of running the kernel. So is a result that takes over a parameter
    /// without a change.
    ///
    /// # Errors
    ///
    /// Returns an error if the target's limits are too low.
    pub fn estimate(&self, target: &Target) -> Result<Estimate, ProgramError> {
        let most = target.max_sources();
        let packed;
        let program = if self.steps.iter().any(|step| step.sources.len() > most) {
            packed = self.clone().within_bindings(most)?;
            &packed
        } else {
            self
        };
        let estimate = |step: &ProgramStep| {
            estimate(&step.nest, target).map_err(|error| program.refused(step, error))
        };
        program.steps.iter().map(estimate).sum()
    }

    /// Returns the steps that compute result `result`, as indices into [`steps`](Self::steps) in
    /// ascending order: the step that writes the result, and all steps that write scratch buffers
    /// on which the result depends. A caller that needs only one result can run these steps alone.
    ///
    /// # Panics
    ///
    /// Panics if the program has no such result.
    #[must_use]
    pub fn steps_of(&self, result: usize) -> Vec<usize> {
        assert!(result < self.results.len(), "a result of the program");
        let mut wanted = vec![BufferId::Result(result)];
        let mut steps = Vec::new();
        for (number, step) in self.steps.iter().enumerate().rev() {
            if wanted.contains(&step.destination) {
                wanted.extend(&step.sources);
                steps.push(number);
            }
        }
        steps.reverse();
        steps
    }

    /// Returns the size of a buffer, in bytes.
    ///
    /// # Panics
    ///
    /// Panics if the program has no such buffer.
    #[must_use]
    pub fn bytes_of(&self, value: BufferId) -> u64 {
        match value {
            BufferId::Parameter(number) => self.parameters[number].bytes(),
            BufferId::Constant(number) => self.constants[number].len() as u64,
            BufferId::Scratch(number) => self.scratch[number].bytes(),
            BufferId::Result(number) => self.results[number].bytes(),
        }
    }

    /// Returns the number of bytes that the caller must allocate for a buffer, so that all kernels
    /// can bind it. It is at least the size of the array in memory, rounded up to 4 bytes. It is 0
    /// for a parameter that no kernel reads or writes, and for a buffer without bytes that no
    /// kernel binds.
    ///
    /// # Panics
    ///
    /// Panics if the program was only lowered.
    #[must_use]
    pub fn binding_bytes(&self, value: BufferId) -> u64 {
        self.assert_compiled();
        let home = self.home(value);
        let bound = self.steps.iter().zip(&self.kernels).flat_map(|(step, kernel)| {
            let values = step.sources.iter().chain([&step.destination]);
            values.zip(&kernel.bindings).filter(|&(&of, _)| self.home(of) == home)
        });
        let bound = bound.map(|(_, binding)| binding.size_in_bytes).max();
        // A result or a scratch buffer needs memory for its whole array even if its kernel has no
        // dispatches.
        let is_taken = self.aliases.iter().any(|of| BufferId::Parameter(of.parameter) == home);
        let image = match home {
            BufferId::Parameter(_) if bound.is_none() && !is_taken => 0,
            _ => self.bytes_of(home).next_multiple_of(4),
        };
        image.max(bound.unwrap_or(0))
    }

    /// Returns all buffers for which `Gpu::encode_program` takes a range, in its order: the
    /// parameters, the results and the scratch buffers.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let parameters = (0..self.parameters.len()).map(BufferId::Parameter);
        let results = (0..self.results.len()).map(BufferId::Result);
        parameters.chain(results).chain((0..self.scratch.len()).map(BufferId::Scratch))
    }

    /// Panics if the program has no kernels, although it has steps.
    pub(crate) fn assert_compiled(&self) {
        assert!(
            self.kernels.len() == self.steps.len(),
            "the program was only lowered and has no kernels: compile it first, with \
             `Program::compiled` or `compile_module`"
        );
    }

    /// Returns the size to allocate for each scratch buffer, in bytes. A caller that runs the
    /// kernels without stridec's runtime must provide buffers of these sizes.
    ///
    /// # Panics
    ///
    /// Panics if the program was only lowered.
    #[must_use]
    pub fn scratch_sizes(&self) -> Vec<u64> {
        (0..self.scratch.len()).map(|of| self.binding_bytes(BufferId::Scratch(of))).collect()
    }

    /// Checks that `parameters` has one buffer for each parameter, and that each buffer has the
    /// size of its parameter in memory.
    ///
    /// # Errors
    ///
    /// Returns [`ProgramError::Count`] or [`ProgramError::Length`] if one of these checks fails.
    pub fn check_parameters(&self, parameters: &[&[u8]]) -> Result<(), ProgramError> {
        check("parameter", &self.parameters, parameters.iter().map(|given| given.len()))
    }

    /// Runs the program on the CPU. `parameters` has the bytes of each parameter, and the returned
    /// vectors have the bytes of each result.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of buffers differs from the number of parameters, if a buffer
    /// does not have the size of its parameter, or if there is no memory for the results.
    pub fn run_on_host(&self, parameters: &[&[u8]]) -> Result<Vec<Vec<u8>>, ProgramError> {
        self.run_steps(parameters, run_on_host)
    }

    /// Runs the program as [`run_on_host`](Self::run_on_host) does, and writes the results to the
    /// given buffers, one for each result.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of buffers differs from the number of parameters or results,
    /// if a buffer does not have the size of its array, or if there is no memory for a scratch
    /// buffer.
    pub fn run_on_host_into(
        &self,
        parameters: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Result<(), ProgramError> {
        self.run_steps_into(parameters, results, run_on_host)
    }

    /// Runs the program with all buffers on the host, and returns the bytes of each result. `run`
    /// runs a step: it takes the bytes of the step's sources, and the buffer that the step writes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`run_on_host`](Self::run_on_host), and those of `run`.
    pub(crate) fn run_steps<E: From<ProgramError>>(
        &self,
        parameters: &[&[u8]],
        run: impl FnMut(&ProgramStep, &[&[u8]], &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<Vec<u8>>, E> {
        self.check_parameters(parameters)?;
        let mut results = room(&self.results, BufferId::Result)?;
        let mut whole: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
        self.run_steps_into(parameters, &mut whole, run)?;
        Ok(results)
    }

    fn run_steps_into<E: From<ProgramError>>(
        &self,
        parameters: &[&[u8]],
        results: &mut [&mut [u8]],
        mut run: impl FnMut(&ProgramStep, &[&[u8]], &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_parameters(parameters)?;
        check("result", &self.results, results.iter().map(|given| given.len()))?;
        self.copy_taken(parameters, results);
        let mut scratch = self.empty_scratch()?;
        for step in &self.steps {
            match step.destination {
                BufferId::Result(number) => {
                    let sources = self.sources(step, parameters, &scratch);
                    run(step, &sources, results[number])?;
                }
                BufferId::Scratch(number) => {
                    let mut written = std::mem::take(&mut scratch[number]);
                    run(step, &self.sources(step, parameters, &scratch), &mut written)?;
                    scratch[number] = written;
                }
                BufferId::Parameter(_) | BufferId::Constant(_) => {
                    unreachable!("steps write results and scratch buffers")
                }
            }
        }
        Ok(())
    }

    /// Runs the steps that write scratch buffers, and returns the contents of all scratch buffers.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of buffers differs from the number of parameters, if a buffer
    /// does not have the size of its array, or if there is no memory for a scratch buffer.
    pub(super) fn scratch_on_host(
        &self,
        parameters: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, ProgramError> {
        self.check_parameters(parameters)?;
        let mut scratch = self.empty_scratch()?;
        for step in &self.steps {
            self.run_scratch_step(step, parameters, &mut scratch)?;
        }
        Ok(scratch)
    }

    /// Allocates zeroed memory for the scratch buffers.
    pub(super) fn empty_scratch(&self) -> Result<Vec<Vec<u8>>, ProgramError> {
        room(&self.scratch, BufferId::Scratch)
    }

    /// Runs `step` if it writes a scratch buffer, and does nothing for any other step.
    pub(super) fn run_scratch_step(
        &self,
        step: &ProgramStep,
        parameters: &[&[u8]],
        scratch: &mut [Vec<u8>],
    ) -> Result<(), ProgramError> {
        if let BufferId::Scratch(number) = step.destination {
            let mut written = std::mem::take(&mut scratch[number]);
            self.run_step(step, parameters, scratch, &mut written)?;
            scratch[number] = written;
        }
        Ok(())
    }

    /// Runs one step on the host. `written` is the buffer that the step writes.
    pub(super) fn run_step(
        &self,
        step: &ProgramStep,
        parameters: &[&[u8]],
        scratch: &[Vec<u8>],
        written: &mut [u8],
    ) -> Result<(), ProgramError> {
        run_on_host(step, &self.sources(step, parameters, scratch), written)
    }

    /// Returns the bytes of each source of a step.
    fn sources<'a>(
        &'a self,
        step: &ProgramStep,
        parameters: &[&'a [u8]],
        scratch: &'a [Vec<u8>],
    ) -> Vec<&'a [u8]> {
        let of = |&source: &BufferId| match source {
            BufferId::Parameter(number) => parameters[number],
            BufferId::Constant(number) => &self.constants[number],
            BufferId::Scratch(number) => &scratch[number],
            BufferId::Result(_) => unreachable!("no step reads a result"),
        };
        step.sources.iter().map(of).collect()
    }
}

fn run_on_host(
    step: &ProgramStep,
    sources: &[&[u8]],
    written: &mut [u8],
) -> Result<(), ProgramError> {
    Ok(host::run_sources(&step.nest, sources, written)?)
}

/// Checks that `given` has one length for each buffer, and that each length is the size of its
/// buffer. `what` is the kind of the buffers for error messages, `parameter` or `result`.
pub(super) fn check(
    what: &'static str,
    buffers: &[ArrayBuffer],
    given: impl ExactSizeIterator<Item = usize>,
) -> Result<(), ProgramError> {
    if given.len() != buffers.len() {
        let shapes: Vec<String> = buffers.iter().map(|of| of.shape().to_string()).collect();
        let (expected, shapes) = (buffers.len(), shapes.join(", "));
        return Err(ProgramError::Count { what, expected, given: given.len(), shapes });
    }
    for (number, (of, given)) in buffers.iter().zip(given).enumerate() {
        if given as u64 != of.bytes() {
            let (shape, expected) = (Box::new(of.shape().clone()), of.bytes());
            return Err(ProgramError::Length { what, number, shape, expected, given });
        }
    }
    Ok(())
}

/// Allocates zeroed memory for each buffer, so that gaps and padding are zero. Returns
/// [`ProgramError::Memory`] if there is not enough memory for a buffer.
fn room(
    buffers: &[ArrayBuffer],
    value: fn(usize) -> BufferId,
) -> Result<Vec<Vec<u8>>, ProgramError> {
    let image = |(number, of): (usize, &ArrayBuffer)| {
        let length = usize::try_from(of.bytes()).unwrap_or(usize::MAX);
        // `vec!` gets zeroed pages from the system, which is fast, but aborts the process if there
        // is not enough memory. So the first line tries to reserve the memory.
        if Vec::<u8>::new().try_reserve_exact(length).is_err() {
            let (value, shape, bytes) = (value(number), Box::new(of.shape().clone()), of.bytes());
            return Err(ProgramError::Memory { value, shape, bytes });
        }
        Ok(vec![0; length])
    };
    buffers.iter().enumerate().map(image).collect()
}
