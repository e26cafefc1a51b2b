//! `describe --format text`: a line for each property, for people.

use std::fmt::{Display, Write as _};

use stridec::{
    Tensor,
    stride::{PaddingReport, StrideDescriptor},
};

use super::{
    describe_forms::{self, forms},
    npy::physical_dimensions,
};

pub(super) fn describe_text(tensor: &Tensor, descriptor: &StrideDescriptor) -> String {
    let mut text = format!("{tensor}\n");
    let mut line = |name: &str, value: &dyn Display| {
        // Writing to a string succeeds.
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    let bits = descriptor.element_bits();
    line("element", &format!("{}, {bits} bits in memory", descriptor.element_type()));
    line("dimensions", &format!("{:?}, {} elements", descriptor.sizes(), descriptor.elements()));
    for (number, axis) in descriptor.axes().iter().enumerate() {
        let name = if number == 0 { "axes" } else { "" };
        let note = match (number, descriptor.axes().len()) {
            (0, 2..) => "  (the most major)",
            _ => "",
        };
        let coordinate = descriptor.coordinate_name(axis.coordinate);
        line(
            name,
            &format!("{coordinate:<8} extent {:<8} stride {}{note}", axis.extent, axis.stride),
        );
    }
    let strides: Vec<String> = descriptor
        .strides()
        .map(|stride| stride.map_or("split".to_owned(), |stride| stride.to_string()))
        .collect();
    line("strides", &format!("[{}] in elements", strides.join(", ")));
    line("offset", &format!("{} elements", descriptor.base_offset()));
    if descriptor.prefix_bytes() > 0 {
        line("prefix", &format!("{} bytes", descriptor.prefix_bytes()));
    }
    let (elements, bytes) = (descriptor.physical_elements(), descriptor.image_bytes());
    let sizes = format!("{elements} elements, {bytes} bytes");
    match physical_dimensions(descriptor) {
        Some(extents) => line("memory", &format!("{extents:?}, {sizes}")),
        None => line("memory", &sizes),
    }
    line("packed", &if descriptor.is_packed() { "yes: every place is one element" } else { "no" });
    line("padding", &padding(descriptor));
    for (name, form) in forms(tensor, descriptor) {
        line(&name, &describe_forms::line(&form));
    }
    text
}

/// How much is padding, and which dimension pays most.
fn padding(descriptor: &StrideDescriptor) -> String {
    let report = PaddingReport::of(descriptor);
    let (bytes, of, percent) = (report.padding_bytes, report.allocation_bytes, report.percent());
    if bytes == 0 {
        return "none".to_owned();
    }
    let costliest = report.costliest.map_or(String::new(), |dimension| {
        let paid = report.dimensions[dimension];
        format!("; d{dimension} costs most, {} padded to {}", paid.extent, paid.padded)
    });
    format!("{bytes} of {of} bytes, {percent:.1} %{costliest}")
}
