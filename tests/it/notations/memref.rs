//! Maps of `memref`. They are checked by evaluating their expressions, with no code of the reader.

use stridec::notation::{Kind, read};

use super::{
    support::{random::Random, scope::cases},
    table,
};

/// An expression of a map, from which its text is made.
enum Expression {
    Dimension(usize),
    Floordiv(Box<Expression>, i64),
    Mod(Box<Expression>, i64),
    Times(Box<Expression>, i64),
    Plus(Box<Expression>, Box<Expression>),
    Constant(i64),
}

use Expression::{Constant, Dimension, Floordiv, Mod, Plus, Times};

impl Expression {
    fn text(&self) -> String {
        match self {
            Dimension(dimension) => format!("d{dimension}"),
            Floordiv(of, by) => format!("({}) floordiv {by}", of.text()),
            Mod(of, by) => format!("({}) mod {by}", of.text()),
            Times(of, by) => format!("({}) * {by}", of.text()),
            Plus(one, other) => format!("{} + {}", one.text(), other.text()),
            Constant(value) => value.to_string(),
        }
    }

    fn value(&self, index: &[i64]) -> i64 {
        match self {
            Dimension(dimension) => index[*dimension],
            Floordiv(of, by) => of.value(index).div_euclid(*by),
            Mod(of, by) => of.value(index).rem_euclid(*by),
            Times(of, by) => of.value(index) * by,
            Plus(one, other) => one.value(index) + other.value(index),
            Constant(value) => *value,
        }
    }

    /// Returns the greatest value by MLIR's rule, in which the greatest value of `e mod k` is `k -
    /// 1`.
    fn greatest(&self, sizes: &[i64]) -> i64 {
        match self {
            Dimension(dimension) => sizes[*dimension] - 1,
            Floordiv(of, by) => of.greatest(sizes).div_euclid(*by),
            // MLIR replaces `e mod 1` with 0 before it applies any other rule.
            Mod(_, 1) => 0,
            Mod(of, by) if of.is_zero() => of.greatest(sizes).rem_euclid(*by),
            Mod(_, by) => by - 1,
            Times(of, by) => of.greatest(sizes) * by,
            Plus(one, other) => one.greatest(sizes) + other.greatest(sizes),
            Constant(value) => *value,
        }
    }

    /// Returns true if MLIR simplifies the expression to 0.
    fn is_zero(&self) -> bool {
        match self {
            Mod(_, 1) => true,
            Mod(of, _) | Floordiv(of, _) | Times(of, _) => of.is_zero(),
            _ => false,
        }
    }
}

/// Returns all indices of an array, in row-major order.
fn indices(sizes: &[i64]) -> Vec<Vec<i64>> {
    sizes.iter().fold(vec![Vec::new()], |indices, &size| {
        let longer =
            indices.iter().flat_map(|index| (0..size).map(|at| [&index[..], &[at]].concat()));
        longer.collect()
    })
}

/// Returns the offset of every element. The results are in row-major order, with extents by MLIR's
/// rule.
fn offsets(sizes: &[i64], results: &[Expression]) -> Vec<i64> {
    let offset = |index: &Vec<i64>| {
        results
            .iter()
            .fold(0, |offset, result| offset * (result.greatest(sizes) + 1) + result.value(index))
    };
    indices(sizes).iter().map(offset).collect()
}

fn memref(sizes: &[i64], results: &[Expression]) -> String {
    let extents = sizes.iter().fold(String::new(), |text, size| text + &size.to_string() + "x");
    let dimensions: Vec<String> = (0..sizes.len()).map(|number| format!("d{number}")).collect();
    let results: Vec<String> = results.iter().map(Expression::text).collect();
    let (dimensions, results) = (dimensions.join(", "), results.join(", "));
    format!("memref<{extents}i8, affine_map<({dimensions}) -> ({results})>>")
}

/// Returns the parts of a dimension that is divided into nested tiles of random extents. For `(3,
/// 4)` the parts are `d floordiv 12`, `(d mod 12) floordiv 4` and `d mod 4`.
fn parts(random: &mut Random, dimension: usize) -> Vec<Expression> {
    let mut parts = Vec::new();
    let mut by = 1;
    for _ in 0..random.below(3) {
        let extent = random.pick(&[1, 2, 2, 3, 4, 8, 16]);
        let whole = Box::new(Dimension(dimension));
        // There are two ways to write the same part.
        parts.push(match random.below(2) {
            _ if by == 1 => Mod(whole, extent),
            0 => Floordiv(Box::new(Mod(whole, by * extent)), by),
            _ => Mod(Box::new(Floordiv(whole, by)), extent),
        });
        by *= extent;
    }
    let whole = Box::new(Dimension(dimension));
    parts.push(if by == 1 { *whole } else { Floordiv(whole, by) });
    parts
}

fn index_of<T>(random: &mut Random, of: &[T]) -> usize {
    usize::try_from(random.below(of.len() as u64)).unwrap()
}

#[test]
fn every_offset_of_random_maps() {
    let mut random = Random(35);
    let (mut read_ones, mut wider) = (0, 0);
    let count = cases(4_000);
    for _ in 0..count {
        let sizes: Vec<i64> =
            (0..=random.below(3)).map(|_| 1 + random.below(9).cast_signed()).collect();
        let mut all: Vec<Expression> =
            (0..sizes.len()).flat_map(|dimension| parts(&mut random, dimension)).collect();
        let mut results = Vec::new();
        while !all.is_empty() {
            let mut result = all.swap_remove(index_of(&mut random, &all));
            match random.below(12) {
                0 => result = Plus(Box::new(result), Box::new(Constant(2))),
                1 => result = Times(Box::new(result), 3),
                2 if !all.is_empty() => {
                    let minor = all.swap_remove(index_of(&mut random, &all));
                    let extent = minor.greatest(&sizes) + 1;
                    result = Plus(Box::new(Times(Box::new(result), extent)), Box::new(minor));
                }
                _ => {}
            }
            results.push(result);
        }
        if results.len() == 1 {
            results.push(Constant(0));
        }
        let text = memref(&sizes, &results);
        let array = match read(&text) {
            Ok(array) => array,
            Err(error) => {
                // MLIR gives no certain extent for this sum or multiple.
                assert!(error.reason().contains("certain"), "{text}: {error}");
                continue;
            }
        };
        read_ones += 1;
        let expected = offsets(&sizes, &results);
        let taken = |result: &Expression| {
            indices(&sizes).iter().map(|index| result.value(index)).max().unwrap()
        };
        wider += u32::from(results.iter().any(|result| taken(result) < result.greatest(&sizes)));
        assert_eq!(table(array.descriptor()), expected, "{text}");
        let memory = array.descriptor().physical_elements();
        assert!(i64::try_from(memory).unwrap() > *expected.iter().max().unwrap(), "{text}");
        let again = array.write(Kind::Memref).unwrap();
        assert_eq!(table(read(&again).unwrap().descriptor()), expected, "{text}: {again}");
    }
    println!("{read_ones} of {count}, {wider} with results of more values than they take");
    assert!(read_ones > count / 2 && u64::from(wider) > count / 5, "{read_ones} {wider}");
}

/// The extents are those of MLIR 19's `-normalize-memrefs`.
#[test]
fn tiles_larger_than_their_dimension() {
    for (extents, map, index, offset, memory) in [
        (
            "1x16x14x14",
            "(d0, d1, d2, d3) -> (d0, d1, d2 floordiv 32, d3 floordiv 64, d2 mod 32, d3 mod 64)",
            &[0, 0, 1, 0][..],
            64,
            32_768,
        ),
        (
            "384x2",
            "(d0, d1) -> (d0 floordiv 16, d1 floordiv 16, d0 mod 16, d1 mod 16)",
            &[1, 0],
            16,
            6_144,
        ),
        ("1x9", "(d0, d1) -> (d1 floordiv 8, d0 floordiv 4, d1 mod 8, d0 mod 4)", &[0, 8], 32, 64),
        ("6", "(d0) -> (d0 floordiv 8, (d0 mod 8) floordiv 2, d0 mod 2)", &[5], 5, 8),
        ("6", "(d0) -> (d0 floordiv 4, (d0 mod 4) mod 8)", &[5], 9, 16),
        ("6", "(d0) -> (d0 floordiv 4, d0 mod 4 + 5)", &[5], 15, 18),
        ("6", "(d0) -> (d0 mod 4, d0 floordiv 4)", &[5], 3, 8),
        ("6x3", "(d0, d1) -> (d0 * 3 + d1, 8 ceildiv 3)", &[5, 2], 71, 72),
        ("6", "(d0) -> (d0 mod 1, d0 ceildiv 1)", &[5], 5, 6),
    ] {
        let text = format!("memref<{extents}xf32, affine_map<{map}>>");
        let array = read(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(array.descriptor().offset(index), Ok(offset), "{text}");
        assert_eq!(array.descriptor().physical_elements(), memory, "{text}");
    }
    let tiled = "memref<1x16x14x14xf32, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 floordiv 32, d3 floordiv 64, d2 mod 32, d3 mod 64)>>";
    let xla = read(tiled).unwrap().write(Kind::Xla).unwrap();
    assert_eq!(xla, "f32[1,16,14,14]{3,2,1,0:T(32,64)}");
}

/// MLIR finds the first extent for some of these maps. With the other maps, the extent that it
/// finds depends on the other results.
#[test]
fn extents_that_are_not_certain_are_refused() {
    for (map, extents) in [
        ("(d0, d1, d2) -> (d2, (d0 mod 8) * 3 + d1)", "18 to 24"),
        ("(d0, d1, d2) -> (d2, d0 mod 4, (d0 mod 16) floordiv 4, d0 floordiv 16, d1)", "2 to 4"),
        ("(d0, d1, d2) -> (d2, (d0 floordiv 3) * 3, d0 mod 3, d1)", "4 to 6"),
    ] {
        let text = format!("memref<6x3x2xi8, affine_map<{map}>>");
        let reason = read(&text).map(|_| ()).unwrap_err().reason().to_owned();
        assert!(reason.contains(&format!("of extent {extents}")), "{reason}");
    }
    // The extent of the first result only affects the size of the memory.
    let text = "memref<6x3x2xi8, affine_map<(d0, d1, d2) -> ((d0 mod 8) * 3 + d1, d2)>>";
    assert_eq!(read(text).unwrap().descriptor().offset(&[5, 2, 1]), Ok(35));
}
