//! What the 32 invocations of a warp do together.

use naga::BinaryOperator;

use crate::{
    value::Value,
    watch::{Access, Watch},
};

/// Invocations that run together.
pub const LANES: u32 = 32;
const WORDS_OF_SECTOR: usize = 8;

/// A sector of 32 bytes: its buffer in the lowest bit.
pub type Sector = u32;

/// The sectors that the lanes of a warp touch by one instruction.
#[derive(Debug)]
pub struct Request {
    site: usize,
    /// How often the invocation was there before.
    turn: usize,
    pub is_write: bool,
    pub sectors: Vec<Sector>,
}

/// What a warp does.
#[derive(Debug, Default)]
pub struct Warp {
    pub requests: Vec<Request>,
    /// Those of its busiest invocation.
    pub operations: u64,
    /// Words that all of its invocations write.
    pub words_written: u64,
    /// The request after the last one of the invocation that runs.
    next: usize,
    /// Where that invocation made accesses.
    sites: Vec<usize>,
    running: u64,
}

impl Warp {
    /// Starts the next invocation.
    pub fn next_lane(&mut self) {
        self.operations = self.operations.max(self.running);
        (self.next, self.running) = (0, 0);
        self.sites.clear();
    }

    /// The warp when all of its invocations are done.
    pub fn finish(&mut self) -> Self {
        self.next_lane();
        for request in &mut self.requests {
            request.sectors.sort_unstable();
            request.sectors.dedup();
        }
        std::mem::take(self)
    }

    /// The request that an access is a part of: nearly always that after the last.
    fn request(&mut self, access: &Access, turn: usize) -> &mut Request {
        let is_it = |one: &Request| one.site == access.site && one.turn == turn;
        let (before, after) = self.requests.split_at(self.next);
        let found = after.iter().position(is_it).map(|at| before.len() + at);
        let at = found.or_else(|| before.iter().position(is_it)).unwrap_or_else(|| {
            let (site, is_write) = (access.site, access.buffer == 1);
            let new = Request { site, turn, is_write, sectors: Vec::new() };
            self.requests.insert(self.next, new);
            self.next
        });
        self.next = at + 1;
        &mut self.requests[at]
    }
}

impl Watch for Warp {
    fn binary(&mut self, op: BinaryOperator, right: &Value, components: usize) {
        let divisor = right.parts()[0].bits;
        let each = match op {
            // A shift, or the upper half of a product with corrections; a mask, or a division and what it leaves.
            BinaryOperator::Divide if !divisor.is_power_of_two() => 4,
            BinaryOperator::Modulo if !divisor.is_power_of_two() => 6,
            _ => 1,
        };
        self.running += each * components as u64;
    }

    fn operations(&mut self, components: usize) {
        self.running += components as u64;
    }

    fn access(&mut self, access: Access) {
        // Its place, and the access itself.
        self.running += 2;
        let turn = self.sites.iter().filter(|&&site| site == access.site).count();
        self.sites.push(access.site);
        let (first, last) = (access.first_word, access.first_word + access.words - 1);
        if access.buffer == 1 {
            self.words_written += access.words as u64;
        }
        let request = self.request(&access, turn);
        for sector in first / WORDS_OF_SECTOR..=last / WORDS_OF_SECTOR {
            let sector = u32::try_from(sector << 1 | access.buffer).expect("a binding's sector");
            if request.sectors.last() != Some(&sector) {
                request.sectors.push(sector);
            }
        }
    }
}
