//! [`Compilation`]: an operation that is compiled for a target, with all its stages as text, for
//! tools that show the stages.

use super::{
    Operation,
    stages::{costs, stages},
};
use crate::{
    error::Error,
    schedule::{Schedule, Target, schedule_with},
    trace::span,
    wgsl::{self, Kernel},
};

/// The result of compiling an operation for a target: the schedule, the kernel, and all stages as
/// text.
#[derive(Clone, Debug)]
pub struct Compilation<'a> {
    operation: &'a Operation,
    target: &'a Target,
    /// The costs of the cheapest candidates, in one line of text.
    costs: String,
    schedule: Schedule,
    kernel: Kernel,
}

impl Compilation<'_> {
    /// Returns the operation that was compiled.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        self.operation
    }

    /// Returns the schedule of the nest on the target.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Returns the kernel. naga has validated it, unless the compilation comes from
    /// [`Operation::compilation_unvalidated`].
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Returns all stages as text; see [`Operation::stages`].
    #[must_use]
    pub fn stages(&self) -> String {
        stages(self.operation, self.target, &self.schedule, &self.costs, &self.kernel)
    }
}

impl Operation {
    /// Compiles the operation and keeps its stages. If you need both the kernel and its stages,
    /// call this method instead of [`compile`](Self::compile), because it compiles only once.
    ///
    /// ```
    /// use stridec::{Operation, Target};
    /// let (source, destination) = ("f32[2,3]".parse()?, "f32[2,3]{0,1}".parse()?);
    /// let (operation, target) = (Operation::relayout(source, destination)?, Target::webgpu());
    /// let compilation = operation.compilation(&target)?;
    /// assert!(compilation.stages().ends_with(&compilation.kernel().wgsl));
    /// # Ok::<(), stridec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn compilation<'a>(&'a self, target: &'a Target) -> Result<Compilation<'a>, Error> {
        let compilation = self.compilation_unvalidated(target)?;
        validate(&compilation.kernel)?;
        Ok(compilation)
    }

    /// Compiles the operation without validating the kernel. Use this method if you do not need the
    /// kernel's text, or if you validate the text yourself.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn compilation_unvalidated<'a>(
        &'a self,
        target: &'a Target,
    ) -> Result<Compilation<'a>, Error> {
        span!("emit");
        let mut line = String::new();
        let schedule =
            schedule_with(self.nest.clone(), target, |candidates| line = costs(candidates))?;
        let kernel = self.emit(&schedule, target);
        Ok(Compilation { operation: self, target, costs: line, schedule, kernel })
    }
}

/// Returns an error if naga rejects the text of a kernel.
pub(super) fn validate(kernel: &Kernel) -> Result<(), Error> {
    if !kernel.dispatches.is_empty() {
        span!("validate");
        wgsl::validate(&kernel.wgsl)?;
    }
    Ok(())
}
