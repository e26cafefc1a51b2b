//! [`Program`]: a module as kernels and the buffers between them.

use std::fmt;

use super::{ProgramError, lower::lower};
use crate::{
    hlo::Module,
    host,
    nest::CopyNest,
    schedule::{Target, schedule},
    shape::Shape,
    stride::StrideDescriptor,
    wgsl::{self, Kernel},
};

/// One of a program's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferId {
    /// An array of the parameters: those of tuples are counted part by part.
    Parameter(usize),
    /// Bytes that the module holds.
    Constant(usize),
    /// What one kernel writes and others read.
    Scratch(usize),
    /// An array of the result.
    Result(usize),
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(number) => write!(f, "parameter {number}"),
            Self::Constant(number) => write!(f, "constant {number}"),
            Self::Scratch(number) => write!(f, "scratch {number}"),
            Self::Result(number) => write!(f, "result {number}"),
        }
    }
}

/// A buffer with the shape of the array in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayBuffer {
    shape: Shape,
    descriptor: StrideDescriptor,
}

impl ArrayBuffer {
    pub(super) fn new(value: BufferId, shape: Shape) -> Result<Self, ProgramError> {
        let descriptor = StrideDescriptor::try_from(&shape)
            .map_err(|error| ProgramError::layout(value, &shape, error))?;
        Ok(Self { shape, descriptor })
    }

    /// The array's shape, with its layout.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Where its elements lie.
    #[must_use]
    pub fn descriptor(&self) -> &StrideDescriptor {
        &self.descriptor
    }

    /// Bytes of the whole buffer.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.descriptor.image_bytes()
    }
}

/// One kernel of a program: what it copies, from which buffers to which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStep {
    pub(super) nest: CopyNest,
    pub(super) sources: Vec<BufferId>,
    pub(super) destination: BufferId,
}

impl ProgramStep {
    /// The copy.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        &self.nest
    }

    /// The buffer of each source, in the order of the kernel's bindings.
    #[must_use]
    pub fn sources(&self) -> &[BufferId] {
        &self.sources
    }

    /// The buffer that is written, which is the kernel's last binding.
    #[must_use]
    pub fn destination(&self) -> BufferId {
        self.destination
    }
}

/// A module that moves data, as steps that run one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub(super) name: String,
    pub(super) parameters: Vec<ArrayBuffer>,
    pub(super) results: Vec<ArrayBuffer>,
    pub(super) scratch: Vec<ArrayBuffer>,
    pub(super) constants: Vec<Vec<u8>>,
    pub(super) steps: Vec<ProgramStep>,
    pub(super) kernels: Vec<Kernel>,
}

/// Compiles every result of a module for a target.
///
/// # Errors
///
/// Where an instruction does more than move data, a layout has no strides, or the target's limits are too low.
pub fn compile_module(module: &Module, target: &Target) -> Result<Program, ProgramError> {
    let mut program = Program::lower(module)?.within_bindings()?;
    program.kernels = program.compile(target)?;
    Ok(program)
}

impl Program {
    /// Lowers every result of a module: what runs on the host, and what kernels are made of.
    ///
    /// The host reads any number of buffers in a step. [`compile_module`] adds steps where that are more than a kernel
    /// binds.
    ///
    /// # Errors
    ///
    /// Where an instruction does more than move data, or a layout has no strides.
    pub fn lower(module: &Module) -> Result<Self, ProgramError> {
        lower(module)
    }

    /// The module's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The arrays that the program reads, in order; a tuple's parts count one by one.
    #[must_use]
    pub fn parameters(&self) -> &[ArrayBuffer] {
        &self.parameters
    }

    /// The arrays that it writes, in order.
    #[must_use]
    pub fn results(&self) -> &[ArrayBuffer] {
        &self.results
    }

    /// The buffers between kernels.
    #[must_use]
    pub fn scratch(&self) -> &[ArrayBuffer] {
        &self.scratch
    }

    /// A buffer with its shape; `None` of a constant, which is bytes alone.
    #[must_use]
    pub fn buffer(&self, value: BufferId) -> Option<&ArrayBuffer> {
        match value {
            BufferId::Parameter(number) => self.parameters.get(number),
            BufferId::Scratch(number) => self.scratch.get(number),
            BufferId::Result(number) => self.results.get(number),
            BufferId::Constant(_) => None,
        }
    }

    /// The bytes of constants that kernels read.
    #[must_use]
    pub fn constants(&self) -> &[Vec<u8>] {
        &self.constants
    }

    /// What is run, in order.
    #[must_use]
    pub fn steps(&self) -> &[ProgramStep] {
        &self.steps
    }

    /// A kernel for each step, of the target that [`compile_module`] was given; none where the program was only lowered.
    #[must_use]
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// A kernel for each step, their texts validated by naga.
    ///
    /// # Errors
    ///
    /// Where the target's limits are too low, or the program was only lowered and a step reads more than a kernel binds.
    pub fn compile(&self, target: &Target) -> Result<Vec<Kernel>, ProgramError> {
        let kernels = self.compile_unvalidated(target)?;
        for kernel in kernels.iter().filter(|kernel| !kernel.dispatches.is_empty()) {
            wgsl::validate(&kernel.wgsl)?;
        }
        Ok(kernels)
    }

    /// A kernel for each step, for callers that validate the texts themselves, as wgpu does.
    ///
    /// # Errors
    ///
    /// As those of [`compile`](Self::compile).
    pub fn compile_unvalidated(&self, target: &Target) -> Result<Vec<Kernel>, ProgramError> {
        let compile = |step: &ProgramStep| {
            let schedule =
                schedule(step.nest.clone(), target).map_err(|error| self.refused(step, error))?;
            Ok(wgsl::emit(&schedule, target, &self.header(step)))
        };
        self.steps.iter().map(compile).collect()
    }

    /// The steps that a result takes, in order: those of its scratch buffers, and its own.
    ///
    /// # Panics
    ///
    /// Where there is no such result.
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

    /// Bytes of a buffer.
    #[must_use]
    pub fn bytes_of(&self, value: BufferId) -> u64 {
        match value {
            BufferId::Parameter(number) => self.parameters[number].bytes(),
            BufferId::Constant(number) => self.constants[number].len() as u64,
            BufferId::Scratch(number) => self.scratch[number].bytes(),
            BufferId::Result(number) => self.results[number].bytes(),
        }
    }

    /// Checks that there is a whole image for each parameter.
    ///
    /// # Errors
    ///
    /// [`ProgramError::Count`] and [`ProgramError::Length`].
    pub fn check_parameters(&self, parameters: &[&[u8]]) -> Result<(), ProgramError> {
        check("parameter", &self.parameters, parameters.iter().map(|given| given.len()))
    }

    /// Runs the program on the CPU: the image of each parameter, to the image of each result.
    ///
    /// # Errors
    ///
    /// Where there are more or fewer buffers than parameters, or one has not the length of its image.
    pub fn run_on_host(&self, parameters: &[&[u8]]) -> Result<Vec<Vec<u8>>, ProgramError> {
        self.check_parameters(parameters)?;
        let mut results = room(&self.results);
        let mut whole: Vec<&mut [u8]> = results.iter_mut().map(Vec::as_mut_slice).collect();
        self.run_on_host_into(parameters, &mut whole)?;
        Ok(results)
    }

    /// As [`run_on_host`](Self::run_on_host), into buffers that are there.
    ///
    /// # Errors
    ///
    /// Where there are more or fewer buffers than parameters or results, or one has not the length of its image.
    pub fn run_on_host_into(
        &self,
        parameters: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Result<(), ProgramError> {
        self.check_parameters(parameters)?;
        check("result", &self.results, results.iter().map(|given| given.len()))?;
        let scratch = self.scratch_on_host(parameters)?;
        for step in &self.steps {
            if let BufferId::Result(number) = step.destination {
                let sources = self.sources(step, parameters, &scratch);
                host::run_sources(&step.nest, &sources, results[number])?;
            }
        }
        Ok(())
    }

    /// The images of the scratch buffers.
    ///
    /// # Errors
    ///
    /// Where there are more or fewer buffers than parameters, or one has not the length of its image.
    pub(super) fn scratch_on_host(
        &self,
        parameters: &[&[u8]],
    ) -> Result<Vec<Vec<u8>>, ProgramError> {
        self.check_parameters(parameters)?;
        let mut scratch = room(&self.scratch);
        for step in &self.steps {
            if let BufferId::Scratch(number) = step.destination {
                let mut written = std::mem::take(&mut scratch[number]);
                let sources = self.sources(step, parameters, &scratch);
                host::run_sources(&step.nest, &sources, &mut written)?;
                scratch[number] = written;
            }
        }
        Ok(scratch)
    }

    /// What a step reads.
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

/// Checks that these lengths are those of the images, one by one.
fn check(
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

/// Memory for buffers.
fn room(buffers: &[ArrayBuffer]) -> Vec<Vec<u8>> {
    let length = |of: &ArrayBuffer| usize::try_from(of.bytes()).unwrap_or(usize::MAX);
    buffers.iter().map(|of| vec![0; length(of)]).collect()
}
