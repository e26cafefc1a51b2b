//! Random operations, to find shapes that are much slower than others.
//!
//! The operations are taken from these families in turn: transposes, tiles, blocked formats,
//! padding, slices, mirrored rows, packed elements, strided sources, and programs of one
//! instruction. Tensors have 64 KiB to 24 MiB.
#![allow(dead_code)] // each bench uses a part
#![allow(clippy::cast_sign_loss, clippy::cast_precision_loss, clippy::cast_possible_truncation)] // positive sizes

use std::fmt::Display;

use fastrand::Rng;
use stridec::{
    Operation,
    hlo::Module,
    internals::Inspect as _,
    program::{ArrayBuffer, Program},
    window::Slice,
};

/// A random operation, and a text that describes it.
pub struct Case {
    pub name: String,
    pub what: What,
}

/// An operation on one tensor, or a program.
pub enum What {
    Operation(Box<Operation>),
    Program(Box<Program>),
}

/// A function that makes a random operation and its text. It returns `None` if stridec refuses the
/// operation.
type Draw = fn(&mut Rng) -> Option<(String, What)>;

/// The families, in the order in which they are used.
const FAMILIES: [(&str, Draw); 9] = [
    ("transpose", transpose),
    ("tiles", tiles),
    ("blocked", blocked),
    ("padding", padding),
    ("slice", slice),
    ("mirrored", mirrored),
    ("packed", packed),
    ("strided", strided),
    ("program", program),
];

/// Returns `count` cases that depend only on `seed`. A shape that stridec refuses is replaced by
/// another random shape.
pub fn cases(seed: u64, count: usize) -> Vec<Case> {
    let mut rng = Rng::with_seed(seed);
    (0..count)
        .map(|number| {
            let (family, draw) = FAMILIES[number % FAMILIES.len()];
            let (text, what) = std::iter::repeat_with(|| draw(&mut rng))
                .take(1000)
                .flatten()
                .next()
                .unwrap_or_else(|| panic!("{family}: expected a shape that can be copied"));
            Case { name: format!("{family}/{number} {text}"), what }
        })
        .collect()
}

/// Extents that are not multiples of powers of two or of registers.
const ODD: [u64; 20] =
    [3, 5, 7, 11, 13, 17, 31, 63, 65, 97, 127, 129, 197, 255, 257, 511, 577, 1001, 1023, 1025];

/// Extents that are multiples of registers, or divide them.
const EVEN: [u64; 15] = [2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 384, 512, 1024];

/// The maximum size of a padded or blocked destination, in bytes.
const MOST_BYTES: u64 = 60_000_000;

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(..from.len())]
}

fn list(of: impl IntoIterator<Item = impl Display>) -> String {
    of.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

/// Returns a size between 64 KiB and 24 MiB, in bytes. The logarithm of the size is uniformly
/// distributed.
fn size(rng: &mut Rng) -> u64 {
    2_f64.powf(16.0 + 8.6 * rng.f64()) as u64
}

/// Returns a type of one of these widths in bytes, and its width.
fn typed(rng: &mut Rng, widths: &[u64]) -> (u64, &'static str) {
    let width = pick(rng, widths);
    let types: &[&str] = match width {
        1 => &["u8", "s8"],
        2 => &["f16", "bf16", "u16"],
        4 => &["f32", "s32"],
        8 => &["f64", "u64"],
        _ => &["c128"],
    };
    (width, pick(rng, types))
}

const WIDTHS: [u64; 9] = [1, 1, 2, 2, 4, 4, 4, 8, 16];

/// Returns extents for an array of this rank with about `target` elements.
fn extents(rng: &mut Rng, rank: usize, target: u64) -> Vec<u64> {
    if rank == 1 {
        return vec![target.max(2)];
    }
    loop {
        let mut of: Vec<u64> = (1..rank)
            .map(|_| if rng.bool() { pick(rng, &ODD) } else { pick(rng, &EVEN) })
            .collect();
        let rest = target as f64 / of.iter().product::<u64>() as f64;
        if (2.0..3e7).contains(&rest) {
            let rest = (rest * (0.7 + 0.6 * rng.f64())) as u64;
            of.insert(rng.usize(..rank), rest.max(2));
            return of;
        }
    }
}

/// Returns a minor-to-major order of this rank.
fn order(rng: &mut Rng, rank: usize) -> Vec<usize> {
    let mut of: Vec<usize> = (0..rank).collect();
    rng.shuffle(&mut of);
    of
}

/// Returns an order that differs from `than`, if there is one.
fn other_order(rng: &mut Rng, than: &[usize]) -> Vec<usize> {
    loop {
        let of = order(rng, than.len());
        if of != than || of.len() < 2 {
            return of;
        }
    }
}

fn natural(rank: usize) -> Vec<usize> {
    (0..rank).rev().collect()
}

fn relayout(from: &str, to: &str) -> Option<(String, What)> {
    let operation = Operation::relayout(from.parse().ok()?, to.parse().ok()?).ok()?;
    let most = operation.nest().src_bytes().max(operation.nest().dst_bytes());
    let fits = most <= MOST_BYTES;
    fits.then(|| (format!("{from} to {to}"), What::Operation(Box::new(operation))))
}

/// Returns a relayout between two layouts, in a random direction.
fn either_way(rng: &mut Rng, share: f64, plain: &str, other: &str) -> Option<(String, What)> {
    if rng.f64() < share { relayout(plain, other) } else { relayout(other, plain) }
}

fn transpose(rng: &mut Rng) -> Option<(String, What)> {
    let (width, of) = typed(rng, &WIDTHS);
    let rank = rng.usize(2..=5);
    let target = size(rng) / width;
    let sizes = extents(rng, rank, target);
    let from = if rng.f64() < 0.6 { natural(rank) } else { order(rng, rank) };
    let to = other_order(rng, &from);
    let text = |order: &[usize]| format!("{of}[{}]{{{}}}", list(&sizes), list(order));
    relayout(&text(&from), &text(&to))
}

fn tiles(rng: &mut Rng) -> Option<(String, What)> {
    let (width, of) = typed(rng, &[1, 2, 4]);
    let rank = rng.usize(2..=4);
    let target = size(rng) / width;
    let sizes = list(extents(rng, rank, target));
    let tpu = match width {
        1 => "T(32,128)(4,1)",
        2 => "T(8,128)(2,1)",
        _ => "T(8,128)",
    };
    let dimensions = pick(rng, &[1, 2, 2]);
    let other =
        list(std::iter::repeat_with(|| pick(rng, &[2, 3, 4, 6, 8, 10, 16])).take(dimensions));
    let other = format!("T({other})");
    let tile = if rng.f64() < 2.0 / 3.0 { tpu } else { &other };
    let to = if rng.bool() { order(rng, rank) } else { natural(rank) };
    let tiled = format!("{of}[{sizes}]{{{}:{tile}}}", list(to));
    let plain = if rng.f64() < 0.25 {
        let tile = if rng.bool() { tpu } else { &other };
        format!("{of}[{sizes}]{{{}:{tile}}}", list(order(rng, rank)))
    } else {
        format!("{of}[{sizes}]{{{}}}", list(natural(rank)))
    };
    either_way(rng, 0.6, &plain, &tiled)
}

fn blocked(rng: &mut Rng) -> Option<(String, What)> {
    let of = pick(rng, &["s8", "u8", "f16", "bf16", "bf16", "f32", "s32"]);
    let block = pick(rng, &[4, 8, 16, 32]);
    let sizes = [
        pick(rng, &[1, 2, 8, 32]),
        pick(rng, &[3, 13, 17, 30, 32, 63, 64, 96, 255]),
        pick(rng, &[7, 13, 14, 28, 33, 55, 56]),
        pick(rng, &[7, 14, 27, 35, 56, 112]),
    ];
    let blocks = [
        format!("aBcd{block}b"),
        format!("aBcd{block}b"),
        "ABcd16b16a".to_owned(),
        format!("Acdb{block}a"),
    ];
    let blocked = format!("onednn:{of}[{}] {}", list(sizes), blocks[rng.usize(..blocks.len())]);
    let plain = format!("onednn:{of}[{}] {}", list(sizes), pick(rng, &["abcd", "acdb"]));
    either_way(rng, 0.6, &plain, &blocked)
}

fn padding(rng: &mut Rng) -> Option<(String, What)> {
    let (width, of) = typed(rng, &WIDTHS);
    let rank = rng.usize(2..=4);
    let target = size(rng) / width;
    let mut sizes = extents(rng, rank, target);
    let mut padded: Vec<u64> =
        sizes.iter().map(|size| size + pick(rng, &[0, 0, 1, 2, 5, 24])).collect();
    if rng.f64() < 0.4 {
        sizes[rank - 1] = pick(rng, &[1, 3, 6, 12, 15, 31, 60, 100]);
        padded[rank - 1] = sizes[rank - 1] + pick(rng, &[1, 2, 4, 8]);
    }
    let order = if rng.f64() < 0.6 { natural(rank) } else { order(rng, rank) };
    let plain = format!("{of}[{}]", list(&sizes));
    let other = format!("{plain}{{{}:PAD({},zero)}}", list(order), list(padded));
    either_way(rng, 0.6, &plain, &other)
}

/// Returns a slice, with a destination in the default order or in another one.
fn of_slice(
    rng: &mut Rng,
    of: &str,
    [offsets, sizes]: [Vec<u64>; 2],
    strides: Vec<i64>,
    turned: f64,
) -> Option<(String, What)> {
    let text = format!(
        "slice {of} offsets {} sizes {} strides {}",
        list(&offsets),
        list(&sizes),
        list(&strides)
    );
    let rank = sizes.len();
    let to = (rank > 1 && rng.f64() < turned).then(|| order(rng, rank));
    let slice = Slice::new(offsets, sizes.clone(), strides);
    let destination = to.as_ref().map(|to| {
        let of = of.split('[').next().unwrap_or_default();
        format!("{of}[{}]{{{}}}", list(&sizes), list(to))
    });
    let parsed = destination.as_ref().map(|text| text.parse()).transpose().ok()?;
    let operation = Operation::slice(of.parse().ok()?, &slice, parsed).ok()?;
    let text = destination.map_or_else(|| text.clone(), |to| format!("{text} to {to}"));
    Some((text, What::Operation(Box::new(operation))))
}

fn slice(rng: &mut Rng) -> Option<(String, What)> {
    let (width, of) = typed(rng, &WIDTHS);
    let rank = rng.usize(1..=4);
    let target = 2 * size(rng) / width;
    let sizes = extents(rng, rank, target);
    let strides = sizes.iter().map(|_| pick(rng, &[1, 1, 1, 2, 3, -1, -1, -2])).collect();
    let offsets: Vec<u64> = sizes.iter().map(|size| pick(rng, &[0, 0, 1, size / 4])).collect();
    let window = sizes
        .iter()
        .zip(&offsets)
        .map(|(size, offset)| size.saturating_sub(offset + pick(rng, &[0, 0, 1, 2])).max(1));
    let window = window.collect();
    let of = format!("{of}[{}]", list(sizes));
    of_slice(rng, &of, [offsets, window], strides, 0.35)
}

fn mirrored(rng: &mut Rng) -> Option<(String, What)> {
    let (width, of) = typed(rng, &[1, 1, 2, 4]);
    let row = pick(rng, &[15, 28, 63, 65, 100, 150, 224, 250, 300, 500, 641]);
    let channels = pick(rng, &[1, 1, 3, 4]);
    let rows = (size(rng) / (row * channels * width)).max(2);
    let (mut sizes, mut strides) = (vec![rows, row], vec![pick(rng, &[1, -1]), -1]);
    if channels > 1 {
        sizes.push(channels);
        strides.push(pick(rng, &[1, -1]));
    }
    let of = format!("{of}[{}]", list(&sizes));
    of_slice(rng, &of, [vec![0; sizes.len()], sizes], strides, 0.0)
}

fn packed(rng: &mut Rng) -> Option<(String, What)> {
    let (bits, of) = pick(rng, &[(1, "u1"), (2, "u2"), (4, "s4"), (4, "u4"), (4, "s4")]);
    let rank = rng.usize(1..=3);
    let target = size(rng);
    let sizes = list(extents(rng, rank, target));
    let mut side = || {
        let order = list(order(rng, rank));
        let packing = if rng.f64() < 0.7 { format!(":E({bits})") } else { String::new() };
        format!("{of}[{sizes}]{{{order}{packing}}}")
    };
    let (from, to) = (side(), side());
    relayout(&from, &to)
}

fn strided(rng: &mut Rng) -> Option<(String, What)> {
    let (width, of) = typed(rng, &WIDTHS);
    let rank = rng.usize(2..=4);
    let target = size(rng) / width;
    let sizes = extents(rng, rank, target);
    let (mut strides, mut at) = (vec![0; rank], 1);
    for (stride, size) in strides.iter_mut().zip(&sizes).rev() {
        *stride = at;
        at = at * size + pick(rng, &[0, 0, 1, 3, 16]);
    }
    if rng.f64() < 0.3 {
        strides[rng.usize(..rank)] = 0;
    }
    let mut to: Vec<usize> = (0..rank).collect();
    if rng.f64() < 0.6 {
        rng.shuffle(&mut to);
    }
    let sizes = list(to.iter().map(|&of| sizes[of]));
    let strides = list(to.iter().map(|&of| strides[of]));
    relayout(&format!("{of}[{sizes}] strided<[{strides}]>"), &format!("{of}[{sizes}]"))
}

/// Returns a module of one instruction: a concatenation, a pad, a broadcast, a stack, or a
/// selection of rows by index.
fn program(rng: &mut Rng) -> Option<(String, What)> {
    let (width, of) = typed(rng, &WIDTHS);
    let rank = rng.usize(2..=4);
    let target = size(rng) / width;
    let sizes = extents(rng, rank, target);
    let axis = rng.usize(..rank);
    let shape = |sizes: &[u64]| format!("{of}[{}]", list(sizes));
    let (result, instruction, parameters) = match rng.usize(..5) {
        0 => {
            let parts = rng.u64(2..=4);
            let mut result = sizes.clone();
            let mut shapes = Vec::new();
            result[axis] = 0;
            for _ in 0..parts {
                let mut part = sizes.clone();
                part[axis] = (sizes[axis] / parts + rng.u64(..2)).max(1);
                result[axis] += part[axis];
                shapes.push(part);
            }
            (result, format!("concatenate, dimensions={{{axis}}}"), shapes)
        }
        1 => {
            let edges: Vec<[u64; 3]> = sizes
                .iter()
                .map(|_| {
                    let edge = |rng: &mut Rng| pick(rng, &[0, 0, 1, 2, 5]);
                    [edge(rng), edge(rng), pick(rng, &[0, 0, 0, 1])]
                })
                .collect();
            let padded = sizes
                .iter()
                .zip(&edges)
                .map(|(size, [low, high, interior])| size + low + high + interior * (size - 1));
            let padded = padded.collect();
            let edges: Vec<String> = edges
                .iter()
                .map(|[low, high, interior]| format!("{low}_{high}_{interior}"))
                .collect();
            (padded, format!("pad, padding={}", edges.join("x")), vec![sizes.clone(), vec![]])
        }
        2 => {
            let kept: Vec<usize> = (0..rank).filter(|&dimension| dimension != axis).collect();
            let operand = kept.iter().map(|&dimension| sizes[dimension]).collect();
            (sizes.clone(), format!("broadcast, dimensions={{{}}}", list(kept)), vec![operand])
        }
        3 => {
            let count = pick(rng, &[2, 3, 4, 8]);
            let mut part = sizes.clone();
            part[axis] = 1;
            let mut result = sizes.clone();
            result[axis] = count;
            let text = format!("concatenate, dimensions={{{axis}}}");
            (result, text, vec![part; usize::try_from(count).ok()?])
        }
        _ => {
            let sign = if rng.bool() { "reverse" } else { "transpose" };
            let to = order(rng, rank);
            let result: Vec<u64> = match sign {
                "reverse" => sizes.clone(),
                _ => to.iter().map(|&of| sizes[of]).collect(),
            };
            let dimensions = if sign == "reverse" { vec![axis] } else { to };
            (result, format!("{sign}, dimensions={{{}}}", list(dimensions)), vec![sizes.clone()])
        }
    };
    let (opcode, attributes) = instruction.split_once(", ")?;
    let parameters: Vec<String> = parameters.iter().map(|of| shape(of)).collect();
    let lines = parameters.iter().enumerate().fold(String::new(), |lines, (number, shape)| {
        lines + &format!("  p{number} = {shape} parameter({number})\n")
    });
    let operands = list((0..parameters.len()).map(|number| format!("p{number}")));
    let result = shape(&result);
    let text = format!(
        "HloModule m\n\nENTRY e {{\n{lines}  ROOT r = {result} {opcode}({operands}), {attributes}\n}}\n"
    );
    let program = Program::lower(&Module::parse(&text).ok()?.with_default_layouts()).ok()?;
    let bytes = program.results().iter().map(ArrayBuffer::bytes).max()?;
    let name = format!("{result} {opcode}({}), {attributes}", parameters.join(" "));
    (bytes <= MOST_BYTES).then(|| (name, What::Program(Box::new(program))))
}
