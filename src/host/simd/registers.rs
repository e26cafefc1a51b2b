//! Fills registers with bytes that are selected from a few loads each, and stores them, at every
//! step of some loops. A *pattern* is written in this way: a block of the destination that is put
//! together in the same way again and again.
//!
//! For example, a register of four RGB pixels with a zero byte after each needs one load of 16
//! bytes and a *table*. For each byte of the register, the table has the index of the byte to take
//! from the load, or an entry that means that the load does not provide it. A load with its table
//! is a *term*. In registers of 64 bytes, a term may also load several *pieces* of eight bytes.
#![allow(unsafe_code)] // Register loads and stores take pointers.
#![cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    allow(unused, unreachable_patterns) // There is no instruction set, and nothing to call.
)]

use smallvec::SmallVec;
use wide::u64x8;

#[cfg(target_arch = "aarch64")]
use super::neon;
#[cfg(target_arch = "x86_64")]
use super::x86;
use super::{
    super::stream::{LINE, PAGE, Stream, prefetch},
    select::NO_BYTE,
    set::{Set, Simd},
};

/// The interval between two prefetches, as a number of bytes that are written to the destination.
const PREFETCH_INTERVAL_DST_BYTES: usize = 1 << 10;

/// The prefetch distance: the number of bytes that are written to the destination between a
/// prefetch and the load of the same line. Hardware prefetchers do not predict rows that are far
/// apart or read backwards, and a load from memory takes as long as copying a few KiB:
/// `u64[43300,129]` with every third row, mirrored.
const PATTERN_PREFETCH_DST_BYTES: usize = 1 << 12;

/// The least number of steps for which loads are moved to whole lines. Moving a load takes as long
/// as about this many loads that cross a line.
const LEAST_ALIGNED: usize = 64;

/// The largest number of loads of a block that are prefetched. Prefetching more takes as long as
/// the loads themselves.
const MOST_PREFETCHED: usize = 32;

/// The length of a piece that is loaded together with other pieces, in bytes, and the greatest
/// number of them in a register.
const PIECE: usize = 8;
const MOST_PIECES: usize = 8;

/// The approximate number of processor cycles for a load of a whole register with its shuffle,
/// measured on an AMD EPYC of family 25. A load of 64 bytes that crosses a cache line takes as long
/// as two.
pub(in crate::host) const CYCLES_OF_LOAD: usize = 3;

/// Twice that number, and twice the number of cycles for a piece of eight bytes.
const HALF_CYCLES_OF_LOAD: usize = 2 * CYCLES_OF_LOAD;
const HALF_CYCLES_OF_PIECE: usize = 3;

/// The origin of one byte that [`Registers`] write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum PatternByte {
    /// The byte at an offset in a source.
    Read { source: usize, at: isize },
    /// A constant.
    Fill(u8),
}

/// A register of bytes that is stored in the destination.
#[derive(Clone, Debug)]
pub(super) struct Register {
    /// The offset in the destination at which the register is stored.
    pub(super) to: isize,
    /// The number of bytes that are stored.
    pub(super) length: usize,
    /// The number of tables by which loaded bytes are selected for the register.
    pub(super) terms: usize,
}

/// Bytes of a source that are loaded: a whole register, or a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ByteLoad {
    source: usize,
    /// The offset in the source, in bytes.
    at: isize,
    /// The number of bytes.
    length: usize,
    /// The first and the last byte that are used.
    used: [u8; 2],
}

/// Registers that are filled together and stored at fixed offsets in the destination. Each of their
/// bytes is a constant, or a byte at a fixed index of one of a few loads.
#[derive(Clone, Debug)]
pub(in crate::host) struct Registers {
    simd: Simd,
    pub(super) stores: Vec<Register>,
    /// The loads, register by register.
    loads: Vec<ByteLoad>,
    /// The number of loads of each term: 1, or a power of two for loads of pieces.
    terms: Vec<u8>,
    /// The number of loads without repetitions of the last piece of a term.
    different: usize,
    /// The tables of the registers, aligned to cache lines. A register has one table with its
    /// constants, and one table for each of its terms. For each byte of the register, the table of
    /// a term has the index of a loaded byte, or at least [`NO_BYTE`] if another table provides
    /// that byte.
    tables: Vec<u64x8>,
    /// The range of bytes that the loads read from each source, or `None` if there are no such
    /// loads. The end is exclusive.
    reach: SmallVec<[Option<(isize, isize)>; 1]>,
    /// The range of bytes that the registers store. The end is exclusive.
    written: (isize, isize),
    /// True if all registers are stored whole, at multiples of cache lines.
    fills_lines: bool,
    /// The indices of loads that are at least a cache line apart, so that each line is counted and
    /// prefetched only once.
    lines: Vec<usize>,
}

/// A source of a pattern, and the place from which the pattern reads it.
#[derive(Clone, Copy)]
pub(in crate::host) struct PatternSource<'a> {
    pub(in crate::host) image: &'a [u8],
    /// The byte of the source at which the offsets of loads start to count.
    pub(in crate::host) at: isize,
    /// The factor by which a loop's source distance is multiplied for this source. It is 0 if every
    /// step reads the same bytes. Sources that contribute different numbers of bytes to a block
    /// have different factors.
    pub(in crate::host) scale: isize,
}

/// A loop that repeats the registers.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) struct PatternLoop {
    /// The number of steps.
    pub(in crate::host) times: usize,
    /// The distance of one step in the sources, and in the destination, in bytes.
    pub(in crate::host) src: isize,
    pub(in crate::host) dst: isize,
    /// The offsets in the sources and in the destination of one additional step, which overlaps the
    /// last regular one. This step is needed if blocks do not divide the axis.
    pub(in crate::host) last: Option<(isize, isize)>,
}

impl PatternLoop {
    /// Returns the source distance of a step, and the source offset of the additional step if there
    /// is one.
    pub(in crate::host) fn src(&self) -> (isize, Option<isize>) {
        (self.src, self.last.map(|last| last.0))
    }

    /// Returns the destination distance of a step, and the destination offset of the additional
    /// step if there is one.
    pub(in crate::host) fn dst(&self) -> (isize, Option<isize>) {
        (self.dst, self.last.map(|last| last.1))
    }
}

/// Returns the least and the greatest offset that the loops reach, either in the sources or in the
/// destination. `side` is the method of [`PatternLoop`] for that side.
pub(in crate::host) fn span(
    loops: &[PatternLoop],
    side: impl Fn(&PatternLoop) -> (isize, Option<isize>),
) -> (isize, isize) {
    loops.iter().fold((0, 0), |(low, high), of| {
        let (step, last) = side(of);
        let last = last.unwrap_or((of.times - 1).cast_signed() * step);
        (low + last.min(0), high + last.max(0))
    })
}

/// The address at which a load starts, and its [`PatternSource::scale`].
#[derive(Clone, Copy)]
pub(super) struct LoadStart {
    pub(super) start: *const u8,
    pub(super) scale: isize,
}

/// Registers together with the sources from which they are filled.
pub(in crate::host) struct RegisterReads<'a> {
    of: &'a Registers,
    sources: &'a [PatternSource<'a>],
    /// The start of each load.
    starts: SmallVec<[LoadStart; 32]>,
}

/// The options with which all steps of a pattern are written.
#[derive(Clone, Copy)]
struct WriteKind {
    /// True if cache lines are written with non-temporal stores.
    streams: bool,
    /// True if the loops move some sources by different distances than others.
    scales: bool,
    /// True if lines of the source are prefetched.
    prefetches: bool,
}

/// Consecutive steps of the innermost loop. In the first of them, each load starts after its
/// [`LoadStart`], at a distance of `moved` bytes multiplied by the scale of its source.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    pub(super) times: usize,
    pub(super) moved: isize,
    pub(super) src: isize,
    pub(super) dst: isize,
}

impl Registers {
    /// Returns the registers that write `runs`. Each run has its offset in the destination and its
    /// bytes. If a run is longer than a register, its last register overlaps the one before it.
    ///
    /// Returns `None` if the registers need more than `most` different loads in total, or if there
    /// are no runs.
    pub(in crate::host) fn new<'a>(
        simd: Simd,
        runs: impl IntoIterator<Item = (isize, &'a [PatternByte])>,
        most: usize,
    ) -> Option<Self> {
        let width = simd.width();
        let mut of = Self {
            simd,
            stores: Vec::new(),
            loads: Vec::new(),
            terms: Vec::new(),
            different: 0,
            tables: Vec::new(),
            reach: SmallVec::new(),
            written: (isize::MAX, isize::MIN),
            fills_lines: width == LINE,
            lines: Vec::new(),
        };
        let mut tables = Vec::new();
        for (to, bytes) in runs {
            let mut start = 0;
            while start < bytes.len() {
                let end = (start + width).min(bytes.len());
                let first = end.saturating_sub(width).min(start);
                of.add(to + first.cast_signed(), &bytes[first..end], &mut tables);
                if of.different > most {
                    return None;
                }
                start = end;
            }
        }
        of.lines = of.distinct_lines();
        of.tables = vec![u64x8::ZERO; tables.len().div_ceil(LINE)];
        bytemuck::cast_slice_mut(&mut of.tables)[..tables.len()].copy_from_slice(&tables);
        (!of.stores.is_empty()).then_some(of)
    }

    /// Returns the indices of loads that are at least a cache line apart.
    fn distinct_lines(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.loads.len()).collect();
        order.sort_unstable_by_key(|&load| self.loads[load]);
        let mut lines: Vec<usize> = Vec::new();
        for load in order {
            let ByteLoad { source, at, .. } = self.loads[load];
            let before = lines.last().map(|&last| self.loads[last]);
            if before.is_none_or(|of| of.source != source || at >= of.at + LINE.cast_signed()) {
                lines.push(load);
            }
        }
        lines
    }

    /// Returns the same registers with other loads: if all bytes that are used of a load lie in one
    /// cache line of the source, the load becomes that line. Otherwise it would often read the next
    /// line too, which takes twice the time if few lines of the source are needed.
    ///
    /// Returns `None` if no load changes, if registers are shorter than a line, if `loops` have
    /// fewer than [`LEAST_ALIGNED`] steps or steps that read from other places of a line, or if
    /// they read more than half of the bytes that they pass.
    pub(in crate::host) fn aligned(
        &self,
        sources: &[PatternSource],
        loops: &[PatternLoop],
    ) -> Option<Self> {
        let whole = |bytes: isize| bytes % LINE.cast_signed() == 0;
        let repeats = |of: &PatternLoop| whole(of.src) && of.last.is_none_or(|last| whole(last.0));
        let steps = loops.iter().map(|of| of.times).product::<usize>();
        let (low, high) = span(loops, PatternLoop::src);
        let moves = |&&load: &&usize| sources[self.loads[load].source].scale != 0;
        let lines = steps * self.lines.iter().filter(moves).count();
        if self.simd.width() < LINE
            || steps < LEAST_ALIGNED
            || !loops.iter().all(repeats)
            || 2 * lines * LINE > (high - low).cast_unsigned()
        {
            return None;
        }
        // The distance from the start of a load to the line that it becomes.
        let distance = |load: &ByteLoad| {
            // A source that does not move stays in the caches, and has only the bytes of its loads.
            let PatternSource { image, at, scale } = sources[load.source];
            let gap = image.as_ptr().addr().wrapping_add_signed(at + load.at) % LINE;
            let [first, last] = load.used.map(|byte| (gap + usize::from(byte)) / LINE);
            let fits = load.length == LINE && first == last && scale != 0;
            if fits { (first * LINE).cast_signed() - gap.cast_signed() } else { 0 }
        };
        if self.loads.iter().all(|load| distance(load) == 0) {
            return None;
        }
        let mut of = self.clone();
        let tables: &mut [u8] = bytemuck::cast_slice_mut(&mut of.tables);
        let (mut tables, mut loads) = (tables.chunks_exact_mut(LINE), of.loads.iter_mut());
        let mut counts = of.terms.iter();
        for register in &of.stores {
            tables.next(); // the constants
            for (table, &count) in tables.by_ref().zip(counts.by_ref()).take(register.terms) {
                for load in loads.by_ref().take(usize::from(count)) {
                    let distance = distance(load);
                    load.at += distance;
                    load.used =
                        load.used.map(|byte| byte.wrapping_sub(distance.cast_unsigned() as u8));
                    for place in &mut *table {
                        let moved = place.wrapping_sub(distance.cast_unsigned() as u8);
                        *place = if *place < NO_BYTE { moved } else { *place };
                    }
                }
            }
        }
        of.reach.fill(None);
        for load in 0..of.loads.len() {
            of.reaches(of.loads[load]);
        }
        of.lines = of.distinct_lines();
        Some(of)
    }

    /// Adds a register that stores `bytes` at offset `to`, with its loads and tables.
    fn add(&mut self, to: isize, bytes: &[PatternByte], tables: &mut Vec<u8>) {
        let width = self.simd.width();
        let constants = tables.len();
        tables.resize(constants + width, 0);
        // The source and the offset of each byte that is read, and its index in the register.
        let mut places: SmallVec<[Place; 64]> = SmallVec::new();
        for (index, byte) in bytes.iter().enumerate() {
            match *byte {
                PatternByte::Read { source, at } => places.push((source, at, index as u8)),
                PatternByte::Fill(value) => tables[constants + index] = value,
            }
        }
        places.sort_unstable();
        let before = self.terms.len();
        for of_source in places.chunk_by(|a, b| a.0 == b.0) {
            let wide = cover(of_source, width);
            let narrow =
                if self.simd.loads_pieces() { cover(of_source, PIECE) } else { Vec::new() };
            let cycles = narrow.len() * HALF_CYCLES_OF_PIECE
                + narrow.len().div_ceil(MOST_PIECES) * HALF_CYCLES_OF_LOAD;
            if narrow.is_empty() || wide.len() * HALF_CYCLES_OF_LOAD <= cycles {
                for part in wide {
                    self.term(&[part], width, tables);
                }
            } else {
                for parts in narrow.chunks(MOST_PIECES) {
                    self.term(parts, PIECE, tables);
                }
            }
        }
        let terms = self.terms.len() - before;
        self.fills_lines &= bytes.len() == width && to % LINE.cast_signed() == 0;
        self.written = (self.written.0.min(to), self.written.1.max(to + bytes.len().cast_signed()));
        self.stores.push(Register { to, length: bytes.len(), terms });
    }

    /// Adds a term, which loads `length` bytes for each part of `parts` and selects the bytes of
    /// the parts from them. Each part has the offset at which its load starts.
    fn term(&mut self, parts: &[(isize, &[Place])], length: usize, tables: &mut Vec<u8>) {
        let table = tables.len();
        // In registers of 64 bytes, this entry keeps the byte of the earlier terms.
        tables.extend((0..self.simd.width()).map(|byte| NO_BYTE | 64 | byte as u8));
        for (number, (start, places)) in parts.iter().enumerate() {
            let [first, last] = [places[0], places[places.len() - 1]];
            let used = [first, last].map(|(_, at, _)| (at - start).cast_unsigned() as u8);
            self.load(ByteLoad { source: first.0, at: *start, length, used });
            for &(_, at, index) in *places {
                let at = number * length + (at - start).cast_unsigned();
                tables[table + usize::from(index)] = at as u8;
            }
        }
        // A term loads one whole register, or 2, 4 or 8 pieces. The last piece is repeated to fill
        // up that number.
        let least = if length == PIECE { 2 } else { 1 };
        let count = parts.len().max(least).next_power_of_two();
        if let Some(&last) = self.loads.last() {
            (parts.len()..count).for_each(|_| self.load(last));
        }
        self.terms.push(count as u8);
        self.different += parts.len();
    }

    /// Adds a load.
    fn load(&mut self, load: ByteLoad) {
        self.reaches(load);
        self.loads.push(load);
    }

    /// Adds the bytes of a load to those that are read from its source.
    fn reaches(&mut self, load: ByteLoad) {
        let ByteLoad { source, at, length, .. } = load;
        if self.reach.len() <= source {
            self.reach.resize(source + 1, None);
        }
        let end = at + length.cast_signed();
        let (low, most) = self.reach[source].unwrap_or((at, end));
        self.reach[source] = Some((low.min(at), most.max(end)));
    }

    /// Returns the approximate memory that the registers and their tables occupy, in bytes.
    pub(in crate::host) fn bytes(&self) -> usize {
        size_of_val(&self.stores[..])
            + size_of_val(&self.loads[..])
            + size_of_val(&self.terms[..])
            + size_of_val(&self.tables[..])
            + size_of_val(&self.lines[..])
    }

    /// Returns the number of different loads, and the number of stores.
    pub(in crate::host) fn operations(&self) -> (usize, usize) {
        (self.different, self.stores.len())
    }

    /// Returns the greatest number of cache lines that one block loads from the same set of a
    /// first-level cache, which are those at equal places of pages.
    pub(in crate::host) fn lines_of_set(&self) -> usize {
        let mut of_sets = [0; PAGE / LINE];
        for &load in &self.lines {
            let at = self.loads[load].at;
            of_sets[at.rem_euclid(PAGE.cast_signed()).cast_unsigned() / LINE] += 1;
        }
        of_sets.into_iter().max().unwrap_or_default()
    }

    /// Returns the cost of all loads, as a number of loads of whole registers, and the number of
    /// tables that select from them.
    pub(in crate::host) fn whole_loads(&self) -> (usize, usize) {
        let of_pieces = self.terms.iter().filter(|&&pieces| pieces > 1);
        let half_cycles = of_pieces.fold(0, |sum, &pieces| {
            sum + HALF_CYCLES_OF_LOAD + usize::from(pieces) * HALF_CYCLES_OF_PIECE
        });
        let whole = self.terms.iter().map(|&pieces| usize::from(pieces == 1)).sum::<usize>();
        (whole + half_cycles / HALF_CYCLES_OF_LOAD, self.terms.len())
    }

    /// Returns the range of bytes that one repetition writes; the end is exclusive.
    pub(in crate::host) fn written(&self) -> (isize, isize) {
        self.written
    }

    /// Prepares a source that does not move and is shorter than its loads. Returns a longer copy of
    /// its bytes, and the offset in that copy at which the loads start to count. Returns `None` if
    /// all loads lie inside the source.
    pub(in crate::host) fn room(
        &self,
        number: usize,
        source: &PatternSource,
    ) -> Option<(Vec<u8>, isize)> {
        let (low, end) = (*self.reach.get(number)?)?;
        let length = source.image.len().cast_signed();
        let (first, past) = (source.at + low, source.at + end);
        if first >= 0 && past <= length {
            return None;
        }
        let mut room = vec![0; (end - low).cast_unsigned()];
        let inside = first.clamp(0, length)..past.clamp(0, length);
        let at = (inside.start - first).cast_unsigned();
        let bytes = &source.image[inside.start.cast_unsigned()..inside.end.cast_unsigned()];
        room[at..at + bytes.len()].copy_from_slice(bytes);
        Some((room, -low))
    }

    /// Returns the registers together with the sources from which they are filled.
    ///
    /// # Panics
    ///
    /// Panics if there are fewer sources than the registers read.
    pub(in crate::host) fn reads<'a>(
        &'a self,
        sources: &'a [PatternSource<'a>],
    ) -> RegisterReads<'a> {
        assert!(sources.len() >= self.reach.len(), "{} sources", sources.len());
        let start = |load: &ByteLoad| {
            let PatternSource { image, at, scale } = sources[load.source];
            LoadStart { start: image.as_ptr().wrapping_offset(at + load.at), scale }
        };
        RegisterReads { of: self, sources, starts: self.loads.iter().map(start).collect() }
    }

    /// Writes the registers at every step of the loops. The first step reads `moved` bytes after
    /// the starts, and writes at `to`.
    ///
    /// # Safety
    ///
    /// All loads and stores of the steps lie inside their images, and there is a start for each
    /// load. If lines are streamed, registers are whole cache lines.
    unsafe fn walk(
        &self,
        starts: &[LoadStart],
        (moved, to): (isize, *mut u8),
        loops: &[PatternLoop],
        kind: WriteKind,
    ) {
        let once = PatternLoop { times: 1, src: 0, dst: 0, last: None };
        let (outer, inner) = match loops {
            [] => (once, once),
            [inner] => (once, *inner),
            [outer, inner] => (*outer, *inner),
            [outer, inner @ ..] => {
                // SAFETY: the caller guarantees that all loads and stores of these steps lie inside
                // their images.
                unsafe {
                    for step in 0..outer.times.cast_signed() {
                        let at = (moved + step * outer.src, to.wrapping_offset(step * outer.dst));
                        self.walk(starts, at, inner, kind);
                    }
                    if let Some((src, dst)) = outer.last {
                        let at = (moved + src, to.wrapping_offset(dst));
                        self.walk(starts, at, inner, kind);
                    }
                }
                return;
            }
        };
        // SAFETY: the caller guarantees that all loads and stores of these steps lie inside their
        // images.
        unsafe { self.rows(starts, (moved, to), (outer, inner), kind) };
    }

    /// Writes the registers at every step of two loops: rows, and the steps of a row.
    ///
    /// # Safety
    ///
    /// As for [`Self::walk`].
    unsafe fn rows(
        &self,
        starts: &[LoadStart],
        (moved, to): (isize, *mut u8),
        (outer, inner): (PatternLoop, PatternLoop),
        kind: WriteKind,
    ) {
        let write = |moved: isize, to: *mut u8, times: usize| {
            let steps = Steps { times, moved, src: inner.src, dst: inner.dst };
            // SAFETY: the caller guarantees that all loads and stores of these steps lie inside
            // their images.
            unsafe {
                match (kind.streams, kind.scales) {
                    (false, false) => self.write_by_set::<false, false>(starts, to, steps),
                    (false, true) => self.write_by_set::<false, true>(starts, to, steps),
                    (true, false) => self.write_by_set::<true, false>(starts, to, steps),
                    (true, true) => self.write_by_set::<true, true>(starts, to, steps),
                }
            }
        };
        // The steps of a row are written in parts. While a part is written, prefetch the lines of a
        // later part, even if that part is in another row.
        let bytes = (self.written.1 - self.written.0).unsigned_abs();
        // Put steps that read the same lines into one part.
        let gap = (LINE / inner.src.unsigned_abs().max(1)).max(1);
        let most = if kind.prefetches {
            (PREFETCH_INTERVAL_DST_BYTES / bytes).max(gap)
        } else {
            inner.times
        };
        let part = most.clamp(1, inner.times.max(1));
        let parts = inner.times.div_ceil(part);
        let ahead = PATTERN_PREFETCH_DST_BYTES.div_ceil(part * bytes);
        let rows = (0..outer.times.cast_signed()).map(|row| (row * outer.src, row * outer.dst));
        for (row, (src, dst)) in rows.chain(outer.last).enumerate() {
            for number in 0..parts {
                let (later, then) = ((number + ahead) / parts, (number + ahead) % parts);
                if kind.prefetches && row + later < outer.times {
                    let row = moved + src + later.cast_signed() * outer.src;
                    for step in (then * part..(then + 1) * part).step_by(gap) {
                        let moved = row + step.cast_signed() * inner.src;
                        for &load in &self.lines {
                            let LoadStart { start, scale } = starts[load];
                            prefetch(start.wrapping_offset(moved * scale));
                        }
                    }
                }
                let first = number * part;
                let step = first.cast_signed();
                let to = to.wrapping_offset(dst + step * inner.dst);
                write(moved + src + step * inner.src, to, part.min(inner.times - first));
            }
            if let Some((last, to_last)) = inner.last {
                write(moved + src + last, to.wrapping_offset(dst + to_last), 1);
            }
        }
    }

    /// Writes the registers at consecutive steps, by the function that was compiled for the
    /// instruction set.
    ///
    /// # Safety
    ///
    /// As for [`Self::walk`]. If `SCALES` is false, the scale of all sources is 1.
    unsafe fn write_by_set<const STREAM: bool, const SCALES: bool>(
        &self,
        starts: &[LoadStart],
        to: *mut u8,
        steps: Steps,
    ) {
        // SAFETY: the set was found on this processor, and the caller guarantees that all loads and
        // stores of the steps lie inside their images.
        unsafe {
            match self.simd.set {
                #[cfg(target_arch = "x86_64")]
                Set::Ssse3 => x86::registers_16::<STREAM, SCALES, false>(self, starts, to, steps),
                #[cfg(target_arch = "x86_64")]
                Set::Avx2 => {
                    x86::registers_16_of_avx2::<STREAM, SCALES, false>(self, starts, to, steps);
                }
                #[cfg(target_arch = "x86_64")]
                Set::Avx512Vbmi if self.loads.len() > self.terms.len() => {
                    x86::registers_64::<STREAM, SCALES, true>(self, starts, to, steps);
                }
                #[cfg(target_arch = "x86_64")]
                Set::Avx512Vbmi => {
                    x86::registers_64::<STREAM, SCALES, false>(self, starts, to, steps);
                }
                #[cfg(target_arch = "aarch64")]
                Set::Neon => neon::registers_16::<STREAM, SCALES, false>(self, starts, to, steps),
            }
        }
    }

    /// Returns the number of loads of each term.
    pub(super) fn terms(&self) -> &[u8] {
        &self.terms
    }

    /// Returns the address of the first table.
    pub(super) fn tables(&self) -> *const u8 {
        self.tables.as_ptr().cast()
    }
}

impl RegisterReads<'_> {
    /// Writes the registers at every step of the loops, the innermost one last. In each source, the
    /// first step reads `moved` bytes further, multiplied by the scale of the source. It writes at
    /// byte `to` of `destination`. If there is a stream, images are large. The lines of the source
    /// are then prefetched, unless a block reads too many, and those of the destination are written
    /// with non-temporal stores if every register is a whole cache line.
    ///
    /// # Panics
    ///
    /// Panics if a step leaves the destination, or if a load does not lie inside its source.
    pub(in crate::host) fn write(
        &self,
        moved: isize,
        (destination, to): (&mut [u8], usize),
        loops: &[PatternLoop],
        stream: Option<&Stream>,
    ) {
        let (low, high) = span(loops, PatternLoop::src);
        assert!(self.fit((moved + low, moved + high)), "loads leave a source");
        let (low, high) = span(loops, PatternLoop::dst);
        let low = to.cast_signed() + low + self.of.written.0;
        let end = to.cast_signed() + high + self.of.written.1;
        assert!(0 <= low && end <= destination.len().cast_signed(), "{low}..{end}");
        let start = destination.as_mut_ptr().wrapping_add(to);
        let whole = |of: &PatternLoop| {
            of.dst % LINE.cast_signed() == 0
                && of.last.is_none_or(|last| last.1 % LINE.cast_signed() == 0)
        };
        let prefetches = stream.is_some() && (1..=MOST_PREFETCHED).contains(&self.of.lines.len());
        let streams = stream.is_some()
            && self.of.fills_lines
            && start.addr().is_multiple_of(LINE)
            && loops.iter().all(whole);
        let scales = self.sources.iter().any(|source| source.scale != 1);
        let kind = WriteKind { streams, scales, prefetches };
        // SAFETY: all loads of all steps lie inside their sources, and all stores inside the
        // destination; there is a start for each load.
        unsafe { self.of.walk(&self.starts, (moved, start), loops, kind) };
    }

    /// Returns true if all loads stay inside the sources at every step of some loops. `moved` has
    /// the least and the greatest offset that the loops reach in the sources.
    pub(in crate::host) fn fit(&self, moved: (isize, isize)) -> bool {
        self.sources.iter().zip(&self.of.reach).all(|(source, reach)| {
            let &Some((low, end)) = reach else { return true };
            let [a, b] = [moved.0, moved.1].map(|moved| moved * source.scale);
            source.at + low + a.min(b) >= 0
                && source.at + end + a.max(b) <= source.image.len().cast_signed()
        })
    }

    /// Writes the registers once, byte by byte, at byte `to` of `destination`. Unlike
    /// [`Self::write`], this also works if whole loads would reach past the ends of the sources.
    ///
    /// # Panics
    ///
    /// Panics if a byte is read outside its source, or written outside the destination.
    pub(in crate::host) fn write_bytes(&self, moved: isize, (destination, to): (&mut [u8], usize)) {
        let width = self.of.simd.width();
        let tables: &[u8] = bytemuck::cast_slice(&self.of.tables);
        let (mut tables, mut loads) = (tables.chunks_exact(width), &self.of.loads[..]);
        let mut counts = self.of.terms.iter();
        for &Register { to: at, length, terms } in &self.of.stores {
            let start = (to.cast_signed() + at).cast_unsigned();
            let bytes = &mut destination[start..start + length];
            bytes.copy_from_slice(&tables.next().expect("constants")[..length]);
            for (table, &count) in tables.by_ref().zip(counts.by_ref()).take(terms) {
                let (of_term, others) = loads.split_at(usize::from(count));
                loads = others;
                let places = bytes.iter_mut().zip(table).filter(|(_, place)| **place < NO_BYTE);
                for (byte, &place) in places {
                    let piece = usize::from(place) / of_term[0].length;
                    let ByteLoad { source, at: load, length, .. } = of_term[piece];
                    let PatternSource { image, at, scale } = self.sources[source];
                    let start = at + load + moved * scale - (piece * length).cast_signed();
                    *byte = image[(start + isize::from(place)).cast_unsigned()];
                }
            }
        }
    }
}

/// A byte that is read: its source, its offset in the source, and its index in the register.
type Place = (usize, isize, u8);

/// Returns loads of `length` bytes that contain all `places` of one source, which are sorted. Each
/// load has the offset at which it starts, and the places that it contains.
fn cover(places: &[Place], length: usize) -> Vec<(isize, &[Place])> {
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Vec::new() };
    let (mut loads, mut rest) = (Vec::new(), places);
    while let [(_, at, _), ..] = *rest {
        // If possible, let a load end at the last byte that is needed, because that byte may be the
        // last one of the image.
        let start = at.min(last.1 + 1 - length.cast_signed()).max(first.1);
        let end = start + length.cast_signed();
        let (loaded, others) = rest.split_at(rest.partition_point(|of| of.1 < end));
        loads.push((start, loaded));
        rest = others;
    }
    loads
}

/// Copies the first and the last `N` of `length` bytes.
///
/// # Safety
///
/// There are at least `N` bytes on both sides.
#[inline(always)]
unsafe fn copy_ends<const N: usize>(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller guarantees at least `N` bytes on both sides.
    unsafe {
        to.copy_from_nonoverlapping(from, N);
        to.add(length - N).copy_from_nonoverlapping(from.add(length - N), N);
    }
}

/// Copies the first `length` bytes of a register, at least one and fewer than 16, in two parts that
/// may overlap.
///
/// # Safety
///
/// The bytes may be written.
#[inline(always)]
pub(super) unsafe fn copy_part(to: *mut u8, bytes: &[u8; 16], length: usize) {
    let from = bytes.as_ptr();
    // SAFETY: each part lies inside the bytes of both sides.
    unsafe {
        match length {
            8.. => copy_ends::<8>(from, to, length),
            4.. => copy_ends::<4>(from, to, length),
            2.. => copy_ends::<2>(from, to, length),
            _ => to.write(*from),
        }
    }
}

/// Defines a function that writes [`Registers`] with an instruction set. `load` loads a register,
/// `term` adds the bytes of one load or of several pieces, and `store` and `store_part` store a
/// register or its first bytes.
///
/// The defined function is safe to call if the requirements of [`Registers::write_by_set`] are met
/// and the processor has the features.
macro_rules! registers {
    ($name:ident, $features:literal, $width:literal, $load:ident, $term:ident, $store:ident, $stream:ident, $store_part:ident) => {
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const STREAM: bool, const SCALES: bool, const PIECES: bool>(
            of: &super::registers::Registers,
            starts: &[super::registers::LoadStart],
            mut to: *mut u8,
            steps: super::registers::Steps,
        ) {
            let mut moved = steps.moved;
            for _ in 0..steps.times {
                let (mut table, mut start) = (of.tables(), starts.as_ptr());
                let mut term = of.terms().as_ptr();
                for register in &of.stores {
                    // SAFETY: a register has a table for its constants and one for each term, every
                    // load has a start, and the caller guarantees that loads and stores lie inside
                    // their images.
                    unsafe {
                        let mut bytes = $load(|_| table);
                        table = table.add($width);
                        for _ in 0..register.terms {
                            let from = |load: usize| {
                                let super::registers::LoadStart { start, scale } = *start.add(load);
                                start.wrapping_offset(if SCALES { moved * scale } else { moved })
                            };
                            let pieces = if PIECES { usize::from(*term) } else { 1 };
                            bytes = $term(bytes, from, table, pieces);
                            start = start.add(pieces);
                            term = term.add(1);
                            table = table.add($width);
                        }
                        let place = to.wrapping_offset(register.to);
                        if STREAM {
                            $stream(place, bytes);
                        } else if register.length == $width {
                            $store(place, bytes);
                        } else {
                            $store_part(place, bytes, register.length);
                        }
                    }
                }
                moved = moved.wrapping_add(steps.src);
                to = to.wrapping_offset(steps.dst);
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{machine::Machine, stream::streaming};

    /// A term of a single load always reads a whole register, also if one piece is left over.
    #[test]
    fn terms_of_one_load_read_whole_registers() {
        for simd in Simd::all(Machine::here()) {
            for places in 1..=simd.width().cast_signed() {
                let bytes: Vec<PatternByte> = (0..simd.width().cast_signed())
                    .map(|n| PatternByte::Read { source: 0, at: n % places * 1000 })
                    .collect();
                let of = Registers::new(simd, [(0, &bytes[..])], usize::MAX).expect("registers");
                let mut loads = &of.loads[..];
                for &count in &of.terms {
                    let (term, others) = loads.split_at(usize::from(count));
                    loads = others;
                    let read = term.iter().map(|load| load.length).sum::<usize>();
                    assert!(count > 1 || read == simd.width(), "{places} places: {term:?}");
                    assert!(read <= simd.width(), "{places} places: {term:?}");
                }
                assert!(loads.is_empty());
            }
        }
    }

    /// Tests every instruction set on runs of many lengths, from two sources and constants, against
    /// plain copies; also where loads reach past the ends of the sources.
    #[test]
    fn bytes_are_those_of_the_sources() {
        let image = |seed: u32| -> Vec<u8> {
            (0..5000_u32).map(|n| ((n * 167 + seed) >> 3) as u8).collect()
        };
        let images = [image(1), image(77)];
        for simd in Simd::all(Machine::here()) {
            for length in [1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 31, 40, 63, 64, 65, 100, 128, 150, 200]
            {
                for kind in 0..5 {
                    check(simd, length, kind, &images);
                }
            }
        }
    }

    #[test]
    fn whole_lines_fill_lines() {
        let bytes = [PatternByte::Fill(7); 3 * LINE];
        for simd in Simd::all(Machine::here()) {
            let fills = |to: isize, length: usize| {
                let runs = [(0, &bytes[..LINE]), (to, &bytes[..length])];
                Registers::new(simd, runs, usize::MAX).expect("registers").fills_lines
            };
            let is_line = simd.width() == LINE;
            let line = LINE.cast_signed();
            assert_eq!([fills(line, LINE), fills(2 * line, 2 * LINE)], [is_line; 2], "{simd:?}");
            assert!(!fills(line + 8, LINE) && !fills(line, LINE + 8), "{simd:?}");
        }
    }

    /// Checks that there is a longer copy of a source if a load leaves it, with the same bytes.
    fn check_room(of: &Registers, number: usize, source: &PatternSource) {
        let loads = of.loads.iter().filter(|load| load.source == number);
        let byte = |at: isize| usize::try_from(at).ok().and_then(|at| source.image.get(at));
        let bytes = |load: &ByteLoad| load.at..load.at + load.length.cast_signed();
        let mut places = loads.flat_map(bytes);
        let Some((room, first)) = of.room(number, source) else {
            assert!(places.all(|at| byte(source.at + at).is_some()));
            return;
        };
        let mut leaves = false;
        for at in places {
            let in_room = room[(first + at).cast_unsigned()];
            leaves |= byte(source.at + at).is_none();
            assert_eq!(in_room, byte(source.at + at).copied().unwrap_or(0));
        }
        assert!(leaves);
    }

    fn check(simd: Simd, length: usize, kind: usize, images: &[Vec<u8>; 2]) {
        let byte = |n: usize| match (kind, n % 4) {
            (0, _) => PatternByte::Read { source: 0, at: n.cast_signed() },
            (1, _) => PatternByte::Read { source: 0, at: (length - n).cast_signed() },
            (2, 3) => PatternByte::Fill(0x7f),
            (2 | 3, part) => {
                PatternByte::Read { source: part % 2, at: (n / 4 * 2 + part).cast_signed() }
            }
            (_, part) => PatternByte::Read { source: 0, at: (part * 100 + n).cast_signed() },
        };
        let bytes: Vec<PatternByte> = (0..length).map(byte).collect();
        // Two runs, the second of which is shorter.
        let second = &bytes[..length.div_ceil(2)];
        let runs = [(0, &bytes[..]), (length.cast_signed() + 5, second)];
        let of = Registers::new(simd, runs, usize::MAX).expect("registers");
        let pitch = 2 * length + 70;
        // From the last start, the last byte of the sources is read, and loads reach past it.
        let furthest = bytes.iter().map(|byte| match byte {
            PatternByte::Read { at, .. } => *at,
            PatternByte::Fill(_) => 0,
        });
        let last = 4999 - furthest.max().expect("a byte");
        for (start, src) in
            [(0_isize, 7_isize), (4000, -9), (37, 0), (60, -9), (4999 - 700, 64), (last, 0)]
        {
            let times = 12_usize;
            let reads = |step: usize, byte: PatternByte| match byte {
                PatternByte::Read { source, at } => {
                    let place = start + at + step.cast_signed() * src;
                    usize::try_from(place).ok().and_then(|at| images[source].get(at).copied())
                }
                PatternByte::Fill(value) => Some(value),
            };
            let times = (0..times)
                .take_while(|&step| bytes.iter().all(|&byte| reads(step, byte).is_some()))
                .count();
            let mut out = vec![0xa5; pitch * 13 + 64];
            let mut expected = out.clone();
            let gap = out.as_ptr().addr().wrapping_neg() % LINE;
            for step in 0..times {
                for (to, bytes) in runs {
                    for (n, &byte) in bytes.iter().enumerate() {
                        let at = gap + step * pitch + to.cast_unsigned() + n;
                        expected[at] = reads(step, byte).expect("a byte");
                    }
                }
            }
            let sources = [0, 1].map(|n| PatternSource { image: &images[n], at: start, scale: 1 });
            streaming(|stream| {
                let stream = Some(stream).filter(|_| kind.is_multiple_of(2));
                for step in 0..times {
                    let (moved, to) = (step.cast_signed() * src, gap + step * pitch);
                    let reads = of.reads(&sources);
                    let fits = reads.fit((moved.min(0), moved.max(0)));
                    let inside = |load: &ByteLoad| {
                        let (low, high) =
                            (start + load.at + moved.min(0), start + load.at + moved.max(0));
                        let end = high + load.length.cast_signed();
                        low >= 0 && end <= images[0].len().cast_signed()
                    };
                    assert_eq!(fits, of.loads.iter().all(inside));
                    for (number, source) in sources.iter().enumerate() {
                        check_room(&of, number, source);
                    }
                    let reads = of.reads(&sources);
                    if fits {
                        let loops = [PatternLoop {
                            times: step + 1,
                            src,
                            dst: pitch.cast_signed(),
                            last: None,
                        }];
                        reads.write(0, (&mut out, gap), &loops, stream);
                    } else {
                        reads.write_bytes(moved, (&mut out, to));
                    }
                }
            });
            assert_eq!(out, expected, "{simd:?} {length} {kind} {start} {src}");
        }
    }

    /// Blocks of 24 units from two rows each, which begin at every place of a line.
    #[test]
    fn loads_of_parts_of_lines_do_not_cross_lines() {
        let image: Vec<u8> = (0..70_000_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        let bytes: Vec<PatternByte> =
            (0..48).map(|n| PatternByte::Read { source: 0, at: n / 24 * 500 + n % 24 }).collect();
        let loops = [PatternLoop { times: LEAST_ALIGNED, src: 1024, dst: 48, last: None }];
        for simd in Simd::all(Machine::here()).filter(|simd| simd.width() == LINE) {
            let of = Registers::new(simd, [(0, &bytes[..])], usize::MAX).expect("registers");
            for at in 64..128 {
                let sources = [PatternSource { image: &image, at, scale: 1 }];
                let written = |of: &Registers| {
                    let mut out = vec![0; 48 * LEAST_ALIGNED];
                    of.reads(&sources).write(0, (&mut out, 0), &loops, None);
                    of.reads(&sources).write_bytes(1024, (&mut out, 0));
                    out
                };
                let aligned = of.aligned(&sources, &loops).unwrap_or_else(|| of.clone());
                assert_eq!(written(&aligned), written(&of), "{at}");
                let gap = |at: isize| image.as_ptr().addr().wrapping_add_signed(at) % LINE;
                for (load, place) in aligned.loads.iter().zip([at, at + 500]) {
                    let crosses = gap(at + load.at) > 0;
                    assert_eq!(crosses, gap(place) > LINE - 24, "{load:?} from {at}");
                }
                let few = [PatternLoop { times: LEAST_ALIGNED - 1, ..loops[0] }];
                let uneven = [PatternLoop { src: 1025, ..loops[0] }];
                let dense = [PatternLoop { src: 192, ..loops[0] }];
                for loops in [few, uneven, dense] {
                    assert!(of.aligned(&sources, &loops).is_none(), "{loops:?}");
                }
            }
        }
    }

    /// The line of a source that does not move has no other bytes than those of its load.
    #[test]
    fn loads_of_sources_that_do_not_move_stay() {
        let image = vec![3; 70_000];
        let bytes: Vec<PatternByte> = (0..64)
            .map(|n| PatternByte::Read { source: usize::from(n >= 24), at: n % 24 })
            .collect();
        let loops = [PatternLoop { times: LEAST_ALIGNED, src: 1024, dst: 64, last: None }];
        for simd in Simd::all(Machine::here()).filter(|simd| simd.width() == LINE) {
            let of = Registers::new(simd, [(0, &bytes[..])], usize::MAX).expect("registers");
            for at in 64..128 {
                let scales = [1, 0];
                let sources = scales.map(|scale| PatternSource { image: &image, at, scale });
                let aligned = of.aligned(&sources, &loops).unwrap_or_else(|| of.clone());
                for (load, before) in aligned.loads.iter().zip(&of.loads) {
                    assert!(load.source == 0 || load.at == before.at, "{load:?} from {at}");
                }
            }
        }
    }

    #[test]
    fn too_many_loads_are_refused() {
        let Some(simd) = Simd::here() else { return };
        let bytes: Vec<PatternByte> =
            (0..64).map(|n| PatternByte::Read { source: 0, at: n * 1000 }).collect();
        assert!(Registers::new(simd, [(0, &bytes[..])], 63).is_none());
        assert!(Registers::new(simd, [(0, &bytes[..])], 64).is_some());
    }
}
