//! An XLA layout of any memory that one can say: a chain of tiles that puts the digits of the dimensions where they lie.
//!
//! The chain is the shortest wherever each stride is a multiple of the next smaller one and at most five dimensions have more
//! than one element. Other pitches take one more tile each, which folds all that lies inside it: `[12,4]` with strides 13 and
//! 3 is `T(3,1,1)(*,*,*,13)`.

use super::{
    keys::{Item, any_keys, keys},
    pitched::Pitched,
};
use crate::{
    shape::{Layout, Tile, TileDimension},
    stride::StrideDescriptor,
};

/// Dimensions of more than one element whose every order is tried.
const MOST_ORDERED: usize = 5;

/// Steps of the search for the shortest chain.
const BUDGET: u32 = 300_000;

/// A digit in memory, or a unit: a place of extent 1 that a tile pads.
#[derive(Clone, Debug)]
struct Part {
    /// The dimension; `None` for a unit before all dimensions.
    dimension: Option<usize>,
    /// How significant the digit is; 0 is the least.
    level: usize,
    extent: u64,
    /// The places that it takes in memory, at least its extent.
    padded: u64,
}

/// Digits in memory, major to minor, and the pitches that are no multiples of those inside them.
#[derive(Clone, Debug)]
struct Memory {
    parts: Vec<Part>,
    /// A part, and the elements from one value of it to the next; the greatest part first.
    pitches: Vec<(usize, u64)>,
}

/// The layout of a tensor in which each element lies where it lies in the tensor.
///
/// # Errors
///
/// Why no layout is found.
pub(super) fn layout(tensor: &StrideDescriptor) -> Result<Layout, String> {
    let bits = match tensor.element_type().storage_bits() {
        Some(bits) if bits == tensor.element_bits() => 0,
        _ => tensor.element_bits().into(),
    };
    let mut row_major = Layout::default_for_rank(tensor.rank()).element_size(bits);
    row_major.dynamic_shape_metadata_prefix_bytes = tensor.prefix_bytes();
    if tensor.elements() == 0 {
        return Ok(row_major);
    }
    let memory = Memory::of(tensor)?;
    let best = memory.shortest(tensor.rank());
    let (order, tiles) = best.ok_or("it takes a chain of more than 64 tiles")?;
    let mut layout = row_major;
    if !tiles.is_empty() || !memory.is_ordered() {
        layout.minor_to_major = order.into_iter().rev().collect();
    }
    layout.tiles = tiles;
    Ok(layout)
}

/// An order of the dimensions, major to minor, and the tiles that it starts.
struct Found {
    /// Whether the order is another than the row-major one, and the numbers in the tiles.
    cost: (bool, usize),
    order: Vec<usize>,
    tiles: Vec<Tile>,
}

impl Memory {
    fn of(tensor: &StrideDescriptor) -> Result<Self, String> {
        let (Pitched { parts, step }, pitches) = Pitched::with_pitches(tensor)?;
        let mut parts: Vec<Part> = parts
            .into_iter()
            .map(|part| Part {
                dimension: Some(part.dimension),
                level: part.level,
                extent: part.extent,
                padded: part.padded,
            })
            .collect();
        if step > 1 {
            parts.push(Part { dimension: None, level: 0, extent: 1, padded: step });
        }
        Ok(Self { parts, pitches })
    }

    /// Whether the digits are whole dimensions in row-major order.
    fn is_ordered(&self) -> bool {
        self.parts.is_sorted_by_key(|part| part.dimension)
    }

    /// The other ways to have the same padding: units in the place of padded digits, units that are dimensions of one
    /// element, or units that are the least significant digits of dimensions.
    fn variants(&self, rank: usize) -> Vec<Self> {
        let mut variants = vec![self.clone()];
        for (at, part) in self.parts.iter().enumerate().skip(1) {
            let padding = part.padded / part.extent;
            if part.dimension.is_some() && padding > 1 && part.padded.is_multiple_of(part.extent) {
                let mut variant = self.clone();
                variant.parts[at].padded = part.extent;
                let unit = Part { dimension: None, level: 0, extent: 1, padded: padding };
                variant.parts.insert(at, unit);
                for (outer, _) in &mut variant.pitches {
                    *outer += usize::from(*outer >= at);
                }
                variants.push(variant);
            }
        }
        for number in 0..variants.len() {
            let units = variants[number].parts.iter();
            let Some(unit) = units.clone().position(|part| part.dimension.is_none()) else {
                continue;
            };
            for dimension in (0..rank).map(Some) {
                let mut variant = variants[number].clone();
                for part in &mut variant.parts {
                    part.level += usize::from(part.dimension == dimension);
                }
                variant.parts[unit].dimension = dimension;
                variants.push(variant);
            }
        }
        variants
    }

    /// The dimensions, major to minor, and the tiles: as few as there can be; of those after the row-major order where there are
    /// any, and of those the fewest numbers.
    fn shortest(&self, rank: usize) -> Option<(Vec<usize>, Vec<Tile>)> {
        let variants: Vec<(Self, Vec<Vec<usize>>)> = self
            .variants(rank)
            .into_iter()
            .map(|variant| {
                let orders = variant.orders(rank);
                (variant, orders)
            })
            .collect();
        let numbers =
            |tiles: &[Tile]| tiles.iter().map(|tile| tile.dimensions.len()).sum::<usize>();
        let mut budget = BUDGET;
        for bits in 0.. {
            let mut best: Option<Found> = None;
            let starts = variants
                .iter()
                .flat_map(|(variant, orders)| orders.iter().map(move |order| (variant, order)));
            for (variant, order) in starts {
                for keys in keys(&variant.items(order), bits, &mut budget) {
                    let tiles = variant.tiles(order, &keys, bits);
                    let cost = (!order.is_sorted(), numbers(&tiles));
                    if best.as_ref().is_none_or(|best| cost < best.cost) {
                        best = Some(Found { cost, order: order.clone(), tiles });
                    }
                }
            }
            if let Some(Found { order, tiles, .. }) = best {
                return Some((order, tiles));
            }
            if budget == 0 || bits > 8 {
                break;
            }
        }
        let order = self.orders(rank).into_iter().next()?;
        let (keys, bits) = any_keys(&self.items(&order))?;
        let tiles = self.tiles(&order, &keys, bits);
        (tiles.len() <= crate::shape::MAX_TILES).then_some((order, tiles))
    }

    /// Orders of the dimensions, major to minor, that tiles may start with; those of one element come first.
    fn orders(&self, rank: usize) -> Vec<Vec<usize>> {
        let appears =
            |dimension: &usize| self.parts.iter().any(|part| part.dimension == Some(*dimension));
        let (moving, still): (Vec<usize>, Vec<usize>) = (0..rank).partition(appears);
        let of = |dimension: usize| move |part: &Part| part.dimension == Some(dimension);
        let mut by_first = moving.clone();
        by_first.sort_by_key(|&dimension| self.parts.iter().position(of(dimension)));
        let mut by_last = moving.clone();
        by_last.sort_by_key(|&dimension| self.parts.iter().rposition(of(dimension)));
        let orders = if moving.len() <= MOST_ORDERED {
            permutations(&moving)
        } else {
            vec![moving.clone(), by_first, by_last, moving.into_iter().rev().collect()]
        };
        orders.into_iter().map(|order| [&still[..], &order[..]].concat()).collect()
    }

    /// The digits as the planner of keys takes them, for tiles that start with this order of dimensions.
    fn items(&self, order: &[usize]) -> Vec<Item> {
        let at = |dimension: Option<usize>, level: Option<usize>| {
            let (dimension, level) = (Some(dimension?), level?);
            self.parts.iter().position(|part| part.dimension == dimension && part.level == level)
        };
        let place = |part: &Part| match part.dimension {
            None => 0,
            Some(dimension) => 1 + order.iter().position(|&of| of == dimension).unwrap_or(0),
        };
        let mut starts: Vec<usize> = (0..self.parts.len()).collect();
        starts.sort_by_key(|&at| (place(&self.parts[at]), std::cmp::Reverse(self.parts[at].level)));
        self.parts
            .iter()
            .enumerate()
            .map(|(number, part)| Item {
                start: starts.iter().position(|&at| at == number).unwrap_or(0),
                upper: at(part.dimension, Some(part.level + 1)),
                lower: at(part.dimension, part.level.checked_sub(1)),
                is_padded: part.padded > part.extent,
                is_apart: self.pitches.iter().any(|&(outer, _)| outer + 1 == number),
            })
            .collect()
    }

    /// The tiles that sort the digits by their keys, and those that make the other pitches.
    fn tiles(&self, order: &[usize], keys: &[u64], bits: u32) -> Vec<Tile> {
        let mut sorting = Sorting::new(self, order);
        let mut tiles: Vec<Tile> = (0..bits).map(|bit| sorting.tile(keys, bit)).collect();
        for &(outer, pitch) in self.pitches.iter().rev() {
            tiles.push(sorting.fold(outer, pitch));
        }
        tiles
    }
}

/// Every order of some numbers, the ascending one first.
fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in of.iter().enumerate() {
        let rest = [&of[..at], &of[at + 1..]].concat();
        all.extend(permutations(&rest).into_iter().map(|rest| [&[first], &rest[..]].concat()));
    }
    all
}

/// The places of memory while tiles are applied.
struct Sorting<'a> {
    memory: &'a Memory,
    /// Parts that are one place, the most significant first; none in a place of extent 1. Major to minor.
    places: Vec<Vec<usize>>,
    /// Whether a tile has padded the part.
    is_padded: Vec<bool>,
    /// Units that no tile has made yet, major to minor.
    units: Vec<usize>,
}

impl<'a> Sorting<'a> {
    fn new(memory: &'a Memory, order: &[usize]) -> Self {
        let of = |dimension: Option<usize>| {
            let mut parts: Vec<usize> = (0..memory.parts.len())
                .filter(|&part| memory.parts[part].dimension == dimension)
                .collect();
            parts.sort_by_key(|&part| std::cmp::Reverse(memory.parts[part].level));
            parts
        };
        let places = order.iter().map(|&dimension| of(Some(dimension))).collect();
        let mut units = of(None);
        units.sort_unstable();
        Self { memory, places, is_padded: vec![false; memory.parts.len()], units }
    }

    /// The tile that takes the parts whose keys have this bit.
    fn tile(&mut self, keys: &[u64], bit: u32) -> Tile {
        let is_taken = |part: &usize| keys[*part] >> bit & 1 == 1;
        let (made, units) = self.units.iter().copied().partition::<Vec<usize>, _>(is_taken);
        self.units = units;
        self.places.splice(0..0, made.into_iter().map(|unit| vec![unit]));
        let first = self.places.iter().position(|place| place.iter().any(is_taken));
        let covered = self.places.split_off(first.unwrap_or(self.places.len()));
        let (mut sizes, mut inner) = (Vec::new(), Vec::new());
        for place in covered {
            let (outer, taken): (Vec<usize>, Vec<usize>) =
                place.into_iter().partition(|part| !is_taken(part));
            if let Some(&top) = taken.first() {
                self.is_padded[top] |= outer.is_empty();
            }
            sizes.push(taken.iter().map(|&part| self.extent(part)).product::<u64>());
            self.places.push(outer);
            inner.push(taken);
        }
        self.places.append(&mut inner);
        Tile::new(sizes)
    }

    /// Places that the part takes now.
    fn extent(&self, part: usize) -> u64 {
        let Part { extent, padded, .. } = self.memory.parts[part];
        if self.is_padded[part] { padded } else { extent }
    }

    /// The tile that folds all places inside a part, so that its values lie `pitch` apart.
    fn fold(&mut self, outer: usize, pitch: u64) -> Tile {
        let inside = 1 + self.places.iter().position(|place| place.contains(&outer)).unwrap_or(0);
        let folded = self.places.split_off(inside);
        let stars = vec![TileDimension::Combine; folded.len().saturating_sub(1)];
        // The quotient, which is 1, and the fold, whose parts are not looked at again.
        self.places.extend([Vec::new(), Vec::new()]);
        Tile::new(stars.into_iter().chain([TileDimension::Size(pitch)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        shape::{ElementType::U8, Shape},
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

    /// The text of the layout, whose table is that of the tensor.
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
            // Two tiles, where the parts of both dimensions lie out of order.
            (
                &[4, 6],
                vec![vec![(2, 4), (2, 1)], vec![(2, 2), (3, 8)]],
                "u8[4,6]{1,0:T(2,2)(2,1,1,1)}",
            ),
            // A dimension of one element in the place of a unit.
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
        // What lies before the data stays there.
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

    /// A few numbers from a seed.
    struct Few(u64);

    impl Few {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % n
        }

        /// Dimensions of up to three digits each, these in any order in memory, with room between some of them.
        fn digits(
            &mut self,
            rank: usize,
            most: u64,
            padded: u64,
        ) -> (Vec<u64>, Vec<Vec<(u64, i64)>>) {
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

    /// All tiles of up to `most` numbers below a limit.
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

    /// Every chain of fewer tiles, in every order of the dimensions, puts some element elsewhere.
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
            for (order, chain) in [[1, 0], [0, 1]]
                .iter()
                .flat_map(|order| chains.iter().map(move |chain| (order, chain)))
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
}
