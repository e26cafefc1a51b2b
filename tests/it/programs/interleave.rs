//! Rows that consist of several sources, on the host. These are stacks and concatenations along the
//! innermost dimensions, with more elements than the host moves at a time.

use stridec::{
    hlo::{Builder, Opcode, PaddingDimension},
    program::Program,
};

use super::support::scratch::bytes;

/// The elements of one source in a row, and the dimension along which they are mirrored, if any.
#[derive(Clone, Copy)]
struct Part {
    width: usize,
    mirrored: Option<usize>,
}

/// Concatenates parts along the innermost dimension, and compares the rows.
fn check(element: &str, size: usize, rows: usize, parts: &[Part], pad: usize) {
    let mut builder = Builder::new("rows");
    let (mut operands, mut images) = (Vec::new(), Vec::new());
    for (number, part) in parts.iter().enumerate() {
        let shape = format!("{element}[{rows},{}]", part.width).parse().unwrap();
        let mut operand = builder.parameter(shape).unwrap();
        if let Some(dimension) = part.mirrored {
            let reverse = Opcode::Reverse { dimensions: vec![dimension] };
            operand = builder.add(reverse, &[operand]).unwrap();
        }
        operands.push(operand);
        images.push(bytes(rows * part.width * size, number * 12_345));
    }
    let mut root = builder.add(Opcode::Concatenate { dimension: 1 }, &operands).unwrap();
    if pad > 0 {
        let fill = builder.parameter(format!("{element}[]").parse().unwrap()).unwrap();
        let pad = PaddingDimension {
            edge_padding_low: 0,
            edge_padding_high: i64::try_from(pad).unwrap(),
            interior_padding: 0,
        };
        let none = PaddingDimension { edge_padding_high: 0, ..pad };
        let dimensions = vec![none, pad];
        root = builder.add(Opcode::Pad { dimensions }, &[root, fill]).unwrap();
        images.push(vec![0x5a; size]);
    }
    let program = Program::lower(&builder.finish("main", root).unwrap()).unwrap();
    let mut expected = Vec::new();
    for row in 0..rows {
        for (part, image) in parts.iter().zip(&images) {
            let row = if part.mirrored == Some(0) { rows - 1 - row } else { row };
            let length = part.width * size;
            let mut units: Vec<_> = image[row * length..][..length].chunks(size).collect();
            if part.mirrored == Some(1) {
                units.reverse();
            }
            expected.extend(units.concat());
        }
        expected.resize(expected.len() + pad * size, 0x5a);
    }
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let results = program.run_on_host(&images).unwrap();
    assert!(
        results == [expected],
        "{element}, {rows} rows, {} parts, padded by {pad}",
        parts.len()
    );
}

#[test]
fn rows_of_several_sources_on_the_host() {
    let plain = |width| Part { width, mirrored: None };
    for (element, size) in [("u8", 1), ("u16", 2), ("f32", 4), ("f64", 8), ("c128", 16)] {
        for rows in [1, 63, 20_001] {
            for count in 2..=8 {
                check(element, size, rows, &vec![plain(1); count], 0);
            }
            check(element, size, rows, &[plain(3); 3], 0);
            check(element, size, rows, &[plain(3), plain(1)], 0);
            check(element, size, rows, &[plain(1), plain(1), plain(2)], 0);
            check(element, size, rows, &[plain(1), plain(1), plain(1)], 1);
            check(element, size, rows, &[plain(2)], 3);
            let mirrored = Part { width: 1, mirrored: Some(0) };
            check(element, size, rows, &[mirrored, mirrored, plain(1), plain(1)], 0);
            // The units are walked backwards inside a source, and the sources are walked forwards.
            for width in [2, 3, 5] {
                check(element, size, rows, &[Part { width, mirrored: Some(1) }; 4], 0);
            }
        }
    }
}

/// Runs a program on one thread and on two threads. The result begins at various bytes of a cache
/// line.
fn check_places(program: &Program, images: &[Vec<u8>], expected: &[u8], what: &str) {
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    for (threads, first) in [(1, 0), (1, 16), (1, 48), (1, 7), (2, 0), (2, 32)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut out = vec![0xa5; first + expected.len() + 64];
        let (_, result) = out.split_at_mut(first);
        let (result, after) = result.split_at_mut(expected.len());
        pool.install(|| program.run_on_host_into(&images, &mut [&mut *result])).unwrap();
        let wrong = result.iter().zip(expected).position(|(a, b)| a != b);
        assert!(wrong.is_none(), "{what}: byte {wrong:?}, {threads} threads, from byte {first}");
        assert!(after.iter().all(|&byte| byte == 0xa5), "{what}: bytes after the result");
    }
}

/// Results that are large enough for non-temporal stores.
#[test]
fn large_rows_of_several_sources_on_the_host() {
    for (element, size, count) in [("u8", 1, 3), ("u16", 2, 2), ("f32", 4, 4)] {
        let rows = (17 << 20) / (size * count) + 5;
        let mut builder = Builder::new("rows");
        let shape = || format!("{element}[{rows},1]").parse().unwrap();
        let operands: Vec<_> = (0..count).map(|_| builder.parameter(shape()).unwrap()).collect();
        let root = builder.add(Opcode::Concatenate { dimension: 1 }, &operands).unwrap();
        let program = Program::lower(&builder.finish("main", root).unwrap()).unwrap();
        let images: Vec<_> = (0..count).map(|n| bytes(rows * size, n * 12_345)).collect();
        let units = (0..rows).flat_map(|row| {
            images.iter().flat_map(move |image| image[row * size..][..size].iter().copied())
        });
        let expected: Vec<u8> = units.collect();
        check_places(&program, &images, &expected, element);
    }
}

/// Results that are large enough for non-temporal stores, with two alternating rows of one source.
#[test]
fn large_rows_of_two_rows_in_turns_on_the_host() {
    let (height, width, unit) = (1030, 1021, 8);
    let mut builder = Builder::new("rows");
    let shape = format!("u8[{height},2,{width},{unit}]").parse().unwrap();
    let operand = builder.parameter(shape).unwrap();
    let turned = Opcode::Transpose { dimensions: vec![0, 2, 1, 3] };
    let root = builder.add(turned, &[operand]).unwrap();
    let program = Program::lower(&builder.finish("main", root).unwrap()).unwrap();
    let image = bytes(height * 2 * width * unit, 3);
    let mut expected = Vec::new();
    for pair in image.chunks(2 * width * unit) {
        let (first, second) = pair.split_at(width * unit);
        for (first, second) in first.chunks(unit).zip(second.chunks(unit)) {
            expected.extend(first);
            expected.extend(second);
        }
    }
    check_places(&program, &[image], &expected, "two rows");
}
