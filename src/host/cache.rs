//! The size of the processor's last-level cache, asked for once.

use std::{fs, sync::OnceLock};

/// What is assumed where the system does not say.
const ASSUMED: usize = 32 << 20;

/// Bytes of the last-level cache.
pub(super) fn last_level_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let read = |index: usize, name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            fs::read_to_string(path).ok()
        };
        let cache = |index: usize| {
            let level: usize = read(index, "level")?.trim().parse().ok()?;
            Some((level, bytes(&read(index, "size")?)?))
        };
        (0..8).filter_map(cache).max().map_or(ASSUMED, |(_, bytes)| bytes)
    })
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
        assert!(last_level_bytes() >= 1 << 16);
    }
}
