//! The host on tensors that are large enough for its blocks, non-temporal stores and threads. The
//! result is compared with the definition of the nest, element by element.

use stridec::{
    host,
    internals::Inspect,
    nest::{self, CopyNest, PositionValue},
    shape::{ElementType, Layout, PaddingValue, Shape},
    stride::StrideDescriptor,
    window::Window,
};

use super::support::{
    random::{self, Random},
    scope::{UNITS, cases},
};

/// Returns the bytes that the nest writes, computed with [`CopyNest::read`] alone.
fn meaning(nest: &CopyNest, source: &[u8]) -> Vec<u8> {
    let bits = |n: u64, width: u32| usize::try_from(n * u64::from(width)).unwrap();
    let mut out = vec![0; bits(nest.dst_units(), nest.dst_bits()).div_ceil(8)];
    let sign = nest.src_bits() - 1;
    for unit in 0..nest.dst_units() {
        let value = match nest.read(unit + nest.dst_base().unsigned_abs()) {
            PositionValue::Unit { unit: from, .. } => {
                let first = bits(from, nest.src_bits());
                let get = |bit: usize| source[(first + bit) / 8] >> ((first + bit) % 8) & 1;
                if nest.src_bits() >= 8 {
                    let mut bytes = [0; 16];
                    let length = nest.src_bits() as usize / 8;
                    bytes[..length].copy_from_slice(&source[first / 8..first / 8 + length]);
                    let negative = nest.sign_extend() && bytes[length - 1] > 127;
                    bytes[length..].fill(if negative { 255 } else { 0 });
                    u128::from_le_bytes(bytes)
                } else {
                    let low =
                        (0..nest.src_bits() as usize).fold(0, |v, b| v | u128::from(get(b)) << b);
                    let negative = nest.sign_extend() && low >> sign & 1 == 1;
                    if negative { low | u128::MAX << nest.src_bits() } else { low }
                }
            }
            PositionValue::Bits(bits) => bits,
            PositionValue::Kept => panic!("the nest fills its gaps"),
        };
        let first = bits(unit, nest.dst_bits());
        if nest.dst_bits() >= 8 {
            let length = nest.dst_bits() as usize / 8;
            out[first / 8..first / 8 + length].copy_from_slice(&value.to_le_bytes()[..length]);
        } else {
            let mask = (1_u128 << nest.dst_bits()) - 1;
            out[first / 8] |= ((value & mask) << (first % 8)).to_le_bytes()[0];
        }
    }
    out
}

/// Runs a nest on one, two and three threads.
fn check(nest: &CopyNest, source: &[u8], what: &str) {
    let expected = meaning(nest, source);
    for threads in 1..4 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut out = vec![0xa5; expected.len()];
        pool.install(|| host::run(nest, source, &mut out)).unwrap();
        let wrong = out.iter().zip(&expected).position(|(a, b)| a != b);
        assert!(wrong.is_none(), "{what}: byte {wrong:?} on {threads} threads\n{nest}");
    }
}

/// Transposes matrices of packed elements whose rows begin at whole bytes, and others whose rows do
/// not, so that the work of threads is divided along either axis.
#[test]
fn packed_matrices_are_divided_between_bytes() {
    for (from, to) in [
        ("u4[7,160004]{0,1}", "u4[7,160004]{1,0:E(4)}"),
        ("u2[7,300001]{0,1:E(2)}", "u2[7,300001]{1,0:E(2)}"),
        ("s4[31,47116]{0,1:E(4)}", "s4[31,47116]{1,0:E(4)}"),
        ("s4[256,4295]{0,1}", "s4[256,4295]{1,0:E(4)}"),
        ("u1[129,24008]{0,1:E(1)}", "u1[129,24008]{1,0:E(1)}"),
        ("s4[5,40,3002]{0,1,2}", "s4[5,40,3002]{2,0,1:E(4)}"),
    ] {
        let shapes = [from, to].map(|text| text.parse::<Shape>().unwrap());
        let [source, destination] =
            shapes.each_ref().map(|of| StrideDescriptor::try_from(of).unwrap());
        let sizes = shapes[0].dimensions().iter().map(|of| of.bound().unwrap());
        let window = Window::identity(&sizes.collect::<Vec<_>>());
        let nest = nest::lower(&source, &destination, &window).unwrap();
        check(&nest, &Random(7).bytes(nest.src_bytes()), from);
    }
}

/// Returns a layout for these sizes: a permutation, sometimes with padding, a tile or packed
/// elements.
fn layout(random: &mut Random, element_type: ElementType, sizes: &[u64]) -> Layout {
    let layout = Layout::new(random.permutation(sizes.len()));
    match random.below(6) {
        0 => {
            let padded: Vec<u64> = sizes.iter().map(|&n| n + random.below(9)).collect();
            let value = random.pick(&[PaddingValue::Zero, PaddingValue::Lowest]);
            layout.padded(padded, Some(value).filter(|_| element_type != ElementType::C128))
        }
        1 => {
            let mut tiled = layout;
            for _ in 0..=random.below(2) {
                let rank = 1 + random.below(2);
                let tile: Vec<u64> = (0..rank).map(|_| random.pick(&[2, 4, 8, 12, 128])).collect();
                tiled = tiled.tiled(
                    tile.into_iter().map(stridec::shape::TileDimension::Size).collect::<Vec<_>>(),
                );
            }
            tiled
        }
        2 if element_type.bits().is_some_and(|bits| bits < 8 && bits != 6) => {
            let mut packed = layout;
            packed.element_size_in_bits = element_type.bits().unwrap().into();
            packed
        }
        _ => layout,
    }
}

#[test]
fn random_relayouts() {
    let mut random = Random(7);
    for (case, &element_type) in (0..cases(60)).zip(UNITS.iter().cycle()) {
        let rank = usize::try_from(1 + random.below(5)).unwrap();
        let mut sizes = vec![1; rank];
        while sizes.iter().product::<u64>() < 2_000 {
            for size in &mut sizes {
                *size = 1 + random.below([80_000, 300, 70, 30, 15][rank - 1]);
            }
        }
        let side = |random: &mut Random, sizes: &[u64]| {
            let layout = layout(random, element_type, sizes);
            Shape::new(element_type, sizes.iter().copied(), layout).unwrap()
        };
        let source = side(&mut random, &sizes);
        let window = if random.one_in(3) {
            Window::slice(&sizes, &random::slice(&mut random, &sizes)).unwrap()
        } else {
            Window::identity(&sizes)
        };
        let out: Vec<u64> = window.sizes().collect();
        let destination = side(&mut random, &out);
        let what = format!("{case}: {source:?} to {destination:?}");
        let source = StrideDescriptor::try_from(&source).unwrap();
        let destination = StrideDescriptor::try_from(&destination).unwrap();
        let nest = nest::lower(&source, &destination, &window).unwrap();
        check(&nest, &random.bytes(source.image_bytes()), &what);
    }
}

/// Transposes with sizes around the sizes of squares, tiles and blocks, which are large enough for
/// non-temporal stores.
#[test]
fn transposes_with_remainders() {
    let mut random = Random(11);
    for element_type in
        [ElementType::S4, ElementType::U8, ElementType::Bf16, ElementType::F32, ElementType::F64]
    {
        for sizes in [[1, 3, 700], [17, 31, 16], [33, 2, 65], [5, 129, 127], [70, 70, 70]] {
            for minor_to_major in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1]] {
                let side = |minor_to_major: [usize; 3]| {
                    let layout = Layout::new(minor_to_major);
                    let shape = Shape::new(element_type, sizes, layout).unwrap();
                    StrideDescriptor::try_from(&shape).unwrap()
                };
                let (source, destination) = (side([2, 1, 0]), side(minor_to_major));
                let nest = nest::lower(&source, &destination, &Window::identity(&sizes)).unwrap();
                let what = format!("{element_type:?} {sizes:?} {minor_to_major:?}");
                check(&nest, &random.bytes(source.image_bytes()), &what);
            }
        }
    }
}
