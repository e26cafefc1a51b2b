//! Arguments that are lists of numbers, such as `1,2,-3`.

use std::{fmt::Display, str::FromStr};

/// A list of numbers, such as an index. It is empty for an array of rank 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NumberList<T>(pub(super) Vec<T>);

impl<T: Display> Display for NumberList<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (position, value) in self.0.iter().enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(f, "{comma}{value}")?;
        }
        Ok(())
    }
}

impl FromStr for NumberList<i64> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        list(text, "expected whole numbers from -2^63 to 2^63-1, with commas between them")
    }
}

impl FromStr for NumberList<u64> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        list(text, "expected whole numbers from 0 to 2^64-1, with commas between them")
    }
}

/// Parses a list of numbers, separated by commas. `expected` describes valid lists in an error
/// message.
fn list<T: FromStr>(text: &str, expected: &str) -> Result<NumberList<T>, String> {
    if text.trim().is_empty() {
        return Ok(NumberList(Vec::new()));
    }
    let entry = |(position, entry): (usize, &str)| {
        let entry = entry.trim();
        entry.parse().map_err(|_| format!("`{entry}`, entry {position}: {expected}"))
    };
    text.split(',').enumerate().map(entry).collect::<Result<_, _>>().map(NumberList)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_and_print() {
        assert_eq!("-2, 2".parse::<NumberList<i64>>().unwrap().to_string(), "-2,2");
        assert_eq!("".parse(), Ok(NumberList::<u64>(vec![])));
        assert!("1,-2".parse::<NumberList<u64>>().unwrap_err().starts_with("`-2`, entry 1: "));
        assert!("1,".parse::<NumberList<u64>>().is_err());
    }
}
