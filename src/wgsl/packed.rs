//! [`Packing`]: what a block loads, and each access of the destination put together from it.

use super::{
    block::{at, counted_in},
    emit::source_name,
    form::Names,
    words::{components, packed, type_name},
    writer::Writer,
};
use crate::{
    nest::{Affine, signed},
    schedule::{Block, Run, Start, run_words, runs},
};

/// The loads of a block, and which unit of them goes where.
pub(super) struct Packing<'a> {
    block: &'a Block,
    /// Runs of loaded values: each is one access, or one word that was shifted into place.
    runs: Vec<Loaded>,
    /// The runs of the destination, and where the units of one lie in the source.
    dst_runs: Vec<Run>,
    units: Vec<i64>,
    /// Whether each run is one value: then values are numbered by run.
    are_single: bool,
}

/// A run of loaded values, numbered from `first` on.
struct Loaded {
    /// Of loads, the first access; of shifted words, the first unit.
    first: i64,
    values: u64,
    /// Whether it is one unit, which lies in one word.
    is_unit: bool,
}

impl<'a> Packing<'a> {
    pub(super) fn new(block: &'a Block) -> Self {
        let offsets = block.offsets();
        let load = signed(block.load());
        let base = block.src().offset();
        let runs: Vec<Loaded> = if block.is_shifted() {
            runs(&offsets, block.load())
                .iter()
                .map(|run| Loaded {
                    first: run.0,
                    values: run_words(run, block.load()),
                    is_unit: run.0 == run.1,
                })
                .collect()
        } else {
            let accesses: Vec<i64> =
                offsets.iter().map(|offset| (base + offset).div_euclid(load)).collect();
            runs(&accesses, 1)
                .iter()
                .map(|&(first, last)| Loaded {
                    first,
                    values: (last - first).unsigned_abs() + 1,
                    is_unit: false,
                })
                .collect()
        };
        let are_single = runs.iter().all(|run| run.values == 1);
        Self { block, runs, dst_runs: block.runs(), units: block.run_units(), are_single }
    }

    /// The name of a loaded value.
    fn name(&self, run: usize, value: u64) -> String {
        if self.are_single {
            format!("row{run}")
        } else if self.runs.len() == 1 {
            format!("part{value}")
        } else {
            format!("row{run}_{value}")
        }
    }

    /// The value that holds the unit at this offset, and which of its units that is.
    fn unit(&self, offset: i64) -> (String, u64) {
        let load = signed(self.block.load());
        let is_shifted = self.block.is_shifted();
        let base = if is_shifted { 0 } else { self.block.src().offset() };
        let place = base + offset;
        let from =
            |run: &Loaded| if is_shifted { place - run.first } else { place - run.first * load };
        let run = self.runs.partition_point(|run| from(run) >= 0) - 1;
        let unit = from(&self.runs[run]).unsigned_abs();
        (self.name(run, unit / self.block.load()), unit % self.block.load())
    }

    /// Writes the loads.
    pub(super) fn loads(&self, writer: &mut Writer, names: &Names) {
        let block = self.block;
        let src = block.src();
        let is_ragged = block.sides().iter().any(crate::schedule::Side::is_ragged);
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
        if block.is_shifted() {
            return self.shifted(writer, is_ragged, words.saturating_sub(1));
        }
        let last = words * 32 / (u64::from(block.nest().src_bits()) * block.load());
        let last = last.saturating_sub(1);
        for (number, run) in self.runs.iter().enumerate() {
            for value in 0..run.values {
                let (source, offset) = block.source_of(run.first + signed(value) - first, load);
                let (source, place) = (source_name(block.nest(), source), at("read", offset));
                let name = self.name(number, value);
                if is_ragged && offset > 0 {
                    writer.line(format_args!("let {name} = {source}[min({place}, {last}u)];"));
                } else {
                    writer.line(format_args!("let {name} = {source}[{place}];"));
                }
            }
        }
    }

    /// What the steps before a row's first whole word add to `read`.
    fn lead(&self, load: i64) -> String {
        let side = self.block.sides()[self.block.outermost_of_run()];
        match (self.block.start(), side.src_stride / load) {
            (Start::Computed, 1) => " + lead".to_owned(),
            (Start::Computed, stride @ 1..) => format!(" + lead * {stride}u"),
            (Start::Computed, stride @ ..=-1) => format!(" - lead * {}u", stride.unsigned_abs()),
            _ => String::new(),
        }
    }

    /// Writes the loads of runs that start anywhere in a word: one word more each, all shifted into place.
    fn shifted(&self, writer: &mut Writer, is_ragged: bool, last: u64) {
        let bits = self.block.nest().src_bits();
        let lanes = 32 / bits;
        for (number, run) in self.runs.iter().enumerate() {
            // What is like the run before in its place in a word shares its shift.
            let shares = number > 0 && (run.first - self.runs[0].first) % i64::from(lanes) == 0;
            let (source, place) = self.block.source_of(run.first, 1);
            let source = source_name(self.block.nest(), source);
            let suffix = |number: usize| {
                if self.runs.len() == 1 { String::new() } else { format!("{number}") }
            };
            let (own, of) = (suffix(number), suffix(if shares { 0 } else { number }));
            let (first, shift) = (format!("first{of}"), format!("shift{of}"));
            if !shares {
                let read = at("read", place);
                let read = if place == 0 { read } else { format!("({read})") };
                writer.noted(
                    format_args!("let {first} = {read} / {lanes}u;"),
                    format_args!("the word where the run starts"),
                );
                writer.noted(
                    format_args!("let {shift} = {read} % {lanes}u * {bits}u;"),
                    format_args!(
                        "{}",
                        if run.is_unit {
                            "and the bit in it"
                        } else {
                            "and the bit in it: each word is put together from two"
                        }
                    ),
                );
            }
            let start = if shares { (place - self.runs[0].first) / i64::from(lanes) } else { 0 };
            let name = |value: u64| {
                if self.runs.len() == 1 {
                    format!("word{value}")
                } else {
                    format!("word{own}_{value}")
                }
            };
            if run.is_unit {
                let at_word = at(&first, start);
                let at_word = if is_ragged && place > 0 {
                    format!("min({at_word}, {last}u)")
                } else {
                    at_word
                };
                writer.line(format_args!(
                    "let {} = {source}[{at_word}] >> {shift};",
                    self.name(number, 0)
                ));
                continue;
            }
            for value in 0..=run.values {
                let at_word = at(&first, start + signed(value));
                let name = name(value);
                if value == run.values || is_ragged && (value > 0 || place > 0) {
                    writer.line(format_args!("let {name} = {source}[min({at_word}, {last}u)];"));
                } else {
                    writer.line(format_args!("let {name} = {source}[{at_word}];"));
                }
            }
            for value in 0..run.values {
                writer.line(format_args!(
                    "let {} = ({} >> {shift}) | (({} << 1u) << (31u - {shift}));",
                    self.name(number, value),
                    name(value),
                    name(value + 1),
                ));
            }
        }
    }

    /// The parts of an access of the destination: the access `access` of run `run`.
    pub(super) fn stored(&self, run: usize, access: u64) -> Vec<String> {
        let store = usize::try_from(self.block.store()).unwrap_or(1);
        let first = usize::try_from(access).unwrap_or(0) * store;
        let src = self.dst_runs[run].src;
        let units: Vec<(String, u64)> =
            self.units[first..first + store].iter().map(|unit| self.unit(src + unit)).collect();
        let nest = self.block.nest();
        let (bits, to_bits) = (nest.src_bits(), nest.dst_bits());
        let in_value = self.block.load();
        if bits < 32 {
            let lanes = u64::from(32 / bits);
            let words = in_value / lanes;
            let word = |(value, unit): &(String, u64)| {
                let word = components(value, words, unit / lanes, 1);
                (word, u32::try_from(unit % lanes).unwrap_or(0))
            };
            let in_word = usize::try_from(32 / to_bits).unwrap_or(1);
            return units
                .chunks(in_word)
                .map(|units| packed(&units.iter().map(word).collect::<Vec<_>>(), bits, to_bits))
                .collect();
        }
        let words = u64::from(bits) / 32;
        let all_of_one = units.iter().all(|unit| unit.0 == units[0].0);
        if all_of_one && units.len() > 1 && in_value * words > 1 {
            // A value as it is, or its components in another order.
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
