//! The shortest chain of tiles that puts digits into an order: a radix sort, planned.
//!
//! A tile takes from each place that it covers the least significant part and puts these parts behind the others, both in
//! the order that they had. So a tile sorts the digits, stably, by one bit: 1 for those that it takes. A chain of tiles
//! sorts by a number, the *key* of a digit, whose lowest bit is the first tile's and whose highest is the last one's; digits
//! of equal keys keep their order. The fewest tiles are the fewest bits.
//!
//! Two rules bind the keys. Neighbouring digits of a dimension are one number until a tile parts them, and that tile takes
//! the less significant of the two: at their lowest different bit, the more significant has 0. And a digit is padded by a
//! tile that takes it whole, after it was parted from the more significant one.

/// A digit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The digit's place in the order that the tiles start with.
    pub(super) start: usize,
    /// The next more significant digit of the dimension, by its place in memory.
    pub(super) upper: Option<usize>,
    /// The next less significant digit of the dimension, by its place in memory.
    pub(super) lower: Option<usize>,
    /// Whether a tile has to pad it.
    pub(super) is_padded: bool,
    /// Whether a tile has to part it from the next more significant digit.
    pub(super) is_apart: bool,
}

/// The most bits that are tried.
const MOST_BITS: u32 = 7;

/// The most ways to give keys that are compared.
const MOST_WAYS: usize = 64;

/// Ways to give the digits, listed major to minor, keys of this many bits; none where there are none, or `budget` runs out.
pub(super) fn keys(items: &[Item], bits: u32, budget: &mut u32) -> Vec<Vec<u64>> {
    let mut ways = Vec::new();
    let mut keys = Vec::with_capacity(items.len());
    search(items, 1 << bits.min(MOST_BITS), &mut keys, budget, &mut ways);
    ways
}

fn search(
    items: &[Item],
    limit: u64,
    keys: &mut Vec<u64>,
    budget: &mut u32,
    ways: &mut Vec<Vec<u64>>,
) {
    let Some(item) = items.get(keys.len()) else {
        ways.push(keys.clone());
        return;
    };
    let least = match keys.last() {
        None => 0,
        // Digits that keep their order may have one key.
        Some(&key) => key + u64::from(items[keys.len() - 1].start > item.start),
    };
    for key in least..limit {
        if *budget == 0 || ways.len() == MOST_WAYS {
            return;
        }
        *budget -= 1;
        let known = |neighbour: Option<usize>| neighbour.and_then(|at| keys.get(at)).copied();
        let (upper, lower) = (known(item.upper), known(item.lower));
        let fits = upper.is_none_or(|upper| follows(upper, key))
            && lower.is_none_or(|lower| {
                let lower_item = &items[item.lower.unwrap_or_default()];
                follows(key, lower)
                    && (!lower_item.is_padded || is_taken_whole(Some(key), lower))
                    && (!lower_item.is_apart || key != lower)
            })
            && (!item.is_apart || upper != Some(key))
            && (!item.is_padded
                || (item.upper.is_some() && upper.is_none())
                || is_taken_whole(upper, key));
        if fits {
            keys.push(key);
            search(items, limit, keys, budget, ways);
            keys.pop();
        }
    }
}

/// Whether the lowest different bit is 0 in `upper` and 1 in `lower`.
fn follows(upper: u64, lower: u64) -> bool {
    let different = upper ^ lower;
    different == 0 || lower & lowest(different) != 0
}

/// Whether a tile takes a digit after it was parted from the more significant one.
fn is_taken_whole(upper: Option<u64>, key: u64) -> bool {
    match upper {
        None => key != 0,
        Some(upper) if upper == key => false,
        Some(upper) => key & !(2 * lowest(upper ^ key) - 1) != 0,
    }
}

fn lowest(bits: u64) -> u64 {
    bits & bits.wrapping_neg()
}

/// Keys that there always are: a tile parts all dimensions at once, digit by digit from the most significant down, and then
/// one tile for each digit in memory, from the most major on, moves it behind all others. `None` past 64 tiles.
pub(super) fn any_keys(items: &[Item]) -> Option<(Vec<u64>, u32)> {
    let level = |item: &Item| {
        std::iter::successors(item.upper, |&upper| items[upper].upper).take(items.len()).count()
    };
    let parting = items.iter().map(level).max().unwrap_or(0);
    let bits = parting + items.len();
    if bits > 63 {
        return None;
    }
    let keys = items.iter().enumerate().map(|(rank, item)| {
        let parted = ((1_u64 << level(item)) - 1) << (parting - level(item));
        parted | 1 << (parting + rank)
    });
    Some((keys.collect(), u32::try_from(bits).ok()?))
}
