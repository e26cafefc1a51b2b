//! The size of the processor's last-level cache, and its maker, asked for once.
//!
//! What a large cache keeps for a few cores is less than its size: many others share it, of other virtual machines too, which
//! the system doesn't say.

use std::{fs, sync::OnceLock};

/// What a last-level cache keeps, at the most; assumed where the system does not say.
const MOST: usize = 32 << 20;

/// Bytes that the last-level cache keeps.
pub(super) fn last_level_bytes() -> usize {
    named_bytes().min(MOST)
}

/// The size of the last-level cache as the system names it, whoever else uses it.
pub(super) fn named_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| caches().max().map_or(MOST, |(_, bytes)| bytes))
}

/// The levels of the caches that hold data, and their bytes, as Linux names them.
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

/// Whether lines that are whole pages apart are streamed in turns as fast as others.
///
/// On an AMD EPYC of family 26 they take 1.6 times as long as through a buffer that makes longer runs of them, on one of family
/// 25 and on an Intel Xeon of family 6 0.6 times (`benches/NOTES.md`). Of others nothing is known.
pub(super) fn streams_pages() -> bool {
    is_intel() || family() == 25
}

/// Bytes of a unit, at the least, of which two cache lines of a column are streamed together.
///
/// Two lines of units of 4 bytes take 32 rows side by side. By that an AMD EPYC of family 26, whose first cache has 48 KiB, gains up
/// to a third, one of family 25 with 32 KiB takes 1.15 times as long, and an Intel Xeon of family 6 loses a twentieth
/// (`benches/NOTES.md`).
pub(super) fn paired_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let holds_32_rows = caches().any(|(level, bytes)| level == 1 && bytes >= 48 << 10);
        if !is_intel() && holds_32_rows { 4 } else { 8 }
    })
}

/// Whether long runs that both sides have in one order are streamed faster than the system copies them.
///
/// On an AMD EPYC of family 25 the system's copy takes 1.3 to 2 times as long, on an Intel Xeon of family 6 0.8 to 0.95 times
/// (`benches/NOTES.md`). Of other makers nothing is known.
pub(super) fn streams_runs() -> bool {
    !is_intel()
}

/// The share of the last-level cache from which on destinations whose rows are shuffled are written past the caches, as a
/// divisor.
///
/// From a quarter to a half of it an AMD EPYC of family 25 takes 0.5 to 0.7 times as long past the caches, an Intel Xeon of
/// family 6 1.2 to 1.6 times (`benches/NOTES.md`). Of other makers nothing is known.
pub(super) fn shuffled_share() -> usize {
    if is_intel() { 2 } else { 4 }
}

/// Whether single lines of hundreds of columns, which begin at various bytes of a line, are streamed in turns as fast as
/// several lines of each.
///
/// On an Intel Xeon of family 6 they take 1.5 to 2.8 times as long, on an AMD EPYC of family 26 half as long
/// (`benches/NOTES.md`). Of other makers nothing is known.
pub(super) fn streams_single_lines() -> bool {
    !is_intel()
}

/// Whether rows that are transposed next are asked for: hundreds of bytes of each, which are not foreseen.
///
/// On an Intel Xeon of family 6 that takes up to half as long again, on an AMD EPYC of family 25 up to a fifth, on one of
/// family 26 two thirds of the time (`benches/NOTES.md`). Of other makers nothing is known.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))] // Where there are registers to transpose in.
pub(super) fn asks_for_rows() -> bool {
    !is_intel() && family() != 25
}

/// Whether matrices are transposed in squares of whole cache lines, where registers are as long.
///
/// On an AMD EPYC of family 25 that takes 0.4 to 0.9 times as long (`benches/NOTES.md`). Other processors were not measured:
/// on Intel's, which shuffle 64 bytes in one unit alone, what was measured there stays.
#[cfg(target_arch = "x86_64")]
pub(super) fn transposes_lines() -> bool {
    !is_intel()
}

/// Whether `cpuid` names Intel as the processor's maker.
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

/// The processor's family as `cpuid` numbers it, 0 where it doesn't.
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

/// Bytes of a size as Linux writes it, `32768K`.
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
