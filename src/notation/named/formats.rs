//! The tables of named formats: `TensorRT`'s, cuDNN's, cuBLASLt's, ONNX Runtime's and TT-NN's.

use super::{FormatMemory, NamedFormat, NamedFormats};
use crate::{
    notation::stacked::Stacked,
    shape::{ElementType, Layout},
};

const fn format(
    name: &'static str,
    also: &'static [&'static str],
    memory: fn(ElementType, &[u64]) -> Option<FormatMemory>,
) -> NamedFormat {
    NamedFormat { name, also, memory }
}

/// Returns the channels-last layout: row-major, except that the channels are the most minor
/// dimension. `from_last` gives the position of the channels: 1 is the last dimension, 2 the one
/// before it, and so on. If `block` is given, the number of channels is padded to a multiple of it.
/// Returns `None` if the array has too few dimensions.
fn channels_last(sizes: &[u64], from_last: usize, block: Option<u64>) -> Option<FormatMemory> {
    let channels = sizes.len().checked_sub(from_last)?;
    let others = (0..sizes.len()).rev().filter(move |&dimension| dimension != channels);
    let layout = Layout::new(std::iter::once(channels).chain(others));
    Some(match block {
        Some(block) => layout.tiled([block]).into(),
        None => layout.into(),
    })
}

/// Returns the layout in which vectors of `size` channels are contiguous. `from_last` gives the
/// position of the channels, as in [`channels_last`]. Returns `None` if the array has too few
/// dimensions.
fn vectors(sizes: &[u64], from_last: usize, size: u64) -> Option<FormatMemory> {
    let tile = std::iter::once(size).chain(std::iter::repeat_n(1, from_last - 1));
    let layout = Layout::default_for_rank(sizes.len());
    (sizes.len() >= from_last).then(|| layout.tiled(tile).into())
}

fn row_major(sizes: &[u64]) -> FormatMemory {
    Layout::default_for_rank(sizes.len()).into()
}

/// Returns the number of elements in 64 bytes, or `None` for a type without elements. The formats
/// for DLA pad rows to a multiple of 64 bytes.
fn line(element_type: ElementType) -> Option<u64> {
    Some(512 / u64::from(element_type.storage_bits()?))
}

/// `TensorRT`'s formats, from `TensorFormat` in `NvInferRuntimeBase.h`. The names that are not in
/// this header are from `TensorRT`'s Python package and from `trtexec --inputIOFormats`. The last
/// dimensions of the array must be C, H, W or C, D, H, W.
pub(in crate::notation) const TENSORRT: NamedFormats = &[
    format("kLINEAR", &["LINEAR", "chw"], |_, sizes| Some(row_major(sizes))),
    format("kCHW2", &["CHW2"], |_, sizes| vectors(sizes, 3, 2)),
    format("kCHW4", &["CHW4"], |_, sizes| vectors(sizes, 3, 4)),
    format("kCHW16", &["CHW16"], |_, sizes| vectors(sizes, 3, 16)),
    format("kCHW32", &["CHW32"], |_, sizes| vectors(sizes, 3, 32)),
    format("kCDHW32", &["CDHW32"], |_, sizes| vectors(sizes, 4, 32)),
    format("kHWC", &["HWC"], |_, sizes| channels_last(sizes, 3, None)),
    format("kHWC8", &["HWC8"], |_, sizes| channels_last(sizes, 3, Some(8))),
    format("kHWC16", &["HWC16"], |_, sizes| channels_last(sizes, 3, Some(16))),
    format("kDHWC", &["DHWC"], |_, sizes| channels_last(sizes, 4, None)),
    format("kDHWC8", &["DHWC8"], |_, sizes| channels_last(sizes, 4, Some(8))),
    format("kDLA_LINEAR", &["DLA_LINEAR"], |element_type, sizes| {
        (sizes.len() >= 3).then_some(())?;
        Some(Layout::default_for_rank(sizes.len()).tiled([line(element_type)?]).into())
    }),
    format("kDLA_HWC4", &["DLA_HWC4"], |element_type, sizes| {
        let channels = *sizes.get(sizes.len().checked_sub(3)?)?;
        let channels = if channels == 1 { 1 } else { (channels <= 4).then_some(4)? };
        let columns = line(element_type)? / channels;
        (columns > 0).then_some(())?;
        match channels_last(sizes, 3, None)? {
            FormatMemory::Layout(layout) => Some(layout.tiled([columns, channels]).into()),
            FormatMemory::Stacked(_) => None,
        }
    }),
];

/// cuDNN's formats: `cudnnTensorFormat_t`, and the reordering of scale factors in
/// `cudnnBackendTensorReordering_t`. The vectorized format is named with its vector size, as in
/// cuDNN's documentation.
pub(in crate::notation) const CUDNN: NamedFormats = &[
    format("NCHW", &["CUDNN_TENSOR_NCHW"], |_, sizes| (sizes.len() == 4).then(|| row_major(sizes))),
    format("NHWC", &["CUDNN_TENSOR_NHWC"], |_, sizes| {
        (sizes.len() == 4).then(|| channels_last(sizes, 3, None))?
    }),
    format("NC/4HW4", &[], |_, sizes| whole_vectors(sizes, 4)),
    format("NC/32HW32", &[], |_, sizes| whole_vectors(sizes, 32)),
    format("F8_128x4", &["CUDNN_TENSOR_REORDERING_F8_128x4"], |_, sizes| scale_factors(sizes)),
];

fn whole_vectors(sizes: &[u64], size: u64) -> Option<FormatMemory> {
    (sizes.len() == 4 && sizes[1].is_multiple_of(size)).then(|| vectors(sizes, 3, size))?
}

/// cuBLASLt's formats: the orders of a matrix in `cublasLtOrder_t`, and the layouts of scale
/// factors. Scale factors form a matrix with one factor for each block along a row of the scaled
/// matrix. The last two dimensions are rows and columns, and all others are batches.
///
/// In `COL32`, 32 columns of a row are contiguous. In `COL4_4R2_8C`, a tile has 8 rows and 32
/// columns; inside it, 4 columns are contiguous, and even rows precede odd ones. In `COL32_2R_4R4`,
/// a tile has 32 rows and 32 columns. The leading dimension is the smallest possible.
pub(in crate::notation) const CUBLASLT: NamedFormats = &[
    format("COL", &["CUBLASLT_ORDER_COL"], |_, sizes| {
        let order = Stacked::new(vec![vec![], vec![]], [(0, 0), (1, 0)]);
        matrix(sizes, order)
    }),
    format("ROW", &["CUBLASLT_ORDER_ROW"], |_, sizes| {
        matrix(sizes, Stacked::new(vec![vec![], vec![]], [(1, 0), (0, 0)]))
    }),
    format("COL32", &["CUBLASLT_ORDER_COL32"], |_, sizes| {
        matrix(sizes, Stacked::new(vec![vec![], vec![32]], [(1, 0), (0, 0), (1, 1)]))
    }),
    format("COL4_4R2_8C", &["CUBLASLT_ORDER_COL4_4R2_8C"], |_, sizes| {
        let order = [(1, 0), (0, 1), (1, 1), (1, 2), (0, 0), (0, 2), (1, 3)];
        matrix(sizes, Stacked::new(vec![vec![2, 4], vec![4, 2, 4]], order))
    }),
    format("COL32_2R_4R4", &["CUBLASLT_ORDER_COL32_2R_4R4"], |_, sizes| {
        let order = [(1, 0), (0, 0), (0, 2), (0, 1), (0, 3), (1, 1)];
        matrix(sizes, Stacked::new(vec![vec![2, 4, 4], vec![32]], order))
    }),
    format("128x4", &["layout_128x4", "SWIZZLED_128x4"], |_, sizes| scale_factors(sizes)),
    format("8x4", &["layout_8x4", "SWIZZLED_8x4"], |_, sizes| {
        matrix(sizes, Stacked::new(vec![vec![8], vec![4]], [(1, 0), (0, 0), (1, 1), (0, 1)]))
    }),
];

fn matrix(sizes: &[u64], order: Stacked) -> Option<FormatMemory> {
    Some(order.batched(sizes.len().checked_sub(2)?).into())
}

/// Returns the layout of scale factors in tiles of 128 rows and 4 columns. A tile is stored as 32
/// groups of 16 factors. Group `i` contains the 4 factors of each of the rows `i`, `i + 32`,
/// `i + 64` and `i + 96`, in this order.
fn scale_factors(sizes: &[u64]) -> Option<FormatMemory> {
    let order = [(1, 0), (0, 1), (0, 0), (1, 1), (0, 2)];
    matrix(sizes, Stacked::new(vec![vec![32, 4], vec![4]], order))
}

/// ONNX Runtime's formats, from `core/mlas/lib/reorder.cpp`. The number of channels in a block,
/// which depends on the processor (`MlasNchwcGetBlockSize`), is not part of ONNX Runtime's names,
/// so 8 or 16 is written after the name.
pub(in crate::notation) const ONNXRUNTIME: NamedFormats = &[
    format("NCHWc 8", &[], |_, sizes| of_four(sizes, vectors(sizes, 3, 8))),
    format("NCHWc 16", &[], |_, sizes| of_four(sizes, vectors(sizes, 3, 16))),
    format("OIHWBo 8", &[], |_, sizes| of_four(sizes, vectors(sizes, 4, 8))),
    format("OIHWBo 16", &[], |_, sizes| of_four(sizes, vectors(sizes, 4, 16))),
    format("OIHWBiBo 8", &[], |_, sizes| of_four(sizes, Some(filters(8)))),
    format("OIHWBiBo 16", &[], |_, sizes| of_four(sizes, Some(filters(16)))),
];

fn of_four(sizes: &[u64], memory: Option<FormatMemory>) -> Option<FormatMemory> {
    memory.filter(|_| sizes.len() == 4)
}

fn filters(size: u64) -> FormatMemory {
    Layout::default_for_rank(4).tiled([size, size, 1, 1]).tiled([size, 1, 1, 1]).into()
}

/// TT-NN's layouts. Tiles of 32 by 32 elements cover the last two dimensions, and each tile
/// consists of four faces of 16 by 16. A vector is padded to 32 rows.
pub(in crate::notation) const TTNN: NamedFormats = &[
    format("TILE", &["TILE_LAYOUT"], |_, sizes| {
        let tiles = Layout::default_for_rank(sizes.len()).tiled([32, 32]).tiled([16, 16]);
        (!sizes.is_empty()).then(|| tiles.into())
    }),
    format("ROW_MAJOR", &["ROW_MAJOR_LAYOUT"], |_, sizes| Some(row_major(sizes))),
];
