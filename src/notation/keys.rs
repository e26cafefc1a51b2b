//! Finds the shortest chain of tiles that brings the parts of all indices into a given order in
//! memory. The method is a radix sort.
//!
//! The parts of an index along a dimension, such as `i / 8` and `i % 8`, are called digits. A tile
//! splits each axis that it covers into a quotient and a remainder, and moves all remainders after
//! all quotients, without changing the order inside these two groups. So a tile is one pass of a
//! stable sort by a single bit: the bit is 1 for the digits of remainders, and 0 for the others. A
//! whole chain of tiles sorts the digits by a number with one bit for each tile, the *key*. The
//! first tile sorts by the lowest bit, and the last tile by the highest bit. Digits with equal keys
//! keep their order. The shortest chain is therefore the one with the fewest bits in a key.
//!
//! Keys must obey two rules. First, neighbouring digits of a dimension are a single number until a
//! tile separates them, and that tile puts the less significant digit into the remainder.
//! Therefore, in the lowest bit in which the keys of two neighbours differ, the more significant
//! digit has a 0. Second, a tile can only pad a whole axis, so the tile that pads a digit must come
//! after the tile that separates it from the next more significant one. Therefore the key of a
//! padded digit has a 1 above the bit in which the two keys differ.

/// A digit to be sorted. Items are listed in memory order, and refer to each other by their index
/// in this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The position of the digit before the first tile is applied.
    pub(super) start: usize,
    /// The index of the next more significant digit of the same dimension.
    pub(super) upper: Option<usize>,
    /// The index of the next less significant digit of the same dimension.
    pub(super) lower: Option<usize>,
    /// True if a tile must pad the digit.
    pub(super) is_padded: bool,
    /// True if a tile must separate the digit from the next more significant one.
    pub(super) is_apart: bool,
}

/// The maximum number of bits in a key during the search, which bounds its time. If more bits are
/// needed, [`any_keys`] builds a longer chain by a fixed rule.
const MOST_BITS: u32 = 7;

/// The maximum number of solutions that the search returns. The caller compares them and uses the
/// best one.
const MOST_WAYS: usize = 64;

/// Returns all valid assignments of keys with `bits` bits to `items`, which are listed from major
/// to minor. The result is incomplete, and may be empty, if the search uses up `budget` or finds
/// [`MOST_WAYS`] solutions.
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
        // Two digits that are already in the right order may have equal keys.
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

/// Returns true if two neighbouring digits of a dimension obey the first rule of the module
/// documentation. `upper` is the key of the more significant digit, and `lower` the key of the
/// other. Either the keys are equal, or the lowest bit in which they differ is 0 in `upper` and 1
/// in `lower`.
fn follows(upper: u64, lower: u64) -> bool {
    let different = upper ^ lower;
    different == 0 || lower & lowest(different) != 0
}

/// Returns true if a digit obeys the second rule of the module documentation, so that a tile can
/// pad it. The padding tile must follow the tile that separates the digit from the next more
/// significant digit. `upper` is the key of that more significant digit, or `None` if there is no
/// such digit.
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

/// Returns keys that are always valid, but may have more bits than necessary, together with the
/// number of bits. The first tiles separate the digits of all dimensions, beginning with the least
/// significant ones. Then there is one tile for each digit in memory order, which moves the digit
/// after all others. Returns `None` if more than 63 tiles are needed.
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
