//! Prints a program as text: the comments at the top of its kernels, and the stages of its
//! compilation.

use std::fmt::Write as _;

use super::{BufferId, Program, ProgramError, ProgramStep};
use crate::{
    nest::Operand,
    schedule::{ScheduleError, Target, schedule},
    shape::{Count, width},
    wgsl::Kernel,
};

impl Program {
    /// Returns the comments to print at the top of a step's kernel, each as a label and a text.
    /// They describe the buffers and the nest of the step to a reader of the kernel.
    pub(super) fn header(&self, step: &ProgramStep) -> Vec<(&'static str, String)> {
        let mut header = vec![("", format!("{} of {}", self.named(step.destination), self.name))];
        let source = |(number, &source): (usize, &BufferId)| match step.sources.len() {
            1 => self.described(source),
            _ => format!("source{number} is {}", self.described(source)),
        };
        let sources: Vec<String> = step.sources.iter().enumerate().map(source).collect();
        if !sources.is_empty() {
            let label = if sources.len() == 1 { "source" } else { "sources" };
            header.push((label, sources.join("\n")));
        }
        header.push(("destination", self.described(step.destination)));
        header.push(("nest", step.nest.to_string()));
        header
    }

    /// Returns the error for a step whose kernel exceeds a limit of the target. It names the
    /// results that depend on the step.
    pub(crate) fn refused(&self, step: &ProgramStep, error: ScheduleError) -> ProgramError {
        let destination = step.destination;
        let number = self.steps.iter().position(|of| of.destination == destination);
        let buffer = match error.operand() {
            Some(Operand::Source(number)) => step.sources.get(number).copied(),
            _ => None,
        };
        let needs = |&result: &usize| number.is_some_and(|of| self.steps_of(result).contains(&of));
        ProgramError::Kernel {
            destination,
            shape: self.shape_of(destination).into(),
            results: (0..self.results.len()).filter(needs).collect(),
            buffer,
            error: Box::new(error),
        }
    }

    /// Returns a buffer's name and the shape of its array, as text.
    fn described(&self, value: BufferId) -> String {
        format!("{}, {}", self.named(value), self.shape_of(value))
    }

    /// Returns the kind and the number of a buffer, and its name if it has one. The name is quoted,
    /// because it may contain any characters.
    fn named(&self, value: BufferId) -> String {
        let name = self.name_of(value);
        name.map_or_else(|| value.to_string(), |name| format!("{value} {name:?}"))
    }

    /// Returns the shape of a buffer's array as text. A constant is stored as bytes without a
    /// shape, so its size is returned instead.
    fn shape_of(&self, value: BufferId) -> String {
        match self.buffer(value) {
            Some(buffer) => buffer.shape().to_string(),
            None => Count(self.bytes_of(value), "byte").to_string(),
        }
    }

    /// Returns all stages of the compilation as text: the buffers, and for each step its nest, its
    /// schedule and its kernel. The texts in `snapshots/` have the same form.
    ///
    /// The text depends only on the module and the target.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`compile`](Self::compile).
    pub fn stages(&self, target: &Target) -> Result<String, ProgramError> {
        self.stages_of_steps(0..self.steps.len(), target)
    }

    /// Returns the stages of the steps that compute result `result`, as listed by
    /// [`steps_of`](Self::steps_of). The text still lists all buffers of the program.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`compile`](Self::compile).
    ///
    /// # Panics
    ///
    /// Panics if the program has no such result.
    pub fn stages_of(&self, result: usize, target: &Target) -> Result<String, ProgramError> {
        self.stages_of_steps(self.steps_of(result), target)
    }

    fn stages_of_steps(
        &self,
        steps: impl IntoIterator<Item = usize>,
        target: &Target,
    ) -> Result<String, ProgramError> {
        let mut text = format!("{}\n\n== buffers\n", self.name);
        let numbers = |count: usize, value: fn(usize) -> BufferId| (0..count).map(value);
        let buffers = numbers(self.parameters.len(), BufferId::Parameter)
            .chain(numbers(self.constants.len(), BufferId::Constant))
            .chain(numbers(self.scratch.len(), BufferId::Scratch))
            .chain(numbers(self.results.len(), BufferId::Result));
        for value in buffers {
            let _ = writeln!(text, "{}", self.described(value));
        }
        let kernels = self.compile(target)?;
        for number in steps {
            self.write_step(&mut text, &self.steps[number], &kernels[number], target)?;
        }
        Ok(text)
    }

    fn write_step(
        &self,
        text: &mut String,
        step: &ProgramStep,
        kernel: &Kernel,
        target: &Target,
    ) -> Result<(), ProgramError> {
        let destination = self.named(step.destination);
        let _ = writeln!(text, "\n== {destination}: its nest, outermost loop first");
        for (number, &source) in step.sources.iter().enumerate() {
            let _ = writeln!(text, "source {number} is {}", self.described(source));
        }
        let _ = write!(text, "a unit is {}\n{}", width(step.nest.dst_bits()), step.nest);
        let schedule =
            schedule(step.nest.clone(), target).map_err(|error| self.refused(step, error))?;
        let _ = write!(text, "\n== schedule for {}\n{schedule}\n", target.name);
        if kernel.dispatches.is_empty() {
            text.push_str("\n== kernel\nnothing to dispatch\n");
            return Ok(());
        }
        let _ = writeln!(text, "\n== kernel");
        let buffers = step.sources.iter().chain([&step.destination]);
        for (binding, buffer) in kernel.bindings.iter().zip(buffers) {
            let _ = writeln!(
                text,
                "binding {} of group {}: {}, {} bytes",
                binding.binding,
                binding.group,
                self.named(*buffer),
                binding.size_in_bytes
            );
        }
        for dispatch in &kernel.dispatches {
            let [x, y, z] = dispatch.workgroups;
            let _ = writeln!(
                text,
                "dispatch {x} x {y} x {z} workgroups of {} x {} x {} invocations",
                kernel.workgroup_size[0], kernel.workgroup_size[1], kernel.workgroup_size[2]
            );
        }
        let _ = write!(text, "\n{}", kernel.wgsl);
        Ok(())
    }
}
