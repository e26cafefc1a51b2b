//! The shortest chain of tiles that puts digits into an order, planned as a radix sort.
//!
//! A tile takes the least significant part from each place that it covers, and moves these parts
//! after the others. Both groups keep their order. So a tile sorts the digits stably by one bit,
//! which is 1 for those that it takes. A chain of tiles sorts by a number, the *key* of a digit:
//! its lowest bit belongs to the first tile, its highest bit to the last one. Digits with equal
//! keys keep their order. The fewest tiles correspond to the fewest bits.
//!
//! Keys obey two rules. Neighbouring digits of a dimension are one number until a tile separates
//! them, and that tile takes the less significant one: at their lowest different bit, the more
//! significant digit has 0. And a digit is padded by a tile that takes it whole, after it was
//! separated from the more significant one.

/// A digit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The digit's place in the order before the first tile.
    pub(super) start: usize,
    /// The next more significant digit of the dimension, by its place in memory.
    pub(super) upper: Option<usize>,
    /// The next less significant digit of the dimension, by its place in memory.
    pub(super) lower: Option<usize>,
    /// True if a tile must pad the digit.
    pub(super) is_padded: bool,
    /// True if a tile must separate the digit from the next more significant one.
    pub(super) is_apart: bool,
}

/// The maximum number of bits of a key.
const MOST_BITS: u32 = 7;

/// The maximum number of assignments of keys to compare.
const MOST_WAYS: usize = 64;

/// Returns assignments of keys with this many bits to the digits, listed major to minor. There are
/// none if the bits are too few or `budget` is used up.
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
        // Digits that keep their order may have equal keys.
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

/// Returns true if the lowest different bit is 0 in `upper` and 1 in `lower`.
fn follows(upper: u64, lower: u64) -> bool {
    let different = upper ^ lower;
    different == 0 || lower & lowest(different) != 0
}

/// Returns true if a tile takes the digit after it was separated from the more significant one.
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

/// Returns keys that always exist: first, tiles separate all dimensions at once, digit by digit
/// from the most significant down. Then one tile for each digit in memory, the most major first,
/// moves it after all others. Returns `None` for more than 64 tiles.
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
