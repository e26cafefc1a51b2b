//! Removes the prefixes that a log adds to lines, so that a module can be read from the log of a
//! program that uses XLA.

use std::borrow::Cow;

/// Removes the prefix that a log adds, such as `I0521 12:04:45.883483 1509 service.cc:186] `, from
/// every line that has one. XLA's loader does so, too.
pub(in crate::hlo) fn without_log_prefixes(text: &str) -> Cow<'_, str> {
    if !text.lines().any(|line| message(line).is_some()) {
        return text.into();
    }
    let lines = text.split('\n').map(|line| message(line).unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n").into()
}

/// Returns the part of a line after the prefix of a log, or `None` if the line has no such prefix.
/// The prefix has a letter for the severity with the date, the time, the thread, and the file with
/// the line number.
fn message(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['I', 'W', 'E', 'F'])?;
    let (date, rest) = rest.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let (thread, rest) = rest.trim_start().split_once(' ')?;
    let (place, rest) = rest.trim_start().split_once("] ").or_else(|| {
        let place = rest.trim().strip_suffix(']')?;
        Some((place, ""))
    })?;
    let (file, number) = place.rsplit_once(':')?;
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_time = time.len() > 8
        && time.bytes().enumerate().all(|(i, byte)| match i {
            2 | 5 => byte == b':',
            8 => byte == b'.',
            _ => byte.is_ascii_digit(),
        });
    (date.len() == 4 && [date, thread, number].into_iter().all(are_digits) && is_time)
        .then_some(rest)
        .filter(|_| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_a_log_lose_their_prefix() {
        let text = "I0521 12:00:00.0 7 service.cc:186] HloModule m\nENTRY e {\n\
                    I0521 12:04:45.883483    1509 service.cc:186]   x = f32[] parameter(0)\n}";
        let expected = "HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n}";
        assert_eq!(without_log_prefixes(text), expected);
        for plain in [expected, "I0521 x", "I0521 12:00:00.0 7 service] x", ""] {
            assert!(matches!(without_log_prefixes(plain), Cow::Borrowed(_)), "{plain}");
        }
    }
}
