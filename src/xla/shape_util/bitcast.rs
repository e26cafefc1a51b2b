//! Bitcasts, like XLA's `ReshapeIsBitcast`, `TransposeIsBitcast` and related functions.
//!
//! A bitcast does not change memory. XLA compares only the order of the dimensions, and therefore
//! gives wrong answers for tiled and padded arrays. Here, two arrays have the same memory if the
//! *i*-th element in row-major order has the same offset in both arrays. To compare the offsets,
//! each array is lowered to a loop nest that copies it into a dense buffer. After its loops have
//! been merged, the nest has the offset of element *i* as an expression of the loop counters, and
//! two such expressions can be compared.

use super::{
    bounds, common_factors, make_shape_with_descending_layout_and_same_physical_layout,
    permute_dimensions, same_dimensions, same_memory,
};
use crate::{
    nest::{CopyNest, NestError, Value},
    shape::{Layout, Shape, signed},
    stride::StrideDescriptor,
    xla::{layout_util, permutation_util},
};

/// Returns true if a reshape does not change memory, like XLA's `ReshapeIsBitcast`, but also for
/// padded and tiled layouts.
///
/// ```
/// use stridec::xla::shape_util::reshape_is_bitcast;
/// let is = |a: &str, b: &str| reshape_is_bitcast(&a.parse().unwrap(), &b.parse().unwrap(), false);
/// assert!(is("f32[3,2,2]{1,0,2}", "f32[6,2]{0,1}")?);
/// assert!(!is("f32[8,8]{1,0:T(2,2)}", "f32[64]{0:T(4)}")?); // XLA says yes
/// assert!(is("f32[24,128]{1,0:T(8,128)}", "f32[3072]")?);
/// # Ok::<(), stridec::nest::NestError>(())
/// ```
///
/// # Errors
///
/// Returns an error if a shape cannot be lowered.
pub fn reshape_is_bitcast(
    input: &Shape,
    output: &Shape,
    ignore_element_type: bool,
) -> Result<bool, NestError> {
    let (a, b) = (StrideDescriptor::try_from(input)?, StrideDescriptor::try_from(output)?);
    same_memory(&a, &b, ignore_element_type)
}

/// Returns true if a transpose does not change memory, like XLA's `TransposeIsBitcast`, but also
/// for padded and tiled layouts.
///
/// Dimension `i` of the output is dimension `permutation[i]` of the input.
///
/// ```
/// use stridec::xla::shape_util::transpose_is_bitcast;
/// let is = |a: &str, b: &str| {
///     transpose_is_bitcast(&a.parse().unwrap(), &b.parse().unwrap(), &[1, 0], false)
/// };
/// assert!(is("f32[10,5]{1,0}", "f32[5,10]{0,1}")?);
/// assert!(!is("f32[10,5]{1,0:PAD(10,8)}", "f32[5,10]{0,1}")?); // TensorFlow 1.0 said yes
/// # Ok::<(), stridec::nest::NestError>(())
/// ```
///
/// # Errors
///
/// Returns an error if a shape cannot be lowered or if the permutation does not name each dimension
/// once.
pub fn transpose_is_bitcast(
    input: &Shape,
    output: &Shape,
    permutation: &[i64],
    ignore_element_type: bool,
) -> Result<bool, NestError> {
    let permuted = permute_dimensions(permutation, input)?;
    if !same_dimensions(&permuted, output) {
        return Ok(false);
    }
    reshape_is_bitcast(&permuted, output, ignore_element_type)
}

/// Returns a permutation that makes the transpose from `input` to `output` a bitcast, or `None` if
/// no such permutation is found, like XLA's `DeduceTransposeDimensionsForBitcast`.
///
/// ```
/// use stridec::xla::shape_util::deduce_transpose_dimensions;
/// let deduce = |a: &str, b: &str| {
///     deduce_transpose_dimensions(&a.parse().unwrap(), &b.parse().unwrap())
/// };
/// assert_eq!(deduce("f32[2,3,4]{2,1,0}", "f32[4,2,3]{0,2,1}")?, Some(vec![2, 0, 1]));
/// assert_eq!(deduce("f32[5,3]", "f32[3,5]")?, None);
/// # Ok::<(), stridec::nest::NestError>(())
/// ```
///
/// # Errors
///
/// Returns an error if a shape cannot be lowered.
pub fn deduce_transpose_dimensions(
    input: &Shape,
    output: &Shape,
) -> Result<Option<Vec<usize>>, NestError> {
    if input.rank() != output.rank() {
        return Ok(None);
    }
    // First match the dimensions in memory order. Dimensions of one element can be anywhere in that
    // order, so then match the other dimensions first and the dimensions of one element after them.
    let order = |shape: &Shape| layout_util::major_to_minor(&shape.layout_or_default());
    let apart = |shape: &Shape| {
        let one = |&d: &usize| shape.dimensions()[d].bound() == Some(1);
        let (mut ones, others): (Vec<usize>, Vec<usize>) = order(shape).into_iter().partition(one);
        ones.sort_unstable();
        [others, ones].concat()
    };
    for (from, to) in [(order(input), order(output)), (apart(input), apart(output))] {
        let permutation = permutation_util::permute_inverse(&from, &signed(&to))?;
        if transpose_is_bitcast(input, output, &signed(&permutation), false)? {
            return Ok(Some(permutation));
        }
    }
    Ok(None)
}

/// Returns true if a reshape or a transpose from `input` to `output` is a bitcast, like XLA's
/// `IsReshapeOrTransposeBitcast`.
///
/// # Errors
///
/// Returns an error if a shape cannot be lowered.
pub fn is_reshape_or_transpose_bitcast(input: &Shape, output: &Shape) -> Result<bool, NestError> {
    Ok(reshape_is_bitcast(input, output, false)?
        || deduce_transpose_dimensions(input, output)?.is_some())
}

/// A decomposition of a bitcast into reshapes and transposes, like XLA's `BitcastDecomposition`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // few values are alive at a time
pub enum BitcastDecomposition {
    /// A reshape.
    Reshape,
    /// A transpose with this permutation.
    Transpose(Vec<usize>),
    /// A transpose, a reshape and another transpose, each of which is a bitcast.
    TransposeReshapeTranspose {
        /// The permutation that puts the dimensions of the input into memory order.
        transpose1: Vec<usize>,
        /// The result of the first transpose, with a descending layout.
        transpose1_shape: Shape,
        /// The result of the reshape: the dimensions of the output in memory order, with a
        /// descending layout.
        reshape_shape: Shape,
        /// The permutation from memory order to the dimension order of the output.
        transpose2: Vec<usize>,
    },
}

/// Decomposes a bitcast from `input` to `output`, like XLA's `DecomposeBitcast`. Returns `None` if
/// no decomposition is found.
///
/// # Errors
///
/// Returns an error if a shape cannot be lowered.
pub fn decompose_bitcast(
    input: &Shape,
    output: &Shape,
) -> Result<Option<BitcastDecomposition>, NestError> {
    if reshape_is_bitcast(input, output, false)? {
        return Ok(Some(BitcastDecomposition::Reshape));
    }
    if let Some(permutation) = deduce_transpose_dimensions(input, output)? {
        return Ok(Some(BitcastDecomposition::Transpose(permutation)));
    }
    let descending = make_shape_with_descending_layout_and_same_physical_layout;
    let (transpose1_shape, reshape_shape) = (descending(input)?, descending(output)?);
    if !reshape_is_bitcast(&transpose1_shape, &reshape_shape, false)? {
        return Ok(None);
    }
    Ok(Some(BitcastDecomposition::TransposeReshapeTranspose {
        transpose1: layout_util::major_to_minor(&input.layout_or_default()),
        transpose1_shape,
        reshape_shape,
        transpose2: layout_util::make_logical_to_physical(&output.layout_or_default()),
    }))
}

/// Returns the layout that makes a reshape to the extents `output` a bitcast, or `None` if no such
/// layout is found, like XLA's `AlignLayouts`.
///
/// ```
/// use stridec::xla::shape_util::align_layouts;
/// let input = "f32[3,8,5,7,11]{3,2,1,0,4}".parse()?;
/// let layout = align_layouts(&input, &[3, 2, 4, 35, 11])?.unwrap();
/// assert_eq!(layout.to_string(), "{3,2,1,0,4}");
/// assert_eq!(align_layouts(&input, &[4, 3, 2, 5, 77])?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the shape cannot be lowered or if the extents are invalid.
pub fn align_layouts(input: &Shape, output: &[u64]) -> Result<Option<Layout>, NestError> {
    let Some(groups) = bounds(input).and_then(|dims| common_factors(&dims, output)) else {
        return Ok(None);
    };
    // Each group of output dimensions is placed at the physical position of the first dimension of
    // its input group, ignoring input dimensions of one element.
    let physical = layout_util::make_logical_to_physical(&input.layout_or_default());
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(output.len());
    for pair in groups.windows(2) {
        let mut inputs =
            (pair[0].0..pair[1].0).filter(|&d| input.dimensions()[d].bound() != Some(1));
        let place = inputs.next().and_then(|first| physical.get(first).copied());
        order.extend((pair[0].1..pair[1].1).map(|d| (place.unwrap_or(0), d)));
    }
    order.sort_unstable();
    let layout = Layout::new(order.into_iter().rev().map(|(_, dimension)| dimension));
    let shape = Shape::new(input.element_type(), output.iter().copied(), layout.clone())?;
    Ok(reshape_is_bitcast(input, &shape, false)?.then_some(layout))
}

/// Returns true if a copy reads one contiguous run of the source, such as a slice that is a bitcast
/// of a part of its operand.
///
/// ```
/// use stridec::{
///     nest::lower,
///     shape::Shape,
///     stride::StrideDescriptor,
///     window::{Slice, Window},
///     xla::shape_util::is_contiguous,
/// };
/// let rows = Slice::new([2, 0], [3, 16], [1, 1]);
/// let source = StrideDescriptor::try_from(&"f32[8,16]".parse::<Shape>()?)?;
/// let destination = StrideDescriptor::try_from(&"f32[3,16]".parse::<Shape>()?)?;
/// assert!(is_contiguous(&lower(&source, &destination, &Window::slice(&[8, 16], &rows)?)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn is_contiguous(nest: &CopyNest) -> bool {
    let run = match *nest.extents() {
        [] => true,
        [extent] => extent < 2 || nest.src().weight(Value::Axis(0)) == 1,
        _ => nest.positions() == 0,
    };
    run && nest.reading_guards().is_empty()
        && nest.src().terms().len() <= 1
        && nest.src_bits() == nest.dst_bits()
        && nest.is_exact()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        nest::lower,
        shape::ElementType,
        window::{Slice, Window},
    };

    fn shape(text: &str) -> Shape {
        text.parse().unwrap()
    }

    #[test]
    fn reshapes_of_padded_and_tiled_arrays() {
        for (a, b, expected) in [
            ("f32[3,4]", "f32[6,2]", true),
            ("f32[3,4]", "f32[6,2]{0,1}", false),
            ("f32[1,1,1]{0,2,1}", "f32[1]", true),
            ("f32[4,1,6]{1,0,2}", "f32[4,6]{0,1}", true),
            ("f32[2,3]{1,0:PAD(3,5,one)}", "f32[2,1,3]{2,1,0:PAD(3,1,5,one)}", true),
            ("f32[2,3]{1,0:PAD(3,5,one)}", "f32[2,3]{1,0:PAD(3,5,zero)}", false),
            ("f32[2,3]{1,0:PAD(3,5)}", "f32[2,3]", false),
            ("f32[2,3]{1,0:PAD(2,5)}", "f32[6]{0:L(10)}", false),
            ("bf16[3,20]{1,0:T(8,128)(2,1)}", "bf16[1,3,20]{2,1,0:T(8,128)(2,1)}", true),
            ("f32[2,3,128]{2,1,0:T(8,128)}", "f32[6,128]{1,0:T(8,128)}", false),
            ("f32[2,8,128]{2,1,0:T(8,128)}", "f32[16,128]{1,0:T(8,128)}", true),
            ("f32[4,256]{1,0:T(1,128)}", "f32[1024]", true),
            ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", "f32[112,110]{1,0:T(2,3)}", true),
            ("s4[8]{0:E(4)}", "s4[8]", false),
            ("f32[8]{0:M(4)}", "f32[8]{0:M(4)}", true),
            ("f32[8]{0:M(4)}", "f32[8]", false),
            ("f32[0,2]", "f32[2,0]", true),
            ("f32[]", "f32[1]", true),
        ] {
            assert_eq!(reshape_is_bitcast(&shape(a), &shape(b), false), Ok(expected), "{a} {b}");
        }
        let (a, b) = (shape("f32[3,2,2]{1,0,2}"), shape("f16[6,2]{0,1}"));
        assert_eq!(reshape_is_bitcast(&a, &b, true), Ok(true));
        assert_eq!(reshape_is_bitcast(&a, &b, false), Ok(false));
    }

    #[test]
    fn transposes_are_deduced_where_orders_alone_mislead() {
        for (a, b, expected) in [
            ("f32[5,3]{1,0}", "f32[3,5]{0,1}", Some(vec![1, 0])),
            ("f32[1,250]{0,1}", "f32[250,1]{1,0}", Some(vec![1, 0])),
            // The orders are equal, and XLA finds no permutation of the extents.
            ("f32[2,1]{1,0}", "f32[1,2]{1,0}", Some(vec![1, 0])),
            ("f32[8,8]{1,0:T(2,2)}", "f32[8,8]{0,1:T(2,2)}", Some(vec![1, 0])),
            // This is found only by ignoring the dimensions of one element.
            ("f32[3,2,1]{0,1,2}", "f32[2,1,3]{2,1,0}", Some(vec![1, 2, 0])),
            // XLA compares only the orders and returns [1, 0].
            ("f32[5,3]{1,0:T(2,2)}", "f32[3,5]{0,1}", None),
            ("f32[5,3]{1,0:PAD(8,3)}", "f32[3,5]{0,1:PAD(3,8)}", Some(vec![1, 0])),
            ("f32[5,3]", "f32[15]", None),
        ] {
            let deduced = deduce_transpose_dimensions(&shape(a), &shape(b));
            assert_eq!(deduced, Ok(expected), "{a} {b}");
        }
    }

    #[test]
    fn slices_of_one_run_are_contiguous() {
        for (source, destination, expected) in [
            ("f32[8,16]", "f32[3,16]", true),
            ("f32[8,16]", "f32[3,8]", false),
            ("f32[8,16]", "f32[1,8]", true),
            ("f32[16,8]{0,1}", "f32[1,8]", false),
            ("f32[8,16]", "f32[1,1]", true),
            ("s4[8]{0:E(4)}", "s4[8]", false),
            ("f32[8]", "f32[8]{0:PAD(9,zero)}", false),
        ] {
            let (source, destination) = (shape(source), shape(destination));
            let [from, to] =
                [&source, &destination].map(|s| StrideDescriptor::try_from(s).unwrap());
            let rank = source.rank();
            let part = Slice::new(vec![0; rank], to.sizes(), vec![1; rank]);
            let window = Window::slice(from.sizes(), &part).unwrap();
            let nest = lower(&from, &to, &window).unwrap();
            assert_eq!(is_contiguous(&nest), expected, "{source} {destination}\n{nest}");
        }
        // A row that is read twice is not a contiguous run.
        let repeated = StrideDescriptor::strided(ElementType::F32, 0, &[2, 3], &[0, 1], 0).unwrap();
        let dense = StrideDescriptor::try_from(&shape("f32[2,3]")).unwrap();
        assert!(!is_contiguous(&lower(&repeated, &dense, &Window::identity(&[2, 3])).unwrap()));
    }

    #[test]
    fn bitcasts_come_apart() {
        let given = decompose_bitcast(&shape("f32[16,3,17]{1,2,0}"), &shape("f32[16,51]{0,1}"));
        let expected = BitcastDecomposition::TransposeReshapeTranspose {
            transpose1: vec![0, 2, 1],
            transpose1_shape: shape("f32[16,17,3]{2,1,0}"),
            reshape_shape: shape("f32[51,16]{1,0}"),
            transpose2: vec![1, 0],
        };
        assert_eq!(given, Ok(Some(expected)));
        assert_eq!(decompose_bitcast(&shape("s4[3,2]"), &shape("s8[3]")), Ok(None));
    }
}
