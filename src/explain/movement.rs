//! Finds the source of each element of a destination. It is computed by the nest that the kernel
//! runs, so that pictures agree with the kernel.

use super::Movement;
use crate::stride::StrideDescriptor;

/// Returns the offset in the source from which the element at offset `place` of the destination is
/// copied. Returns `None` if the destination has padding or zero there.
///
/// A nest may copy several elements or a part of one at a time, so offsets are converted to bits
/// and back.
pub(super) fn origin(
    source: &StrideDescriptor,
    movement: &Movement<'_>,
    place: u64,
) -> Option<u64> {
    let nest = movement.nest;
    let destination = movement.destination.descriptor;
    let bit = destination.prefix_bytes() * 8 + place * u64::from(destination.element_bits());
    let (unit, within) = (bit / u64::from(nest.dst_bits()), bit % u64::from(nest.dst_bits()));
    let position = i64::try_from(unit).ok()? - nest.dst_base();
    let position = u64::try_from(position).ok().filter(|&position| position < nest.positions())?;
    let read = nest.read(position).unit()?;
    let bit = read * u64::from(nest.src_bits()) + within;
    Some((bit - source.prefix_bytes() * 8) / u64::from(source.element_bits()))
}

/// An element that a picture follows: its offset in the destination, and its offset in the source.
pub(super) type Move = (u64, u64);

/// The maximum number of elements of an operation for which every element is followed.
const ALL_FOLLOWED: u64 = 12;
/// The number of elements that are followed in an operation with more elements.
const FIRST_FOLLOWED: usize = 8;

/// Returns the elements that a picture follows, in the memory order of the destination: all
/// elements if there are only a few, and otherwise the first ones.
pub(super) fn followed(source: &StrideDescriptor, movement: &Movement<'_>) -> Vec<Move> {
    let few = movement.destination.descriptor.elements() <= ALL_FOLLOWED;
    run(source, movement, if few { usize::MAX } else { FIRST_FOLLOWED })
}

/// Returns up to `count` elements that are copied, in the memory order of the destination.
fn run(source: &StrideDescriptor, movement: &Movement<'_>, count: usize) -> Vec<Move> {
    let places = movement.destination.descriptor.physical_elements();
    // Give up after this many places, because they may all be padding.
    (0..places.min(1 << 16))
        .filter_map(|place| Some((place, origin(source, movement, place)?)))
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        explain::Side,
        nest,
        request::Operation,
        window::{Slice, Window},
    };

    /// Checks that the nest and the window give the same source, however many elements the nest
    /// copies at a time.
    #[test]
    fn origins_are_those_of_the_window() {
        let pairs = [
            ("f32[4,6]{1,0}", "f32[4,6]{0,1}"),
            ("u8[4,16]{1,0}", "u8[4,16]{1,0:T(2,8)}"),
            ("f32[2,3]{1,0}", "f32[2,3]{0,1:PAD(3,5,one)}"),
            ("s4[3,5]{1,0}", "s4[3,5]{0,1:E(4)}"),
            ("f64[3,5]{1,0}", "f64[3,5]{1,0:T(2,2)M(4)}"),
        ];
        for (from, to) in pairs {
            let operation =
                Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap();
            check(&operation);
        }
        let slice = Slice::new([1, 0], [4, 6], [-2, 3]);
        check(&Operation::slice("f32[6,7]".parse().unwrap(), &slice, None).unwrap());
    }

    fn check(operation: &Operation) {
        let (source, descriptor) =
            (operation.source_descriptor(), operation.destination_descriptor());
        let movement = Movement {
            destination: Side { notation: "", descriptor },
            window: operation.window(),
            nest: operation.nest(),
        };
        for place in 0..descriptor.physical_elements() {
            let index = descriptor.index(place).unwrap();
            let expected = index
                .and_then(|index| operation.window().source_index(&index))
                .map(|index| source.offset(&index).unwrap());
            assert_eq!(origin(source, &movement, place), expected, "{} {place}", operation.title());
        }
        let count = usize::try_from(descriptor.elements()).unwrap();
        assert_eq!(run(source, &movement, 1000).len(), count);
    }

    /// Checks that a 3 × 3 slice is followed completely.
    #[test]
    fn a_few_elements_are_all_followed() {
        for (sizes, expected) in [([3, 3], 9), ([3, 4], 12), ([3, 5], FIRST_FOLLOWED)] {
            let slice = Slice::new([1, 0], sizes, [1, 1]);
            let operation = Operation::slice("f32[6,7]".parse().unwrap(), &slice, None).unwrap();
            let count = operation.draw(|picture| {
                followed(picture.layout.descriptor, picture.movement.as_ref().unwrap()).len()
            });
            assert_eq!(count, expected, "{sizes:?}");
        }
    }

    #[test]
    fn a_nest_that_nobody_coalesced_answers_too() {
        let [source, descriptor] = ["f32[4,6]{1,0}", "f32[4,6]{0,1}"].map(|text| {
            StrideDescriptor::try_from(&text.parse::<crate::shape::Shape>().unwrap()).unwrap()
        });
        let window = Window::identity(source.sizes());
        let nest = nest::build(&source, &descriptor, &window).unwrap();
        let destination = Side { notation: "", descriptor: &descriptor };
        let movement = Movement { destination, window: &window, nest: &nest };
        assert_eq!(run(&source, &movement, 3), [(0, 0), (1, 6), (2, 12)]);
    }
}
