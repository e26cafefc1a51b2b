//! `describe --format text`: prints one line for each property of a shape.

use std::fmt::{Display, Write as _};

use serde_json::Value;
use stridec::{
    Tensor,
    notation::forms,
    stride::{PaddingReport, StrideDescriptor},
};

/// Describes a tensor as text, with a line for each property.
pub(super) fn describe_text(tensor: &Tensor) -> String {
    let descriptor = tensor.descriptor();
    let mut text = format!("{tensor}\n");
    let mut line = |name: &str, value: &dyn Display| {
        // Writing to a string succeeds.
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    let bits = descriptor.element_bits();
    line("element", &format!("{}, {} in memory", descriptor.element_type(), count(bits, "bit")));
    let elements = count(descriptor.elements(), "element");
    line("dimensions", &format!("{:?}, {elements}", descriptor.sizes()));
    // Leave out coordinates that are always 0. They are created by tiles of 1, and by tiles with
    // more dimensions than the array.
    let axes: Vec<_> = descriptor
        .axes()
        .iter()
        .filter(|axis| axis.extent != 1 || axis.coordinate < descriptor.rank())
        .collect();
    for (number, axis) in axes.iter().enumerate() {
        let name = if number == 0 { "axes" } else { "" };
        let note = match (number, axes.len()) {
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
    line("offset", &count(descriptor.base_offset(), "element"));
    if descriptor.prefix_bytes() > 0 {
        line("prefix", &count(descriptor.prefix_bytes(), "byte"));
    }
    let elements = count(descriptor.physical_elements(), "element");
    let sizes = format!("{elements}, {}", count(descriptor.image_bytes(), "byte"));
    match descriptor.physical_dimensions() {
        Some(extents) => line("memory", &format!("{extents:?}, {sizes}")),
        None => line("memory", &sizes),
    }
    line("packed", &if descriptor.is_packed() { "yes: every place is one element" } else { "no" });
    line("padding", &padding(descriptor));
    for (name, form) in forms(tensor) {
        line(&name, &form_line(&form));
    }
    text
}

/// Describes the amount of padding, and the dimension that causes most of it.
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
    format!("{bytes} of {}, {percent:.1} %{costliest}", count(of, "byte"))
}

/// Formats a count with its unit, such as `1 byte` or `60 bytes`.
fn count(n: impl Into<u64>, what: &str) -> String {
    let n = n.into();
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Returns a value of [`forms`] as one line.
fn form_line(form: &Value) -> String {
    match form {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            if let Some(why) = fields.get("unsupported") {
                return format!("none: {}", form_line(why));
            }
            let fields = fields.iter().map(|(key, value)| format!("{key} {}", form_line(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
