//! `--cases by-hand`: everyday cases and transposes of TTC that miss a goal of speed. Each is
//! compared with a loop that is written for this case alone. The cases run on one thread; loops for
//! transposes also run with the number of threads of `--threads`.
//!
//! In the everyday cases, runs are moved by the system's `memcpy`, as in numpy, and all stores are
//! ordinary. In the transposes of TTC, stores are non-temporal, as in HPTT.
#![allow(unsafe_code)] // Streamed stores take pointers.

use std::error::Error;

use rayon::{ThreadPoolBuilder, prelude::*};
use stridec::{Operation, Tensor, host, shape::ElementType};
use wide::{u8x16, u32x4, u64x2};

use super::{
    Run,
    everyday_cases::{Everyday, everyday},
    permutation::ttc,
    timing::{Contender, Report, option, round_robin},
};

/// The size of a cache line, in bytes.
const LINE: usize = 64;

/// A loop that copies the bytes of the source to the destination.
type Loop = fn(&[u8], &mut [u8]);

/// The loops, by the start of the names of their cases.
const LOOPS: [(&str, Loop); 17] = [
    ("matrix c128 1001x1003", |source, to| turned::<16>(source, to, 1001, 1003)),
    ("unpack s4 turned", unpack_turned),
    ("rows from an odd place, u8", |source, to| rows(&source[4097 + 3..], to, 4097, 4094)),
    ("rows from an odd place, f16", |source, to| rows(&source[8194 + 6..], to, 8194, 8188)),
    ("every second, u8", |source, to| {
        let pairs = source.as_chunks::<2>().0;
        to.iter_mut().zip(pairs).for_each(|(to, [byte, _])| *to = *byte);
    }),
    ("every second row and third column, f16", every_second_and_third),
    ("mirrored rows, f32", mirrored),
    ("upside down, bf16", |source, to| {
        let rows = source.chunks_exact(8192).rev();
        to.chunks_exact_mut(8192).zip(rows).for_each(|(to, row)| to.copy_from_slice(row));
    }),
    ("crop 224x224 of 256x256 NHWC, u8", |source, to| {
        let images = to.chunks_exact_mut(224 * 672).zip(source.chunks_exact(256 * 768));
        images.for_each(|(to, image)| rows(&image[16 * 768 + 48..], to, 768, 672));
    }),
    ("ttc 19 f64", |source, to| {
        for (image, source) in source.as_chunks::<8>().0.chunks_exact(64 * 6 * 432).enumerate() {
            for part in 0..6 {
                let place = (part * 39 + image) * 432 * 64;
                let to = &mut to.as_chunks_mut::<8>().0[place..][..432 * 64];
                turned_past_caches(&source[part * 432..], to, (64, 6 * 432), (432, 64));
            }
        }
    }),
    ("ttc 27 f32", runs_of_128_bytes::<18, 18, 32>),
    ("ttc 29 f32, 228 MiB", runs_of_128_bytes::<28, 28, 8>),
    ("ttc 33 f32", |source, to| parts::<4>(source, to, [18, 32])),
    ("ttc 34 f64", |source, to| parts::<8>(source, to, [3, 208])),
    ("ttc 36 f32", |source, to| {
        let source = source.as_chunks::<4>().0;
        outermost(to, 18, |c, to| {
            for (number, block) in source.chunks_exact(18 * 1024).enumerate() {
                let (a, b) = (number / 18, number % 18);
                let to = &mut to[(a * 32 * 18 + b) * 32..];
                turned_past_caches(&block[c * 1024..], to, (32, 32), (32, 18 * 32));
            }
        });
    }),
    ("ttc 48 f64", |source, to| planes::<8>(source, to, [16, 12, 16])),
    ("ttc 49 f32", |source, to| planes::<4>(source, to, [16, 4, 64])),
];

/// The cases of TTC at 24 MiB that have a loop, by the start of their names, with one element type
/// each.
const TTC: [(&str, ElementType, &str); 7] = [
    ("ttc 19", ElementType::F64, "ttc 19 f64"),
    ("ttc 27", ElementType::F32, "ttc 27 f32"),
    ("ttc 33", ElementType::F32, "ttc 33 f32"),
    ("ttc 34", ElementType::F64, "ttc 34 f64"),
    ("ttc 36", ElementType::F32, "ttc 36 f32"),
    ("ttc 48", ElementType::F64, "ttc 48 f64"),
    ("ttc 49", ElementType::F32, "ttc 49 f32"),
];

/// The cases of about 200 MiB that have a loop.
const LARGE: [(&str, ElementType, &str); 1] = [("ttc 29", ElementType::F32, "ttc 29 f32, 228 MiB")];

/// Returns the transposes of TTC that have a loop.
fn transposes() -> Result<Vec<Everyday>, Box<dyn Error>> {
    let mut cases = Vec::new();
    let small = (include_str!("../data/ttc57_24MiB.json"), &TTC[..]);
    for (file, named) in [small, (include_str!("../data/ttc57.json"), &LARGE[..])] {
        for permutation in ttc(file)? {
            for (_, element_type, name) in
                named.iter().filter(|(number, ..)| permutation.name.starts_with(number))
            {
                let [source, to] = permutation.sides(*element_type)?;
                let operation =
                    Operation::relayout(Tensor::try_from(source)?, Tensor::try_from(to)?)?;
                cases.push(Everyday { name: (*name).to_owned(), operation });
            }
        }
    }
    Ok(cases)
}

/// Times each case, its loop and a copy of the same size in turns. The last-level cache may hold
/// the buffers of one of these, as in numpy's process, but not the buffers of all.
pub fn measure(repetitions: usize) -> Result<(), Box<dyn Error>> {
    let only = option("--only").unwrap_or_default();
    let mut report = Report::new("host");
    let threads = option("--threads").map_or(Ok(1), |threads| threads.parse())?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let cases = everyday()?.into_iter().filter(|_| threads == 1).chain(transposes()?);
    for case in cases.filter(|case| case.name.contains(&only)) {
        let Some((_, by_hand)) = LOOPS.iter().find(|(name, _)| case.name.starts_with(name)) else {
            continue;
        };
        let Run { nest, source, destination, .. } = Run::new("stridec", &case.operation);
        let length = destination.len();
        let plain: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let mut images = [0x5a, 0xa5].map(|byte| vec![byte; length + LINE]);
        let [ours, expected] = images.each_mut().map(|image| {
            // Destinations of non-temporal stores begin at a cache line. Others are not aligned.
            let gap = if case.name.starts_with("ttc") { LINE } else { 1 };
            let gap = image.as_ptr().addr().wrapping_neg() % gap;
            &mut image[gap..gap + length]
        });
        let mut copy = vec![0xa5; length];
        let contender = |name: &str, run| Contender { name: name.to_owned(), bytes: length, run };
        let timings = pool.install(|| {
            let contenders = [
                contender(
                    "stridec",
                    Box::new(|| host::run(&nest, &source, ours).expect("a run"))
                        as Box<dyn FnMut()>,
                ),
                contender(
                    "by hand",
                    Box::new(|| {
                        by_hand(&source, expected);
                        fence();
                    }),
                ),
                contender("memcpy", Box::new(|| copy.copy_from_slice(&plain))),
            ];
            let alone = |contender| round_robin(repetitions, false, vec![contender]);
            contenders.into_iter().flat_map(alone).collect::<Vec<_>>()
        });
        assert!(ours == expected, "{}: other bytes", case.name);
        report.add(&case.name, &timings);
        let over = |number: usize| timings[number].best_ms / timings[0].best_ms;
        println!("{:50.2} of the loop, {:.2} of memcpy", over(1), over(2));
    }
    Ok(())
}

/// Copies rows of `length` bytes at distances of `pitch` bytes.
fn rows(source: &[u8], to: &mut [u8], pitch: usize, length: usize) {
    for (to, row) in to.chunks_exact_mut(length).zip(source.chunks(pitch)) {
        to.copy_from_slice(&row[..length]);
    }
}

/// Transposes a matrix of elements of `N` bytes, column by column.
fn turned<const N: usize>(source: &[u8], to: &mut [u8], rows: usize, columns: usize) {
    let source = source.as_chunks::<N>().0;
    for (column, to) in to.as_chunks_mut::<N>().0.chunks_exact_mut(rows).enumerate() {
        let units = source[column..].iter().step_by(columns);
        to.iter_mut().zip(units).for_each(|(to, unit)| *to = *unit);
    }
}

fn every_second_and_third(source: &[u8], to: &mut [u8]) {
    let rows = source.chunks_exact(2 * 8192);
    for (to, row) in to.chunks_exact_mut(1366 * 2).zip(rows) {
        let units = row[..8192].as_chunks::<2>().0.iter().step_by(3);
        to.as_chunks_mut::<2>().0.iter_mut().zip(units).for_each(|(to, unit)| *to = *unit);
    }
}

fn mirrored(source: &[u8], to: &mut [u8]) {
    for (to, row) in to.chunks_exact_mut(8192).zip(source.chunks_exact(8192)) {
        let units = row.as_chunks::<4>().0.iter().rev();
        to.as_chunks_mut::<4>().0.iter_mut().zip(units).for_each(|(to, unit)| *to = *unit);
    }
}

/// Transposes squares of 16 by 16 bytes in registers, four of them for a cache line of each column.
/// Then takes both halves of each byte apart.
fn unpack_turned(source: &[u8], to: &mut [u8]) {
    const ROWS: usize = 4096;
    const PITCH: usize = ROWS / 2;
    for row in (0..ROWS).step_by(64) {
        for place in (0..PITCH).step_by(16) {
            let mut lines = [[0; 64]; 32];
            for part in 0..4 {
                let line = |n: usize| {
                    let start = (row + part * 16 + n) * PITCH + place;
                    u8x16::new(*source[start..].first_chunk().expect("16 bytes of a row"))
                };
                let mut square: [u8x16; 16] = std::array::from_fn(line);
                for _ in 0..4 {
                    let halves = square;
                    square = std::array::from_fn(|n| match n % 2 {
                        0 => u8x16::unpack_low(halves[n / 2], halves[n / 2 + 8]),
                        _ => u8x16::unpack_high(halves[n / 2], halves[n / 2 + 8]),
                    });
                }
                for (lines, bytes) in lines.as_chunks_mut::<2>().0.iter_mut().zip(square) {
                    for (line, shift) in lines.iter_mut().zip([0, 4]) {
                        // The highest bit of the upper half is its sign.
                        let halves = bytes
                            .to_array()
                            .map(|byte| ((byte >> shift & 0xf) ^ 8).wrapping_sub(8));
                        line[part * 16..][..16].copy_from_slice(&halves);
                    }
                }
            }
            for (number, line) in lines.iter().enumerate() {
                to[(2 * place + number) * ROWS + row..][..64].copy_from_slice(line);
            }
        }
    }
}

/// Calls `each` for every step of the destination's outermost axis. The threads share these steps.
fn outermost<const N: usize>(
    to: &mut [u8],
    steps: usize,
    each: impl Fn(usize, &mut [[u8; N]]) + Sync,
) {
    let to = to.as_chunks_mut::<N>().0;
    let step = to.len() / steps;
    to.par_chunks_mut(step).with_max_len(1).enumerate().for_each(|(number, to)| {
        each(number, to);
        fence();
    });
}

/// Copies `[a, B, C, D, e] by [1, 3, 2, 0, 4]` in the order of the source, on one thread. A row of
/// `e` elements has 128 bytes.
fn runs_of_128_bytes<const B: usize, const C: usize, const D: usize>(source: &[u8], to: &mut [u8]) {
    let to = to.as_chunks_mut::<128>().0;
    let all = to.len() / (B * C * D);
    for (n, run) in source.as_chunks::<128>().0.iter().enumerate() {
        let (a, b, c, d) = (n / (B * C * D), n / (C * D) % B, n / D % C, n % D);
        stream(&mut to[((b * D + d) * C + c) * all + a], run);
    }
}

/// Copies `[18, 18, 32, d, e] by [1, 3, 0, 4, 2]`.
fn parts<const N: usize>(source: &[u8], to: &mut [u8], [d, e]: [usize; 2]) {
    let source = source.as_chunks::<N>().0;
    outermost(to, 18, |b, to| {
        for (a, block) in source.chunks_exact(18 * 32 * d * e).enumerate() {
            for part in 0..d {
                let rows = &block[(b * 32 * d + part) * e..];
                let to = &mut to[(part * 18 + a) * 32 * e..];
                turned_past_caches(rows, to, (32, d * e), (e, 32));
            }
        }
    });
}

/// Copies `[12, 12, 12, d, e, f] by [2, 0, 4, 1, 5, 3]`.
fn planes<const N: usize>(source: &[u8], to: &mut [u8], [d, e, f]: [usize; 3]) {
    let source = source.as_chunks::<N>().0;
    outermost(to, 12, |c, to| {
        for (number, block) in source.chunks_exact(12 * d * e * f).enumerate() {
            let (a, b) = (number / 12, number % 12);
            for part in 0..e {
                let rows = &block[c * d * e * f + part * f..];
                let to = &mut to[((a * e + part) * 12 + b) * d * f..];
                turned_past_caches(rows, to, (d, e * f), (f, d));
            }
        }
    });
}

/// Transposes a matrix of elements of 4 or 8 bytes with non-temporal stores. 16 rows of 16 bytes
/// are moved at a time in registers, in the order of the source, and data 256 bytes ahead is
/// prefetched. The distances between rows and between columns are in elements.
fn turned_past_caches<const N: usize>(
    source: &[[u8; N]],
    to: &mut [[u8; N]],
    (rows, pitch): (usize, usize),
    (columns, apart): (usize, usize),
) {
    let edge = 16 / N;
    for row in (0..rows).step_by(16) {
        for column in (0..columns).step_by(edge) {
            let mut lines = [[[0; 16]; N]; 4];
            for part in 0..N {
                let square: [[u8; 16]; 4] = std::array::from_fn(|n| {
                    if n >= edge {
                        return [0; 16];
                    }
                    let units = &source[(row + part * edge + n) * pitch + column..];
                    if let (0, Some(ahead)) = (column % (LINE / N), units.get(256 / N)) {
                        fetch(ahead);
                    }
                    *units.as_flattened().first_chunk().expect("16 bytes of a row")
                });
                for (line, column) in lines.iter_mut().zip(turned_square::<N>(square)) {
                    line[part] = column;
                }
            }
            for (number, line) in lines[..edge].iter().enumerate() {
                let to = &mut to[(column + number) * apart + row..][..16];
                stream(to.as_flattened_mut(), line.as_flattened());
            }
        }
    }
}

/// Returns the columns of a square of elements of 4 bytes, or of elements of 8 bytes in its first
/// two rows.
#[inline]
fn turned_square<const N: usize>(rows: [[u8; 16]; 4]) -> [[u8; 16]; 4] {
    if N == 4 {
        return bytemuck::cast(u32x4::transpose(bytemuck::cast(rows)));
    }
    let two = u64x2::transpose([bytemuck::cast(rows[0]), bytemuck::cast(rows[1])]);
    [bytemuck::cast(two[0]), bytemuck::cast(two[1]), [0; 16], [0; 16]]
}

/// Copies whole cache lines with non-temporal stores.
fn stream(to: &mut [u8], from: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for (to, from) in to.as_chunks_mut::<16>().0.iter_mut().zip(from.as_chunks::<16>().0) {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
        assert!(to.as_ptr().addr().is_multiple_of(16), "an aligned image");
        // SAFETY: both have 16 bytes, and the address is a multiple of 16. SSE2 is part of x86-64.
        unsafe {
            _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast()));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Makes non-temporal stores visible to other threads.
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence has no precondition, and SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Prefetches a cache line that will be read.
fn fetch<const N: usize>(unit: &[u8; N]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is only a hint, and SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(unit.as_ptr().cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = unit;
}
