//! Methods of tensors and operations that draw them.

use super::{Compiled, Content, Movement, Picture, Side, below, content, html};
use crate::request::{Compilation, Operation, Tensor};

impl Tensor {
    /// Draws the layout of the tensor. `draw` is [`svg`](super::svg), or a closure that calls
    /// [`terminal`](super::terminal) or [`html`](super::html).
    ///
    /// ```
    /// use stridec::{Tensor, explain::svg};
    /// let tensor: Tensor = "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?;
    /// assert!(tensor.draw(svg).starts_with("<svg "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn draw<T>(&self, draw: impl FnOnce(&Picture<'_>) -> T) -> T {
        let notation = self.to_string();
        draw(&Picture::layout(Side { notation: &notation, descriptor: self.descriptor() }))
    }
}

impl Operation {
    /// Draws both layouts and the movement of elements. `draw` is [`svg`](super::svg), or a closure
    /// that calls [`terminal`](super::terminal).
    ///
    /// ```
    /// use stridec::{Operation, explain::terminal};
    /// let operation = Operation::relayout("f32[2,3]".parse()?, "f32[2,3]{0,1}".parse()?)?;
    /// println!("{}", operation.draw(|picture| terminal(picture, 80)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn draw<T>(&self, draw: impl FnOnce(&Picture<'_>) -> T) -> T {
        let notations = [self.source(), self.destination()].map(ToString::to_string);
        let side = Side { notation: &notations[0], descriptor: self.source_descriptor() };
        let movement = Movement {
            destination: Side {
                notation: &notations[1],
                descriptor: self.destination_descriptor(),
            },
            window: self.window(),
            nest: self.nest(),
        };
        draw(&Picture::operation(self.title(), side, movement))
    }
}

impl Compilation<'_> {
    /// Draws the operation as a page that shows the kernel and runs it in a browser.
    #[must_use]
    pub fn page(&self) -> String {
        self.draw(&self.stages(), html)
    }

    /// Returns the part of [`page`](Self::page) up to and including the button, for a document that
    /// already contains the scripts. [`page_below`](Self::page_below) returns the rest. This part
    /// does not contain the text of the kernel, so it can be shown before the kernel is validated.
    #[must_use]
    pub fn page_content(&self) -> Content {
        self.draw("", content)
    }

    /// Returns the markup that follows [`page_content`](Self::page_content) on the page: the
    /// picture, which needs no script, and the kernel.
    #[must_use]
    pub fn page_below(&self) -> String {
        self.draw(&self.stages(), below)
    }

    fn draw<T>(
        &self,
        stages: &str,
        draw: impl FnOnce(&Picture<'_>, Option<&Compiled<'_>>) -> T,
    ) -> T {
        let kernel = self.kernel();
        let dispatches: Vec<_> = kernel.dispatches.iter().map(|d| d.workgroups).collect();
        let compiled = Compiled {
            wgsl: &kernel.wgsl,
            entry_point: &kernel.entry_point,
            workgroup_size: kernel.workgroup_size,
            binding_bytes: [0, 1].map(|n| kernel.bindings.get(n).map_or(0, |b| b.size_in_bytes)),
            dispatches: &dispatches,
            schedule: &self.schedule().to_string(),
            stages,
        };
        self.operation().draw(|picture| draw(picture, Some(&compiled)))
    }
}
