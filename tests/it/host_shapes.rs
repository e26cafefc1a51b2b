//! The host against the oracle, on extents around the lengths of registers: every width from 1 to
//! 70, few channels, steps in both directions, and boxes that guards cut at any place.

use rayon::prelude::*;
use stridec::{
    Operation, Tensor, host,
    shape::{ElementType, Layout, PaddingValue, Shape},
    window::Slice,
};

use super::support::{oracle, scope::long_cases};

/// Types of 1, 2, 4 and 8 bytes.
const TYPES: [ElementType; 4] =
    [ElementType::U8, ElementType::Bf16, ElementType::F32, ElementType::F64];

const WIDTHS: std::ops::RangeInclusive<u64> = 1..=70;

#[test]
fn few_channels_to_pixels_and_back() {
    WIDTHS.into_par_iter().for_each(|width| {
        for element_type in TYPES {
            for channels in long_cases(2..=17) {
                for height in [1, 2, 5] {
                    let planes = [channels, height, width];
                    relayout(element_type, &planes, Layout::new([2, 1, 0]), Layout::new([0, 2, 1]));
                    let pixels = [height, width, channels];
                    relayout(element_type, &pixels, Layout::new([2, 1, 0]), Layout::new([1, 0, 2]));
                }
            }
        }
    });
}

/// Rows that are so long that selections repeat, and rows longer than a tile.
#[test]
fn long_rows_of_channels() {
    (1..=17_u64).into_par_iter().for_each(|channels| {
        for element_type in TYPES {
            for width in long_cases([127, 341, 1365, 2731, 4099]) {
                let planes = [channels, width];
                relayout(element_type, &planes, Layout::new([1, 0]), Layout::new([0, 1]));
                relayout(
                    element_type,
                    &[width, channels],
                    Layout::new([1, 0]),
                    Layout::new([0, 1]),
                );
            }
        }
    });
}

#[test]
fn matrices_of_every_width() {
    WIDTHS.into_par_iter().for_each(|width| {
        for element_type in TYPES {
            for height in long_cases([1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 70]) {
                let layouts = (Layout::new([1, 0]), Layout::new([0, 1]));
                relayout(element_type, &[height, width], layouts.0, layouts.1);
            }
        }
    });
}

/// Slices `x[.., a::n]` with rows forwards and backwards, of elements and of pixels.
#[test]
fn steps_in_both_directions() {
    WIDTHS.into_par_iter().for_each(|count| {
        for element_type in TYPES {
            for step in (-5..=5_i64).filter(|&step| step != 0) {
                for first in [0, 1] {
                    let width = first + count * step.unsigned_abs();
                    let rows = (&[3, width][..], &[0, first][..], &[3, width - first][..]);
                    slice(element_type, rows.0, rows.1, rows.2, &[1, step]);
                    slice(element_type, rows.0, rows.1, rows.2, &[-2, step]);
                    let pixels = [2, width, 3];
                    slice(
                        element_type,
                        &pixels,
                        &[0, first, 0],
                        &[2, width - first, 3],
                        &[1, step, 1],
                    );
                }
            }
        }
    });
}

/// Padding and tiles on either side cut the rows at any place.
#[test]
fn rows_that_guards_cut() {
    WIDTHS.into_par_iter().for_each(|width| {
        for element_type in TYPES {
            for channels in long_cases([2, 3, 4, 7]) {
                for more in [1, 5] {
                    let padded = |order: [usize; 3], sizes: [u64; 3]| {
                        let grown: Vec<u64> = sizes.iter().map(|n| n + more).collect();
                        Layout::new(order).padded(grown, Some(PaddingValue::One))
                    };
                    let sizes = [channels, 3, width];
                    let plain = || Layout::new([2, 1, 0]);
                    relayout(element_type, &sizes, plain(), padded([0, 2, 1], sizes));
                    relayout(
                        element_type,
                        &sizes,
                        padded([2, 1, 0], sizes),
                        Layout::new([0, 2, 1]),
                    );
                    let sizes = [3, width, channels];
                    relayout(element_type, &sizes, plain(), padded([1, 0, 2], sizes));
                    relayout(
                        element_type,
                        &sizes,
                        padded([2, 1, 0], sizes),
                        Layout::new([1, 0, 2]),
                    );
                }
            }
            for height in [5, 24, 61] {
                for (from, to) in [
                    ("{1,0}", "{1,0:T(8,128)(2,1)}"),
                    ("{1,0:T(8,16)}", "{1,0}"),
                    ("{1,0:T(8,16)(2,1)}", "{0,1:T(8,16)(2,1)}"),
                    ("{1,0:T(6,10)}", "{1,0:T(4,8)}"),
                    ("{1,0:T(32,16)(4,1)}", "{1,0:T(8,16)(4,1)}"),
                ] {
                    relayout(
                        element_type,
                        &[height, width],
                        from.parse().unwrap(),
                        to.parse().unwrap(),
                    );
                }
            }
            // Transposed rows of nested tiles that do not divide the extents. Boxes of two rows and
            // boxes of four rows alternate.
            for from in ["{1,0:T(8,128)(2,1)}", "{1,0:T(32,128)(4,1)}"] {
                let (from, to) = (from.parse().unwrap(), Layout::new([0, 1]));
                relayout(element_type, &[197, width], from, to);
            }
        }
    });
}

/// Tiles of 4 by 1 inside 32 by 128 and tiles of 3 by 10 line up again after 96 rows. This period
/// has many boxes, which are found only once.
/// Slices of units below a byte, mirrored along each axis, to every order. Rows then lie backwards
/// in the source, and tiles at the ends are smaller than the others.
#[test]
fn mirrored_units_below_a_byte() {
    let orders = ["2,1,0", "2,0,1", "1,2,0", "1,0,2", "0,2,1", "0,1,2"];
    for sizes in [[120, 14, 20], [64, 9, 130], [200, 64, 40]] {
        (0..8_u32).into_par_iter().for_each(|mirrored| {
            let step = |axis: u32| if mirrored >> axis & 1 == 1 { -1 } else { 1 };
            let strides: Vec<i64> = (0..3).map(step).collect();
            let slice = Slice::new(vec![0; 3], sizes.to_vec(), strides);
            for (element, bits) in [("s4", 4), ("u1", 1)] {
                for order in long_cases(orders) {
                    let [from, to] = ["2,1,0", order].map(|order| {
                        let [a, b, c] = sizes;
                        let text = format!("{element}[{a},{b},{c}]{{{order}:E({bits})}}");
                        text.parse::<Shape>().unwrap().try_into().unwrap()
                    });
                    check(&Operation::slice(from, &slice, Some(to)).unwrap(), None);
                }
            }
        });
    }
}

#[test]
fn boxes_of_long_periods_are_found_once() {
    let [from, to] = ["{1,0:T(32,128)(4,1)}", "{1,0:T(3,10)}"];
    relayout(ElementType::S8, &[485, 384], from.parse().unwrap(), to.parse().unwrap());
    let [from, to] = [from, to].map(|layout| format!("s8[28519,384]{layout}").parse().unwrap());
    let plan = host::plan(Operation::relayout(from, to).unwrap().nest(), 1);
    assert!(plan.contains(", 297 times"), "{plan}");
}

fn relayout(element_type: ElementType, sizes: &[u64], from: Layout, to: Layout) {
    let shape = |layout| Shape::new(element_type, sizes.iter().copied(), Some(layout)).unwrap();
    let (source, destination) = (shape(from), shape(to));
    let operation =
        Operation::relayout(source.try_into().unwrap(), destination.clone().try_into().unwrap());
    check(&operation.unwrap(), Some(&destination));
}

fn slice(element_type: ElementType, sizes: &[u64], offsets: &[u64], of: &[u64], steps: &[i64]) {
    let slice = Slice::new(offsets.to_vec(), of.to_vec(), steps.to_vec());
    let source = Tensor::dense(element_type, sizes.iter().copied()).unwrap();
    check(&Operation::slice(source, &slice, None).unwrap(), None);
}

/// Runs an operation on the host and in the oracle.
fn check(operation: &Operation, padded: Option<&Shape>) {
    // The bytes differ from their neighbours and from the bytes a few rows later.
    let image: Vec<u8> = (0..operation.source_descriptor().image_bytes())
        .map(|byte| (byte.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).to_le_bytes()[0])
        .collect();
    let mut out =
        vec![0xa5; usize::try_from(operation.destination_descriptor().image_bytes()).unwrap()];
    operation.run_on_host(&image, &mut out).unwrap();
    let (from, to) = (operation.source_descriptor(), operation.destination_descriptor());
    let expected = oracle::run(from, to, operation.window(), &image, padded);
    let wrong = out.iter().zip(&expected).position(|(a, b)| a != b);
    assert!(wrong.is_none(), "{}: byte {wrong:?}\n{}", operation.title(), operation.nest());
}
