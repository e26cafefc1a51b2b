//! `--cases by-hand`: everyday cases that fall short of a goal, each beside a loop that is written for it alone, on one thread.
//!
//! Runs are moved by the system's copy, as numpy moves them; all stores are ordinary ones.

use std::error::Error;

use rayon::ThreadPoolBuilder;
use wide::u8x16;

use super::{
    Run,
    everyday_cases::everyday,
    timing::{Contender, Report, option, round_robin},
};

/// A loop from the source's image to the destination's.
type Loop = fn(&[u8], &mut [u8]);

/// The loops, by how the names of their cases begin.
const LOOPS: [(&str, Loop); 9] = [
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
];

/// Times each case, its loop and a copy of as many bytes, each on its own: a last-level cache that holds the images of one
/// does not have to hold those of all, as in numpy's process.
pub fn measure(repetitions: usize) -> Result<(), Box<dyn Error>> {
    let only = option("--only").unwrap_or_default();
    let mut report = Report::new("host");
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    for case in everyday()?.into_iter().filter(|case| case.name.contains(&only)) {
        let Some((_, by_hand)) = LOOPS.iter().find(|(name, _)| case.name.starts_with(name)) else {
            continue;
        };
        let mut run = Run::new("stridec", &case.operation);
        let (source, length) = (run.source.clone(), run.destination.len());
        let plain: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let (mut expected, mut copy) = (vec![0x5a; length], vec![0xa5; length]);
        let contender = |name: &str, run| Contender { name: name.to_owned(), bytes: length, run };
        let timings = pool.install(|| {
            let contenders = [
                run.contender(),
                contender("by hand", Box::new(|| by_hand(&source, &mut expected))),
                contender("memcpy", Box::new(|| copy.copy_from_slice(&plain))),
            ];
            let alone = |contender| round_robin(repetitions, false, vec![contender]);
            contenders.into_iter().flat_map(alone).collect::<Vec<_>>()
        });
        assert!(run.destination == expected, "{}: other bytes", case.name);
        report.add(&case.name, &timings);
        let over = |number: usize| timings[number].best_ms / timings[0].best_ms;
        println!("{:50.2} of the loop, {:.2} of memcpy", over(1), over(2));
    }
    Ok(())
}

/// Rows of `length` bytes, `pitch` bytes apart.
fn rows(source: &[u8], to: &mut [u8], pitch: usize, length: usize) {
    for (to, row) in to.chunks_exact_mut(length).zip(source.chunks(pitch)) {
        to.copy_from_slice(&row[..length]);
    }
}

/// A matrix of units of `N` bytes, column by column.
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

/// Squares of 16 by 16 bytes in registers, four of them for a cache line of each column; then the halves of each byte.
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
                        // The sign of four bits is that of the byte.
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
