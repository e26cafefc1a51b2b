//! The examples in the project's documentation, with their numbers.

use proptest::prelude::*;
use stridec::{
    request::{Operation, Tensor},
    schedule::{self, Target},
    shape::{ElementType, Layout, PaddingValue, Shape},
    stride::StrideDescriptor,
    window::Slice,
};

use super::support::oracle;

/// Runs an operation with elements of one byte on the host.
fn run(operation: &Operation, source: &[u8]) -> Vec<u8> {
    let bytes = usize::try_from(operation.destination_descriptor().image_bytes()).unwrap();
    let mut out = vec![0xa5; bytes];
    operation.run_on_host(source, &mut out).unwrap();
    out
}

fn relayout(from: &str, to: &str) -> Operation {
    Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap()
}

fn descriptor(text: &str) -> StrideDescriptor {
    text.parse::<Tensor>().unwrap().descriptor().clone()
}

fn strides(descriptor: &StrideDescriptor) -> Vec<i64> {
    descriptor.strides().map(|stride| stride.expect("no tile takes a dimension apart")).collect()
}

/// The rows `a b c` and `d e f` in both orders, with and without padding.
#[test]
fn two_by_three() {
    for (to, expected) in [
        ("u8[2,3]{0,1}", &b"adbecf"[..]),
        ("u8[2,3]{1,0}", b"abcdef"),
        ("u8[2,3]{0,1:PAD(3,5,zero)}", b"ad\0be\0cf\0\0\0\0\0\0\0"),
        ("u8[2,3]{0,1:PAD(3,5,one)}", b"ad\x01be\x01cf\x01\x01\x01\x01\x01\x01\x01"),
        ("u8[2,3]{0,1:PAD(3,5,highest)}", b"ad\xffbe\xffcf\xff\xff\xff\xff\xff\xff\xff"),
        ("u8[2,3]{0,1:PAD(3,5)}", b"ad\0be\0cf\0\0\0\0\0\0\0"),
        ("u8[2,3]{1,0:PAD(3,5,zero)}", b"abc\0\0def\0\0\0\0\0\0\0"),
    ] {
        assert_eq!(run(&relayout("u8[2,3]", to), b"abcdef"), expected, "{to}");
    }
    // In the other direction, the padding is not read.
    let back = relayout("u8[2,3]{0,1:PAD(3,5,zero)}", "u8[2,3]");
    assert_eq!(run(&back, b"ad?be?cf???????"), b"abcdef");
}

/// An array `DHW` of 2×2×3 has the strides 6, 3 and 1.
#[test]
fn two_by_two_by_three() {
    let dhw = descriptor("f32[2,2,3]");
    assert_eq!(strides(&dhw), [6, 3, 1]);
    assert_eq!(dhw.offset(&[1, 0, 1]), Ok(7));
    assert_eq!(dhw.index(7), Ok(Some(vec![1, 0, 1])));
}

/// A stride of 0 repeats one row of 3 as both rows of a 2×3 tensor.
#[test]
fn broadcast_over_rows() {
    let rows = descriptor("f32[2,3] strided<[0,1]>");
    assert_eq!((strides(&rows), rows.physical_elements()), (vec![0, 1], 3));
    assert_eq!(run(&relayout("u8[2,3] strided<[0,1]>", "u8[2,3]"), b"abc"), b"abcabc");
    assert!(!rows.is_packed());
    let error =
        Operation::relayout("u8[2,3]".parse().unwrap(), "u8[2,3] strided<[0,1]>".parse().unwrap());
    assert_eq!(
        error.unwrap_err().to_string(),
        "destination.strides[0]: expected a stride of at least 1 in dimension 0 of the destination, got 0, \
         which puts several elements in one place"
    );
}

/// Rows of 3 that are padded to 5, in a buffer of 10: `A B C x x D E F x x`.
#[test]
fn padded_rows() {
    let rows = descriptor("f32[2,3] strided<[5,1]>");
    assert_eq!((strides(&rows), rows.physical_elements()), (vec![5, 1], 8));
    assert!(!rows.is_packed());
    let padded = descriptor("f32[2,3]{1,0:PAD(2,5)}");
    assert_eq!(strides(&padded), [5, 1]);
    assert_eq!((padded.physical_elements(), padded.image_bytes()), (10, 40));
    assert_eq!(run(&relayout("u8[2,3]{1,0:PAD(2,5)}", "u8[2,3]"), b"ABCxxDEFxx"), b"ABCDEF");
    assert_eq!(run(&relayout("u8[2,3] strided<[5,1]>", "u8[2,3]"), b"ABCxxDEF"), b"ABCDEF");
    assert_eq!(run(&relayout("u8[2,3]", "u8[2,3] strided<[5,1]>"), b"ABCDEF"), b"ABC\0\0DEF");
}

/// The array {1,1,3,5} in NCHW and in NHWC.
#[test]
fn one_channel_image() {
    assert_eq!(strides(&descriptor("f32[1,1,3,5]{3,2,1,0}")), [15, 15, 5, 1]);
    assert_eq!(strides(&descriptor("f32[1,1,3,5]{1,3,2,0}")), [15, 1, 5, 1]);
}

/// SLICE1 on a 4×4 tensor with the numbers 1 … 16, from DirectML's documentation.
#[test]
fn slices_of_sixteen() {
    let sixteen: Vec<u8> = (1..=16).collect();
    let slice = |stride: i64, output_sizes| {
        let mut slice = Slice::new([0, 0, 0, 1], [1, 1, 4, 3], [1, 1, stride, 2]);
        slice.output_sizes = output_sizes;
        let source: Tensor = "u8[1,1,4,4]".parse().unwrap();
        let operation = Operation::slice(source, &slice, None).unwrap();
        (operation.destination_descriptor().sizes().to_vec(), run(&operation, &sixteen))
    };
    assert_eq!(slice(2, None), (vec![1, 1, 2, 2], vec![2, 4, 10, 12]));
    assert_eq!(slice(-2, None), (vec![1, 1, 2, 2], vec![14, 16, 6, 8]));
    // A smaller output has the first elements.
    assert_eq!(slice(-2, Some(vec![1, 1, 2, 1])), (vec![1, 1, 2, 1], vec![14, 6]));
    assert_eq!(slice(2, Some(vec![1, 1, 1, 2])), (vec![1, 1, 1, 2], vec![2, 4]));
}

/// A slice from one layout to another.
#[test]
fn a_slice_between_layouts() {
    let slice = Slice::new([0, 1], [4, 3], [2, 2]);
    // The 4×4 tensor with the numbers 1 … 16, stored by columns. The destination, `2 4 / 10 12`, is
    // stored by columns too, with rows padded to 3.
    let columns: Vec<u8> = (0..4).flat_map(|x| (0..4).map(move |y| 4 * y + x + 1)).collect();
    let operation = Operation::slice(
        "u8[4,4]{0,1}".parse().unwrap(),
        &slice,
        Some("u8[2,2]{0,1:PAD(3,2,highest)}".parse().unwrap()),
    );
    assert_eq!(run(&operation.unwrap(), &columns), [2, 10, 255, 4, 12, 255]);
}

/// The shape that the design document follows through every stage.
#[test]
fn nchw_to_nhwc() {
    let operation = relayout("f32[8,64,112,112]{3,2,1,0}", "f32[8,64,112,112]{1,3,2,0}");
    assert_eq!(strides(operation.source_descriptor()), [802_816, 12544, 112, 1]);
    assert_eq!(strides(operation.destination_descriptor()), [802_816, 1, 7168, 64]);
    let axes = operation.nest().axes().map(|axis| (axis.extent, axis.src_stride, axis.dst_stride));
    assert!(axes.eq([(8, 802_816, 802_816), (12544, 1, 64), (64, 12544, 1)]));
    let kernel = operation.compile(&Target::webgpu()).unwrap();
    assert_eq!(kernel.strategy, schedule::Strategy::Transpose);
    assert!(kernel.bindings.iter().all(|binding| binding.size_in_bytes == 25_690_112));
}

/// Figure 1 of XLA's "Tiled layout".
#[test]
fn tiles_of_two_by_two() {
    let tiled = descriptor("f32[3,5]{1,0:T(2,2)}");
    assert_eq!((tiled.offset(&[2, 3]), tiled.physical_elements()), (Ok(17), 24));
    let letters = b"abcdefghijklmno";
    let out = run(&relayout("u8[3,5]", "u8[3,5]{1,0:T(2,2)}"), letters);
    assert_eq!(out, b"abfgcdhie\0j\0kl\0\0mn\0\0o\0\0\0");
    assert_eq!(run(&relayout("u8[3,5]{1,0:T(2,2)}", "u8[3,5]"), &out), letters);
}

/// Two 4-bit elements share a byte, the first one in the low bits. Unpacking extends the sign of
/// `s4`.
#[test]
fn four_bit_elements() {
    let packed = run(&relayout("s4[4]", "s4[4]{0:E(4)}"), &[1, 2, 0xfd, 0xfc]);
    assert_eq!(packed, [0x21, 0xcd]);
    assert_eq!(run(&relayout("s4[4]{0:E(4)}", "s4[4]"), &packed), [1, 2, 0xfd, 0xfc]);
    assert_eq!(run(&relayout("u4[4]{0:E(4)}", "u4[4]"), &packed), [1, 2, 0x0d, 0x0c]);
}

/// Returns extents, an order of the dimensions, and padded extents for them.
fn padded_array() -> impl Strategy<Value = (Vec<u64>, Vec<usize>, Vec<u64>)> {
    prop::collection::vec((0_u64..6, 0_u64..4), 1..5).prop_flat_map(|dimensions| {
        let order: Vec<usize> = (0..dimensions.len()).collect();
        let (extents, more): (Vec<u64>, Vec<u64>) = dimensions.into_iter().unzip();
        let padded = extents.iter().zip(more).map(|(extent, more)| extent + more).collect();
        (Just(extents), Just(order).prop_shuffle(), Just(padded))
    })
}

proptest! {
    /// A padded layout has the same memory as the dense layout of the array that is padded by hand.
    #[test]
    fn padded_equals_padded_by_hand(
        (extents, order, padded) in padded_array(),
        value in prop::sample::select(vec![
            PaddingValue::Zero, PaddingValue::One, PaddingValue::Lowest, PaddingValue::Highest,
        ]),
        seed: u8,
    ) {
        let shape = |extents: &[u64], layout: Layout| -> Tensor {
            let shape = Shape::new(ElementType::S8, extents.iter().copied(), layout).unwrap();
            shape.try_into().unwrap()
        };
        let dense = |extents: &[u64]| shape(extents, Layout::default_for_rank(extents.len()));
        let count = usize::try_from(extents.iter().product::<u64>()).unwrap();
        let array: Vec<u8> = (0..count).map(|n| n.to_le_bytes()[0].wrapping_mul(7) ^ seed).collect();

        let layout = Layout::new(order.iter().copied()).padded(padded.iter().copied(), Some(value));
        let operation = Operation::relayout(dense(&extents), shape(&extents, layout)).unwrap();
        let by_layout = run(&operation, &array);

        // By hand: a larger array is filled with the value, and the elements are written to their
        // indices.
        let fill = match value {
            PaddingValue::One => 1,
            PaddingValue::Lowest => 0x80,
            PaddingValue::Highest => 0x7f,
            _ => 0,
        };
        let cells = usize::try_from(padded.iter().product::<u64>()).unwrap();
        let mut larger = vec![fill; cells];
        let mut from = array.iter();
        oracle::each_index(&extents, |index| {
            let place = index.iter().zip(&padded).fold(0, |place, (&at, &extent)| place * extent + at);
            larger[usize::try_from(place).unwrap()] = *from.next().unwrap();
        });
        let plain = shape(&padded, Layout::new(order.iter().copied()));
        let by_hand = run(&Operation::relayout(dense(&padded), plain).unwrap(), &larger);
        prop_assert_eq!(by_layout, by_hand);
    }
}
