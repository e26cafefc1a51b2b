//! Parses the part of an array on each device, which is written as JSON:
//! `{"DEVICE": [[start, limit], …], …}`.

use super::cursor::Cursor;
use crate::{
    shape::FieldPath,
    sharding::{Region, Sharding, ShardingError, error::rule},
    text::excerpt,
};

type Result<T> = std::result::Result<T, ShardingError>;

/// The maximum number of characters of a part that an error message quotes.
const MAX_QUOTED: usize = 80;

/// Parses the whole text. Each dimension of a part is a range, or a list of ranges in ascending
/// order.
pub(super) fn parts(cursor: &mut Cursor<'_>) -> Result<Sharding> {
    let mut parts = Vec::new();
    cursor.expect("{")?;
    cursor.list("}", |cursor| {
        let place = cursor.place();
        let name = cursor.name()?;
        let device = name.parse::<u64>().map_err(|_| {
            cursor.set_position(place);
            cursor.unexpected("the number of a device in quotes")
        })?;
        cursor.expect(":")?;
        parts.push((device, part(cursor, device)?));
        Ok(())
    })?;
    cursor.end()?;
    Sharding::regions(parts)
}

fn part(cursor: &mut Cursor<'_>, device: u64) -> Result<Region> {
    let start = cursor.place();
    let mut dimensions = Vec::new();
    cursor.expect("[")?;
    cursor.list("]", |cursor| {
        dimensions.push(dimension(cursor)?);
        Ok(())
    })?;
    let given = cursor.text(start..cursor.position());
    let dimensions: Option<Vec<_>> = dimensions.into_iter().collect();
    dimensions.and_then(Region::from_ranges).ok_or_else(|| {
        let expected = "[[start, limit], …], numbers of 0 to 2^63-1, no start above its limit, or \
                        for each dimension a list of such ranges, in ascending order";
        let path = FieldPath::new("boxes").index(usize::try_from(device).unwrap_or(usize::MAX));
        rule(path, expected, excerpt(given, MAX_QUOTED))
    })
}

/// Parses the ranges of a dimension. Returns `None` if they are written as JSON, but are no ranges.
fn dimension(cursor: &mut Cursor<'_>) -> Result<Option<Vec<(u64, u64)>>> {
    let mut ranges = Some(Vec::new());
    let mut numbers = Vec::new();
    if !cursor.eat("[") {
        return cursor.number().map(|_| None);
    }
    cursor.list("]", |cursor| {
        if cursor.eat("[") {
            let range = pair(&cursor.numbers("]")?);
            ranges = ranges.take().zip(range).map(|(mut ranges, range)| {
                ranges.push(range);
                ranges
            });
        } else {
            numbers.push(cursor.number()?);
        }
        Ok(())
    })?;
    match (numbers.is_empty(), &ranges) {
        (true, _) => Ok(ranges),
        (false, Some(lists)) if lists.is_empty() => Ok(pair(&numbers).map(|range| vec![range])),
        _ => Ok(None),
    }
}

fn pair(numbers: &[i64]) -> Option<(u64, u64)> {
    let &[start, limit] = numbers else { return None };
    Some((u64::try_from(start).ok()?, u64::try_from(limit).ok()?))
}
