//! Runs waves of a kernel's workgroups, and counts their accesses and instructions.

use std::error::Error;

use naga::front::wgsl;
use stridec::{
    Kernel, Operation, Target,
    internals::Inspect,
    nest::{CopyNest, PositionValue},
};

use crate::{
    instructions::Instructions,
    interpret::{Buffer, Interpreter, Place},
    machine::{Machine, Traffic, groups_of_wave},
    warp::{LANES, Running},
};

/// The sectors that passed between two levels of memory, and the least possible number.
#[derive(Clone, Copy, Debug)]
pub struct LevelTraffic {
    passed: Traffic,
    /// The least possible numbers of sectors that are read and written.
    least: [f64; 2],
}

impl LevelTraffic {
    pub fn read_ratio(&self) -> f64 {
        self.passed.read as f64 / self.least[0]
    }

    pub fn written_ratio(&self) -> f64 {
        self.passed.written as f64 / self.least[1]
    }

    pub fn ratio(&self) -> f64 {
        (self.passed.read + self.passed.written) as f64 / (self.least[0] + self.least[1])
    }
}

/// The traffic and the instructions of the waves that were run.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    pub cache: LevelTraffic,
    pub memory: LevelTraffic,
    operations: u64,
    words: u64,
}

impl Counts {
    /// Returns the number of instructions for each 16 bytes. Every lane of a warp takes as long as
    /// the busiest lane.
    pub fn operations_per_16_bytes(&self) -> f64 {
        (self.operations * u64::from(LANES)) as f64 * 4.0 / self.words as f64
    }
}

/// Returns a short name of the kernel of an operation, and the counts of `waves` waves of it.
pub fn count(
    operation: &Operation,
    target: &Target,
    waves: usize,
) -> Result<(String, Counts), Box<dyn Error>> {
    let kernel = operation.compile(target)?;
    let schedule = operation.schedule(target)?;
    let text = schedule.to_string();
    let of = text.rsplit_once("; ").and_then(|(_, end)| end.split_once(" of "));
    let shown = format!("{} of {}", schedule.strategy(), of.map_or("", |(_, what)| what));
    Ok((shown, run(operation.nest(), &kernel, waves)?))
}

fn run(nest: &CopyNest, kernel: &Kernel, waves: usize) -> Result<Counts, Box<dyn Error>> {
    let module = wgsl::parse_str(&kernel.wgsl)?;
    let buffers = [0, 1].map(|n| {
        let words = kernel.bindings[n].size_in_bytes / 4;
        Buffer::new(vec![0; usize::try_from(words).expect("a binding")])
    });
    let entry = &module.entry_points[0].function;
    let instructions = Instructions::new(&module, entry);
    let mut interpreter = Interpreter::new(&module, entry, buffers, Running::new(&instructions));
    let mut machine = Machine::new();
    let (mut operations, mut words) = (0, 0);
    let size = kernel.workgroup_size;
    let [dispatch] = &kernel.dispatches[..] else { return Err("expected one dispatch".into()) };
    let groups = dispatch.workgroups;
    let all = groups.iter().product::<u32>();
    let of_wave = groups_of_wave(size.iter().product());
    let all_waves = (all as usize).div_ceil(of_wave);
    let first = all_waves.saturating_sub(waves) / 2;
    for wave in first..all_waves.min(first + waves) {
        let numbers = (wave * of_wave..(wave + 1) * of_wave).map_while(|n| u32::try_from(n).ok());
        let mut ran = Vec::with_capacity(of_wave);
        for number in numbers.filter(|&number| number < all) {
            let group =
                [0, 1, 2].map(|d: usize| number / groups[..d].iter().product::<u32>() % groups[d]);
            let mut warps = Vec::new();
            for local in 0..size[0] {
                let place = Place { group, local: [local, 0, 0], size, groups };
                interpreter.invoke(&place)?;
                interpreter.watch.warp.next_lane();
                if local % LANES == LANES - 1 || local + 1 == size[0] {
                    warps.push(interpreter.watch.warp.finish());
                }
            }
            operations += warps.iter().map(|warp| warp.operations).sum::<u64>();
            words += warps.iter().map(|warp| warp.words_written).sum::<u64>();
            ran.push(warps);
        }
        machine.run(&ran);
    }
    machine.finish();
    let least = least(nest);
    let written = nest.dst_bytes().div_ceil(4) as f64;
    let share = words as f64 / written;
    let amortized = least.map(|sectors| sectors * share);
    let cache = LevelTraffic { passed: machine.cache, least: amortized };
    // If only some waves run, the least possible number is the number of sectors that these waves
    // use.
    let least = if waves < all_waves { machine.seen() } else { least };
    let memory = LevelTraffic { passed: machine.memory, least };
    Ok(Counts { cache, memory, operations, words })
}

/// Returns the numbers of sectors of the source and of the destination that hold a byte of an
/// element.
fn least(nest: &CopyNest) -> [f64; 2] {
    let bits = u64::from(nest.src_bits());
    let mut needed = vec![false; usize::try_from(nest.src_bytes().div_ceil(32)).expect("an image")];
    let base = nest.dst_base().unsigned_abs();
    for position in base..base + nest.dst_units() {
        if let PositionValue::Unit { unit, .. } = nest.read(position) {
            for sector in unit * bits / 256..=(unit * bits + bits - 1) / 256 {
                needed[usize::try_from(sector).expect("an image")] = true;
            }
        }
    }
    let read = needed.into_iter().filter(|&is| is).count();
    [read as f64, nest.dst_bytes().div_ceil(32) as f64]
}
