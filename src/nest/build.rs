//! The first pass, [`build`]: from two descriptors and a window to a nest.

use std::borrow::Cow;

use smallvec::{SmallVec, smallvec};

use super::{
    Affine, Case, CopyNest, Guard, LastRead, NestError, Operand, Take,
    bounds::check_range,
    numbers::{LIMIT, gcd, signed},
    walk::{Unfilled, Walk, walk},
};
use crate::{
    stride::{Coordinates, StrideDescriptor},
    window::Window,
};

/// Builds the nest of an operation: the destination's walk, undone to an index, through the window, to the source.
///
/// Nothing is simplified here: there is an axis for each dimension of the destination's memory, and a quotient for each
/// tile of the source.
///
/// # Errors
///
/// Where the types or extents of the two sides do not fit the window, or the destination's strides do not nest.
pub fn build(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
) -> Result<CopyNest, NestError> {
    check(source, destination, window)?;
    // An M(n) prefix that is no whole number of elements: move parts of elements instead.
    let parts = source.element_bits() / unit_bits(source, destination)?;
    let (mut source, mut destination) = (Cow::Borrowed(source), Cow::Borrowed(destination));
    let mut window = Cow::Borrowed(window);
    if parts > 1 {
        source = Cow::Owned(source.split_elements(parts));
        destination = Cow::Owned(destination.split_elements(parts));
        window = Cow::Owned(window.with_inner_dimension(parts.into()));
    }
    let (src_elements, src_prefix) = elements(Operand::Source(0), &source)?;
    let (dst_elements, dst_prefix) = elements(Operand::Destination, &destination)?;

    let mut walk = walk(&destination, dst_prefix + destination.base_offset(), dst_elements)?;
    let mut src = Affine::default();
    if ![&source, &destination].iter().any(|side| side.sizes().contains(&0)) {
        let first = src_prefix + source.base_offset();
        src = source_index(&window, &mut walk)
            .and_then(|index| source_offset(&source, index, &mut walk))
            .and_then(|src| src.checked_plus(1, &Affine::constant(signed(first))))
            .ok_or(NestError::Reach { operand: Operand::Source(0), limit: LIMIT })?;
    }
    let nest = CopyNest {
        extents: walk.extents,
        quotients: walk.quotients,
        cases: cases(&walk.guards, src, destination.padding()),
        dst_base: walk.dst_base,
        src_units: src_elements,
        last_read: match last_read(&source, &window) {
            Some(last) => LastRead::Unit(src_prefix + last),
            None => LastRead::Nothing,
        },
        dst_units: dst_elements,
        src_bytes: source.image_bytes(),
        dst_bytes: destination.image_bytes(),
        src_bits: source.element_bits(),
        dst_bits: destination.element_bits(),
        sign_extend: source.element_type().is_signed_integer(),
    };
    check_range(&nest)?;
    Ok(nest)
}

/// The decision list: where all guards hold a position reads, where those against gaps hold it takes the fill.
fn cases(guards: &[(Guard, Unfilled)], src: Affine, fill: u128) -> SmallVec<[Case; 2]> {
    let all = guards.iter().map(|(guard, _)| guard.clone()).collect();
    let mut cases = smallvec![Case { when: all, take: Take::Read(src) }];
    if fill != 0 && guards.iter().any(|(_, otherwise)| *otherwise == Unfilled::Padding) {
        let gaps = guards.iter().filter(|(_, otherwise)| *otherwise == Unfilled::Gap);
        let when = gaps.map(|(guard, _)| guard.clone()).collect();
        cases.push(Case { when, take: Take::Bits(fill) });
    }
    cases
}

/// Types, ranks and extents agree.
fn check(
    source: &StrideDescriptor,
    destination: &StrideDescriptor,
    window: &Window,
) -> Result<(), NestError> {
    if source.element_type() != destination.element_type() {
        return Err(NestError::ElementTypes {
            source_type: source.element_type(),
            destination_type: destination.element_type(),
        });
    }
    for (operand, given, expected) in [
        (Operand::Source(0), source.rank(), window.src_rank()),
        (Operand::Destination, destination.rank(), window.dimensions().len()),
    ] {
        if given != expected {
            return Err(NestError::Ranks { operand, given, expected });
        }
    }
    for (dimension, (expected, &given)) in window.sizes().zip(destination.sizes()).enumerate() {
        if given != expected {
            return Err(NestError::Extents { dimension, given, expected });
        }
    }
    Ok(())
}

/// Bits of what the nest moves: an element, or the widest part of one that the prefixes are a whole number of.
fn unit_bits(source: &StrideDescriptor, destination: &StrideDescriptor) -> Result<u32, NestError> {
    let mut unit = source.element_bits();
    for side in [source, destination] {
        let (bytes, bits) = (side.prefix_bytes(), side.element_bits());
        if !(bytes * 8).is_multiple_of(bits.into()) {
            let uniform = source.element_bits() == destination.element_bits();
            if !uniform || destination.padding() != 0 {
                return Err(NestError::Prefix { bytes, bits });
            }
            let common = gcd(i64::from(unit), signed(bytes % 16 * 8));
            unit = u32::try_from(common).expect("a divisor of an element's bits fits");
        }
    }
    Ok(unit)
}

/// Elements of an image and of its prefix.
fn elements(operand: Operand, descriptor: &StrideDescriptor) -> Result<(u64, u64), NestError> {
    let prefix = descriptor.prefix_bytes() * 8 / u64::from(descriptor.element_bits());
    let given = prefix + descriptor.physical_elements();
    if given > LIMIT {
        return Err(NestError::TooLarge { operand, given, limit: LIMIT });
    }
    Ok((given, prefix))
}

/// The source index that a position takes; `None` where a number passes 2^63-1.
fn source_index(window: &Window, walk: &mut Walk) -> Option<Coordinates<Affine>> {
    let mut index: Coordinates<Affine> = smallvec![Affine::default(); window.src_rank()];
    for (number, dimension) in window.dimensions().iter().enumerate() {
        let past =
            walk.index[number].clone().plus(-1, &Affine::constant(signed(dimension.dst_start)));
        let covered = match dimension.count.checked_sub(1) {
            None => 0,
            Some(steps) => steps * dimension.dst_step + 1,
        };
        if covered < dimension.extent {
            walk.guard(past.clone(), covered, Unfilled::Padding);
        }
        let step = walk.quotient(&past, dimension.dst_step);
        if dimension.dst_step > 1 {
            let rest = past.plus(-signed(dimension.dst_step), &step);
            walk.guard(rest, 1, Unfilled::Padding);
        }
        if let Some(src_dim) = dimension.src_dim {
            index[src_dim] = Affine::constant(signed(dimension.src_start));
            if dimension.count > 1 {
                index[src_dim] = index[src_dim].clone().checked_plus(dimension.src_step, &step)?;
            }
        }
    }
    Some(index)
}

/// The offset of a source index: its steps, then its strides; `None` where a number passes 2^63-1.
fn source_offset(
    source: &StrideDescriptor,
    mut values: Coordinates<Affine>,
    walk: &mut Walk,
) -> Option<Affine> {
    source.forward(walk, &mut values).ok()?;
    source
        .axes()
        .iter()
        .filter(|axis| source.extents()[axis.coordinate] > 1)
        .try_fold(Affine::default(), |src, axis| {
            src.checked_plus(axis.stride, &values[axis.coordinate])
        })
}

/// The last element that the window reads, by interval arithmetic over the source's coordinates; `None` where it reads
/// none.
///
/// Guards keep every position that reads at an index of the window, so that each coordinate stays in its interval.
fn last_read(source: &StrideDescriptor, window: &Window) -> Option<u64> {
    if source.sizes().contains(&0)
        || window.dimensions().iter().any(|dimension| dimension.count == 0)
    {
        return None;
    }
    let mut spans: Coordinates<(u64, u64)> = smallvec![(0, 0); window.src_rank()];
    for dimension in window.dimensions() {
        if let Some(src_dim) = dimension.src_dim {
            let walked = dimension.src_step.unsigned_abs().saturating_mul(dimension.count - 1);
            let first = dimension.src_start;
            spans[src_dim] = if dimension.src_step < 0 {
                (first.saturating_sub(walked), first)
            } else {
                (first, first.saturating_add(walked))
            };
        }
    }
    let spans = source.intervals(spans);
    let walked: i64 = source
        .axes()
        .iter()
        .map(|axis| {
            let (low, high) = spans[axis.coordinate];
            (axis.stride * signed(low)).max(axis.stride * signed(high))
        })
        .sum();
    source.base_offset().checked_add_signed(walked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host, shape::Shape, window::WindowDimension, xla::index_util::bump_indices};

    fn small(n: u64) -> usize {
        usize::try_from(n).unwrap()
    }

    fn at(of: &StrideDescriptor, index: &[u64]) -> usize {
        small(of.offset(index).unwrap())
    }

    /// No operation leaves indices out, the form can: before, between and after those that take a source index.
    #[test]
    fn windows_that_leave_indices_out() {
        let dimension = |extent, count, src_dim, src: (u64, i64), dst: (u64, u64)| {
            let ((src_start, src_step), (dst_start, dst_step)) = (src, dst);
            WindowDimension { extent, count, src_dim, src_start, src_step, dst_start, dst_step }
        };
        let whole = dimension(5, 5, Some(1), (0, 1), (0, 1));
        for first in [
            dimension(7, 4, Some(0), (0, 1), (0, 1)),
            dimension(7, 4, Some(0), (0, 1), (2, 1)),
            dimension(7, 4, Some(0), (0, 1), (0, 2)),
            dimension(9, 3, Some(0), (1, 1), (1, 3)),
            dimension(9, 2, Some(0), (3, -2), (2, 4)),
            dimension(6, 1, Some(0), (2, 1), (3, 1)),
            dimension(6, 3, None, (0, 1), (1, 2)),
            dimension(6, 0, Some(0), (0, 1), (0, 1)),
            dimension(6, 0, None, (0, 1), (2, 3)),
        ] {
            for (src_layout, dst_layout) in [
                ("", "{1,0}"),
                ("{0,1}", "{1,0}"),
                ("{1,0:T(2,4)}", "{0,1:PAD(10,6,one)}"),
                ("", "{1,0:T(3,2)}"),
            ] {
                let window = Window::of(2, &[first, whole]);
                let [source, destination] =
                    [(4, src_layout), (first.extent, dst_layout)].map(|(extent, layout)| {
                        let shape: Shape = format!("u8[{extent},5]{layout}").parse().unwrap();
                        StrideDescriptor::try_from(&shape).unwrap()
                    });
                let image: Vec<u8> = (2..).take(small(source.image_bytes())).collect();
                let mut given = vec![0xa5; small(destination.image_bytes())];
                let nest = build(&source, &destination, &window).unwrap();
                host::run(&nest, &image, &mut given).unwrap();

                let mut index = [0, 0];
                loop {
                    let expected = match window.source_index(&index) {
                        Some(taken) => image[at(&source, &taken)],
                        None => destination.padding().to_le_bytes()[0],
                    };
                    let place = at(&destination, &index);
                    assert_eq!(
                        given[place], expected,
                        "{first:?} {src_layout} {dst_layout} {index:?}"
                    );
                    if !bump_indices(destination.sizes(), &mut index) {
                        break;
                    }
                }
            }
        }
    }
}
