//! A model of a warp: 32 invocations that run in lockstep.

use super::{
    instructions::Instructions,
    watch::{Access, Watch},
};

/// The number of invocations in a warp.
pub const LANES: u32 = 32;
const WORDS_OF_SECTOR: usize = 8;

/// A sector of 32 bytes. The lowest bit is its buffer.
pub type Sector = u32;

/// The sectors that the lanes of a warp access with one instruction.
#[derive(Debug)]
pub struct Request {
    site: usize,
    /// The number of earlier accesses that the same invocation made with this instruction.
    turn: usize,
    pub is_write: bool,
    pub sectors: Vec<Sector>,
}

/// The accesses and instructions of a warp.
#[derive(Debug, Default)]
pub struct Warp {
    pub requests: Vec<Request>,
    /// The number of instructions of the invocation with the most.
    pub operations: u64,
    /// The number of words that all invocations write.
    pub words_written: u64,
    /// The index of the request after the last request of the current invocation.
    next: usize,
    /// The sites of the current invocation's accesses.
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

    /// Returns the warp after all of its invocations.
    pub fn finish(&mut self) -> Self {
        self.next_lane();
        for request in &mut self.requests {
            request.sectors.sort_unstable();
            request.sectors.dedup();
        }
        std::mem::take(self)
    }

    /// Adds instructions to the current invocation.
    fn take(&mut self, instructions: u64) {
        self.running += instructions;
    }

    /// Adds an access. One instruction computes its address, and another is the access itself.
    pub fn access(&mut self, access: Access) {
        self.take(2);
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

    /// Returns the request to which an access belongs. This is nearly always the request after the
    /// last one.
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

/// The warp that is running, and the instructions of its invocations.
pub struct Running<'a> {
    pub warp: Warp,
    instructions: &'a Instructions,
    /// The calls that have not returned.
    calls: Vec<usize>,
}

impl<'a> Running<'a> {
    pub fn new(instructions: &'a Instructions) -> Self {
        Self { warp: Warp::default(), instructions, calls: vec![0] }
    }

    fn running(&self) -> usize {
        *self.calls.last().expect("the entry point runs")
    }
}

impl Watch for Running<'_> {
    fn expression(&mut self, expression: usize) {
        self.warp.take(self.instructions.of(self.running(), expression));
    }

    fn branch(&mut self) {
        self.warp.take(1);
    }

    fn call(&mut self, statement: usize) {
        self.calls.push(self.instructions.inner(self.running(), statement));
    }

    fn end_of_call(&mut self) {
        self.calls.pop();
    }

    fn access(&mut self, access: Access) {
        self.warp.access(access);
    }
}
