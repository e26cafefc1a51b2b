//! Checks kernels by their text alone: naga parses the text, and an interpreter runs every
//! invocation.
//!
//! The checker tests for each kernel that
//!
//! - all accesses stay within the bindings and the proof;
//! - a number that is divided, compared or used as an index is in the range of `u32`;
//! - all loops end at their bounds;
//! - the dispatch is within the target's limits;
//! - every word of the destination is written exactly once;
//! - the words are equal to the result of the oracle, which moves elements one by one.
//!
//! It shares no code with lowering. It has only the text of the kernel, and the numbers that a
//! runtime gets with it.

mod arithmetic;
mod at_run_time;
mod check;
mod conversions;
#[allow(unreachable_pub)]
#[path = "../../../benches/paper/fuse.rs"]
mod fuse;
#[allow(unreachable_pub)]
#[path = "../../../benches/paper/instructions.rs"]
mod instructions;
mod interpret;
mod kept;
#[allow(dead_code, unreachable_pub, clippy::cast_precision_loss)] // benches/paper runs whole kernels on it
#[path = "../../../benches/paper/machine.rs"]
mod machine;
mod mutants;
mod paper;
mod programs;
mod several;
mod tables;
mod value;
#[allow(unreachable_pub)]
#[path = "../../../benches/paper/warp.rs"]
mod warp;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};

use super::support::{
    self, oracle,
    random::{self, Operation, Random, Side},
    scope::{UNITS, cases, long_cases, permutations},
};
use check::{Seen, check};
use rayon::prelude::*;
use stridec::{
    Kernel, Target,
    internals::{block_of_schedule, in_rounds},
    nest,
    schedule::{AdapterKind, candidates, schedule},
    shape::{ElementType, Layout, PaddingValue, Shape, StridedShape},
    stride::StrideDescriptor,
    wgsl,
    window::{Slice, Window},
};
use value::Fault;

/// Returns targets for both kinds of adapter, and one so small that dispatches use y and z.
fn targets() -> [Target; 3] {
    let mut small = Target::webgpu();
    "small".clone_into(&mut small.name);
    small.max_compute_workgroups_per_dimension = 3;
    small.max_compute_invocations_per_workgroup = 32;
    [Target::webgpu(), Target::webgpu_cpu(), small]
}

/// A kernel, the bytes of its source, and the result of the oracle.
struct Case {
    kernel: Kernel,
    image: Vec<u8>,
    expected: Vec<u8>,
}

/// Compiles an operation, with the chosen candidate or with any other. Returns `None` if the
/// operation is refused or nothing is dispatched.
fn case(random: &mut Random, operation: &Operation, target: &Target) -> Option<Case> {
    let Operation { source, destination, window, .. } = operation;
    let nest = nest::lower(source, destination, window).ok()?;
    let schedule = if random.one_in(2) {
        schedule(nest, target)
    } else {
        let mut all = candidates(nest, target);
        let one = all.swap_remove(usize::try_from(random.below(all.len() as u64)).unwrap());
        let rounds = [1, 2, 3, 16][usize::try_from(random.below(4)).unwrap()];
        if target.kind == AdapterKind::Cpu { in_rounds(one, rounds) } else { one }.schedule(target)
    };
    let schedule = schedule.ok()?;
    let kernel = wgsl::emit(&schedule, target, &[]);
    if kernel.dispatches.is_empty() {
        assert_eq!(kernel.destination_bytes, 0);
        return None;
    }
    let proof = kernel.proof().expect("a kernel comes with its proof");
    let comment: Vec<&str> =
        kernel.wgsl.lines().filter_map(|line| line.strip_prefix("//")).map(str::trim).collect();
    assert!(comment.join(" ").contains(&proof.to_string()), "{}", kernel.wgsl);
    let image = random.bytes(source.image_bytes());
    let expected = oracle::run(source, destination, window, &image, operation.destination_shape());
    Some(Case { kernel, image, expected })
}

fn judge(case: &Case, target: &Target) -> Result<Seen, Fault> {
    let proof = case.kernel.proof().expect("a kernel comes with its proof");
    check(&case.kernel, proof, target, &[&case.image], &case.expected)
}

/// The totals of several runs.
#[derive(Default)]
struct Tally {
    kernels: AtomicU64,
    invocations: AtomicU64,
    tight: AtomicU64,
}

impl Tally {
    /// Checks the kernels of an operation for every target.
    fn judge_all(&self, random: &mut Random, operation: &Operation) {
        for target in targets() {
            let Some(case) = case(random, operation, &target) else { continue };
            match judge(&case, &target) {
                Err(fault) => panic!("{fault}\n{operation:#?}\n{}", case.kernel.wgsl),
                Ok(Seen { is_tight, invocations }) => {
                    self.kernels.fetch_add(1, Ordering::Relaxed);
                    self.invocations.fetch_add(invocations, Ordering::Relaxed);
                    self.tight.fetch_add(is_tight.into(), Ordering::Relaxed);
                }
            }
        }
    }

    /// Prints the totals. Proofs are upper bounds; in four kernels of five, the last word that the
    /// proof allows is read.
    fn finish(self, least: u64) {
        let (kernels, tight) = (self.kernels.into_inner(), self.tight.into_inner());
        let invocations = self.invocations.into_inner();
        eprintln!("{kernels} kernels, {invocations} invocations; {tight} proofs are exact");
        assert!(kernels >= least && tight * 5 >= kernels * 4, "{kernels}, {tight}");
    }
}

#[test]
fn random_kernels_keep_their_proofs() {
    let (cases, tally) = (cases(2_500), Tally::default());
    (0..cases).into_par_iter().for_each(|seed| {
        let mut random = Random((seed << 32) + 11);
        let makes = [random::operation, random::relayout, random::runs];
        let make = makes[usize::try_from(seed % 3).unwrap()];
        let operation = make(&mut random);
        tally.judge_all(&mut random, &operation);
    });
    tally.finish(cases * 5 / 2);
}

/// Padded dimensions with tiles. The padding value also fills the padding of the tiles.
#[test]
fn tiles_of_padded_dimensions() {
    let (cases, tally) = (cases(400), Tally::default());
    (0..cases).into_par_iter().for_each(|seed| {
        let mut random = Random((seed << 32) + 12);
        let operation = random::padded_tiles(&mut random);
        tally.judge_all(&mut random, &operation);
    });
    assert!(tally.kernels.into_inner() >= cases * 2);
}

/// Strides of 2, 3 and 13 leave gaps, in which the offset in the source would be negative. The
/// kernel must not divide it there.
#[test]
fn no_quotient_is_taken_in_gaps() {
    let source: Shape = "u8[7,6,7,6]{2,3,0,1:T(2,6)}".parse().unwrap();
    let (extents, sizes, strides) = ([7, 6, 7, 6], [1, 2, 4, 3], [12, 2, 3, 13]);
    let element_type = ElementType::U8;
    let strided = StridedShape::new(element_type, sizes, strides, 0, 0).unwrap();
    let destination = StrideDescriptor::strided(element_type, 0, &sizes, &strides, 0).unwrap();
    let (mut random, tally) = (Random(1), Tally::default());
    for offsets in (0..7 * 2 * 4 * 2).map(|n| [n % 7, n / 7 % 2, n / 14 % 4, n / 56]) {
        let slice = Slice::new(offsets, [1, 5, 4, 5], [2, -4, -1, 2]);
        tally.judge_all(
            &mut random,
            &Operation {
                source: (&source).try_into().unwrap(),
                destination: destination.clone(),
                source_side: Side::Shape(Box::new(source.clone())),
                destination_side: Side::Strided(strided.clone()),
                window: Window::slice(&extents, &slice).unwrap(),
            },
        );
    }
    assert_eq!(tally.kernels.into_inner(), 3 * 7 * 2 * 4 * 2);
}

/// Returns the copy of a window from one shape to another.
fn of_shapes(source: &Shape, destination: &Shape, window: Window) -> Operation {
    Operation {
        source: source.try_into().unwrap(),
        destination: destination.try_into().unwrap(),
        source_side: Side::Shape(Box::new(source.clone())),
        destination_side: Side::Shape(Box::new(destination.clone())),
        window,
    }
}

/// Columns of 22 bytes start inside words, and blocks of 16 columns include padding.
#[test]
fn columns_inside_words_with_padding() {
    let source: Shape = "u8[24,66]".parse().unwrap();
    let destination: Shape = "u8[22,62]{0,1:PAD(22,64,zero)}".parse().unwrap();
    let window = Window::slice(&[24, 66], &Slice::new([2, 1], [22, 62], [1, 1])).unwrap();
    let (mut random, tally) = (Random(1), Tally::default());
    for _ in 0..40 {
        tally.judge_all(&mut random, &of_shapes(&source, &destination, window.clone()));
    }
    assert_eq!(tally.kernels.into_inner(), 3 * 40);
}

/// Rows with many patches of blocks. The last patch extends past the end of the row.
#[test]
fn patches_that_pass_the_end_of_a_row() {
    let (cases, tally) = (cases(12), Tally::default());
    let shapes =
        [("f32", 263, 21), ("f16", 527, 35), ("u8", 1055, 67), ("f64", 267, 9), ("c128", 271, 5)];
    for (seed, (unit, rows, columns)) in (0..).zip(shapes) {
        let (mut random, text) = (Random(seed), format!("{unit}[{rows},{columns}]"));
        let source: Shape = text.parse().unwrap();
        let destination: Shape = format!("{text}{{0,1}}").parse().unwrap();
        for _ in 0..cases {
            let window = Window::identity(&[rows, columns]);
            tally.judge_all(&mut random, &of_shapes(&source, &destination, window));
        }
    }
    // Some candidates need more workgroups than the small target can dispatch.
    assert!(tally.kernels.into_inner() > 2 * 5 * cases);
}

/// A GPU on which only the lines and bytes of memory cost, so that blocks are wide.
fn with_free_accesses() -> Target {
    let mut target = Target::webgpu();
    let model = &mut target.model;
    (model.access, model.line, model.byte, model.spill) = (0, 4000, 280, 0);
    target
}

/// Large copies on a GPU. An invocation copies 8 times 16 bytes of a row, or two blocks of 4 by 4
/// elements.
#[test]
fn several_blocks_an_invocation() {
    for (extents, from, to, rows, width) in long_cases([
        ("f32[8,64,64,64]", "", "{3,1,2,0}", 1, 8),
        ("f32[8,64,64,64]", "", "{1,3,2,0}", 4, 8),
        // Elements are contiguous neither in the source nor in the destination. They are moved in
        // blocks, and not gathered.
        ("f32[2,3,200,224]", "", "{1,3,2,0}", 1, 2),
        ("f32[480,640]", "{1,0:T(6,10)}", "{1,0:T(4,8)}", 1, 2),
        // Guards cut inside words.
        ("s8[1000,3001]", "{1,0:T(32,128)(4,1)}", "{1,0:T(8,128)(4,1)}", 4, 4),
    ]) {
        let (mut random, target) = (Random(1), with_free_accesses());
        let source: Shape = format!("{extents}{from}").parse().unwrap();
        let destination: Shape = format!("{extents}{to}").parse().unwrap();
        let sizes: Vec<u64> =
            source.dimensions().iter().filter_map(|dimension| dimension.bound()).collect();
        let window = Window::identity(&sizes);
        let Operation { source, destination, window, .. } =
            of_shapes(&source, &destination, window);
        let nest = nest::lower(&source, &destination, &window).unwrap();
        let schedule = schedule(nest, &target).unwrap();
        let block = block_of_schedule(&schedule).unwrap();
        assert_eq!((block.rows(), block.width()), (rows, width), "{schedule}");
        let kernel = wgsl::emit(&schedule, &target, &[]);
        let image = random.bytes(source.image_bytes());
        let expected = oracle::run(&source, &destination, &window, &image, None);
        let case = Case { kernel, image, expected };
        judge(&case, &target).unwrap_or_else(|fault| panic!("{fault}\n{}", case.kernel.wgsl));
    }
}

/// Large copies on a GPU with rows that begin at any byte. A block has accesses of 16 bytes in
/// several rows with the same alignment.
#[test]
fn accesses_of_rows_that_begin_anywhere() {
    for (shape, window, to, rows, width) in long_cases([
        ("u8[2053,2063]", None, "{0,1}", 16, 16),
        ("f16[1031,2053]", None, "{0,1}", 8, 16),
        ("f32[1031,1033]", None, "{0,1}", 4, 8),
        ("bf16[8,197,768]", None, "{1,2,0}", 8, 8),
        // The last plane is padding. Blocks that extend over several rows fill it with one value.
        ("bf16[8,197,768]", None, "{1,2,0:PAD(9,197,768)}", 8, 8),
        ("u8[2049,2061]", Some(([1, 3], [2048, 2057])), "{1,0}", 16, 16),
        ("f16[1025,2061]", Some(([1, 3], [1023, 2057])), "{1,0}", 8, 16),
    ]) {
        let (mut random, target) = (Random(1), with_free_accesses());
        let source: Shape = shape.parse().unwrap();
        let sizes: Vec<u64> =
            source.dimensions().iter().filter_map(|dimension| dimension.bound()).collect();
        let (window, extents) = match window {
            None => (Window::identity(&sizes), sizes),
            Some((from, to)) => {
                (Window::slice(&sizes, &Slice::new(from, to, [1, 1])).unwrap(), to.to_vec())
            }
        };
        let unit = shape.split_once('[').unwrap().0;
        let destination: Shape = format!("{unit}{extents:?}{to}").replace(' ', "").parse().unwrap();
        let Operation { source, destination, window, .. } =
            of_shapes(&source, &destination, window);
        let nest = nest::lower(&source, &destination, &window).unwrap();
        let schedule = schedule(nest, &target).unwrap();
        let block = block_of_schedule(&schedule).unwrap();
        assert_eq!((block.rows(), block.width()), (rows, width), "{shape}: {schedule}");
        assert!(block.seam().is_some_and(|seam| seam.covered.is_none()), "{schedule}");
        let kernel = wgsl::emit(&schedule, &target, &[]);
        let image = random.bytes(source.image_bytes());
        let expected = oracle::run(&source, &destination, &window, &image, None);
        let case = Case { kernel, image, expected };
        judge(&case, &target).unwrap_or_else(|fault| panic!("{fault}\n{}", case.kernel.wgsl));
    }
}

/// All shapes up to rank 3: extents 1 to 4 × every order of the destination × every unit, with the
/// paddings and the tiles of both sides taken in turn.
#[test]
fn small_kernels_keep_their_proofs() {
    let mut shapes = vec![];
    for rank in 0..=3 {
        for number in 0..4_u64.pow(rank) {
            let extents: Vec<u64> = (0..rank).map(|d| 1 + number / 4_u64.pow(d) % 4).collect();
            for order in permutations(extents.len()) {
                shapes.push((extents.clone(), order));
            }
        }
    }
    let tally = Tally::default();
    shapes.par_iter().enumerate().for_each(|(turn, (extents, order))| {
        let mut random = Random(turn as u64);
        for (n, unit) in UNITS.into_iter().enumerate() {
            let (from, to) = (turn + n, turn / 3 + n);
            let source = shape(unit, extents, &(0..extents.len()).rev().collect::<Vec<_>>(), from);
            let destination = shape(unit, extents, order, to);
            let window = Window::identity(extents);
            tally.judge_all(&mut random, &of_shapes(&source, &destination, window));
        }
    });
    tally.finish(9_000);
}

/// Returns a shape in one of six layouts, which are plain, packed, padded or tiled.
fn shape(unit: ElementType, extents: &[u64], order: &[usize], way: usize) -> Shape {
    use stridec::shape::TileDimension::Size;
    let plain = Layout::new(order.iter().copied());
    let grown = extents.iter().zip(0..).map(|(extent, n)| extent + n % 2 + 1);
    let layout = match way % 6 {
        0 => plain,
        1 => plain.element_size(unit.bits().unwrap().into()),
        2 => plain.padded(grown.collect::<Vec<_>>(), Some(PaddingValue::One)),
        3 => plain.tiled([Size(2)]),
        4 => plain.tiled([Size(2), Size(3)]),
        _ => plain.tiled([Size(4), Size(2)]).tiled([Size(2), Size(1)]),
    };
    Shape::new(unit, extents.iter().copied(), layout).unwrap()
}
