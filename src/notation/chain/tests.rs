//! Tests with known and with random layouts, and a check that no shorter chain exists.

use super::*;
use crate::{
    shape::{ElementType::U8, Shape, TileDimension},
    stride::Digit,
    xla::index_util::for_each_index_of,
};

fn of_digits(sizes: &[u64], digits: &[Vec<(u64, i64)>]) -> StrideDescriptor {
    let digits: Vec<Vec<Digit>> = digits
        .iter()
        .map(|digits| digits.iter().map(|&(extent, stride)| Digit { extent, stride }).collect())
        .collect();
    StrideDescriptor::of_digits(U8, 0, sizes, &digits, 0).unwrap()
}

fn table(tensor: &StrideDescriptor) -> Vec<u64> {
    let mut offsets = Vec::new();
    for_each_index_of(tensor.sizes(), |index| offsets.push(tensor.offset(index).unwrap()));
    offsets
}

/// Finds a layout for `tensor`, checks the offsets of all elements, and returns the shape with this
/// layout.
fn chained(tensor: &StrideDescriptor) -> Result<Shape, String> {
    let layout = layout(tensor)?;
    let shape = Shape::new(U8, tensor.sizes().iter().copied(), layout).unwrap();
    let again = StrideDescriptor::try_from(&shape).unwrap();
    assert!(table(&again) == table(tensor), "{shape}: {tensor:?}");
    Ok(shape)
}

#[test]
fn the_shortest_chains_of_known_layouts() {
    let mut wrong = Vec::new();
    for (sizes, digits, expected) in [
        (&[2, 3][..], vec![vec![(2, 1)], vec![(3, 2)]], "u8[2,3]{0,1}"),
        (&[8], vec![vec![(8, 2)]], "u8[8]{0:T(2,1)}"),
        (&[8], vec![vec![(4, 1), (2, 8)]], "u8[8]{0:T(2,4)}"),
        (&[8, 8], vec![vec![(2, 1), (4, 16)], vec![(8, 2)]], "u8[8,8]{1,0:T(2,1)}"),
        (
            &[16, 256],
            vec![vec![(2, 1), (4, 256), (2, 2048)], vec![(128, 2), (2, 1024)]],
            "u8[16,256]{1,0:T(8,128)(2,1)}",
        ),
        (
            &[8, 8],
            vec![vec![(2, 2), (2, 8), (2, 32)], vec![(2, 1), (2, 4), (2, 16)]],
            "u8[8,8]{1,0:T(4,4)(2,2)}",
        ),
        // Two tiles are needed, because the digits of both dimensions are out of order.
        (&[4, 6], vec![vec![(2, 4), (2, 1)], vec![(2, 2), (3, 8)]], "u8[4,6]{1,0:T(2,2)(2,1,1,1)}"),
        // The dimension of one element is used as the unit.
        (&[2, 1, 2], vec![vec![(2, 24)], vec![], vec![(2, 4)]], "u8[2,1,2]{1,2,0:T(6,4)}"),
        (&[2, 2], vec![vec![(2, 24)], vec![(2, 4)]], "u8[2,2]{1,0:T(1)(6,4)}"),
        (&[12, 4], vec![vec![(12, 13)], vec![(4, 3)]], "u8[12,4]{1,0:T(3,1,1)(*,*,*,13)}"),
    ] {
        let given = chained(&of_digits(sizes, &digits)).unwrap().to_string();
        if given != expected {
            wrong.push(format!("expected {expected}, got {given}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    let padded: Shape = "f32[2,3]{0,1:PAD(3,5,zero)}".parse().unwrap();
    let padded = StrideDescriptor::try_from(&padded).unwrap();
    assert_eq!(layout(&padded).unwrap().to_string(), "{0,1:T(5,3)}");
    // The layout keeps the prefix before the data.
    for (legacy, expected) in [
        ("f32[]{:M(8)PAD(zero)}", "{:M(8)}"),
        ("f32[2,3]{0,1:M(8)PAD(3,5,zero)}", "{0,1:T(5,3)M(8)}"),
    ] {
        let legacy: Shape = legacy.parse().unwrap();
        let tensor = StrideDescriptor::try_from(&legacy).unwrap();
        assert_eq!(layout(&tensor).unwrap().to_string(), expected);
    }
}

#[test]
fn what_no_layout_says() {
    for (sizes, digits, why) in [
        (&[2, 3][..], vec![vec![(2, 0)], vec![(3, 1)]], "a stride of 0"),
        (&[4, 4], vec![vec![(4, 1)], vec![(4, 1)]], "share places"),
        (&[3, 2], vec![vec![(3, 2)], vec![(2, 3)]], "interleave"),
    ] {
        let error = chained(&of_digits(sizes, &digits)).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let reversed = StrideDescriptor::strided(U8, 0, &[3], &[-1], 2).unwrap();
    assert!(layout(&reversed).unwrap_err().contains("offset 2"));
}

/// A pseudo-random number generator.
struct Few(u64);

impl Few {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }

    /// Returns dimensions with up to `most` digits each. The order of the digits in memory is
    /// random, with gaps between some of them.
    fn digits(&mut self, rank: usize, most: u64, padded: u64) -> (Vec<u64>, Vec<Vec<(u64, i64)>>) {
        let mut digits: Vec<Vec<(u64, i64)>> = (0..rank)
            .map(|_| (0..self.below(most + 1)).map(|_| (2 + self.below(2), 0)).collect())
            .collect();
        let sizes = digits.iter().map(|of| of.iter().map(|digit| digit.0).product()).collect();
        let mut all: Vec<(usize, usize)> = digits
            .iter()
            .enumerate()
            .flat_map(|(d, of)| (0..of.len()).map(move |n| (d, n)))
            .collect();
        let mut span = 1 + i64::from(padded > 0 && self.below(padded) == 0);
        while !all.is_empty() {
            let at = self.below(all.len() as u64);
            let (dimension, number) = all.swap_remove(usize::try_from(at).unwrap());
            let digit = &mut digits[dimension][number];
            digit.1 = span;
            span *= i64::try_from(digit.0).unwrap();
            if padded > 0 && self.below(padded) == 0 {
                span += i64::try_from(self.below(4)).unwrap();
            }
        }
        (sizes, digits)
    }
}

#[test]
fn any_order_of_digits_and_any_pitch() {
    let mut few = Few(3);
    let mut tiles = [0; 12];
    for _ in 0..if cfg!(miri) { 5 } else { 1_500 } {
        let rank = 1 + usize::try_from(few.below(4)).unwrap();
        let (sizes, digits) = few.digits(rank, [6, 3, 3, 2][rank - 1], 5);
        let shape = chained(&of_digits(&sizes, &digits)).unwrap();
        tiles[shape.layout().unwrap().tiles.len().min(11)] += 1;
    }
    assert!(
        cfg!(miri) || (tiles[..5].iter().all(|&count| count > 20) && tiles[9..] == [0; 3]),
        "{tiles:?}"
    );
}

/// Returns all tiles with up to `most` extents, in which each extent is one of `sizes`.
fn all_tiles(most: usize, sizes: &[u64]) -> Vec<Vec<u64>> {
    let mut all: Vec<Vec<u64>> = vec![Vec::new()];
    let mut from = 0;
    for _ in 0..most {
        let longer: Vec<Vec<u64>> = all[from..]
            .iter()
            .flat_map(|tile| sizes.iter().map(move |&size| [&tile[..], &[size]].concat()))
            .collect();
        from = all.len();
        all.extend(longer);
    }
    all.split_off(1)
}

/// Tries every shorter chain with every order of the dimensions, and checks that none of them gives
/// all elements the right offsets.
#[test]
#[cfg_attr(miri, ignore = "a hundred thousand layouts take minutes")]
fn no_chain_is_shorter() {
    let mut few = Few(8);
    let mut checked = [0; 4];
    for number in 0..90 {
        let (sizes, digits) = few.digits(2, 2 + number as u64 / 60, [0, 3][number % 2]);
        let tensor = of_digits(&sizes, &digits);
        let shape = chained(&tensor).unwrap();
        let given = &shape.layout().unwrap().tiles;
        if given.is_empty()
            || given.len() > 3
            || given.iter().any(|tile| tile.dimensions.contains(&TileDimension::Combine))
        {
            continue;
        }
        checked[given.len()] += 1;
        if given.len() == 3 && checked[3] > 2 {
            continue;
        }
        let wanted = table(&tensor);
        let sizes_of_tiles: &[u64] =
            if given.len() == 3 { &[1, 2, 3] } else { &[1, 2, 3, 4, 5, 6, 8, 9, 12] };
        let tiles = all_tiles(3, sizes_of_tiles);
        let mut chains: Vec<Vec<&Vec<u64>>> = vec![vec![]];
        for _ in 1..given.len() {
            chains = chains
                .iter()
                .flat_map(|chain| tiles.iter().map(move |tile| [&chain[..], &[tile]].concat()))
                .collect();
        }
        for (order, chain) in
            [[1, 0], [0, 1]].iter().flat_map(|order| chains.iter().map(move |chain| (order, chain)))
        {
            let layout = chain
                .iter()
                .fold(Layout::new(*order), |layout, tile| layout.tiled(tile.iter().copied()));
            let shorter = Shape::new(U8, sizes.iter().copied(), layout).unwrap();
            let Ok(lowered) = StrideDescriptor::try_from(&shorter) else { continue };
            let last = sizes.iter().map(|size| size - 1).collect::<Vec<_>>();
            let differs =
                lowered.offset(&last) != tensor.offset(&last) || table(&lowered) != wanted;
            assert!(differs, "{shorter} is {shape}");
        }
    }
    assert!(checked[1..].iter().all(|&count| count > 1), "{checked:?}");
}
