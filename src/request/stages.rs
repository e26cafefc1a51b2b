//! An operation as text: the header of its kernel, and every stage for a reviewer.

use std::fmt::Write as _;

use super::{Operation, Tensor};
use crate::{
    error::Error,
    nest::CopyAxis,
    schedule::Target,
    stride::StrideDescriptor,
    window::{Window, WindowDimension},
};

impl Operation {
    /// The comment above the kernel: both tensors with their strides, and the nest.
    pub(super) fn header(&self) -> Vec<String> {
        let mut lines = vec![self.title.clone()];
        lines.push(format!("source       {}", strides(&self.source.1)));
        lines.push(format!("destination  {}", strides(&self.destination.1)));
        lines.push(format!("nest         {}", self.nest_line()));
        lines
    }

    /// The nest in one line: `(12544: 1 → 64)` is 12544 steps of 1 in the source and 64 in the destination.
    fn nest_line(&self) -> String {
        let mut line = String::new();
        for CopyAxis { extent, src_stride, dst_stride } in self.nest.axes() {
            let _ = write!(line, "({extent}: {src_stride} → {dst_stride}) ");
        }
        let unit = match self.nest.dst_bits {
            bits @ (1 | 2 | 4) => format!("{bits} bits"),
            8 => "1 byte".to_owned(),
            bits => format!("{} bytes", bits / 8),
        };
        line + "steps of units of " + &unit
    }

    /// Every stage of the operation as text, from the shapes to the kernel: what a snapshot holds.
    ///
    /// The text depends on the operation and the target alone.
    ///
    /// # Errors
    ///
    /// Where the target's limits are too low.
    pub fn stages(&self, target: &Target) -> Result<String, Error> {
        let schedule = self.schedule(target)?;
        let kernel = self.compile(target)?;
        let mut text = format!("{}\n", self.title);
        for (name, (tensor, descriptor)) in
            [("source", &self.source), ("destination", &self.destination)]
        {
            let _ = write!(text, "\n== {name}\n{}", describe(tensor, descriptor));
        }
        let identity = Window::identity(self.source.1.sizes());
        if self.window != identity {
            let _ = write!(text, "\n== window\n{}", window(&self.window));
        }
        let _ = write!(text, "\n== nest\n{}", self.nest);
        let _ = write!(text, "\n== schedule for {}\n{schedule}\n", target.name);
        if kernel.dispatches.is_empty() {
            text.push_str("\n== kernel\nnothing to dispatch\n");
            return Ok(text);
        }
        let _ = writeln!(text, "\n== kernel");
        for binding in &kernel.bindings {
            let access = if binding.writable { "written" } else { "read" };
            let _ = writeln!(
                text,
                "binding {} of group {}: {access}, {} bytes",
                binding.binding, binding.group, binding.size_in_bytes
            );
        }
        for dispatch in &kernel.dispatches {
            let [x, y, z] = dispatch.workgroups;
            let _ = writeln!(text, "dispatch {x} x {y} x {z} workgroups");
        }
        for region in &kernel.copy_regions {
            let _ = writeln!(
                text,
                "or copy {} bytes from {} to {}",
                region.size, region.source_offset, region.destination_offset
            );
        }
        let _ = write!(text, "\n{}", kernel.wgsl);
        Ok(text)
    }
}

/// Strides in one line: a stride for each dimension, or the digits of a tiled one.
fn strides(descriptor: &StrideDescriptor) -> String {
    let mut line = String::new();
    if descriptor.steps().is_empty() {
        let strides: Vec<String> = descriptor
            .strides()
            .map(|stride| stride.map_or("-".into(), |n| n.to_string()))
            .collect();
        let _ = write!(line, "strides [{}]", strides.join(", "));
    } else {
        let axes: Vec<String> = descriptor
            .axes()
            .iter()
            .map(|axis| format!("{}: {}", descriptor.coordinate_name(axis.coordinate), axis.stride))
            .collect();
        let _ = write!(line, "strides [{}]", axes.join(", "));
    }
    let _ = write!(
        line,
        " in {} elements of {} bits",
        descriptor.physical_elements(),
        descriptor.element_bits()
    );
    if descriptor.base_offset() > 0 {
        let _ = write!(line, " from {}", descriptor.base_offset());
    }
    if descriptor.prefix_bytes() > 0 {
        let _ = write!(line, " after {} bytes", descriptor.prefix_bytes());
    }
    line
}

/// A tensor and the axes of its memory, major to minor.
fn describe(tensor: &Tensor, descriptor: &StrideDescriptor) -> String {
    let mut text = format!("{tensor}\n");
    for axis in descriptor.axes() {
        let name = descriptor.coordinate_name(axis.coordinate);
        let values = descriptor.extents()[axis.coordinate];
        let _ = write!(text, "{name}: {} places, stride {}", axis.extent, axis.stride);
        if values < axis.extent {
            let _ = write!(text, ", {values} of them elements");
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{} elements in {} places of {} bits, {} bytes{}",
        descriptor.elements(),
        descriptor.physical_elements(),
        descriptor.element_bits(),
        descriptor.image_bytes(),
        if descriptor.is_packed() { ", packed" } else { "" },
    );
    if descriptor.padding() != 0 {
        let _ = writeln!(text, "padding holds 0x{:x}", descriptor.padding());
    }
    text
}

/// A window, dimension by dimension.
fn window(window: &Window) -> String {
    let mut text = String::new();
    for (number, dimension) in window.dimensions().iter().enumerate() {
        let WindowDimension { extent, count, src_dim, src_start, src_step, dst_start, dst_step } =
            *dimension;
        let _ = match src_dim {
            Some(src_dim) => write!(
                text,
                "d{number}: {count} indices from {src_start} by {src_step:+} along d{src_dim}"
            ),
            None => write!(text, "d{number}: {count} indices of one source"),
        };
        if (dst_start, dst_step, extent) != (0, 1, count) {
            let _ = write!(text, ", to {dst_start} by +{dst_step} of {extent}");
        }
        text.push('\n');
    }
    text
}
