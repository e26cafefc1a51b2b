//! Copies through a table: nests whose elements are looked up by bytes or smaller codes, such as
//! the normalisation of an image.
//!
//! A slab of the destination at a time, the codes are copied to a buffer in the order of the
//! destination, and then replaced by the entries of the table, run by run.

use rayon::prelude::*;

use super::run::run;
use crate::nest::{CopyNest, TableCopy, Value, signed, slabs};

/// The size of a slab, in codes. Codes and entries of a slab fit the L2 cache together; smaller
/// slabs would be planned more often.
const SLAB_CODES: u64 = 1 << 17;

/// The shortest run of positions with one table that is looked up as a run. For shorter ones, the
/// tables of a period are listed.
const LEAST_RUN: usize = 64;

/// The length of the longest list of tables, in positions.
const MAX_PERIOD: usize = 1 << 12;

/// The entries of a table, for each code.
type Entries<const BYTES: usize> = [[u8; BYTES]; 256];

/// Fills the destination, if every element of it is looked up in a table. Returns false and writes
/// nothing for any other nest.
pub(super) fn fill(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) -> bool {
    let Some(copy) = nest.table_copy() else { return false };
    match nest.dst_bits() {
        8 => fill_units::<1>(nest, &copy, sources, destination),
        16 => fill_units::<2>(nest, &copy, sources, destination),
        32 => fill_units::<4>(nest, &copy, sources, destination),
        64 => fill_units::<8>(nest, &copy, sources, destination),
        _ => fill_units::<16>(nest, &copy, sources, destination),
    }
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
    for (slab, _) in slabs(&copy.codes, SLAB_CODES) {
        let (own, others) = left.split_at_mut(slab.dst_bytes() as usize);
        slabs_of_units.push((
            slab,
            copy.codes.dst_bytes() as usize - own.len() - others.len(),
            own,
        ));
        left = others;
    }
    slabs_of_units.into_par_iter().with_max_len(1).for_each_init(Vec::new, |codes, slab| {
        let (slab, start, units) = slab;
        codes.resize(units.len(), 0);
        run(&slab, sources[copy.source], codes).expect("images of the nest's sizes");
        tables.look_up(first + start, codes, units);
    });
    true
}

/// The table of each position.
struct Tables<'a, const BYTES: usize> {
    /// The units of the table.
    units: &'a [[u8; BYTES]],
    copy: &'a TableCopy,
    extents: &'a [u64],
    /// The number of consecutive positions with one table.
    run: usize,
    /// The tables of a period, and the number of the table of each of consecutive positions, which
    /// are one period or several. Both are empty if runs are long.
    entries: Vec<Entries<BYTES>>,
    listed: Vec<u16>,
}

impl<'a, const BYTES: usize> Tables<'a, BYTES> {
    /// Returns `None` if the tables change in too many ways.
    fn new(nest: &'a CopyNest, copy: &'a TableCopy, table: &'a [u8]) -> Option<Self> {
        let (units, _) = table.as_chunks();
        let extents = nest.extents();
        let weighted = |axis: &usize| copy.start.weight(Value::Axis(*axis)) != 0;
        let along = |from: usize| extents[from..].iter().map(|&extent| extent as usize).product();
        let run: usize = (0..extents.len()).rfind(weighted).map_or(usize::MAX, |of| along(of + 1));
        let mut tables = Self { units, copy, extents, run, entries: vec![], listed: vec![] };
        if run < LEAST_RUN {
            let period: usize = (0..extents.len()).find(weighted).map_or(1, along);
            if period > MAX_PERIOD || period * 256 > nest.positions() as usize {
                return None;
            }
            tables.entries = (0..period).map(|position| tables.entries_of(position)).collect();
            // Several periods are listed if one is short, so that loops over the list are long.
            let list: Vec<u16> = (0..).take(period).collect();
            tables.listed = list.repeat(LEAST_RUN.div_ceil(period));
        }
        Some(tables)
    }

    /// Returns the entries of the table for a position.
    fn entries_of(&self, position: usize) -> Entries<BYTES> {
        let mut rest = position as u64;
        let mut start = self.copy.start.offset();
        for (axis, &extent) in self.extents.iter().enumerate().rev() {
            start += self.copy.start.weight(Value::Axis(axis)) * signed(rest % extent);
            rest /= extent;
        }
        // Codes that no element has may have no entry.
        let unit = |entry: &u64| self.units.get((start.unsigned_abs() + entry) as usize);
        std::array::from_fn(|code| unit(&self.copy.entries[code]).copied().unwrap_or([0; BYTES]))
    }

    /// Looks up the codes of consecutive positions from `first` on.
    fn look_up(&self, first: usize, codes: &[u8], units: &mut [[u8; BYTES]]) {
        let mut done = 0;
        while done < codes.len() {
            let position = first + done;
            let left = codes.len() - done;
            let length = if self.listed.is_empty() {
                let length = left.min(self.run - position % self.run);
                let entries = self.entries_of(position);
                for (unit, &code) in units[done..][..length].iter_mut().zip(&codes[done..]) {
                    *unit = entries[usize::from(code)];
                }
                length
            } else {
                let listed = &self.listed[position % self.listed.len()..];
                let codes = codes[done..].iter().zip(&mut units[done..]).zip(listed);
                for ((&code, unit), &table) in codes {
                    *unit = self.entries[usize::from(table)][usize::from(code)];
                }
                left.min(listed.len())
            };
            done += length;
        }
    }
}
