//! The scope of a test: its number of random cases, or all small values of a kind.

use std::time::Duration;

use stridec::shape::ElementType;

/// An element type for each width: 1, 2 and 4 bits, then 1, 2, 4, 8 and 16 bytes.
pub const UNITS: [ElementType; 8] = [
    ElementType::U1,
    ElementType::S2,
    ElementType::F4e2m1fn,
    ElementType::S8,
    ElementType::Bf16,
    ElementType::F32,
    ElementType::F64,
    ElementType::C128,
];

/// Returns true if tests with random cases run all that CI runs: if `STRIDEC_LONG` is set. If it is
/// not, they run an eighth.
pub fn is_long() -> bool {
    std::env::var("STRIDEC_LONG").is_ok_and(|value| !value.is_empty())
}

/// Returns the number of random cases: the environment variable `STRIDEC_CASES` if it is set.
/// Otherwise `in_ci`, or an eighth of it if [`is_long`] is false.
pub fn cases(in_ci: u64) -> u64 {
    given_cases().unwrap_or_else(|| if is_long() { in_ci } else { in_ci.div_ceil(8) })
}

/// Returns the cases of a fixed list that take long: all of them, or every third if [`is_long`] is
/// false.
pub fn long_cases<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if is_long() { 1 } else { 3 })
}

/// Returns the time of a test that repeats random cases: `in_ci`, or an eighth of it if
/// [`is_long`] is false.
pub fn time(in_ci: Duration) -> Duration {
    if is_long() { in_ci } else { in_ci / 8 }
}

/// Returns `STRIDEC_CASES`, or `None` if it is not set or empty.
pub fn given_cases() -> Option<u64> {
    let cases = std::env::var("STRIDEC_CASES").ok().filter(|cases| !cases.is_empty())?;
    Some(cases.parse().unwrap_or_else(|_| panic!("STRIDEC_CASES: expected a number, got {cases}")))
}

/// Returns every order of `rank` dimensions.
pub fn permutations(rank: usize) -> Vec<Vec<usize>> {
    let Some(last) = rank.checked_sub(1) else { return vec![vec![]] };
    let longer = |shorter: Vec<usize>| {
        (0..=last).map(move |at| {
            let mut order = shorter.clone();
            order.insert(at, last);
            order
        })
    };
    permutations(last).into_iter().flat_map(longer).collect()
}
