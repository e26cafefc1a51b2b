//! Formats byte counts as XLA's reports do, such as `2.75M`.

/// Formats a number of bytes as in XLA's reports, like `HumanReadableNumBytes`.
///
/// Units are powers of 1024. Kilobytes are printed with one decimal and larger units with two, and
/// ties round to even, as in `printf`.
///
/// ```
/// use stridec::xla::human_readable_num_bytes;
/// let printed = [1023, 65_536, 2_883_584, 8_455_716_864].map(human_readable_num_bytes);
/// assert_eq!(printed, ["1023B", "64.0K", "2.75M", "7.88G"]);
/// ```
#[must_use]
pub fn human_readable_num_bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let (mut rest, mut units) = (bytes, "KMGTPE".chars());
    let mut unit = units.next();
    while rest >= 1 << 20 {
        rest >>= 10;
        unit = units.next();
    }
    let (decimals, scale) = if bytes < 1 << 20 { (1, 10) } else { (2, 100) };
    let (mut digits, left) = (rest * scale / 1024, rest * scale % 1024);
    if left > 512 || left == 512 && digits % 2 == 1 {
        digits += 1;
    }
    let (whole, fraction) = (digits / scale, digits % scale);
    format!("{whole}.{fraction:0decimals$}{}", unit.unwrap_or('E'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_ties() {
        for (bytes, text) in [
            (0, "0B"),
            (1024, "1.0K"),
            (1536, "1.5K"),
            (1075, "1.0K"),
            (1076, "1.1K"),
            (1_048_575, "1024.0K"),
            (1 << 20, "1.00M"),
            (2_818_572_288, "2.62G"),
            (16_642_998_272, "15.50G"),
            (6_392_119_296, "5.95G"),
            (u64::MAX, "16.00E"),
        ] {
            assert_eq!(human_readable_num_bytes(bytes), text, "{bytes}");
        }
    }
}
