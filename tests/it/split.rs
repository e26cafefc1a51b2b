//! If the parts of a copy are packed and run one by one, the result is equal to a run of the whole
//! copy.

use std::collections::BTreeMap;

use stridec::{
    Operation as Relayout, Tensor,
    hlo::Module,
    host,
    internals::{Inspect, LastRead, Part, Rows, SplitError, know_lookups, slabs, split},
    nest::{self, CopyNest},
    program::{ArrayBuffer, BufferId, Program},
    schedule::{Target, schedule},
    shape::Shape,
    stride::StrideDescriptor,
    window::{Slice, Window},
};

use super::support::{
    hlo_cases::{donated_cases, hlo_cases, scatter_rows_cases, stablehlo_cases},
    programs::{chains, generate},
    random::{self, Operation, Random},
    scope::cases,
};

/// Packs the buffers of a part bit by bit, as [`Rows`] describes. Bits that are never read are
/// random.
fn pack(part: &Part, images: &[&[u8]], random: &mut Random) -> Vec<Vec<u8>> {
    assert_eq!(part.sources.len(), part.nest.sources().len());
    let buffer = |(rows, source): (&Vec<Rows>, &nest::Source)| {
        let mut packed = random.bytes(source.bytes());
        for rows in rows {
            pack_rows(rows, images[rows.source], &mut packed);
        }
        packed
    };
    part.sources.iter().zip(part.nest.sources()).map(buffer).collect()
}

fn pack_rows(rows: &Rows, image: &[u8], packed: &mut [u8]) {
    for row in 0..rows.count() {
        for bit in 0..rows.bits {
            let from = rows.first_bit(row) + bit.cast_signed();
            let set = usize::try_from(from).ok().filter(|&from| from / 8 < image.len());
            if let Some(from) = set {
                let to = (rows.place + row * rows.pitch) * 8 + bit;
                put(packed, to, image[from / 8] >> (from % 8) & 1);
            }
        }
    }
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
fn run_into(out: &mut [u8], first: u64, nest: &CopyNest, images: &[&[u8]]) -> u64 {
    let mut run = vec![0x5a; usize::try_from(nest.dst_bytes()).unwrap()];
    host::run_sources(nest, images, &mut run).unwrap();
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
            let (part, _) = item.unwrap();
            let own = &part.nest;
            assert_eq!(part.destination_bit, end, "{nest}\n{own}");
            assert!(own.dst_bytes() <= bytes.max(64) && own.src_bytes() <= bytes.max(64), "{own}");
            check_reads(own);
            let packed = pack(&part, &[image], random);
            let packed: Vec<&[u8]> = packed.iter().map(Vec::as_slice).collect();
            end = run_into(&mut out, end, own, &packed);
            self.parts += 1;
            self.gathered += u64::from(part.sources.iter().flatten().any(|rows| rows.count() > 1));
            seen.insert(part.nest);
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
            end = run_into(&mut out, before, &slab, &[&image]);
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
            rows += part.sources.iter().flatten().map(Rows::count).sum::<u64>();
            packed += part.nest.src_bytes();
            forms.insert(part.nest);
        }
        assert_eq!([parts, forms.len() as u64, rows, packed], expected, "{from} to {to}");
    }
}

/// The numbers of steps of programs by the outcome of splitting them.
#[derive(Debug, Default)]
struct Steps {
    whole: u64,
    split: u64,
    scattered: u64,
    looked_up: u64,
    parts: u64,
    buffers: u64,
}

impl Steps {
    /// Runs a program step by step, and each step in parts of `bytes` bytes. Compares the contents
    /// of every buffer with those that the whole step writes.
    fn add(&mut self, program: &Program, images: &[&[u8]], bytes: u64, random: &mut Random) {
        let mut buffers: BTreeMap<BufferId, Vec<u8>> = BTreeMap::new();
        let parameters = images.iter().enumerate();
        buffers.extend(parameters.map(|(of, image)| (BufferId::Parameter(of), image.to_vec())));
        let constants = program.constants().iter().enumerate();
        buffers.extend(constants.map(|(of, bytes)| (BufferId::Constant(of), bytes.clone())));
        for step in program.steps() {
            let sources: Vec<&[u8]> =
                step.sources().iter().map(|source| buffers[source].as_slice()).collect();
            let before = random.bytes(step.nest().dst_bytes());
            let mut expected = before.clone();
            host::run_sources(step.nest(), &sources, &mut expected).unwrap();
            self.step(step.nest(), &sources, bytes, before, &expected, random);
            buffers.insert(step.destination(), expected);
        }
    }

    fn step(
        &mut self,
        nest: &CopyNest,
        sources: &[&[u8]],
        bytes: u64,
        mut out: Vec<u8>,
        expected: &[u8],
        random: &mut Random,
    ) {
        if nest.is_scattered() {
            self.scattered += 1;
            return;
        }
        let known = know_lookups(nest.clone(), sources);
        let target = Target::webgpu();
        let accept = |part: &CopyNest| schedule(part.clone(), &target).map(drop);
        let (mut parts, mut end) = (0, 0);
        for item in split(&known, bytes, accept) {
            let part = match item {
                Ok((part, ())) => part,
                Err(SplitError::TooWide { source }) => {
                    assert!(!known.lookups().is_empty() && source < sources.len(), "{known}");
                    self.looked_up += 1;
                    return;
                }
                Err(SplitError::Rejected(error)) => panic!("{error}\n{known}"),
            };
            let own = &part.nest;
            assert_eq!(part.destination_bit, end, "{nest}\n{own}");
            assert!(own.dst_bytes() <= bytes, "{own}");
            assert!(own.sources().iter().all(|source| source.bytes() <= bytes), "{own}");
            let packed = pack(&part, sources, random);
            let packed: Vec<&[u8]> = packed.iter().map(Vec::as_slice).collect();
            // A part of a nest that keeps gaps changes some bits of what is there.
            let length = usize::try_from(own.dst_bytes()).unwrap();
            let mut run = vec![0; length];
            let bits = own.dst_units() * u64::from(own.dst_bits());
            for bit in 0..bits {
                let from = usize::try_from(end + bit).unwrap();
                put(&mut run, bit, out[from / 8] >> (from % 8) & 1);
            }
            host::run_sources(own, &packed, &mut run).unwrap();
            for bit in 0..bits {
                put(&mut out, end + bit, run[usize::try_from(bit / 8).unwrap()] >> (bit % 8) & 1);
            }
            end += bits;
            parts += 1;
            self.buffers = self.buffers.max(packed.len() as u64);
        }
        let total = nest.dst_units() * u64::from(nest.dst_bits());
        assert_eq!(end, total);
        // The bits after packed elements in the last byte are as the whole step writes them.
        for bit in total..expected.len() as u64 * 8 {
            put(&mut out, bit, expected[usize::try_from(bit / 8).unwrap()] >> (bit % 8) & 1);
        }
        assert!(out == expected, "{nest}\nin parts of {bytes} bytes\n{out:?}\n{expected:?}");
        self.parts += parts;
        *(if parts > 1 { &mut self.split } else { &mut self.whole }) += 1;
    }
}

/// The steps of recorded programs: several sources, cases, quotients and lookups.
#[test]
fn parts_of_programs_are_the_programs() {
    let mut random = Random(15);
    let mut steps = Steps::default();
    let all = [hlo_cases(), stablehlo_cases(), scatter_rows_cases(), donated_cases()];
    for case in all.into_iter().flatten().filter(|case| case.is_ok()) {
        let module = case.module().unwrap();
        let Ok(program) = Program::lower(&module) else { continue };
        let images = case.inputs();
        if images.iter().map(Vec::len).sum::<usize>() > 1 << 16 {
            continue;
        }
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let largest = program.results().iter().map(ArrayBuffer::bytes).max().unwrap_or(0);
        let bytes = random.pick(&[64, 128, 256, 1024]).max(largest / 12).next_multiple_of(16);
        steps.add(&program, &images, bytes, &mut random);
        if let Ok(program) = Program::lower_in_place(&module)
            && !program.aliases().is_empty()
        {
            steps.add(&program, &images, bytes, &mut random);
        }
    }
    println!("{steps:?}");
    assert!(steps.split > 700 && steps.buffers >= 3, "{steps:?}");
    assert!(steps.looked_up * 4 < steps.split, "{steps:?}");
}

/// The start of a slice is looked up in two arrays in a row, at an index that is looked up too.
#[test]
fn parts_of_slices_whose_starts_are_looked_up_twice() {
    let text = "ENTRY e {
        a = s32[2] parameter(0)
        b = s32[3] parameter(1)
        k = s32[] parameter(2)
        x = f32[90] parameter(3)
        ids = s32[5] concatenate(a, b), dimensions={0}
        one = s32[1] dynamic-slice(ids, k), dynamic_slice_sizes={1}
        at = s32[] reshape(one)
        ROOT r = f32[40] dynamic-slice(x, at), dynamic_slice_sizes={40}
    }";
    let program = Program::lower(&Module::parse(text).unwrap()).unwrap();
    let (mut random, mut steps) = (Random(17), Steps::default());
    let x = random.bytes(360);
    let bytes = |numbers: &[i32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    for k in [-1, 0, 1, 2, 3, 4, 5, 1 << 20] {
        let [a, b, k] = [bytes(&[7, 50]), bytes(&[0, 33, -4]), bytes(&[k])];
        steps.add(&program, &[&a, &b, &k, &x], 64, &mut random);
    }
    assert!(steps.split >= 8 && steps.looked_up == 0, "{steps:?}");
}

#[test]
fn parts_of_random_programs_are_the_programs() {
    let mut steps = Steps::default();
    for seed in 0..cases(400) {
        let mut random = Random((seed << 32) + 16);
        let module = if random.one_in(2) {
            let limits =
                chains::Limits { elements: 3_000, steps: 8, only_shapes: random.one_in(3) };
            chains::chain(&mut random, limits).module
        } else {
            generate::module(&mut random)
        };
        let images = generate::images(&mut random, &module);
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let Ok(program) = Program::lower(&module) else { continue };
        let largest = program.results().iter().map(ArrayBuffer::bytes).max().unwrap_or(0);
        let bytes = random.pick(&[64, 128, 256, 1024]).max(largest / 12).next_multiple_of(16);
        steps.add(&program, &images, bytes, &mut random);
    }
    println!("{steps:?}");
    assert!(steps.split > steps.whole / 4 && steps.split * 8 > cases(400), "{steps:?}");
}

/// A part of a program reads at most about twice the bytes that it needs, whatever its cases are.
/// These are the numbers of parts, and of the bytes that all parts together read.
#[test]
fn parts_of_programs_are_few_and_packed_tightly() {
    let concatenation = "x = u8[64,256] parameter(0) y = u8[64,256] parameter(1) ROOT r = u8[64,512] concatenate(x, y), dimensions={1}";
    let turned = "x = u8[256,64] parameter(0) t = u8[64,256] transpose(x), dimensions={1,0} y = u8[64,256] parameter(1) ROOT r = u8[128,256] concatenate(t, y), dimensions={0}";
    let chosen = "m = pred[128,256] parameter(0) x = u8[128,256] parameter(1) y = u8[128,256] parameter(2) ROOT r = u8[128,256] select(m, x, y)";
    let padded = "x = u8[100,200] parameter(0) z = u8[] constant(7) ROOT r = u8[128,256] pad(x, z), padding=14_14x28_28";
    let started = "x = u8[256,256] parameter(0) i = s32[] parameter(1) j = s32[] parameter(2) ROOT r = u8[128,128] dynamic-slice(x, i, j), dynamic_slice_sizes={128,128}";
    let expected = [
        (concatenation, [16, 36_864]),
        (turned, [24, 32_768]),
        (chosen, [16, 98_304]),
        (padded, [16, 20_000]),
        (started, [8, 31_744]),
    ];
    let given = expected.map(|(text, _)| {
        let module =
            stridec::hlo::Module::parse(&format!("ENTRY e {{ {} }}", text.replace(") ", ")\n")))
                .unwrap();
        let program = Program::lower(&module).unwrap();
        let images: Vec<Vec<u8>> = program
            .parameters()
            .iter()
            .map(|of| vec![1; usize::try_from(of.bytes()).unwrap()])
            .collect();
        let [step] = program.steps() else { panic!("{text}") };
        let sources: Vec<&[u8]> = step
            .sources()
            .iter()
            .map(|source| match source {
                BufferId::Parameter(number) => images[*number].as_slice(),
                other => panic!("{other}"),
            })
            .collect();
        let (mut parts, mut read) = (0, 0);
        for part in split(&know_lookups(step.nest().clone(), &sources), 4096, |_| Ok::<_, ()>(())) {
            let (part, ()) = part.unwrap();
            parts += 1;
            read += part.nest.sources().iter().map(nest::Source::bytes).sum::<u64>();
        }
        (text, [parts, read])
    });
    assert_eq!(given, expected);
}
