//! The first pass, [`build`]: creates a nest from the descriptors of two tensors and a window.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::{
    Assembly, Case, CaseValue, Conversion, CopyNest, Guard, Index, NestError, Operand,
    assembly::WalkStart,
    numbers::{LIMIT, gcd, signed},
    table::TableRead,
    walk::Unfilled,
};
use crate::{
    shape::{Layout, Shape},
    stride::{Coordinates, StrideDescriptor},
    window::{Window, WindowDimension},
};

/// Builds the nest of an operation. For each place in the destination's memory, the nest finds the
/// index of the element there, the index of the source element that the window copies to it, and
/// the offset of that source element.
///
/// The nest has a loop for each dimension of the destination's memory, and a quotient for each tile
/// of the source. Later passes simplify it.
///
/// # Errors
///
/// Returns an error if the types or extents of the two sides do not fit the window, or if elements
/// of the destination overlap or interleave in memory.
pub fn build(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
) -> Result<CopyNest, NestError> {
    build_with(source, destination, window, None, None)
}

/// Checks that an update has the destination's rank and ends inside the destination.
fn check_update(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    start_indices: &[u64],
) -> Result<(), NestError> {
    check_ranks(source, destination, source.rank())?;
    let (given, expected) = (start_indices.len(), source.rank());
    if given != expected {
        return Err(NestError::StartIndices { given, expected });
    }
    for (dimension, &start) in start_indices.iter().enumerate() {
        let (given, limit) = (source.sizes()[dimension], destination.sizes()[dimension]);
        let Some(last) = limit.checked_sub(given) else {
            return Err(NestError::UpdateExtent { dimension, given, limit });
        };
        if start > last {
            return Err(NestError::StartIndex { dimension, given: start, limit: last });
        }
    }
    Ok(())
}

/// Builds the nest of an operation. If `start_indices` are given, the operation is an update: the
/// window must be the whole source, and it fills only the box of the destination that begins there.
/// The rest of the destination keeps its contents or becomes zero. If there is a table, it becomes
/// the second source, and elements are looked up in it. Otherwise elements are converted if the
/// types differ.
///
/// # Errors
///
/// Returns the errors of [`build`], and an error if an update would extend past the end of the
/// destination, or if the source cannot be looked up in a table. Any two types fit a table.
pub(crate) fn build_with(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
    start_indices: Option<&[u64]>,
    table: Option<&TableRead>,
) -> Result<CopyNest, NestError> {
    if table.is_none() {
        check_types(source, destination)?;
    }
    match start_indices {
        Some(start_indices) => check_update(source, destination, start_indices)?,
        None => check(source, destination, window)?,
    }
    // A dynamic shape is stored after a prefix of `n` bytes, written `M(n)`. If this is not a whole
    // number of elements, elements do not start at multiples of their size, so units are smaller
    // than elements.
    let parts = source.element_bits() / unit_bits(source, destination, table.is_some())?;
    let (mut source, mut destination) = (Cow::Borrowed(source), Cow::Borrowed(destination));
    let mut window = Cow::Borrowed(window);
    if parts > 1 {
        source = Cow::Owned(source.split_elements(parts));
        destination = Cow::Owned(destination.split_elements(parts));
        window = Cow::Owned(window.with_inner_dimension(parts.into()));
    }
    // The source is checked first, so that the error names it if both sides are too large.
    elements(Operand::Source(0), &source)?;
    let (mut assembly, start) = Assembly::new(&destination)?;
    // A relayout or a slice is always one kernel, however many tiles a layout has.
    assembly.allow_quotients(usize::MAX);
    let start = match (start, start_indices) {
        (Some(start), Some(at)) => inside(&assembly, start, &window, at)?,
        (start, _) => start,
    };
    let start = match start {
        Some((region, index)) => Some((region, source_index(&window, index)?)),
        None => None,
    };
    if let Some(table) = table {
        table.read(&mut assembly, &source, start)?;
    } else {
        let number = assembly.source(&source)?;
        if let Some((region, index)) = start {
            assembly.read(region, number, &source, index)?;
        }
        assembly.convert(Conversion::new(source.element_type(), destination.element_type()));
    }
    assembly.finish()
}

/// Narrows a region to the places whose index lies in the box that begins at `starts` and has the
/// extents of `window`. Returns the narrowed region and the index relative to the start of the box;
/// `None` if there is no such place.
fn inside(
    assembly: &Assembly,
    (mut region, mut index): WalkStart,
    window: &Window,
    starts: &[u64],
) -> Result<Option<WalkStart>, NestError> {
    // If elements are split into units, the index has an additional dimension without an entry in
    // `starts`. It needs no guard, because the box contains whole elements.
    for (number, (along, &start)) in window.dimensions().iter().zip(starts).enumerate() {
        let (low, end) = (start, start + along.extent());
        let Some((within, own)) = assembly.split_region(&region, &index[number], low, end)?.inside
        else {
            return Ok(None);
        };
        region = within;
        index[number] = own.scaled(1, -signed(start)).ok_or(NestError::PAST_LIMIT)?;
    }
    Ok(Some((region, index)))
}

/// Returns the case that fills the padding of `padded_dimensions`. Returns `None` if there is no
/// such padding, or if the padding value is zero, because places without a case become zero anyway.
pub(super) fn padding_case(guards: &[(Guard, Unfilled)], fill: u128) -> Option<Case> {
    let pads = guards.iter().any(|(_, otherwise)| *otherwise == Unfilled::Padding);
    (fill != 0 && pads).then(|| {
        let gaps = guards.iter().filter(|(_, otherwise)| *otherwise == Unfilled::Gap);
        let when = gaps.map(|(guard, _)| guard.clone()).collect();
        Case { when, take: CaseValue::Bits(fill) }
    })
}

/// Checks that the ranks and extents agree, and that the window stays inside the source.
fn check(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
) -> Result<(), NestError> {
    check_ranks(source, destination, window.dimensions().len())?;
    for (dimension, along) in window.dimensions().iter().enumerate() {
        let (given, expected) = (destination.sizes()[dimension], along.extent());
        if given != expected {
            let sizes: Vec<u64> = window.dimensions().iter().map(WindowDimension::extent).collect();
            let is_permutation =
                |&extent| count(destination.sizes(), extent) == count(&sizes, extent);
            return Err(if sizes.iter().all(is_permutation) {
                let meant = meant(destination, &sizes);
                NestError::Permuted { dimension, given, expected, meant }
            } else {
                NestError::Extents { dimension, given, expected }
            });
        }
        // The proof of a kernel relies on this check: the window reads no index past the source.
        let (given, last) = (source.sizes()[dimension], along.source_indices());
        if let Some((_, last)) = last.filter(|&(_, last)| last >= given) {
            return Err(NestError::SourceExtent { dimension, given, expected: last + 1 });
        }
    }
    Ok(())
}

/// Returns the number of dimensions that have this extent.
fn count(extents: &[u64], extent: u64) -> usize {
    extents.iter().filter(|&&other| other == extent).count()
}

/// Returns the layout with the dimensions `sizes`, a permutation of the destination's, whose memory
/// is the destination's. Returns `None` if the destination is not a dense array, or if its extents
/// do not tell which layout that is.
fn meant(destination: &StrideDescriptor, sizes: &[u64]) -> Option<String> {
    // The axes of a dense array are in the order of memory, major to minor.
    let is_dense = destination.steps().is_empty()
        && destination.is_packed()
        && destination.physical_dimensions().is_some()
        && destination.element_type().storage_bits() == Some(destination.element_bits());
    if !is_dense || sizes.iter().any(|&extent| count(sizes, extent) != 1) {
        return None;
    }
    let order = destination.axes().iter().rev().map(|axis| {
        let extent = destination.sizes()[axis.coordinate];
        sizes.iter().position(|&other| other == extent)
    });
    let order: SmallVec<[usize; 8]> = order.collect::<Option<_>>()?;
    let layout = Layout::new(order);
    let shape = Shape::new(destination.element_type(), sizes.iter().copied(), layout);
    shape.ok().map(|shape| format!("`{shape}`"))
}

/// Checks that the types are equal or can be converted.
fn check_types(source: &StrideDescriptor, destination: &StrideDescriptor) -> Result<(), NestError> {
    let [from, to] = [source, destination].map(StrideDescriptor::element_type);
    if from != to && Conversion::new(from, to).is_none() {
        return Err(NestError::ElementTypes { source_type: from, destination_type: to });
    }
    Ok(())
}

/// Checks that both sides have a rank of `expected`.
fn check_ranks(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    expected: usize,
) -> Result<(), NestError> {
    for (operand, given) in
        [(Operand::Source(0), source.rank()), (Operand::Destination, destination.rank())]
    {
        if given != expected {
            return Err(NestError::Ranks { operand, given, expected });
        }
    }
    Ok(())
}

/// Returns the width of a unit, in bits: an element, or the widest part of an element that divides
/// the prefixes of both sides. Elements that are looked up or converted are not split.
fn unit_bits(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    is_looked_up: bool,
) -> Result<u32, NestError> {
    let mut unit = source.element_bits();
    for side in [source, destination] {
        let (bytes, bits) = (side.prefix_bytes(), side.element_bits());
        if side.prefix_elements().is_none() {
            let uniform = !is_looked_up
                && source.element_bits() == destination.element_bits()
                && source.element_type() == destination.element_type();
            if !uniform || destination.padding() != 0 {
                return Err(NestError::Prefix { bytes, bits });
            }
            let common = gcd(i64::from(unit), signed(bytes % 16 * 8));
            unit = u32::try_from(common).expect("a divisor of an element's bits fits");
        }
    }
    Ok(unit)
}

/// Returns the number of elements for which a tensor has room in memory, including its prefix, and
/// the number for which the prefix alone has room.
///
/// # Errors
///
/// Returns an error if the prefix is not a whole number of elements, or if the tensor takes more
/// elements than [`LIMIT`] or more than 2^63-1 bits.
pub(super) fn elements(
    operand: Operand,
    descriptor: &StrideDescriptor,
) -> Result<(u64, u64), NestError> {
    let (bytes, bits) = (descriptor.prefix_bytes(), descriptor.element_bits());
    let prefix = descriptor.prefix_elements().ok_or(NestError::Prefix { bytes, bits })?;
    let given = prefix.saturating_add(descriptor.physical_elements());
    let limit = LIMIT.min(i64::MAX.unsigned_abs() / u64::from(bits));
    if given > limit {
        return Err(NestError::TooLarge { operand, given, limit });
    }
    Ok((given, prefix))
}

/// Returns the source index that the window assigns to a destination index.
fn source_index(
    window: &Window,
    index: Coordinates<Index>,
) -> Result<Coordinates<Index>, NestError> {
    let dimensions = window.dimensions().iter().zip(index);
    dimensions
        .map(|(dimension, index)| {
            if dimension.extent() == 1 {
                // A dimension of extent 1 takes no step, so its step may be any number.
                return Ok(Index::constant(dimension.src_start()));
            }
            index
                .scaled(dimension.src_step(), signed(dimension.src_start()))
                .ok_or(NestError::PAST_LIMIT)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tensor, nest::LastRead, shape::ElementType, window::Slice};

    fn strided(size: u64, stride: i64, offset: u64) -> StrideDescriptor {
        StrideDescriptor::strided(ElementType::U8, 0, &[size], &[stride], offset).unwrap()
    }

    /// The layout in a refusal has the operation's extents and the memory of the refused layout.
    #[test]
    fn permuted_extents_name_the_layout_that_is_meant() {
        let refusal = |from: &str, to: &str| {
            let [from, to] = [from, to].map(|text| text.parse::<Tensor>().unwrap());
            let window = Window::identity(from.descriptor().sizes());
            build(from.descriptor(), to.descriptor(), &window).unwrap_err()
        };
        let meant = |from: &str, to: &str| match refusal(from, to) {
            NestError::Permuted { meant, .. } => meant,
            error => panic!("{error}"),
        };
        for (from, to, permutation) in [
            ("f32[37,53,4]", "f32[4,37,53]", &[2, 0, 1][..]),
            ("u8[37,53,4]", "bf16[53,4,37]{0,2,1}", &[1, 2, 0]),
            ("f32[2,1,3,5]{0,1,2,3}", "f32[5,1,2,3]{1,0,3,2}", &[3, 1, 0, 2]),
            ("f32[2,3]", "f32[3,2] strided<[2,1]>", &[1, 0]),
        ] {
            let text = meant(from, to).unwrap();
            let layout: Tensor = text.trim_matches('`').parse().unwrap();
            let refused: Tensor = to.parse().unwrap();
            let sizes = layout.descriptor().sizes();
            assert_eq!(sizes, from.parse::<Tensor>().unwrap().descriptor().sizes(), "{text}");
            let mut index = vec![0; sizes.len()];
            for number in 0..sizes.iter().product() {
                let mut rest: u64 = number;
                for (value, size) in index.iter_mut().zip(sizes) {
                    (*value, rest) = (rest % size, rest / size);
                }
                let permuted: Vec<u64> = permutation.iter().map(|&d: &usize| index[d]).collect();
                assert_eq!(
                    layout.descriptor().offset(&index),
                    refused.descriptor().offset(&permuted),
                    "{text} {index:?}"
                );
            }
        }
        for (from, to) in [
            ("f32[3,3,4]", "f32[4,3,3]"),
            ("f32[2,3]", "f32[3,2]{1,0:T(2,2)}"),
            ("f32[2,3]", "f32[3,2] strided<[4,1]>"),
            ("s4[2,4]", "s4[4,2]{1,0:E(4)}"),
        ] {
            assert_eq!(meant(from, to), None, "{from} to {to}");
        }
        let other = refusal("f32[2,3,3]", "f32[3,2,2]");
        assert_eq!(other, NestError::Extents { dimension: 0, given: 3, expected: 2 });
    }

    /// A window is valid only for the extents that it was made for. On a smaller source, it would
    /// read past the end of the memory, or before its start if a stride is negative.
    #[test]
    fn a_window_that_passes_the_source_is_refused() {
        let every_second = Slice::new([1], [8], [-2]);
        for (window, least) in [
            (Window::identity(&[5]), 5),
            (Window::slice(&[9], &every_second).unwrap(), 9),
            (Window::slice(&[6], &Slice::new([5], [1], [1])).unwrap(), 6),
        ] {
            let destination = strided(window.dimensions()[0].extent(), 1, 0);
            for source in [strided(4, 1, 0), strided(4, -1, 3), strided(4, 0, 0)] {
                assert_eq!(
                    build(&source, &destination, &window).unwrap_err(),
                    NestError::SourceExtent { dimension: 0, given: 4, expected: least }
                );
            }
            build(&strided(least, 1, 0), &destination, &window).unwrap();
        }
        let empty = Window::identity(&[0]);
        let nest = build(&strided(4, 1, 0), &strided(0, 1, 0), &empty).unwrap();
        assert_eq!(nest.last_read(), LastRead::Nothing);
    }
}
