//! Describes the columns of a matrix to which a transpose writes, in one slice of the destination
//! or in several. A *slice* is a contiguous part of it.

use std::marker::PhantomData;

use smallvec::SmallVec;

use super::super::stream::{LINE, PAGE};

/// The destinations of a matrix's columns: runs of equal length, each inside one slice of a
/// destination that may consist of several slices.
pub(in crate::host) struct ColumnPointers<'a> {
    pub(super) starts: Starts<'a>,
    pub(super) count: usize,
    length: usize,
    of: PhantomData<&'a mut [u8]>,
}

/// The address of the first byte of each column.
pub(super) enum Starts<'a> {
    /// One slice holds all columns: a base pointer, and the offset of each column in bytes.
    Offsets(*mut u8, &'a [isize]),
    /// Several slices hold the columns: a pointer to the start of each column.
    Pointers(Vec<*mut u8>),
}

/// Evaluates an expression with a closure that returns the start of each column. The fields that it
/// needs are read word by word. If both words of a slice were loaded into one register right after
/// they were stored, the load would wait for all earlier stores.
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), allow(unused_macros))]
macro_rules! by_starts {
    ($columns:ident, |$column:ident| $call:expr) => {
        match &$columns.starts {
            Starts::Offsets(start, offsets) => {
                let (start, offsets) = (*start, offsets.as_ptr());
                let $column = move |n: usize| start.wrapping_offset(*offsets.add(n));
                $call
            }
            Starts::Pointers(starts) => {
                let starts = starts.as_ptr();
                let $column = move |n: usize| *starts.add(n);
                $call
            }
        }
    };
}

/// Returns the difference between consecutive offsets if it is constant. Returns `None` if it is
/// not, if offsets overflow, or if there are fewer than two. If there is a difference, no offset
/// lies outside the range from the first to the last.
pub(super) fn pitch(offsets: &[isize]) -> Option<isize> {
    let [first, rest @ ..] = offsets else { return None };
    let pitch = rest.first()?.wrapping_sub(*first);
    // The sum of all steps must not wrap around.
    let last = first.checked_add(pitch.checked_mul(rest.len().cast_signed())?)?;
    if rest.last() != Some(&last) {
        return None;
    }
    // No early exit, so that the loop is vectorized.
    let other = |other: isize, (before, after): (&isize, &isize)| {
        other | (after.wrapping_sub(*before) ^ pitch)
    };
    let even = offsets.iter().zip(rest).fold(0, other) == 0;
    even.then_some(pitch)
}

impl<'a> ColumnPointers<'a> {
    /// Returns columns of `length` bytes, each starting at address `to` plus one of `offsets`. The
    /// bits of an address from bit `shift` up are the index of a slice in `slices`; the lower bits
    /// are an offset in that slice. Returns `None` if a column does not lie inside its slice.
    pub(in crate::host) fn new(
        slices: impl IntoIterator<Item = &'a mut [u8]>,
        shift: u32,
        to: isize,
        offsets: &'a [isize],
        length: usize,
    ) -> Option<Self> {
        let ends =
            |(low, high): (isize, isize), &offset: &isize| (low.min(offset), high.max(offset));
        let (low, high) = match (pitch(offsets), offsets) {
            (Some(_), &[first, .., last]) => (first.min(last), first.max(last)),
            _ => offsets.iter().fold((isize::MAX, isize::MIN), ends),
        };
        let (low, high) = (to.checked_add(low)?, to.checked_add(high)?);
        let (first, last) = (low.cast_unsigned() >> shift, high.cast_unsigned() >> shift);
        let mut slices = slices.into_iter().skip(first);
        let place = |address: isize| address.cast_unsigned() & ((1 << shift) - 1);
        let starts = if first == last {
            let slice = slices.next()?;
            if place(high) > slice.len().checked_sub(length)? {
                return None;
            }
            let start = to.wrapping_sub((first << shift).cast_signed());
            Starts::Offsets(slice.as_mut_ptr().wrapping_offset(start), offsets)
        } else {
            // Take one pointer for each slice, and derive the pointers of its columns from it.
            let slices: SmallVec<[(*mut u8, usize); 8]> = slices
                .take((last + 1).checked_sub(first)?)
                .map(|slice| (slice.as_mut_ptr(), slice.len()))
                .collect();
            let start = |offset: &isize| {
                let address = to + offset;
                let &(start, slice) = slices.get((address.cast_unsigned() >> shift) - first)?;
                let place = place(address);
                (place <= slice.checked_sub(length)?).then(|| start.wrapping_add(place))
            };
            Starts::Pointers(offsets.iter().map(start).collect::<Option<_>>()?)
        };
        Some(Self { starts, count: offsets.len(), length, of: PhantomData })
    }

    /// Returns the number of bytes from the start of a column to the next cache-line boundary, 0 to
    /// 63. Returns `None` if columns differ in this number, or if there are none.
    pub(in crate::host) fn gap(&self) -> Option<usize> {
        let gap = |start: *mut u8| start.addr().wrapping_neg() % LINE;
        match &self.starts {
            &Starts::Offsets(start, offsets) => {
                let first = *offsets.first()?;
                // As above, there is no early exit, so that the loop is vectorized.
                let other = offsets.iter().fold(0, |other, of| other | (of ^ first));
                (other % LINE.cast_signed() == 0).then(|| gap(start.wrapping_offset(first)))
            }
            Starts::Pointers(starts) => {
                let first = gap(*starts.first()?);
                starts.iter().all(|&start| gap(start) == first).then_some(first)
            }
        }
    }

    /// Returns true if the starts of the first two columns differ by a non-zero multiple of the
    /// page size. Such columns share few sets of the first-level cache.
    pub(in crate::host) fn are_pages_apart(&self) -> bool {
        let apart = match &self.starts {
            Starts::Offsets(_, [first, second, ..]) => first.abs_diff(*second),
            Starts::Pointers(starts) if starts.len() > 1 => {
                starts[0].addr().abs_diff(starts[1].addr())
            }
            _ => 0,
        };
        apart != 0 && apart.is_multiple_of(PAGE)
    }

    /// Returns true if every column has room for `rows` units of `unit` bytes from its byte `at`.
    pub(super) fn hold(&self, at: usize, rows: usize, unit: usize) -> bool {
        let end = rows.checked_mul(unit).and_then(|bytes| at.checked_add(bytes));
        end.is_some_and(|end| end <= self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::super::stream::LINE, ColumnPointers, pitch};

    /// Columns that begin in the second of several slices, which have different alignments.
    #[test]
    fn columns_of_several_slices_have_the_gap_of_their_starts() {
        let mut image = vec![0; 1000];
        let line = image.as_ptr().addr().wrapping_neg() % LINE;
        let offsets = [0, 2 << 20, 1 << 20];
        for (pitch, gap) in [(2 * LINE, Some(LINE - 3)), (100, None)] {
            for (length, fits) in [(pitch - 3, true), (pitch - 2, false)] {
                let slices = image[line..].chunks_exact_mut(pitch).take(4);
                let columns = ColumnPointers::new(slices, 20, 1 << 20 | 3, &offsets, length);
                assert_eq!(columns.is_some(), fits, "{pitch} {length}");
                assert_eq!(columns.and_then(|columns| columns.gap()), gap.filter(|_| fits));
            }
        }
    }

    #[test]
    fn offsets_with_one_step_have_a_pitch() {
        assert_eq!(pitch(&[3, 10, 17, 24]), Some(7));
        assert_eq!(pitch(&[24, 17, 10]), Some(-7));
        assert_eq!(pitch(&[5, 5, 5]), Some(0));
        assert_eq!(pitch(&[0, 8, 16, 25]), None);
        assert_eq!(pitch(&[0, 9, 16, 24, 32]), None);
        assert_eq!(pitch(&[4]), None);
        assert_eq!(pitch(&[]), None);
        // Offsets between the first and the last would be outside their range.
        assert_eq!(pitch(&[0, isize::MAX, -2, isize::MAX - 2]), None);
        assert_eq!(pitch(&[isize::MAX - 3, isize::MAX - 1, isize::MIN]), None);
    }
}
