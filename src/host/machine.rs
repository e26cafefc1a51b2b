//! Describes processors as data: the numbers and preferences by which the host chooses how to copy.
//!
//! [`Machine::here`] detects the processor once and takes its row of the table. Everything that
//! depends on the maker of a processor is a field of [`Machine`], so that a test can plan and copy
//! with any row on any processor: a row changes how bytes are copied, but never the result. *Units*
//! are the elements or longer runs that a copy moves at a time, and to *stream* is to write with
//! non-temporal stores.
//!
//! To add a processor, run `cargo bench --bench host` with each row, add a row with the
//! differences, and let [`Machine::detect`] return it.

use std::{fs, sync::OnceLock};

use super::plan::Streams;

/// The largest last-level cache to assume, in bytes, and the size if the system reports none. Large
/// caches are shared with other cores, some of which belong to other virtual machines that the
/// system does not report. Assuming their full size would stream fewer copies and make these slower
/// (`benches/NOTES.md`).
const MOST_CACHE_BYTES: usize = 32 << 20;

/// A kind of processor, with the preferences that were measured for it. The measurements are in
/// `benches/NOTES.md`, under the titles quoted at the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    /// The maker and the family of the measured processors.
    pub(super) name: &'static str,
    /// The size of the last-level cache in bytes, as the system reports it.
    pub(super) cache_bytes: usize,
    /// The divisor of the last-level cache size that gives the smallest destination to stream if
    /// units are long. Non-temporal stores save reading the destination, and long units fill whole
    /// lines. A larger number streams destinations that the cache can hold. A smaller number leaves
    /// more copies to the cache: runs of 128 bytes, 12 MiB in all, have 0.34 of the rate of memcpy
    /// through it and 0.56 with non-temporal stores ("Streaming").
    long_share: usize,
    /// The divisor of the last-level cache size that gives the smallest destination to stream if
    /// units are short. A smaller number leaves more copies to the cache. A larger number streams
    /// destinations that the cache can hold: `f16[64,512,7,7]` to NHWC (3 MiB) has 0.27 of the rate
    /// of memcpy with non-temporal stores and 0.41 without ("Streaming").
    short_share: usize,
    /// The divisor that gives the smallest destination to stream if long units begin or end inside
    /// cache lines. It divides the cache size that the system reports. The first and last lines of
    /// such units are written twice, so a larger number streams lines that the cache could
    /// complete. A smaller number leaves more copies to the cache and, if both sides have long runs
    /// in one order, to memcpy: with 16, heads of `bf16` went from 17.5 to 26.8 GB/s on an Intel
    /// Xeon (family 6, model 207).
    cut_share: usize,
    /// True if single cache lines that are whole pages apart, as in the columns of a large matrix,
    /// are streamed in turn. If false, a buffer first collects longer runs. On an AMD EPYC of
    /// family 26 single lines take 1.6 times as long as runs; on family 25 and on an Intel Xeon of
    /// family 6, 0.6 times.
    pub(super) streams_pages: bool,
    /// The smallest unit, in bytes, for which two cache lines of a column are streamed together.
    /// With units of 4 bytes, two lines need 32 rows at a time. An AMD EPYC of family 26, whose
    /// first-level cache has 48 KiB, gains up to a third from that. Family 25, with 32 KiB, takes
    /// 1.15 times as long, and an Intel Xeon of family 6 loses a twentieth.
    pub(super) paired_bytes: usize,
    /// True if software prefetches the rows that are transposed next. The hardware prefetcher does
    /// not load them, because only hundreds of bytes of each row are read. On an Intel Xeon of
    /// family 6 prefetching takes up to 1.5 times as long, on an AMD EPYC of family 25 up to 1.2
    /// times, on family 26 two thirds of the time.
    pub(super) prefetches_rows: bool,
    /// True if software prefetches the lines that a transpose writes next. Each is in another
    /// column, where hardware prefetchers do not load it. On an Intel Xeon of family 6
    /// `f32[1000,1000]` has 0.74 of the rate of memcpy with it and 0.53 without. On an AMD EPYC of
    /// family 25 transposes take 1.05 times as long with it, up to 1.13 times.
    pub(super) prefetches_columns: bool,
}

/// The measured processors, followed by the row for all others.
pub(super) static MACHINES: [Machine; 4] = [INTEL, AMD_25, AMD_26, OTHER];

/// Intel Xeons of family 6, models 143, 173 and 207.
const INTEL: Machine =
    Machine { name: "Intel, family 6", streams_pages: true, prefetches_rows: false, ..OTHER };

/// AMD EPYCs of family 25 (Zen 3 and Zen 4).
const AMD_25: Machine = Machine { name: "AMD, family 25", prefetches_columns: false, ..INTEL };

/// AMD EPYCs of family 26 (Zen 5).
const AMD_26: Machine = Machine { name: "AMD, family 26", paired_bytes: 4, ..OTHER };

/// Preferences for processors that were not measured.
const OTHER: Machine = Machine {
    name: "other",
    cache_bytes: MOST_CACHE_BYTES,
    long_share: 32,
    short_share: 4,
    cut_share: 16,
    streams_pages: false,
    paired_bytes: 8,
    prefetches_rows: true,
    prefetches_columns: true,
};

impl Machine {
    /// Returns the row for this processor, with the actual size of its last-level cache. The
    /// processor is detected by the first call only.
    pub(super) fn here() -> &'static Self {
        static HERE: OnceLock<Machine> = OnceLock::new();
        HERE.get_or_init(|| {
            let cache_bytes = last_level_bytes().unwrap_or(MOST_CACHE_BYTES);
            Self { cache_bytes, ..*Self::detect() }
        })
    }

    /// Returns the row of the table for this processor.
    fn detect() -> &'static Self {
        let [intel, amd_25, amd_26, other] = &MACHINES;
        match (&maker(), family()) {
            (b"GenuineIntel", _) => intel,
            (_, 25) => amd_25,
            (_, 26) => amd_26,
            _ => other,
        }
    }

    /// Returns the kinds of copies that should use non-temporal stores if the destination has
    /// `bytes` bytes.
    pub(super) fn streams(&'static self, bytes: usize) -> Streams {
        let usable = self.cache_bytes.min(MOST_CACHE_BYTES);
        let reaches = |share: usize| bytes >= usable / share;
        let long = reaches(self.long_share);
        Streams {
            long,
            cut: long && bytes >= self.cache_bytes / self.cut_share,
            short: reaches(self.short_share),
            ..Streams::none(self)
        }
    }
}

/// Returns the processor's maker as `cpuid` names it, or zeros if there is no such instruction.
fn maker() -> [u8; 12] {
    #[cfg(target_arch = "x86_64")]
    {
        let leaf = std::arch::x86_64::__cpuid(0);
        let mut name = [0; 12];
        name.copy_from_slice([leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).as_flattened());
        name
    }
    #[cfg(not(target_arch = "x86_64"))]
    [0; 12]
}

/// Returns the processor's family as `cpuid` reports it, or 0 if there is no such instruction.
fn family() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        family_in(std::arch::x86_64::__cpuid(1).eax)
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Returns the family in a processor's signature, the first number of the second leaf of `cpuid`.
#[cfg(any(target_arch = "x86_64", test))]
fn family_in(signature: u32) -> u32 {
    let (base, extended) = (signature >> 8 & 0xf, signature >> 20 & 0xff);
    if base == 0xf { base + extended } else { base }
}

/// Returns the size of the largest data cache in bytes, or `None` if Linux does not report one.
fn last_level_bytes() -> Option<usize> {
    let read = |index: usize, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        fs::read_to_string(path).ok()
    };
    let is_data = |&index: &usize| read(index, "type").is_none_or(|kind| kind != "Instruction\n");
    (0..8).filter(is_data).filter_map(|index| bytes(&read(index, "size")?)).max()
}

/// Parses a cache size as Linux reports it, such as `32768K`, and returns the number of bytes.
/// Returns `None` for other text.
fn bytes(size: &str) -> Option<usize> {
    let kibibytes: usize = size.trim().strip_suffix('K')?.parse().ok()?;
    (kibibytes > 0).then_some(kibibytes << 10)
}

#[cfg(test)]
mod tests;
