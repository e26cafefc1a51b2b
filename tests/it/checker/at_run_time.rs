//! Kernels with extents at run time. For all values of the extents, each word of the items is
//! written exactly once and no other word is, and the result is equal to that of the oracle.

use naga::front::wgsl;
use rayon::prelude::*;
use stridec::{
    Kernel, Operation, Target,
    nest::Gaps,
    schedule::AdapterKind,
    shape::{ElementType, Layout, Shape},
};

use super::{
    check::{each, entry_point},
    interpret::{Buffer, Interpreter, Place},
    support::{
        oracle,
        random::Random,
        scope::{UNITS, cases},
    },
    targets,
};

/// Runs a kernel on sources and a destination of any number of words, with the given contents of
/// the uniform and the dispatch for `dispatched`. Returns the destination, with the number of
/// writes to each word.
fn run(
    kernel: &Kernel,
    uniform: [u32; 4],
    dispatched: Option<&[u64]>,
    source: &[u32],
    destination: &[u32],
) -> Buffer {
    let module = wgsl::parse_str(&kernel.wgsl).unwrap();
    let buffers = [source, destination].map(|words| Buffer::new(words.to_vec()));
    let mut interpreter = Interpreter::new(&module, entry_point(kernel, &module), buffers, ());
    interpreter.keeps = kernel.gaps == Gaps::Keep;
    interpreter.uniform = uniform;
    let extents = kernel.extents.as_ref().unwrap();
    let groups = match dispatched {
        Some(given) => extents.dispatch(given).unwrap().workgroups,
        None => kernel.dispatches[0].workgroups,
    };
    let size = kernel.workgroup_size;
    for group in each(groups) {
        for local in each(size) {
            let place = Place { group, local, size, groups };
            if let Err(fault) = interpreter.invoke(&place) {
                panic!("workgroup {group:?}, {local:?}: {fault}\n{}", kernel.wgsl);
            }
        }
    }
    interpreter.buffers.pop().unwrap()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// Returns a random shape of the given extents: any order of the dimensions, often with a tile.
fn shape(random: &mut Random, unit: ElementType, extents: &[u64], order: &[usize]) -> Shape {
    let mut layout = Layout::new(order.iter().copied());
    layout = match random.below(3) {
        0 => layout.tiled([random.pick(&[2_u64, 4])]),
        1 => layout.tiled([random.pick(&[2_u64, 4]), random.pick(&[2, 8])]),
        _ => layout,
    };
    if random.one_in(2) {
        layout = layout.element_size(unit.bits().unwrap().into());
    }
    Shape::new(unit, extents.iter().copied(), layout).unwrap()
}

/// Makes an operation whose first dimensions are the outermost of both sides, in any order.
fn operation(random: &mut Random) -> (Operation, Vec<usize>) {
    let unit = random.pick(&UNITS);
    let (outer, inner) = (1 + random.below(3), 1 + random.below(3));
    let rank = usize::try_from(outer + inner).unwrap();
    let outer = usize::try_from(outer).unwrap();
    let extents: Vec<u64> = (0..rank)
        .map(|dimension| if dimension < outer { 1 + random.below(4) } else { 1 + random.below(9) })
        .collect();
    let [source, destination] = [(); 2].map(|()| {
        let inner = random.permutation(rank - outer).into_iter().map(|dimension| dimension + outer);
        let order: Vec<usize> = inner.chain(random.permutation(outer)).collect();
        shape(random, unit, &extents, &order)
    });
    let [source, destination] = [source, destination].map(|of| of.try_into().unwrap());
    let operation = Operation::relayout(source, destination).unwrap();
    let operation = if random.one_in(4) { operation.with_gaps(Gaps::Keep) } else { operation };
    let count = 1 + usize::try_from(random.below(outer as u64)).unwrap();
    let mut dimensions = random.permutation(outer);
    dimensions.truncate(count);
    (operation, dimensions)
}

#[test]
fn random_kernels_at_all_extents() {
    let cases = cases(1_500);
    let ran = (0..cases).into_par_iter().filter(|&seed| judge(seed)).count() as u64;
    eprintln!("{ran} kernels of {cases}");
    assert!(ran * 4 >= cases, "{ran} of {cases}");
}

/// Judges one random kernel. Returns false if the operation is refused.
fn judge(seed: u64) -> bool {
    let mut random = Random((seed << 32) + 71);
    let (operation, dimensions) = operation(&mut random);
    let title = operation.title().to_owned();
    let at_run_time = match operation.at_run_time(&dimensions) {
        Ok(at_run_time) => at_run_time,
        Err(error) => {
            assert_eq!(error.kind(), stridec::ErrorKind::Unsupported, "{title}: {error}");
            return false;
        }
    };
    let mut target = targets()[usize::try_from(random.below(3)).unwrap()].clone();
    target.max_compute_workgroups_per_dimension = random.pick(&[3, 200, 65_535]);
    if target.kind == AdapterKind::Cpu && random.one_in(2) {
        target = Target::webgpu_cpu();
    }
    let Ok(kernel) = at_run_time.compile(&target) else { return false };
    assert_eq!(Kernel::decode(&kernel.encode().unwrap()).unwrap(), kernel);
    let of = kernel.extents.as_ref().unwrap();
    let most: Vec<u64> = of.loops.arguments().map(|(_, most)| most).collect();
    let every = most.iter().map(|most| most + 1).product::<u64>();
    for number in 0..every {
        let mut rest = number;
        let extents: Vec<u64> = most
            .iter()
            .map(|most| {
                let extent = rest % (most + 1);
                rest /= most + 1;
                extent
            })
            .collect();
        let exact = at_run_time.with_extents(&extents).unwrap();
        let [source_bytes, destination_bytes] = of.image_bytes(&extents).unwrap();
        assert_eq!(exact.source_descriptor().image_bytes(), source_bytes);
        assert_eq!(exact.destination_descriptor().image_bytes(), destination_bytes);
        let image = random.bytes(source_bytes);
        let before = random.bytes(destination_bytes);
        let (source, destination) = (exact.source_descriptor(), exact.destination_descriptor());
        let mut expected = before.clone();
        match kernel.gaps {
            Gaps::Keep => {
                oracle::keep(source, destination, exact.window(), &image, &mut expected);
            }
            Gaps::Fill => {
                expected = oracle::run(source, destination, exact.window(), &image, None);
            }
        }
        let mut uniform = [0; 4];
        let contents = of.loops.uniform(&extents).unwrap();
        for (word, bytes) in uniform.iter_mut().zip(contents.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        // Buffers for more items than the extents describe keep the rest of their contents.
        let more =
            if random.one_in(2) { 4 * usize::try_from(random.below(40)).unwrap() } else { 0 };
        let long = |bytes: &[u8]| words(&[bytes, &vec![0xdb; more][..]].concat());
        let dispatched = if random.one_in(2) { Some(&extents[..]) } else { None };
        let out = run(&kernel, uniform, dispatched, &long(&image), &long(&before));
        assert_eq!(out.words, long(&expected), "{title} at {extents:?}\n{}", kernel.wgsl);
        let written = words(&expected).len();
        if kernel.gaps == Gaps::Fill {
            assert!(out.writes[..written].iter().all(|times| *times == 1), "{title}");
        }
        assert!(out.writes[written..].iter().all(|times| *times == 0), "{title}");
    }
    // If the uniform describes more items than a buffer has, nothing is written.
    if most.iter().product::<u64>() > 1 {
        let [source, destination] = of.image_bytes(&most).unwrap();
        let [source_item, destination_item] = [of.source_item_bytes, of.destination_item_bytes];
        let short = random.one_in(2);
        let source = if short { source - source_item } else { source };
        let destination = if short { destination } else { destination - destination_item };
        let image = |bytes: u64| vec![7; usize::try_from(bytes / 4).unwrap()];
        let out = run(&kernel, [u32::MAX; 4], None, &image(source), &image(destination));
        assert!(out.writes.iter().all(|times| *times == 0), "{title}");
    }
    true
}
