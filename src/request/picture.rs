//! Pictures of tensors and operations; see [`explain`].

use super::{Operation, Tensor};
use crate::{
    error::Error,
    explain::{self, Compiled, Content, Movement, Picture, Side},
    schedule::{Schedule, Target},
    wgsl::Kernel,
};

impl Tensor {
    /// Draws the layout with [`explain::svg`], [`explain::terminal`] or [`explain::html`].
    ///
    /// ```
    /// use stridec::{Tensor, explain::svg};
    /// let tensor: Tensor = "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?;
    /// assert!(tensor.draw(svg)?.starts_with("<svg "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where it cannot be lowered.
    pub fn draw<T>(&self, draw: impl FnOnce(&Picture<'_>) -> T) -> Result<T, Error> {
        let notation = self.to_string();
        let side = Side { notation: &notation, descriptor: &self.descriptor()? };
        Ok(draw(&Picture::layout(side)))
    }
}

impl Operation {
    /// Draws both layouts and where elements go, with [`explain::svg`] or [`explain::terminal`].
    ///
    /// ```
    /// use stridec::{Operation, explain::terminal};
    /// let operation = Operation::relayout("f32[2,3]".parse()?, "f32[2,3]{0,1}".parse()?)?;
    /// println!("{}", operation.draw(|picture| terminal(picture, 80)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn draw<T>(&self, draw: impl FnOnce(&Picture<'_>) -> T) -> T {
        let [source, destination] = [&self.source, &self.destination];
        let notations = [source.0.to_string(), destination.0.to_string()];
        let side = Side { notation: &notations[0], descriptor: &source.1 };
        let movement = Movement {
            destination: Side { notation: &notations[1], descriptor: &destination.1 },
            window: &self.window,
            nest: &self.nest,
        };
        draw(&Picture::operation(&self.title, side, movement))
    }

    /// The picture as a page that shows the kernel and runs it in a browser.
    ///
    /// # Errors
    ///
    /// Where the target's limits are too low.
    pub fn page(&self, target: &Target) -> Result<String, Error> {
        self.draw_compiled(target, explain::html)
    }

    /// The content of that page, for a document that has its scripts; [`page_below`](Self::page_below) has what follows.
    ///
    /// # Errors
    ///
    /// Where the target's limits are too low.
    pub fn page_content(&self, target: &Target) -> Result<Content, Error> {
        // It has no text of the kernel.
        let schedule = self.schedule(target)?;
        let kernel = self.emit(&schedule, target);
        Ok(self.draw_kernel(&schedule, &kernel, "", explain::content))
    }

    /// Markup of what stands below the content of that page: the picture that needs no script, and the kernel.
    ///
    /// # Errors
    ///
    /// Where the target's limits are too low.
    pub fn page_below(&self, target: &Target) -> Result<String, Error> {
        self.draw_compiled(target, explain::below)
    }

    fn draw_compiled<T>(
        &self,
        target: &Target,
        draw: impl FnOnce(&Picture<'_>, Option<&Compiled<'_>>) -> T,
    ) -> Result<T, Error> {
        let schedule = self.schedule(target)?;
        let kernel = self.compile_scheduled(&schedule, target)?;
        let stages = self.stages_of(&schedule, &kernel, target);
        Ok(self.draw_kernel(&schedule, &kernel, &stages, draw))
    }

    fn draw_kernel<T>(
        &self,
        schedule: &Schedule,
        kernel: &Kernel,
        stages: &str,
        draw: impl FnOnce(&Picture<'_>, Option<&Compiled<'_>>) -> T,
    ) -> T {
        let dispatches: Vec<_> = kernel.dispatches.iter().map(|d| d.workgroups).collect();
        let compiled = Compiled {
            wgsl: &kernel.wgsl,
            entry_point: &kernel.entry_point,
            workgroup_size: kernel.workgroup_size,
            binding_bytes: [0, 1].map(|n| kernel.bindings.get(n).map_or(0, |b| b.size_in_bytes)),
            dispatches: &dispatches,
            schedule: &schedule.to_string(),
            stages,
        };
        self.draw(|picture| draw(picture, Some(&compiled)))
    }
}
