//! Finds the shortest chain of tiles that puts digits into a given order, as a radix sort.
//!
//! A digit is a part of a dimension's index, such as `i / 8` or `i % 8`. A tile splits each axis
//! that it covers into a quotient and a remainder, and moves all remainders after all quotients.
//! Both groups keep their order. So a tile is one pass of a stable sort by a single bit, which is 1
//! for the digits in a remainder. A chain of tiles sorts the digits by a number, the *key*: the
//! lowest bit of a key belongs to the first tile, and the highest bit to the last one. Digits with
//! equal keys keep their order. The shortest chain has the keys with the fewest bits.
//!
//! Keys obey two rules. First, neighbouring digits of a dimension are one number until a tile
//! separates them, and the less significant digit is then in the remainder. Therefore, in the
//! lowest bit in which their keys differ, the more significant digit has 0. Second, a tile can pad
//! only a whole axis. Therefore the key of a digit that needs padding has a 1 above the bit that
//! separates it from the next more significant digit.

/// A digit to be sorted. Digits refer to each other by their position in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The position of the digit before the first tile.
    pub(super) start: usize,
    /// The next more significant digit of the same dimension.
    pub(super) upper: Option<usize>,
    /// The next less significant digit of the same dimension.
    pub(super) lower: Option<usize>,
    /// True if a tile must pad the digit.
    pub(super) is_padded: bool,
    /// True if a tile must separate the digit from the next more significant one.
    pub(super) is_apart: bool,
}

/// The maximum number of bits of a key in the search. If more bits are needed, [`any_keys`] builds
/// a longer chain by a fixed rule.
const MOST_BITS: u32 = 7;

/// The maximum number of solutions that the search returns. The caller compares them and uses the
/// best one.
const MOST_WAYS: usize = 64;

/// Returns all valid assignments of keys with `bits` bits to the digits, which are listed from
/// major to minor. The result is incomplete, and may be empty, if `budget` is used up or
/// [`MOST_WAYS`] is reached.
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
        // Neighbours that are in the right order already may have equal keys.
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

/// Returns true if the keys of two neighbouring digits of a dimension obey the first rule in the
/// module documentation. `upper` is the key of the more significant digit. The keys must be equal,
/// or the lowest bit in which they differ must be 0 in `upper` and 1 in `lower`.
fn follows(upper: u64, lower: u64) -> bool {
    let different = upper ^ lower;
    different == 0 || lower & lowest(different) != 0
}

/// Returns true if a tile can pad the digit, as the second rule in the module documentation
/// requires: a tile moves the digit after an earlier tile has separated it from the next more
/// significant digit. `upper` is the key of that digit, or `None` for the most significant digit.
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

/// Returns keys that always work but may be longer than necessary, and their number of bits. The
/// first tiles separate the digits of all dimensions, the least significant ones first. Then each
/// digit in memory, from major to minor, has a tile that moves it after all others. Returns `None`
/// if more than 63 tiles would be needed.
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
