//! Every small relayout on the host, against the oracle.
//!
//! The test runs all combinations of the following:
//!
//! - up to rank 3: extents 0 to 4 in each dimension × every order of the destination × every unit ×
//!   the source padded or not × the destination without padding and with each padding value;
//! - at rank 4: extents 0 to 4 in each dimension × every order × every unit, with the paddings of
//!   both sides taken in turn;
//! - up to rank 4: extents 0 to 4 in each dimension × every order × every pair of six tilings, with
//!   the units taken in turn.
//!
//! The source has the default order. If the dimensions are renamed, every other pair of orders
//! becomes a pair with the default order first. All extents are tested, so each renaming is tested
//! too.
//!
//! At rank 4, every third combination of extents is tested unless `STRIDEC_LONG` is set.

use rayon::prelude::*;
use stridec::{
    Error,
    request::Operation,
    schedule::{Strategy, Target},
    shape::{ElementType, Layout, PaddingValue, Shape, TileDimension},
};

use super::support::{
    oracle,
    scope::{UNITS, long_cases, permutations},
};

/// The padding of the destination.
#[derive(Clone, Copy, PartialEq)]
enum Padding {
    None,
    /// Larger extents, and the padding value that the proto has.
    Cells(Option<PaddingValue>),
}

const PADDINGS: [Padding; 7] = [
    Padding::None,
    Padding::Cells(None),
    Padding::Cells(Some(PaddingValue::Zero)),
    Padding::Cells(Some(PaddingValue::One)),
    Padding::Cells(Some(PaddingValue::Lowest)),
    Padding::Cells(Some(PaddingValue::Highest)),
    Padding::Cells(Some(PaddingValue::Unknown)),
];

#[test]
fn every_relayout_up_to_rank_3() {
    let total: usize = (0..=3)
        .flat_map(all_extents)
        .par_bridge()
        .map(|extents| {
            let mut count = 0;
            for order in permutations(extents.len()) {
                for unit in UNITS {
                    for source_padded in [false, true] {
                        for padding in PADDINGS {
                            count += usize::from(relayout(
                                unit,
                                &extents,
                                &order,
                                source_padded,
                                padding,
                            ));
                        }
                    }
                }
            }
            count
        })
        .sum();
    // There are 806 pairs of extents and order, 8 units and 14 paddings. A c128 has no lowest and
    // no highest value, because complex numbers have no order.
    let refused = 2 * 2 * padded_orders();
    assert_eq!(total, 806 * 8 * 14 - refused);
}

/// Returns the number of pairs of extents and order up to rank 3 that can be padded: all pairs
/// except at rank 0.
fn padded_orders() -> usize {
    (1..=3)
        .map(|rank| all_extents(rank).count() * permutations(usize::try_from(rank).unwrap()).len())
        .sum()
}

#[test]
fn every_relayout_of_rank_4() {
    let extents: Vec<Vec<u64>> = long_cases(all_extents(4)).collect();
    let most = extents.len() * 24 * 8;
    let total: usize = extents
        .into_iter()
        .enumerate()
        .par_bridge()
        .map(|(number, extents)| {
            let mut count = 0;
            for (turn, order) in permutations(4).iter().enumerate() {
                for (n, unit) in UNITS.into_iter().enumerate() {
                    let turn = number + turn + n;
                    let padding = PADDINGS[turn % PADDINGS.len()];
                    count += usize::from(relayout(unit, &extents, order, turn % 2 == 1, padding));
                }
            }
            count
        })
        .sum();
    assert!(total > most * 19 / 20, "{total}");
}

/// Returns the tilings: none, partial tiles, a tile of a higher rank than some arrays, tiles of
/// tiles, and a combined dimension.
fn tilings() -> [Vec<Vec<TileDimension>>; 6] {
    use TileDimension::{Combine, Size};
    [
        vec![],
        vec![vec![Size(3)]],
        vec![vec![Size(2), Size(2)]],
        vec![vec![Size(3), Size(4)]],
        vec![vec![Size(2), Size(4)], vec![Size(2), Size(1)]],
        vec![vec![Combine, Size(2)]],
    ]
}

#[test]
fn every_pair_of_tilings_up_to_rank_4() {
    const UNITS: [ElementType; 4] =
        [ElementType::U1, ElementType::F4e2m1fn, ElementType::S8, ElementType::Bf16];
    let of_rank_4: Vec<Vec<u64>> = long_cases(all_extents(4)).collect();
    let orders = 806 + of_rank_4.len() * 24;
    let total: usize = (0..=3)
        .flat_map(all_extents)
        .chain(of_rank_4)
        .enumerate()
        .par_bridge()
        .map(|(number, extents)| {
            let (mut count, mut turn) = (0, number);
            for order in permutations(extents.len()) {
                for from in &tilings() {
                    for to in &tilings() {
                        turn += 1;
                        let unit = UNITS[turn % UNITS.len()];
                        let bits = unit.bits().unwrap();
                        let size = if bits < 8 { bits.into() } else { 0 };
                        let tiled = |order: Vec<usize>, tiling: &[Vec<TileDimension>]| {
                            let layout = Layout::new(order).element_size(size);
                            let layout = tiling.iter().cloned().fold(layout, Layout::tiled);
                            Shape::new(unit, extents.iter().copied(), layout).unwrap()
                        };
                        let default = (0..extents.len()).rev().collect();
                        let (source, destination) =
                            (tiled(default, from), tiled(order.clone(), to));
                        count += usize::from(run(unit, source, &destination));
                    }
                }
            }
            count
        })
        .sum();
    assert_eq!(total, orders * 36);
}

/// Runs one relayout on the host and in the oracle. Returns false if the type does not have the
/// padding value.
fn relayout(
    unit: ElementType,
    extents: &[u64],
    order: &[usize],
    source_padded: bool,
    padding: Padding,
) -> bool {
    let bits = unit.bits().unwrap();
    let size = if bits < 8 { bits.into() } else { 0 };
    let mut from = Layout::default_for_rank(extents.len()).element_size(size);
    if source_padded {
        from = from.padded(grown(extents, 2), Some(PaddingValue::Zero));
    }
    let mut to = Layout::new(order.iter().copied()).element_size(size);
    if let Padding::Cells(value) = padding {
        to = to.padded(grown(extents, 1), value);
    }
    let shape = |layout| Shape::new(unit, extents.iter().copied(), layout).unwrap();
    run(unit, shape(from), &shape(to))
}

fn relayout_of(source: Shape, destination: Shape) -> Result<Operation, Error> {
    Operation::relayout(source.try_into()?, destination.try_into()?)
}

/// Runs one relayout on the host and in the oracle. Returns false if the type does not have the
/// padding value.
fn run(unit: ElementType, source: Shape, destination: &Shape) -> bool {
    let name = format!("{source} to {destination}");
    let operation = match relayout_of(source, destination.clone()) {
        Ok(operation) => operation,
        Err(error) => {
            let text = error.to_string();
            assert!(
                unit == ElementType::C128 && text.starts_with("layout.padding_value"),
                "{name}: {text}"
            );
            return false;
        }
    };
    // The bytes differ from their neighbours, and mostly from every padding value.
    let image: Vec<u8> = (0..operation.source_descriptor().image_bytes())
        .map(|byte| (byte.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).to_le_bytes()[0])
        .collect();
    let bytes = usize::try_from(operation.destination_descriptor().image_bytes()).unwrap();
    let mut out = vec![0xa5; bytes];
    operation.run_on_host(&image, &mut out).unwrap();
    let (from, to) = (operation.source_descriptor(), operation.destination_descriptor());
    let expected = oracle::run(from, to, operation.window(), &image, Some(destination));
    assert_eq!(out, expected, "{name}");
    true
}

/// Returns larger extents, which pad some dimensions by different amounts.
fn grown(extents: &[u64], more: u64) -> Vec<u64> {
    extents.iter().zip(0..).map(|(&extent, dimension)| extent + (more + dimension) % 3).collect()
}

/// Returns every list of `rank` extents from 0 to 4.
fn all_extents(rank: u32) -> impl Iterator<Item = Vec<u64>> {
    (0..5_u64.pow(rank)).map(move |number| (0..rank).map(|d| number / 5_u64.pow(d) % 5).collect())
}

#[test]
fn every_empty_relayout_compiles_to_no_dispatch() {
    for extents in (1..=4).flat_map(all_extents).filter(|extents| extents.contains(&0)) {
        let shape = |order: Vec<usize>| {
            Shape::new(ElementType::F32, extents.iter().copied(), Layout::new(order)).unwrap()
        };
        let rank = extents.len();
        let operation = Operation::relayout(
            shape((0..rank).collect()).try_into().unwrap(),
            shape((0..rank).rev().collect()).try_into().unwrap(),
        );
        let kernel = operation.unwrap().compile(&Target::webgpu()).unwrap();
        assert!(kernel.dispatches.is_empty() && kernel.strategy == Strategy::Empty, "{extents:?}");
    }
}
