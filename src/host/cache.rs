//! The size and the maker of the processor's cache, by which the host decides when to use
//! non-temporal stores. Both are read once.
//!
//! The size counts only up to a limit. Other cores share a large cache, also those of other virtual
//! machines, which the system does not report.

use std::{fs, sync::OnceLock};

/// The greatest size to assume for the last-level cache, in bytes; also the size if the system
/// reports none. If the full size of a large shared cache were used, fewer copies would be streamed
/// and be slower (`benches/NOTES.md`).
const MOST: usize = 32 << 20;

/// Returns the usable size of the last-level cache, in bytes.
pub(super) fn last_level_bytes() -> usize {
    named_bytes().min(MOST)
}

/// Returns the size of the last-level cache that the system reports, in bytes.
pub(super) fn named_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| caches().max().map_or(MOST, |(_, bytes)| bytes))
}

/// Returns the level and the size in bytes of each data cache, as Linux reports them.
fn caches() -> impl Iterator<Item = (usize, usize)> {
    let read = |index: usize, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        fs::read_to_string(path).ok()
    };
    (0..8)
        .filter(move |&index| read(index, "type").is_none_or(|kind| kind != "Instruction\n"))
        .filter_map(move |index| {
            let level: usize = read(index, "level")?.trim().parse().ok()?;
            Some((level, bytes(&read(index, "size")?)?))
        })
}

/// Returns true if it is fast to stream lines in turn that are whole pages apart, as in the columns
/// of a large matrix.
///
/// On an AMD EPYC of family 26, this takes 1.6 times as long as through a buffer that makes longer
/// runs; on family 25 and on an Intel Xeon of family 6, 0.6 times (`benches/NOTES.md`). Other
/// processors were not measured.
pub(super) fn streams_pages() -> bool {
    is_intel() || family() == 25
}

/// Returns the smallest unit, in bytes, for which two cache lines of a column are streamed
/// together.
///
/// For units of 4 bytes, two lines need 32 rows at a time. An AMD EPYC of family 26, whose L1 cache
/// has 48 KiB, gains up to a third by it. Family 25, with 32 KiB, takes 1.15 times as long, and an
/// Intel Xeon of family 6 loses a twentieth (`benches/NOTES.md`).
pub(super) fn paired_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let holds_32_rows = caches().any(|(level, bytes)| level == 1 && bytes >= 48 << 10);
        if !is_intel() && holds_32_rows { 4 } else { 8 }
    })
}

/// Returns true if long runs in one order on both sides are streamed faster than the system's
/// `memcpy` copies them.
///
/// On an AMD EPYC of family 25 `memcpy` takes 1.3 to 2 times as long, on an Intel Xeon of family 6
/// 0.8 to 0.95 times (`benches/NOTES.md`). Other makers were not measured.
pub(super) fn streams_runs() -> bool {
    !is_intel()
}

/// Returns the part of the last-level cache from which on destinations of shuffled rows are
/// streamed, as the number by which its size is divided.
///
/// Between a quarter and a half of the cache, an AMD EPYC of family 25 takes 0.5 to 0.7 times as
/// long with streaming, an Intel Xeon of family 6 1.2 to 1.6 times (`benches/NOTES.md`). Other
/// makers were not measured.
pub(super) fn shuffled_share() -> usize {
    if is_intel() { 2 } else { 4 }
}

/// Returns true if single lines of hundreds of columns that are aligned differently are streamed in
/// turn as fast as several lines of each column.
///
/// On an Intel Xeon of family 6 they take 1.5 to 2.8 times as long, on an AMD EPYC of family 26
/// half as long (`benches/NOTES.md`). Other makers were not measured.
pub(super) fn streams_single_lines() -> bool {
    !is_intel()
}

/// Returns true if the rows that are transposed next are prefetched: hundreds of bytes of each,
/// which the hardware prefetcher does not load.
///
/// On an Intel Xeon of family 6 that takes up to 1.5 times as long, on an AMD EPYC of family 25 up
/// to 1.2 times, on family 26 two thirds of the time (`benches/NOTES.md`). Other makers were not
/// measured.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))] // these transpose in registers
pub(super) fn asks_for_rows() -> bool {
    !is_intel() && family() != 25
}

/// Returns true if matrices are transposed in squares of whole cache lines, if registers have that
/// size.
///
/// On an AMD EPYC of family 25, this takes 0.4 to 0.9 times as long (`benches/NOTES.md`). Intel's
/// processors shuffle 64 bytes on one port only, so they use smaller squares. Other processors were
/// not measured.
#[cfg(target_arch = "x86_64")]
pub(super) fn transposes_lines() -> bool {
    !is_intel()
}

/// Returns true if `cpuid` names Intel as the maker of the processor.
fn is_intel() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        static INTEL: OnceLock<bool> = OnceLock::new();
        *INTEL.get_or_init(|| {
            let maker = std::arch::x86_64::__cpuid(0);
            [maker.ebx, maker.edx, maker.ecx].map(u32::to_le_bytes).as_flattened()
                == b"GenuineIntel"
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Returns the family of the processor by `cpuid`; 0 if it has none.
fn family() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        static FAMILY: OnceLock<u32> = OnceLock::new();
        *FAMILY.get_or_init(|| {
            let signature = std::arch::x86_64::__cpuid(1).eax;
            let (base, extended) = (signature >> 8 & 0xf, signature >> 20 & 0xff);
            if base == 0xf { base + extended } else { base }
        })
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Parses a size as Linux writes it, such as `32768K`, to bytes.
fn bytes(size: &str) -> Option<usize> {
    let kibibytes: usize = size.trim().strip_suffix('K')?.parse().ok()?;
    (kibibytes > 0).then_some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_linux_writes_them() {
        assert_eq!(bytes("32768K\n"), Some(32 << 20));
        assert_eq!(bytes("0K"), None);
        assert_eq!(bytes(""), None);
        assert!((1 << 16..=MOST).contains(&last_level_bytes()));
    }
}
