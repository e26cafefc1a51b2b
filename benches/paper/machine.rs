//! A model of a GPU's caches and of the traffic between them: a first-level cache for each core,
//! and a second-level cache for all cores.
//!
//! The numbers are of an H100. Both caches keep the most recently used sectors. The first level
//! keeps sectors that were read, and passes every write on. The second level keeps sectors that
//! were read or written, and writes a sector to memory when it drops the sector.

use std::collections::{HashMap, HashSet, VecDeque};

use super::warp::{LANES, Sector, Warp};

pub const SECTOR_BYTES: usize = 32;
pub const CORES: usize = 132;
const FIRST_LEVEL_BYTES: usize = 128 << 10;
const SECOND_LEVEL_BYTES: usize = 50 << 20;
/// The number of invocations that a core holds at a time.
const RESIDENT: u32 = 2048;

/// Returns the number of workgroups of `size` invocations that all cores hold at a time, which is a
/// wave.
pub fn groups_of_wave(size: u32) -> usize {
    CORES * (RESIDENT / size.next_multiple_of(LANES)).max(1) as usize
}

/// The numbers of sectors that passed between two levels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    pub read: u64,
    pub written: u64,
}

/// A cache: the sectors that it has, and the time of the last use of each.
pub struct Cache {
    capacity: usize,
    last_use: HashMap<Sector, u64>,
    /// All uses of sectors, the oldest first.
    uses: VecDeque<(u64, Sector)>,
    now: u64,
}

impl Cache {
    pub fn new(bytes: usize) -> Self {
        let capacity = bytes / SECTOR_BYTES;
        Self { capacity, last_use: HashMap::new(), uses: VecDeque::new(), now: 0 }
    }

    /// Uses a sector. Returns true if the cache had it, and the sector that was dropped for it, if
    /// any.
    pub fn touch(&mut self, sector: Sector) -> (bool, Option<Sector>) {
        self.now += 1;
        let was_there = self.last_use.insert(sector, self.now).is_some();
        self.uses.push_back((self.now, sector));
        while self.last_use.len() > self.capacity {
            let (time, oldest) = self.uses.pop_front().expect("a use of each sector");
            if self.last_use[&oldest] == time {
                self.last_use.remove(&oldest);
                return (was_there, Some(oldest));
            }
        }
        // Drops uses of sectors that were used again later.
        while self
            .uses
            .front()
            .is_some_and(|(time, sector)| self.last_use.get(sector) != Some(time))
        {
            self.uses.pop_front();
        }
        (was_there, None)
    }
}

/// All caches of the GPU.
pub struct Machine {
    first: Vec<Cache>,
    second: Cache,
    dirty: HashSet<Sector>,
    /// The sectors that were read at least once, and those that were written at least once.
    seen: [HashSet<Sector>; 2],
    /// The traffic between the cores and the second level.
    pub cache: Traffic,
    /// The traffic between the second level and the memory.
    pub memory: Traffic,
}

impl Machine {
    pub fn new() -> Self {
        Self::of(FIRST_LEVEL_BYTES, SECOND_LEVEL_BYTES)
    }

    /// Returns a machine with caches of these sizes, in bytes.
    pub fn of(first_level: usize, second_level: usize) -> Self {
        Self {
            first: (0..CORES).map(|_| Cache::new(first_level)).collect(),
            second: Cache::new(second_level),
            dirty: HashSet::new(),
            seen: [HashSet::new(), HashSet::new()],
            cache: Traffic::default(),
            memory: Traffic::default(),
        }
    }

    /// Runs a wave. The workgroups are assigned to the cores in turn, and the warps make their
    /// requests in turns, one request at a time.
    pub fn run(&mut self, groups: &[Vec<Warp>]) {
        let most = groups.iter().flatten().map(|warp| warp.requests.len()).max().unwrap_or(0);
        for turn in 0..most {
            for (group, warps) in groups.iter().enumerate() {
                for request in warps.iter().filter_map(|warp| warp.requests.get(turn)) {
                    for &sector in &request.sectors {
                        if request.is_write {
                            self.write(sector);
                        } else {
                            self.read(group % CORES, sector);
                        }
                    }
                }
            }
        }
    }

    fn read(&mut self, core: usize, sector: Sector) {
        if self.first[core].touch(sector).0 {
            return;
        }
        self.cache.read += 1;
        self.seen[0].insert(sector);
        let (was_there, left) = self.second.touch(sector);
        self.memory.read += u64::from(!was_there);
        self.leave(left);
    }

    /// Writes a sector from a core.
    pub fn write(&mut self, sector: Sector) {
        self.cache.written += 1;
        self.seen[1].insert(sector);
        let left = self.second.touch(sector).1;
        self.dirty.insert(sector);
        self.leave(left);
    }

    fn leave(&mut self, sector: Option<Sector>) {
        self.memory.written += u64::from(sector.is_some_and(|sector| self.dirty.remove(&sector)));
    }

    /// Returns the numbers of sectors that were read and written at least once.
    pub fn seen(&self) -> [f64; 2] {
        [0, 1].map(|way: usize| self.seen[way].len() as f64)
    }

    /// Writes the remaining sectors of the second level to memory.
    pub fn finish(&mut self) {
        self.memory.written += self.dirty.drain().count() as u64;
    }
}
