//! [`LoadedBlock`]: writes the loads of a block, and finds each unit in the loaded values. A
//! *block* is the part of a copy that one invocation moves, and a *unit* is an element in it, or a
//! part of one.
//!
//! Rows of a source often start or end inside an access of 4 to 16 bytes. The loads then read a few
//! units more, and shifts move the units into place. Other files need only the expression for the
//! value of each store, which [`LoadedBlock`] returns.

use std::ops::Range;

use super::{
    block::{counted_in, with_offset},
    form::AxisNames,
    packed_words::PackedWords,
    words::{components, type_name},
    writer::Writer,
};
use crate::{
    nest::{Affine, signed},
    schedule::{AdapterKind, Block, RowAlignment, Run, run_words, runs, shifted_accesses},
};

/// The loads of a block, and the place of each unit in the loaded values.
pub(super) struct LoadedBlock<'a> {
    block: &'a Block,
    /// The loaded values, grouped in runs that are contiguous in the source. Each value is one
    /// access. If runs are shifted, each value is instead 4 to 16 bytes that are combined from two
    /// accesses.
    runs: Vec<LoadedRun>,
    /// The contiguous runs of the block in the destination. `units` has, for each unit of a run,
    /// its distance in the source from the first unit. All runs have the same distances.
    dst_runs: Vec<Run>,
    units: Vec<i64>,
    /// True if each run is a single value. The index of the run is then its name.
    are_single: bool,
    /// The expressions for the words of the destination, if units are narrower than a word.
    words: PackedWords,
}

/// Loaded values that are contiguous in the source.
struct LoadedRun {
    /// The index of the first access in the source. If values are shifted, this is the offset of
    /// the first unit instead.
    first: i64,
    values: u64,
    /// The number of accesses that are loaded. If values are shifted and the last value ends in the
    /// next access, this is one more than the number of values.
    accesses: u64,
}

/// The variables of the generated code for the start of a run, if runs start inside accesses.
struct RunStart {
    /// True if accesses are wider than a word.
    is_wide: bool,
    /// The name of the variable with the index of an access. The run starts in the access that is
    /// `accesses` after this one.
    first: String,
    accesses: i64,
    /// The name of the variable with the distance from the start of that access to the run. The
    /// distance is in units if accesses are wider than a word, and otherwise in bits.
    by: String,
}

impl<'a> LoadedBlock<'a> {
    pub(super) fn new(block: &'a Block, kind: AdapterKind) -> Self {
        let offsets = block.offsets();
        let load = signed(block.load());
        let base = block.src().offset();
        let runs: Vec<LoadedRun> = if block.is_shifted() {
            runs(&offsets, block.load())
                .iter()
                .map(|run| LoadedRun {
                    first: run.0,
                    values: run_words(run, block.load()),
                    accesses: shifted_accesses(run, block.load()),
                })
                .collect()
        } else {
            let accesses: Vec<i64> =
                offsets.iter().map(|offset| (base + offset).div_euclid(load)).collect();
            runs(&accesses, 1)
                .iter()
                .map(|&(first, last)| {
                    let values = (last - first).unsigned_abs() + 1;
                    LoadedRun { first, values, accesses: values }
                })
                .collect()
        };
        let are_single = runs.iter().all(|run| run.values == 1);
        let (dst_runs, units, words) = (block.runs(), block.run_units(), PackedWords::default());
        let mut packing = Self { block, runs, dst_runs, units, are_single, words };
        let (bits, to_bits) = (block.nest().src_bits(), block.nest().dst_bits());
        if bits < 32 && block.nest().conversion().is_none() {
            let in_value = block.load() * u64::from(bits) / 32;
            let in_word = usize::try_from(32 / to_bits).unwrap_or(1);
            let unit = |run: &Run, unit: &i64| {
                let (name, number) = packing.unit(run.src + unit);
                (name, in_value, number)
            };
            let given = packing.dst_runs.iter().flat_map(|run| {
                let words = packing.units.chunks_exact(in_word);
                words.map(move |units| units.iter().map(|of| unit(run, of)).collect())
            });
            packing.words = PackedWords::new(&given.collect::<Vec<_>>(), bits, to_bits, kind);
        }
        packing
    }

    /// Returns the name of a loaded value. `run` is the index of its run, and `value` its index in
    /// the run.
    fn name(&self, run: usize, value: u64) -> String {
        if self.are_single {
            format!("row{run}")
        } else if self.runs.len() == 1 {
            format!("part{value}")
        } else {
            format!("row{run}_{value}")
        }
    }

    /// Finds the unit at `offset` in the source. Returns the name of the loaded value that contains
    /// it, and the index of the unit in that value.
    fn unit(&self, offset: i64) -> (String, u64) {
        let load = signed(self.block.load());
        let is_shifted = self.block.is_shifted();
        let base = if is_shifted { 0 } else { self.block.src().offset() };
        let place = base + offset;
        let from =
            |run: &LoadedRun| if is_shifted { place - run.first } else { place - run.first * load };
        let run = self.runs.partition_point(|run| from(run) >= 0) - 1;
        let unit = from(&self.runs[run]).unsigned_abs();
        (self.name(run, unit / self.block.load()), unit % self.block.load())
    }

    /// Writes the loads, and the values that are computed from them before the stores.
    pub(super) fn loads(&self, writer: &mut Writer, names: &AxisNames) {
        let block = self.block;
        let src = block.src();
        let load = if block.is_shifted() { 1 } else { signed(block.load()) };
        let first = src.offset().div_euclid(load);
        let read = src.terms().iter().fold(Affine::constant(first), |read, &(value, weight)| {
            read.plus(weight / load, &Affine::value(value))
        });
        let lead = self.lead(load);
        writer.noted(
            format_args!("let read = {}{lead};", names.form(&read)),
            format_args!("{}", counted_in(load.unsigned_abs())),
        );
        let words = block.nest().src_bytes().div_ceil(4);
        let access_words = (u64::from(block.nest().src_bits()) * block.load()).div_ceil(32);
        let last = words.div_ceil(access_words).saturating_sub(1);
        let reads_more = block.reads_more();
        if block.is_shifted() {
            self.shifted(writer, reads_more, last);
            return self.words.write(writer);
        }
        let most = if reads_more { block.last_src() } else { 0 };
        for (number, run) in self.in_turns(load) {
            for value in 0..run.values {
                let (source, offset) = block.source_of(run.first + signed(value) - first, load);
                let (source, place) = (writer.source(source), with_offset("read", offset));
                let name = self.name(number, value);
                if reads_more && most.div_euclid(load) + offset > signed(last) {
                    writer.line(format_args!("let {name} = {source}[min({place}, {last}u)];"));
                } else {
                    writer.line(format_args!("let {name} = {source}[{place}];"));
                }
            }
        }
        self.words.write(writer);
    }

    /// Returns the runs, each with its index, in the order in which they are loaded. Neighbouring
    /// blocks of a row load some of the same accesses, but in different runs. In this order, such
    /// runs are next to each other, so that an access is still in the cache when a second block
    /// loads it.
    fn in_turns(&self, load: i64) -> Vec<(usize, &LoadedRun)> {
        let block_axis = self.block.axes()[self.block.outermost_of_run()];
        let next = block_axis.src_stride * signed(block_axis.steps) / load;
        let mut runs: Vec<_> = self.runs.iter().enumerate().collect();
        if self.block.row_alignment() == RowAlignment::Fixed && next > 1 {
            runs.sort_by_key(|(_, run)| (run.first.rem_euclid(next), run.first));
        }
        runs
    }

    /// Returns the term to add to `read` for the steps before the first aligned access of a row, or
    /// an empty string if no such term is needed.
    fn lead(&self, load: i64) -> String {
        let block_axis = self.block.axes()[self.block.outermost_of_run()];
        match (self.block.row_alignment(), block_axis.src_stride / load) {
            (RowAlignment::Computed, 1) => " + lead".to_owned(),
            (RowAlignment::Computed, stride @ 1..) => format!(" + lead * {stride}u"),
            (RowAlignment::Computed, stride @ ..=-1) => {
                format!(" - lead * {}u", stride.unsigned_abs())
            }
            _ => String::new(),
        }
    }

    /// Writes the loads of runs that start inside an access, and the shifts that move their units
    /// into place. `last` is the index of the source's last access; loads past it are clamped to
    /// it.
    fn shifted(&self, writer: &mut Writer, reads_more: bool, last: u64) {
        let (load, most) = (signed(self.block.load()), self.block.last_src());
        for (number, run) in self.runs.iter().enumerate() {
            let start = self.start(writer, number);
            let (source, place) = self.block.source_of(run.first, 1);
            let source = writer.source(source);
            let own = if self.runs.len() == 1 { String::new() } else { format!("{number}_") };
            let loaded = if start.is_wide { "access" } else { "word" };
            let loaded = |access: u64| format!("{loaded}{own}{access}");
            let read = |access: u64| {
                let at = with_offset(&start.first, start.accesses + signed(access));
                let can_pass = access > 0 && access == run.values || reads_more;
                let passes =
                    can_pass && (most + place).div_euclid(load) + signed(access) > signed(last);
                let at = if passes { format!("min({at}, {last}u)") } else { at };
                format!("{source}[{at}]")
            };
            if !start.is_wide && run.accesses == 1 {
                let (name, by) = (self.name(number, 0), &start.by);
                writer.line(format_args!("let {name} = {} >> {by};", read(0)));
                continue;
            }
            for access in 0..run.accesses {
                writer.line(format_args!("let {} = {};", loaded(access), read(access)));
            }
            for value in 0..run.values {
                let (name, low) = (self.name(number, value), loaded(value));
                let high = (value + 1 < run.accesses).then(|| loaded(value + 1));
                let by = &start.by;
                match (start.is_wide, high) {
                    (true, high) => {
                        let high = high.as_ref().unwrap_or(&low);
                        writer.line(format_args!("let {name} = joined({low}, {high}, {by});"));
                    }
                    (false, Some(high)) => writer.line(format_args!(
                        "let {name} = ({low} >> {by}) | (({high} << 1u) << (31u - {by}));"
                    )),
                    (false, None) => writer.line(format_args!("let {name} = {low} >> {by};")),
                }
            }
        }
    }

    /// Writes the variables that locate the start of a run. A run that starts at the same distance
    /// inside an access as run 0 shares the variables of run 0.
    fn start(&self, writer: &mut Writer, number: usize) -> RunStart {
        let run = &self.runs[number];
        let bits = self.block.nest().src_bits();
        let lanes = self.block.load();
        let is_wide = lanes * u64::from(bits) > 32;
        let place = |run: &LoadedRun| self.block.source_of(run.first, 1).1;
        let (place, from_first) = (place(run), place(run) - place(&self.runs[0]));
        let shares = number > 0 && from_first % signed(lanes) == 0;
        let suffix = match (self.runs.len(), shares) {
            (1, _) => String::new(),
            (_, true) => "0".to_owned(),
            (_, false) => number.to_string(),
        };
        let by = if is_wide { "start" } else { "shift" };
        let (first, by) = (format!("first{suffix}"), format!("{by}{suffix}"));
        if !shares {
            let read = with_offset("read", place);
            let read = if place == 0 { read } else { format!("({read})") };
            let (access, factor, remark) = match (is_wide, run.accesses) {
                (true, _) => (
                    "access",
                    String::new(),
                    "and the unit in it: what follows is put together from two",
                ),
                (false, 1) => ("word", format!(" * {bits}u"), "and the bit in it"),
                (false, _) => (
                    "word",
                    format!(" * {bits}u"),
                    "and the bit in it: each word is put together from two",
                ),
            };
            writer.noted(
                format_args!("let {first} = {read} / {lanes}u;"),
                format_args!("the {access} where the run starts"),
            );
            writer.noted(
                format_args!("let {by} = {read} % {lanes}u{factor};"),
                format_args!("{remark}"),
            );
        }
        let accesses = if shares { from_first / signed(lanes) } else { 0 };
        RunStart { is_wide, first, accesses, by }
    }

    /// Returns the arguments of a call of `insertBits` that computes all words of an access, or
    /// `None` if no single call computes them.
    pub(super) fn inserted(&self, run: usize, access: u64) -> Option<[String; 4]> {
        self.words.inserted(self.words_of(run, access))
    }

    /// Returns the range of indices of the words in access `access` of run `run` of the
    /// destination.
    fn words_of(&self, run: usize, access: u64) -> Range<usize> {
        let store = self.block.store();
        let parts = store * u64::from(self.block.nest().dst_bits()) / 32;
        let first = (run as u64 * (self.block.rows() / store) + access) * parts;
        let [first, parts] = [first, parts].map(|n| usize::try_from(n).unwrap_or(0));
        first..first + parts.max(1)
    }

    /// Returns the expressions for the words or vectors of one access of the destination, if
    /// `function` converts each unit. `run` is the index of a run in the destination, and `access`
    /// that of an access in the run.
    pub(super) fn converted(&self, run: usize, access: u64, function: &str) -> Vec<String> {
        let nest = self.block.nest();
        let (bits, to_bits) = (u64::from(nest.src_bits()), nest.dst_bits());
        let in_value = (self.block.load() * bits).div_ceil(32);
        let unit = |offset: &i64| {
            let (value, number) = self.unit(self.dst_runs[run].src + offset);
            if bits >= 32 {
                let words = bits / 32;
                let unit = components(&value, in_value, number * words, words);
                return format!("{function}({unit})");
            }
            let lanes = 32 / bits;
            let word = components(&value, in_value, number / lanes, 1);
            let mask = (1_u64 << bits) - 1;
            match number % lanes {
                0 => format!("{function}({word} & 0x{mask:x}u)"),
                last if last + 1 == lanes => format!("{function}({word} >> {}u)", last * bits),
                lane => format!("{function}(({word} >> {}u) & 0x{mask:x}u)", lane * bits),
            }
        };
        let store = usize::try_from(self.block.store()).unwrap_or(1);
        let first = usize::try_from(access).unwrap_or(0) * store;
        let units: Vec<String> = self.units[first..first + store].iter().map(unit).collect();
        if to_bits >= 32 {
            return units;
        }
        let in_word = (32 / to_bits) as usize;
        let word = |units: &[String]| {
            let lanes = (0..).zip(units).map(|(lane, unit)| match lane * to_bits {
                0 => unit.clone(),
                by => format!("({unit} << {by}u)"),
            });
            lanes.collect::<Vec<String>>().join(" | ")
        };
        units.chunks(in_word).map(word).collect()
    }

    /// Returns the expressions for the words or vectors of one access of the destination. `run` is
    /// the index of a run in the destination, and `access` that of an access in the run.
    pub(super) fn stored(&self, run: usize, access: u64) -> Vec<String> {
        let nest = self.block.nest();
        let (bits, store) = (nest.src_bits(), self.block.store());
        let in_value = self.block.load();
        if bits < 32 {
            return self.words.words()[self.words_of(run, access)].to_vec();
        }
        let store = usize::try_from(store).unwrap_or(1);
        let first = usize::try_from(access).unwrap_or(0) * store;
        let src = self.dst_runs[run].src;
        let units: Vec<(String, u64)> =
            self.units[first..first + store].iter().map(|unit| self.unit(src + unit)).collect();
        let words = u64::from(bits) / 32;
        let all_of_one = units.iter().all(|unit| unit.0 == units[0].0);
        if all_of_one && units.len() > 1 && in_value * words > 1 {
            // The access is one loaded value, unchanged or with its components in another order.
            let letters: String = units
                .iter()
                .flat_map(|unit| (0..words).map(move |word| unit.1 * words + word))
                .map(|word| "xyzw".chars().nth(usize::try_from(word).unwrap_or(0)).unwrap_or('x'))
                .collect();
            let whole = type_name(in_value * u64::from(bits));
            let is_whole = "xyzw".starts_with(&letters)
                && whole == type_name(self.block.store() * u64::from(bits));
            let value = &units[0].0;
            return vec![if is_whole { value.clone() } else { format!("{value}.{letters}") }];
        }
        units
            .iter()
            .map(|(value, unit)| components(value, in_value * words, unit * words, words))
            .collect()
    }
}
