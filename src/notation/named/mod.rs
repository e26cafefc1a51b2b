//! Layouts with names. The type and the extents of the array precede the name:
//! `f16[2,17,3,5] kCHW2`, `s8[2,64,3,5] NC/4HW4`, `f32[2,17,8,8] NCHWc 8`, `bf16[64,100] TILE`.
//!
//! A name may be written as in a program: `TensorFormat::kCHW4`, `trt.TensorFormat.CHW4` and `chw4`
//! are the same format.

mod formats;
mod openvino;

pub(super) use formats::{CUBLASLT, CUDNN, ONNXRUNTIME, TENSORRT, TTNN};
pub(super) use openvino::{read as read_openvino, write as write_openvino};

use super::{
    Tensor,
    cursor::{Cursor, Result},
    prefix::{Prefix, written},
    stacked::{Stacked, is_same_memory, no_such_format},
};
use crate::{
    shape::{ElementType, Layout, Shape},
    stride::StrideDescriptor,
};

/// A layout with a name: its names, and a function that applies the layout to an array.
pub(super) struct NamedFormat {
    name: &'static str,
    /// Other names for the same layout.
    also: &'static [&'static str],
    /// Returns the memory of an array of the given type and extents, or `None` if such an array
    /// cannot have this layout.
    memory: fn(ElementType, &[u64]) -> Option<FormatMemory>,
}

/// The memory of an array with a named layout, in one of two descriptions.
#[expect(clippy::large_enum_variant, reason = "one is alive at a time")]
enum FormatMemory {
    Layout(Layout),
    Stacked(Stacked),
}

impl From<Layout> for FormatMemory {
    fn from(layout: Layout) -> Self {
        Self::Layout(layout)
    }
}

impl From<Stacked> for FormatMemory {
    fn from(stacked: Stacked) -> Self {
        Self::Stacked(stacked)
    }
}

/// All formats of one system.
pub(super) type NamedFormats = &'static [NamedFormat];

impl NamedFormat {
    /// Returns true if `text` is a name of this format, regardless of case. Qualifiers such as
    /// `trt.TensorFormat.`, which end in `.` or `:`, are ignored.
    fn is_named(&self, text: &str) -> bool {
        let word = text.rsplit(['.', ':']).next().unwrap_or(text);
        std::iter::once(&self.name).chain(self.also).any(|name| name.eq_ignore_ascii_case(word))
    }
}

/// Parses an array: its type and extents, followed by the name of a format in `formats`.
pub(super) fn read(cursor: &mut Cursor<'_>, formats: NamedFormats) -> Result<Tensor> {
    let prefix = Prefix::read(cursor)?;
    read_name(cursor, formats, prefix)
}

fn read_name(cursor: &mut Cursor<'_>, formats: NamedFormats, prefix: Prefix) -> Result<Tensor> {
    cursor.skip_blanks();
    let start = cursor.position();
    let name = cursor.rest().trim_ascii_end();
    let place = start..start + name.len();
    let format = formats.iter().find(|format| format.is_named(name)).ok_or_else(|| {
        let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
        cursor.wrong(place.clone(), &format!("one of {}", names.join(", ")))
    })?;
    let memory = (format.memory)(prefix.element_type, &prefix.sizes)
        .ok_or_else(|| no_such_format(place.clone(), &prefix.sizes, format.name))?;
    match memory {
        FormatMemory::Stacked(stacked) => stacked.array(&prefix, place),
        FormatMemory::Layout(layout) => {
            let layout = layout.element_size(prefix.element_bits);
            let shape = Shape::new(prefix.element_type, prefix.sizes, layout)
                .map_err(|error| crate::shape::ParseError::invalid(place.clone(), error))?;
            Tensor::of_shape(shape, place)
        }
    }
}

/// Writes the array with the name of the first format that describes it: same offsets and same
/// memory size. If there is none, returns the reason, in words.
pub(super) fn write(array: &Tensor, formats: NamedFormats) -> std::result::Result<String, String> {
    let tensor = array.descriptor();
    let (element_type, sizes) = (tensor.element_type(), tensor.sizes());
    let bits = tensor.element_bits();
    let is_same = |format: &&NamedFormat| match (format.memory)(element_type, sizes)? {
        FormatMemory::Stacked(stacked) => Some(stacked.describes(tensor)),
        FormatMemory::Layout(layout) => {
            let layout = layout.element_size(bits.into());
            let shape = Shape::new(element_type, sizes.iter().copied(), layout).ok()?;
            let other = StrideDescriptor::try_from(&shape).ok()?;
            Some(is_same_memory(&other, tensor))
        }
    };
    let format = formats.iter().find(|format| is_same(format) == Some(true));
    let format = format.ok_or_else(|| {
        let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
        format!("expected a layout with a name: {}", names.join(", "))
    })?;
    Ok(format!("{} {}", written(element_type, bits, sizes), format.name))
}
