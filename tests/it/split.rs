//! If the parts of a copy are packed and run one by one, the result is equal to a run of the whole
//! copy.

use stridec::{
    Operation as Relayout, Tensor, host,
    internals::{Inspect, LastRead, Part, Rows, slabs, split},
    nest::{self, CopyNest},
    schedule::{Target, schedule},
    shape::Shape,
    stride::StrideDescriptor,
    window::{Slice, Window},
};

use super::support::{
    random::{self, Operation, Random},
    scope::cases,
};

/// Packs the rows bit by bit, as [`Rows`] describes. Bits that are never read are random.
fn pack(rows: &Rows, image: &[u8], random: &mut Random) -> Vec<u8> {
    let mut packed = random.bytes(rows.count() * rows.pitch);
    for row in 0..rows.count() {
        for bit in 0..rows.bits {
            let from = rows.first_bit(row) + bit.cast_signed();
            let set = usize::try_from(from).ok().filter(|&from| from / 8 < image.len());
            if let Some(from) = set {
                put(&mut packed, row * rows.pitch * 8 + bit, image[from / 8] >> (from % 8) & 1);
            }
        }
    }
    packed
}

fn put(image: &mut [u8], bit: u64, value: u8) {
    let (byte, bit) = (usize::try_from(bit / 8).unwrap(), bit % 8);
    image[byte] = image[byte] & !(1 << bit) | value << bit;
}

/// Checks that every iteration of a part reads inside the bounds of its nest, on which the proof of
/// the kernel relies.
fn check_reads(part: &CopyNest) {
    let base = part.dst_base().unsigned_abs();
    for position in base..base + part.dst_units() {
        if let Some(unit) = part.read(position).unit() {
            let LastRead::Unit(last) = part.last_read() else {
                panic!("{position}: {unit}\n{part}")
            };
            assert!(unit <= last, "{position}: {unit}\n{part}");
        }
    }
    match part.last_read() {
        LastRead::Nothing => {}
        LastRead::Unit(last) => assert!(last < part.src_units(), "{part}"),
        LastRead::Unknown => panic!("lowering made it: {part}"),
    }
    assert!(part.src_units() * u64::from(part.src_bits()) <= part.src_bytes() * 8, "{part}");
}

/// A copy, the bytes of its source, and the result of the host.
struct Case {
    nest: CopyNest,
    image: Vec<u8>,
    expected: Vec<u8>,
}

impl Case {
    fn of(nest: CopyNest, random: &mut Random) -> Self {
        let image = random.bytes(nest.src_bytes());
        let mut expected = vec![0x5a; usize::try_from(nest.dst_bytes()).unwrap()];
        host::run(&nest, &image, &mut expected).unwrap();
        Self { nest, image, expected }
    }
}

fn random_case(random: &mut Random) -> Case {
    loop {
        let Operation { source, destination, window, .. } = random::operation(random);
        let Ok(nest) = nest::lower(&source, &destination, &window) else { continue };
        return Case::of(nest, random);
    }
}

/// Runs a nest on the host and writes its bits to `out`, starting at bit `first`. Returns the end
/// of these bits.
fn run_into(out: &mut [u8], first: u64, nest: &CopyNest, image: &[u8]) -> u64 {
    let mut run = vec![0x5a; usize::try_from(nest.dst_bytes()).unwrap()];
    host::run(nest, image, &mut run).unwrap();
    let bits = nest.dst_units() * u64::from(nest.dst_bits());
    for bit in 0..bits {
        put(out, first + bit, run[usize::try_from(bit / 8).unwrap()] >> (bit % 8) & 1);
    }
    first + bits
}

/// The totals over several cases.
#[derive(Default)]
struct Totals {
    parts: u64,
    gathered: u64,
    forms: u64,
}

impl Totals {
    /// Runs the parts of a case. Parts of more than `most` units are refused, as the limits of a
    /// device would refuse them.
    fn add(&mut self, case: &Case, bytes: u64, most: u64, random: &mut Random) {
        let Case { nest, image, expected } = case;
        let target = Target::webgpu();
        let accept = |part: &CopyNest| {
            if part.dst_units() > most {
                return Err("too many".to_owned());
            }
            schedule(part.clone(), &target).map_err(|error| error.to_string())
        };
        let mut out = vec![0xa5; expected.len()];
        let mut end = 0;
        let mut seen = std::collections::HashSet::new();
        for item in split(nest, bytes, accept) {
            let (Part { nest: own, rows, destination_bit }, _) = item.unwrap();
            assert_eq!(destination_bit, end, "{nest}\n{own}");
            assert!(own.dst_bytes() <= bytes.max(64) && own.src_bytes() <= bytes.max(64), "{own}");
            check_reads(&own);
            let packed = pack(&rows, image, random);
            end = run_into(&mut out, end, &own, &packed);
            self.parts += 1;
            self.gathered += u64::from(rows.count() > 1);
            seen.insert(own);
        }
        self.forms += seen.len() as u64;
        // The bits after packed elements in the last byte are zeros.
        let total = nest.dst_units() * u64::from(nest.dst_bits());
        assert_eq!(end, total);
        (total..expected.len() as u64 * 8).for_each(|bit| put(&mut out, bit, 0));
        assert!(out == *expected, "{nest}\n{out:?}\n{expected:?}");
    }
}

#[test]
fn parts_are_the_copy() {
    let (mut random, cases) = (Random(11), cases(3_000));
    let mut totals = Totals::default();
    for _ in 0..cases {
        let case = random_case(&mut random);
        let bytes = random.pick(&[0, 64, 100, 128, 256, 600, 2000]);
        let most = random.pick(&[1, 7, 100, u64::MAX, u64::MAX]);
        totals.add(&case, bytes, most, &mut random);
    }
    let Totals { parts, gathered, forms } = totals;
    let counts = format!("{cases} cases: {parts} parts, {gathered} gathered, {forms} forms");
    assert!(parts * 3 > cases * 100 && gathered > cases / 3 && forms < parts / 3, "{counts}");
}

/// Rows that are walked backwards, and the start of a slice.
#[test]
fn parts_of_reversed_slices() {
    let mut random = Random(13);
    let tensor = |text: &str| StrideDescriptor::try_from(&text.parse::<Shape>().unwrap()).unwrap();
    for source in ["u8[40,60]", "u8[40,60]{0,1}", "u8[40,60]{1,0:T(4,8)}"] {
        for strides in [[1, -1], [-1, 1], [-1, -1], [-2, -3], [3, -2]] {
            let slice = Slice::new([2, 5], [37, 51], strides);
            let window = Window::slice(&[40, 60], &slice).unwrap();
            let extents: Vec<u64> = window.sizes().collect();
            let destination = tensor(&format!("u8[{},{}]", extents[0], extents[1]));
            let nest = nest::lower(&tensor(source), &destination, &window).unwrap();
            let case = Case::of(nest, &mut random);
            for bytes in [64, 600] {
                Totals::default().add(&case, bytes, u64::MAX, &mut random);
            }
        }
    }
}

/// The loops start one stride before the first element. Iterations before the start of the
/// destination are left out.
#[test]
fn parts_after_a_long_start() {
    let nest = |to: &str| {
        let from = &to[..to.find(' ').unwrap()];
        let operation = Relayout::relayout(from.parse().unwrap(), to.parse().unwrap());
        operation.unwrap().nest().clone()
    };
    let mut random = Random(14);
    for to in [
        "u8[3] strided<[1000], offset: 1>",
        "u8[3] strided<[1000], offset: 999>",
        "u8[3] strided<[1000], offset: 1000>",
        "u8[3] strided<[64], offset: 3>",
        "u8[3,2,2] strided<[4096,8,1], offset: 1>",
        "u8[3,2,2] strided<[4096,8,1], offset: 2047>",
    ] {
        let case = Case::of(nest(to), &mut random);
        Totals::default().add(&case, 64, u64::MAX, &mut random);
    }
    let far = nest("u8[3] strided<[36028797018963968], offset: 1>");
    let first = split(&far, 64, |_| Ok::<_, ()>(())).next().unwrap().unwrap();
    assert_eq!(first.0.destination_bit, 0);
}

#[test]
fn slabs_are_the_copy() {
    let (mut random, cases) = (Random(12), cases(1_000));
    let mut count = 0;
    for _ in 0..cases {
        let Case { nest, image, expected } = random_case(&mut random);
        let bytes = random.pick(&[64, 100, 600, 2000]);
        let mut out = vec![0; expected.len()];
        let mut end = 0;
        for (slab, before) in slabs(&nest, bytes) {
            assert!(before == end && slab.dst_bytes() <= bytes, "{nest}\n{slab}");
            end = run_into(&mut out, before, &slab, &image);
            count += 1;
        }
        assert_eq!(end, nest.dst_units() * u64::from(nest.dst_bits()));
        assert!(out == expected, "{nest}\n{out:?}\n{expected:?}");
    }
    assert!(count > cases * 10, "{count} of {cases} cases");
}

/// The choice of cuts and of packed rows affects only speed. These are the numbers of parts, of
/// different nests, of rows, and of packed bytes.
#[test]
fn parts_are_few_and_packed_tightly() {
    for (from, to, bytes, expected) in [
        ("u8[512,384]", "u8[512,384]{0,1}", 4096, [96, 1, 49_152, 196_608]),
        ("u8[300,7]", "u8[300,7]{0,1}", 1000, [21, 3, 21, 14_672]),
        ("f32[64,48,20]", "f32[64,48,20]{0,2,1}", 2048, [240, 1, 15_360, 245_760]),
        ("bf16[64,256]{1,0:T(8,128)(2,1)}", "bf16[64,256]", 4096, [16, 1, 16, 49_152]),
        ("f32[500] strided<[16], offset: 3>", "f32[500]", 512, [8, 2, 500, 2000]),
        ("f32[500] strided<[-16], offset: 8000>", "f32[500]", 512, [8, 2, 500, 2000]),
        ("u8[100,3] strided<[64,1], offset: 2>", "u8[100,3]", 128, [6, 2, 100, 400]),
        ("u8[100,3] strided<[5,1]>", "u8[100,3]", 128, [6, 2, 6, 512]),
        ("u8[40,60] strided<[70,1]>", "u8[40,60]", 1000, [5, 1, 5, 2800]),
        ("u8[40,64] strided<[70,1]>", "u8[40,64]", 1000, [10, 1, 10, 2880]),
        ("s4[33,70]{1,0:E(4)}", "s4[33,70]{0,1:E(4)}", 256, [17, 2, 561, 2244]),
        ("c128[20,30]{0,1:PAD(24,32,one)}", "c128[20,30]", 2000, [10, 1, 300, 9600]),
    ] {
        let [source, destination] = [from, to].map(|text| text.parse::<Tensor>().unwrap());
        let operation = Relayout::relayout(source, destination).unwrap();
        let (mut parts, mut rows, mut packed) = (0, 0, 0);
        let mut forms = std::collections::HashSet::new();
        for part in split(operation.nest(), bytes, |_| Ok::<_, ()>(())) {
            let (part, ()) = part.unwrap();
            parts += 1;
            rows += part.rows.count();
            packed += part.rows.count() * part.rows.pitch;
            forms.insert(part.nest);
        }
        assert_eq!([parts, forms.len() as u64, rows, packed], expected, "{from} to {to}");
    }
}
