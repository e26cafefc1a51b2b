//! Layouts with names in `TensorRT`, cuDNN and ONNX Runtime. The name follows the type and the
//! extents of the array: `f16[2,17,3,5] kCHW2`, `s8[2,64,3,5] NC/4HW4`, `f32[2,17,8,8] NCHWc 8`.
//!
//! `TensorRT`'s formats apply to arrays whose last dimensions are C, H, W or C, D, H, W. The
//! formats of cuDNN and ONNX Runtime require four dimensions. ONNX Runtime's names do not include
//! the number of channels in a block (`MlasNchwcGetBlockSize`), so 8 or 16 is written after the
//! name.

use super::{
    Tensor,
    cursor::{Cursor, Result},
    prefix::{Prefix, written},
};
use crate::{
    shape::{ElementType, Layout, ParseError, Shape},
    stride::StrideDescriptor,
};

/// A named layout. `layout` returns `None` if the layout does not apply to an array of the given
/// type and extents.
pub(super) struct NamedFormat {
    name: &'static str,
    layout: fn(ElementType, &[u64]) -> Option<Layout>,
}

/// All formats of one system.
pub(super) type NamedFormats = &'static [NamedFormat];

/// Returns the channels-last order: row-major, except that the dimension at `from_last` from the
/// end, which holds the channels, becomes the most minor one.
fn channels_last(rank: usize, from_last: usize) -> Option<Layout> {
    let channels = rank.checked_sub(from_last)?;
    let others = (0..rank).rev().filter(move |&dimension| dimension != channels);
    Some(Layout::new(std::iter::once(channels).chain(others)))
}

/// Returns the layout in which vectors of `size` channels are innermost.
fn vectors(rank: usize, from_last: usize, size: u64) -> Option<Layout> {
    let tile = std::iter::once(size).chain(std::iter::repeat_n(1, from_last - 1));
    (rank >= from_last).then(|| Layout::default_for_rank(rank).tiled(tile))
}

/// Returns the number of elements in a line of 64 bytes.
fn line(element_type: ElementType) -> Option<u64> {
    Some(512 / u64::from(element_type.storage_bits()?))
}

/// `TensorRT`'s formats: `TensorFormat` in `NvInferRuntimeBase.h`.
pub(super) const TENSORRT: NamedFormats = &[
    NamedFormat { name: "kLINEAR", layout: |_, sizes| Some(Layout::default_for_rank(sizes.len())) },
    NamedFormat { name: "kCHW2", layout: |_, sizes| vectors(sizes.len(), 3, 2) },
    NamedFormat { name: "kCHW4", layout: |_, sizes| vectors(sizes.len(), 3, 4) },
    NamedFormat { name: "kCHW16", layout: |_, sizes| vectors(sizes.len(), 3, 16) },
    NamedFormat { name: "kCHW32", layout: |_, sizes| vectors(sizes.len(), 3, 32) },
    NamedFormat { name: "kCDHW32", layout: |_, sizes| vectors(sizes.len(), 4, 32) },
    NamedFormat { name: "kHWC", layout: |_, sizes| channels_last(sizes.len(), 3) },
    NamedFormat {
        name: "kHWC8",
        layout: |_, sizes| Some(channels_last(sizes.len(), 3)?.tiled([8])),
    },
    NamedFormat {
        name: "kHWC16",
        layout: |_, sizes| Some(channels_last(sizes.len(), 3)?.tiled([16])),
    },
    NamedFormat { name: "kDHWC", layout: |_, sizes| channels_last(sizes.len(), 4) },
    NamedFormat {
        name: "kDHWC8",
        layout: |_, sizes| Some(channels_last(sizes.len(), 4)?.tiled([8])),
    },
    NamedFormat {
        name: "kDLA_LINEAR",
        layout: |element_type, sizes| {
            (sizes.len() >= 3).then_some(())?;
            Some(Layout::default_for_rank(sizes.len()).tiled([line(element_type)?]))
        },
    },
    NamedFormat {
        name: "kDLA_HWC4",
        layout: |element_type, sizes| {
            let channels = *sizes.get(sizes.len().checked_sub(3)?)?;
            let channels = if channels == 1 { 1 } else { (channels <= 4).then_some(4)? };
            let columns = line(element_type)? / channels;
            (columns > 0)
                .then(|| Some(channels_last(sizes.len(), 3)?.tiled([columns, channels])))?
        },
    },
];

/// cuDNN's formats: `cudnnTensorFormat_t`. The name of the vectorized format includes the vector
/// size, as in cuDNN's documentation.
pub(super) const CUDNN: NamedFormats = &[
    NamedFormat {
        name: "NCHW",
        layout: |_, sizes| (sizes.len() == 4).then(|| Layout::default_for_rank(4)),
    },
    NamedFormat {
        name: "NHWC",
        layout: |_, sizes| (sizes.len() == 4).then(|| channels_last(4, 3))?,
    },
    NamedFormat { name: "NC/4HW4", layout: |_, sizes| whole_vectors(sizes, 4) },
    NamedFormat { name: "NC/32HW32", layout: |_, sizes| whole_vectors(sizes, 32) },
];

fn whole_vectors(sizes: &[u64], size: u64) -> Option<Layout> {
    (sizes.len() == 4 && sizes[1].is_multiple_of(size)).then(|| vectors(4, 3, size))?
}

/// ONNX Runtime's formats, from `core/mlas/lib/reorder.cpp`.
pub(super) const ONNXRUNTIME: NamedFormats = &[
    NamedFormat {
        name: "NCHWc 8",
        layout: |_, sizes| (sizes.len() == 4).then(|| vectors(4, 3, 8))?,
    },
    NamedFormat {
        name: "NCHWc 16",
        layout: |_, sizes| (sizes.len() == 4).then(|| vectors(4, 3, 16))?,
    },
    NamedFormat {
        name: "OIHWBo 8",
        layout: |_, sizes| (sizes.len() == 4).then(|| vectors(4, 4, 8))?,
    },
    NamedFormat {
        name: "OIHWBo 16",
        layout: |_, sizes| (sizes.len() == 4).then(|| vectors(4, 4, 16))?,
    },
    NamedFormat { name: "OIHWBiBo 8", layout: |_, sizes| filters(sizes, 8) },
    NamedFormat { name: "OIHWBiBo 16", layout: |_, sizes| filters(sizes, 16) },
];

fn filters(sizes: &[u64], size: u64) -> Option<Layout> {
    let blocks = Layout::default_for_rank(4).tiled([size, size, 1, 1]).tiled([size, 1, 1, 1]);
    (sizes.len() == 4).then_some(blocks)
}

pub(super) fn read(cursor: &mut Cursor<'_>, formats: NamedFormats) -> Result<Tensor> {
    let Prefix { element_type, element_bits, sizes } = Prefix::read(cursor)?;
    cursor.skip_blanks();
    let start = cursor.position();
    let name = cursor.rest().trim_ascii_end();
    let place = start..start + name.len();
    let format = formats.iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
        cursor.wrong(place.clone(), &format!("one of {}", names.join(", ")))
    })?;
    let layout = (format.layout)(element_type, &sizes).ok_or_else(|| {
        let reason = format!("an array of dimensions {sizes:?} has no {}", format.name);
        ParseError::new(place.clone(), reason)
    })?;
    let shape = Shape::new(element_type, sizes, layout.element_size(element_bits))
        .map_err(|error| ParseError::invalid(place.clone(), error))?;
    Tensor::of_shape(shape, place)
}

/// Writes the array with the name of the first format that has the same offsets and the same memory
/// size.
pub(super) fn write(array: &Tensor, formats: NamedFormats) -> std::result::Result<String, String> {
    let tensor = array.descriptor();
    let (element_type, sizes) = (tensor.element_type(), tensor.sizes());
    let is_same = |format: &&NamedFormat| {
        let layout = (format.layout)(element_type, sizes)?;
        let shape = Shape::new(element_type, sizes.iter().copied(), layout).ok()?;
        let other = StrideDescriptor::try_from(&shape).ok()?;
        let is_same = other.digits()? == tensor.digits()?
            && tensor.base_offset() == 0
            && tensor.prefix_bytes() == 0
            && other.physical_elements() == tensor.physical_elements();
        Some(is_same)
    };
    let format = formats.iter().find(|format| is_same(format) == Some(true));
    let format = format.ok_or_else(|| {
        let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
        format!("expected a layout with a name: {}", names.join(", "))
    })?;
    Ok(format!("{} {}", written(element_type, tensor.element_bits(), sizes), format.name))
}
