use super::Tensor;
use crate::{
    error::Error,
    nest::{self, CopyNest},
    schedule::{Schedule, Target, schedule},
    stride::StrideDescriptor,
    trace::span,
    wgsl::{self, Kernel},
    window::{Slice, Window},
};

/// A relayout or a slice between two tensors, lowered to its nest.
///
/// ```
/// use stridec::{request::Operation, schedule::Target};
/// let source = "f32[8,64,112,112]{3,2,1,0}".parse()?;
/// let destination = "f32[8,64,112,112]{1,3,2,0}".parse()?;
/// let kernel = Operation::relayout(source, destination)?.compile(&Target::webgpu())?;
/// assert_eq!(kernel.strategy, "transpose");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operation {
    pub(super) title: String,
    pub(super) source: (Tensor, StrideDescriptor),
    pub(super) destination: (Tensor, StrideDescriptor),
    pub(super) window: Window,
    pub(super) nest: CopyNest,
}

impl Operation {
    /// Every element of `source` to its place in `destination`.
    ///
    /// # Errors
    ///
    /// Where a side cannot be lowered, or the two have not one type and one list of extents.
    pub fn relayout(source: Tensor, destination: Tensor) -> Result<Self, Error> {
        let title = format!("relayout {source} to {destination}");
        let from = source.descriptor()?;
        let window = Window::identity(from.sizes());
        Self::lower(title, (source, from), destination, window)
    }

    /// DirectML's SLICE1 of `source`; the destination is the default layout of the output sizes where it is `None`.
    ///
    /// # Errors
    ///
    /// Where a side cannot be lowered, the window does not fit the source, or the destination does not fit the output.
    pub fn slice(
        source: Tensor,
        slice: &Slice,
        destination: Option<Tensor>,
    ) -> Result<Self, Error> {
        let from = source.descriptor()?;
        let window = Window::slice(from.sizes(), slice)?;
        let destination = match destination {
            Some(destination) => destination,
            None => Tensor::dense(from.element_type(), window.sizes())?,
        };
        let title = format!(
            "slice {source} at {:?} of {:?} by {:?} to {destination}",
            slice.window_offsets, slice.window_sizes, slice.window_strides
        );
        Self::lower(title, (source, from), destination, window)
    }

    fn lower(
        title: String,
        source: (Tensor, StrideDescriptor),
        destination: Tensor,
        window: Window,
    ) -> Result<Self, Error> {
        span!("lower");
        let to = destination.descriptor()?;
        let nest = nest::lower(&source.1, &to, &window)?;
        Ok(Self { title, source, destination: (destination, to), window, nest })
    }

    /// The operation in one line.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The source's strides.
    #[must_use]
    pub fn source(&self) -> &StrideDescriptor {
        &self.source.1
    }

    /// The destination's strides.
    #[must_use]
    pub fn destination(&self) -> &StrideDescriptor {
        &self.destination.1
    }

    /// Which element goes where.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The loop nest that every kernel of this operation, and the host, runs.
    #[must_use]
    pub fn nest(&self) -> &CopyNest {
        &self.nest
    }

    /// How the nest becomes invocations of `target`.
    ///
    /// # Errors
    ///
    /// Where the target's limits are too low.
    pub fn schedule(&self, target: &Target) -> Result<Schedule, Error> {
        Ok(schedule(self.nest.clone(), target)?)
    }

    /// The kernel, its text validated by naga.
    ///
    /// # Errors
    ///
    /// Where the target's limits are too low.
    pub fn compile(&self, target: &Target) -> Result<Kernel, Error> {
        let kernel = self.compile_unvalidated(target)?;
        if !kernel.dispatches.is_empty() {
            span!("validate");
            wgsl::validate(&kernel.wgsl)?;
        }
        Ok(kernel)
    }

    /// The kernel, for callers that validate its text themselves, as wgpu does.
    ///
    /// # Errors
    ///
    /// Where the target's limits are too low.
    pub fn compile_unvalidated(&self, target: &Target) -> Result<Kernel, Error> {
        span!("emit");
        Ok(wgsl::emit(&self.schedule(target)?, target, &self.header()))
    }

    /// Runs the operation on the CPU, from one whole image to the other.
    ///
    /// # Errors
    ///
    /// Where a buffer has not the length of its image.
    pub fn run_on_host(&self, source: &[u8], destination: &mut [u8]) -> Result<(), Error> {
        span!("run");
        Ok(crate::host::run(&self.nest, source, destination)?)
    }
}
