//! Writes an operation as text: the comment at the top of its kernel, and all its stages, so that
//! people can check them. The files in `snapshots/` consist of this text.

use std::fmt::Write as _;

use super::{Operation, Table, Tensor};
use crate::{
    error::Error,
    schedule::{Candidate, Schedule, Target},
    shape::{Count, width},
    stride::StrideDescriptor,
    wgsl::{Kernel, KernelExtents},
    window::Window,
};

impl Operation {
    /// Returns the comment at the top of the kernel, which lists both tensors with their strides,
    /// and the nest.
    pub(super) fn header(&self) -> Vec<(&'static str, String)> {
        vec![
            ("", self.title.clone()),
            ("source", strides(self.source_descriptor())),
            ("destination", strides(self.destination_descriptor())),
            ("nest", self.nest.to_string()),
        ]
    }

    /// Returns the line that compares the size of a unit, the data that the nest copies at a time,
    /// with the size of an element.
    fn unit_line(&self) -> String {
        let (unit, element) = (self.nest.dst_bits(), self.destination_descriptor().element_bits());
        match (unit / element, element / unit) {
            (1, _) => "a unit is one element\n".to_owned(),
            (0, parts) => format!("a unit is a part of an element, of {parts}\n"),
            (elements, _) => format!("a unit is {elements} contiguous elements\n"),
        }
    }

    /// Returns all stages of the operation as text, from the shapes to the kernel. The snapshots
    /// consist of this text.
    ///
    /// The text depends only on the operation and the target.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits of the target are too low.
    pub fn stages(&self, target: &Target) -> Result<String, Error> {
        Ok(self.compilation(target)?.stages())
    }
}

/// Returns all stages of a compiled operation as text.
pub(super) fn stages(
    operation: &Operation,
    target: &Target,
    schedule: &Schedule,
    costs: &str,
    kernel: &Kernel,
) -> String {
    let mut text = format!("{}\n", operation.title);
    for (name, tensor) in [("source", &operation.source), ("destination", &operation.destination)] {
        let _ = write!(text, "\n== {name}\n{}", describe(tensor));
    }
    let identity = Window::identity(operation.source_descriptor().sizes());
    if operation.window != identity {
        let _ = write!(text, "\n== window\n{}", window(&operation.window));
    }
    if let Some(table) = operation.table() {
        let _ = writeln!(text, "\n== table\n{}", table_line(operation, table));
    }
    let _ = writeln!(text, "\n== nest: loops over the places of the destination, outermost first");
    let _ = write!(text, "{}{}", operation.unit_line(), operation.nest);
    let _ = write!(text, "\n== schedule for {}\n{schedule}\n", target.name);
    if kernel.dispatches.is_empty() {
        text.push_str("\n== kernel\nnothing to dispatch\n");
        return text;
    }
    let _ = writeln!(text, "operations/word: {costs}");
    let _ = writeln!(text, "\n== kernel");
    for binding in &kernel.bindings {
        let access = if binding.writable { "written" } else { "read" };
        let _ = writeln!(
            text,
            "binding {} of group {}: {access}, {} bytes",
            binding.binding, binding.group, binding.size_in_bytes
        );
    }
    if let Some(KernelExtents { group, binding, .. }) = &kernel.extents {
        let _ = writeln!(text, "binding {binding} of group {group}: the extents, 16 bytes");
    }
    for dispatch in &kernel.dispatches {
        let [x, y, z] = dispatch.workgroups;
        let _ = writeln!(
            text,
            "dispatch {x} x {y} x {z} workgroups of {} x {} x {} invocations",
            kernel.workgroup_size[0], kernel.workgroup_size[1], kernel.workgroup_size[2]
        );
    }
    for region in &kernel.copy_regions {
        let _ = writeln!(
            text,
            "or one buffer copy: {} bytes from byte {} of the source to byte {} of the destination",
            region.size, region.source_offset, region.destination_offset
        );
    }
    let _ = write!(text, "\n{}", kernel.wgsl);
    text
}

/// Returns a line with the shape of a table, and with the elements to which it applies.
fn table_line(operation: &Operation, table: &Table) -> String {
    let to = operation.destination_descriptor().element_type();
    let shape = Table::shape(operation.source(), to, table.dimension());
    let shape = shape.map(|shape| shape.to_string()).unwrap_or_default();
    let each = match table.dimension() {
        None => "an entry for each value of an element".to_owned(),
        Some(dimension) => format!("a row for each index of d{dimension} of the source"),
    };
    format!("{shape}, {} bytes: {each}", table.bytes().len())
}

/// Returns the costs of the cheapest candidates, as many as fit on one line, and the number of the
/// candidates that are left out.
pub(super) fn costs(candidates: &[Candidate]) -> String {
    const SHOWN: usize = 3;
    const WIDTH: usize = 75;
    let mut shown: Vec<String> = candidates.iter().take(SHOWN).map(ToString::to_string).collect();
    while shown.iter().map(String::len).sum::<usize>() > WIDTH {
        shown.pop();
    }
    match candidates.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{}, {more} more", shown.join(", ")),
    }
}

/// Returns the strides in one line, one for each dimension. A tiled layout instead has one stride
/// for each part of an index, such as `d0 / 8` and `d0 % 8`.
fn strides(descriptor: &StrideDescriptor) -> String {
    let mut line = "strides [".to_owned();
    if descriptor.steps().is_empty() {
        for (number, stride) in descriptor.strides().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            let _ = match stride {
                Some(stride) => write!(line, "{comma}{stride}"),
                None => write!(line, "{comma}-"),
            };
        }
    } else {
        let names = descriptor.coordinate_names();
        let axes = descriptor.axes().iter().filter(|axis| axis.extent > 1);
        for (number, axis) in axes.enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            let _ = write!(line, "{comma}{}: {}", names[axis.coordinate], axis.stride);
        }
    }
    let _ = write!(
        line,
        "], {} of {}",
        Count(descriptor.physical_elements(), "place"),
        width(descriptor.element_bits())
    );
    if descriptor.base_offset() > 0 {
        let _ = write!(line, ", from place {}", descriptor.base_offset());
    }
    if descriptor.prefix_bytes() > 0 {
        let _ = write!(line, ", after {}", Count(descriptor.prefix_bytes(), "byte"));
    }
    line
}

/// Returns the notation of a tensor, and a line for each axis of its memory, from major to minor.
fn describe(tensor: &Tensor) -> String {
    let descriptor = tensor.descriptor();
    let mut text = format!("{tensor}\n");
    for axis in descriptor.axes() {
        let name = descriptor.coordinate_name(axis.coordinate);
        let values = descriptor.extents()[axis.coordinate];
        if name == "0" {
            continue; // A tile of 1 leaves a coordinate with one place and no index.
        }
        let _ = write!(text, "{name}: {}, stride {}", Count(axis.extent, "place"), axis.stride);
        if values < axis.extent {
            let _ = write!(text, "; elements in the first {values}, padding behind");
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "{} in {} of {}, {} in all{}",
        Count(descriptor.elements(), "element"),
        Count(descriptor.physical_elements(), "place"),
        width(descriptor.element_bits()),
        Count(descriptor.image_bytes(), "byte"),
        if descriptor.is_packed() { ", packed" } else { "" },
    );
    if descriptor.base_offset() > 0 {
        let _ = writeln!(text, "the first element lies in place {}", descriptor.base_offset());
    }
    if descriptor.padding() != 0 {
        let _ = writeln!(
            text,
            "padding holds 0x{:x}, the bits of the padding value",
            descriptor.padding()
        );
    }
    text
}

/// Returns a description of a window, with one line for each dimension.
fn window(window: &Window) -> String {
    let mut text = String::new();
    for (number, dimension) in window.dimensions().iter().enumerate() {
        let (start, step) = (dimension.src_start(), dimension.src_step());
        let indices = Count(dimension.extent(), "index");
        let _ = writeln!(text, "d{number}: {indices}, from {start} of d{number} by {step:+}");
    }
    text
}
