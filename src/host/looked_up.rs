//! Runs nests that look up each element in a table, by a code of at most a byte, such as the
//! normalisation of an image.
//!
//! The destination is filled slab by slab. For each slab, the codes are first copied to a buffer in
//! the order of the destination, one for each *position*, an iteration of the nest. Each code is
//! then replaced by its entry in the table, run by run.

use rayon::prelude::*;

use super::{run::run, simd::look_up_bytes, stream::LINE};
use crate::nest::{CopyNest, TableCopy, Value, signed, slabs};

/// The least number of positions that are looked up here. For fewer, preparing the tables takes
/// longer than gathering the elements one by one.
pub(super) const LEAST_POSITIONS: u64 = 1 << 12;

/// The number of codes in a slab, the part of the destination that is filled through one buffer. A
/// slab has more codes if it otherwise could not use whole cache lines of the source. The codes and
/// entries of a slab fit the L2 cache together. With smaller slabs, planning would take more time.
const SLAB_CODES: u64 = 1 << 17;

/// The number of codes that a thread looks up at a time.
const CHUNK_CODES: usize = 1 << 16;

/// The shortest run of positions with the same table for which the entries of all 256 codes are
/// gathered first. Shorter runs do not repay these 256 steps.
const LONG_RUN: usize = 1 << 9;

/// The shortest run of positions with the same table that this module accepts if tables are not
/// listed. For a shorter run, finding its table takes longer than looking up the elements.
const LEAST_RUN: usize = 1 << 4;

/// The greatest number of positions after which tables may repeat. The tables of a longer period
/// are not listed.
const MAX_PERIOD: usize = 1 << 12;

/// The least number of positions in a list of tables. A shorter period is repeated until the list
/// is this long.
const LEAST_LISTED: usize = 1 << 6;

/// The entry of every code in one table.
type Entries<const BYTES: usize> = [[u8; BYTES]; 256];

/// Fills the destination if every element of the nest is looked up in a table. Returns false and
/// writes nothing for any other nest.
pub(super) fn fill(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) -> bool {
    let Some(copy) = passes(nest) else { return false };
    match nest.dst_bits() {
        8 => fill_units::<1>(nest, &copy, sources, destination),
        16 => fill_units::<2>(nest, &copy, sources, destination),
        32 => fill_units::<4>(nest, &copy, sources, destination),
        64 => fill_units::<8>(nest, &copy, sources, destination),
        _ => fill_units::<16>(nest, &copy, sources, destination),
    }
}

/// Describes, as text for people, how [`fill`] copies a nest. Returns `None` if it does not.
pub(super) fn plan(nest: &CopyNest) -> Option<String> {
    let copy = passes(nest)?;
    let TableRuns { run, period } = TableRuns::of(nest, &copy)?;
    let codes = slab_codes(&copy.codes);
    let tables = match (period, run) {
        (Some(period), _) => format!("tables of {period} positions listed"),
        (None, usize::MAX) => "one table".to_owned(),
        (None, run) => format!("a table for each {run} positions"),
    };
    Some(format!("elements looked up by their codes, at most {codes} at a time: {tables}\n"))
}

/// Returns the two passes of a nest, or `None` if it is not run by this module.
fn passes(nest: &CopyNest) -> Option<TableCopy> {
    if nest.positions() < LEAST_POSITIONS {
        return None;
    }
    nest.table_copy()
}

fn fill_units<const BYTES: usize>(
    nest: &CopyNest,
    copy: &TableCopy,
    sources: &[&[u8]],
    destination: &mut [u8],
) -> bool {
    let (units, rest) = destination.as_chunks_mut::<BYTES>();
    let Some(tables) = Tables::<BYTES>::new(nest, copy, sources[copy.table]) else {
        return false;
    };
    debug_assert!(rest.is_empty(), "whole units");
    let first = nest.dst_base().unsigned_abs() as usize;
    let mut slabs_of_units = vec![];
    let mut left = units;
    for (slab, bit) in slabs(&copy.codes, slab_codes(&copy.codes)) {
        let (own, others) = left.split_at_mut(slab.dst_bytes() as usize);
        slabs_of_units.push((slab, (bit / 8) as usize, own));
        left = others;
    }
    slabs_of_units.into_par_iter().with_max_len(1).for_each_init(Vec::new, |codes, slab| {
        let (slab, start, units) = slab;
        codes.resize(units.len(), 0);
        run(&slab, sources[copy.source], codes).expect("images of the nest's sizes");
        let chunks = codes.par_chunks(CHUNK_CODES).zip(units.par_chunks_mut(CHUNK_CODES));
        chunks.enumerate().for_each(|(chunk, (codes, units))| {
            tables.look_up(first + start + chunk * CHUNK_CODES, codes, units);
        });
    });
    true
}

/// Returns the greatest number of codes in a slab, the part of the destination that is filled
/// through one buffer. If codes that are neighbours in the source are far apart in the destination,
/// the slab is so long that it uses whole cache lines of the source, because several slabs would
/// otherwise read the same lines.
pub(super) fn slab_codes(codes: &CopyNest) -> u64 {
    let mut inner = u64::from(codes.dst_bits() / 8);
    let mut most = SLAB_CODES;
    for axis in codes.axes().rev() {
        let step_bits = axis.src_stride.unsigned_abs() * u64::from(codes.src_bits());
        let steps = (LINE as u64 * 8).checked_div(step_bits).unwrap_or(0).min(axis.extent);
        if steps > 1 {
            most = most.max(inner * steps);
        }
        inner *= axis.extent;
    }
    most
}

/// The runs of positions that use the same table.
struct TableRuns {
    /// The number of consecutive positions that use the same table; `usize::MAX` if all do.
    run: usize,
    /// The number of positions after which the tables repeat, if runs are so short that the tables
    /// of this many positions are listed.
    period: Option<usize>,
}

impl TableRuns {
    /// Returns the runs of a nest. Returns `None` if they are short and there are too many tables
    /// to list.
    fn of(nest: &CopyNest, copy: &TableCopy) -> Option<Self> {
        let extents = nest.extents();
        let weighted = |axis: &usize| copy.start.weight(Value::Axis(*axis)) != 0;
        let along = |from: usize| extents[from..].iter().map(|&extent| extent as usize).product();
        let run: usize = (0..extents.len()).rfind(weighted).map_or(usize::MAX, |of| along(of + 1));
        let period: usize = (0..extents.len()).find(weighted).map_or(1, along);
        let is_listed = period <= MAX_PERIOD && period * 256 <= nest.positions() as usize;
        let period = Some(period).filter(|_| run < LONG_RUN && is_listed);
        (period.is_some() || run >= LEAST_RUN).then_some(Self { run, period })
    }
}

/// The tables that the positions of a nest use.
struct Tables<'a, const BYTES: usize> {
    /// The elements of all tables.
    units: &'a [[u8; BYTES]],
    copy: &'a TableCopy,
    extents: &'a [u64],
    /// The number of consecutive positions that use the same table; `usize::MAX` if all do.
    run: usize,
    /// If runs are short, `entries` has the tables of a period. `listed` has the index of the table
    /// of each position, for one period or several.
    entries: Vec<Entries<BYTES>>,
    listed: Vec<u16>,
}

impl<'a, const BYTES: usize> Tables<'a, BYTES> {
    /// Prepares the tables of a nest. Returns `None` if runs are short and there are too many
    /// tables to list.
    fn new(nest: &'a CopyNest, copy: &'a TableCopy, table: &'a [u8]) -> Option<Self> {
        let (units, _) = table.as_chunks();
        let extents = nest.extents();
        let TableRuns { run, period } = TableRuns::of(nest, copy)?;
        let mut tables = Self { units, copy, extents, run, entries: vec![], listed: vec![] };
        if let Some(period) = period {
            tables.entries = (0..period).map(|position| tables.entries_of(position)).collect();
            let list: Vec<u16> = (0..).take(period).collect();
            tables.listed = list.repeat(LEAST_LISTED.div_ceil(period));
        }
        Some(tables)
    }

    /// Returns the index in `units` at which the table of a position begins.
    fn start(&self, position: usize) -> usize {
        let mut rest = position as u64;
        let mut start = self.copy.start.offset();
        for (axis, &extent) in self.extents.iter().enumerate().rev() {
            start += self.copy.start.weight(Value::Axis(axis)) * signed(rest % extent);
            rest /= extent;
        }
        start.unsigned_abs() as usize
    }

    /// Returns the element for a code in the table that begins at `start`. Returns zeros if the
    /// tables end before this element, which is possible only for a code that does not occur.
    fn entry(&self, start: usize, code: usize) -> [u8; BYTES] {
        let unit = self.units.get(start + self.copy.entries[code] as usize);
        unit.copied().unwrap_or([0; BYTES])
    }

    /// Returns the elements for all codes in the table of a position.
    fn entries_of(&self, position: usize) -> Entries<BYTES> {
        let start = self.start(position);
        std::array::from_fn(|code| self.entry(start, code))
    }

    /// Looks up the elements for the codes of consecutive positions, beginning with position
    /// `first`.
    fn look_up(&self, first: usize, codes: &[u8], units: &mut [[u8; BYTES]]) {
        let mut done = 0;
        while done < codes.len() {
            let position = first + done;
            let left = codes.len() - done;
            if self.listed.is_empty() {
                let length = left.min(self.run - position % self.run);
                let (units, codes) = (&mut units[done..][..length], &codes[done..][..length]);
                let places = units.iter_mut().zip(codes);
                done += length;
                if length < LONG_RUN {
                    let start = self.start(position);
                    places.for_each(|(unit, &code)| *unit = self.entry(start, code.into()));
                    continue;
                }
                let entries = self.entries_of(position);
                if let Ok(entries) = entries.as_flattened().try_into() {
                    look_up_bytes(entries, codes, units.as_flattened_mut());
                } else {
                    places.for_each(|(unit, &code)| *unit = entries[usize::from(code)]);
                }
                continue;
            }
            let listed = &self.listed[position % self.listed.len()..];
            for ((unit, &code), &table) in units[done..].iter_mut().zip(&codes[done..]).zip(listed)
            {
                *unit = self.entries[usize::from(table)][usize::from(code)];
            }
            done += left.min(listed.len());
        }
    }
}
