//! Finds the lines of a kernel that use a given stride. The page highlights these lines when the
//! reader points at the stride.

use crate::nest::CopyNest;

/// An axis of a nest, and the lines of the kernel that use its strides.
pub(super) struct Mark {
    /// The number of the axis, such as 0 for `a0`.
    pub(super) axis: usize,
    /// The extent of the axis.
    pub(super) extent: u64,
    /// The kernel lines that use the source stride, and the lines that use the destination stride.
    /// Lines are numbered from 0.
    pub(super) lines: [Vec<usize>; 2],
    /// The strides in the source and in the destination, in units.
    pub(super) strides: [i64; 2],
}

/// Finds, for each axis of a nest, the lines of the kernel that use its strides. This is a search
/// in the text: a line matches if its comment names the stride, or if it adds or multiplies by the
/// stride, counted in the nest's units or in words of 4 to 16 bytes.
pub(super) fn marks(nest: &CopyNest, wgsl: &str) -> Vec<Mark> {
    let bits = u64::from(nest.dst_bits());
    let marks = nest.axes().enumerate().map(|(axis, of)| {
        let strides = [of.src_stride, i64::try_from(of.dst_stride).unwrap_or(i64::MAX)];
        let lines = ["source", "destination"].map(|side| {
            let stride = strides[usize::from(side == "destination")];
            let lines = wgsl.lines().enumerate();
            lines.filter(|(_, line)| uses(line, side, stride, bits)).map(|(n, _)| n).collect()
        });
        Mark { axis, extent: of.extent, lines, strides }
    });
    marks.collect()
}

fn uses(line: &str, side: &str, stride: i64, bits: u64) -> bool {
    if line.starts_with("//") {
        return false; // the header names all strides
    }
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    let sign = if stride < 0 { '-' } else { '+' };
    let stride = stride.unsigned_abs();
    let named = format!("{side} {sign}");
    if words(comment).any(|(before, n)| before.ends_with(&named) && n == stride) {
        return true;
    }
    let cursor = if side == "source" { "read" } else { "write" };
    if stride < 2 || !code.contains(cursor) {
        return false;
    }
    // The kernel may count in units or in words of 4, 8 or 16 bytes.
    let in_words = [32, 64, 128].map(|word| word / bits).into_iter();
    let in_words = in_words.filter(|&units| units > 1 && stride.is_multiple_of(units));
    let forms: Vec<u64> = in_words.map(|units| stride / units).chain([stride]).collect();
    words(code).any(|(before, n)| {
        // The rows of a block start at multiples of the stride.
        let row = |form: u64| code.contains('[') && n.is_multiple_of(form) && n / form < 16;
        before.trim_end().ends_with(['*', '+', '-'])
            && forms.iter().any(|&form| form > 1 && (n == form || row(form)))
    })
}

/// Yields the numbers in a line of text, each paired with the text before it.
fn words(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let starts = text.char_indices().filter(move |&(at, c)| {
        let before = text[..at].chars().next_back();
        c.is_ascii_digit() && !before.is_some_and(|b| b.is_ascii_alphanumeric() || b == '_')
    });
    starts.filter_map(move |(at, _)| {
        let rest = &text[at..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some((&text[..at], rest[..end].parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, Target};

    #[test]
    fn a_stride_marks_the_lines_that_step_by_it() {
        let operation = Operation::relayout(
            "f32[8,64,112,112]{3,2,1,0}".parse().unwrap(),
            "f32[8,64,112,112]{1,3,2,0}".parse().unwrap(),
        )
        .unwrap();
        let kernel = operation.compile(&Target::webgpu()).unwrap();
        let lines: Vec<&str> = kernel.wgsl.lines().collect();
        let marks = marks(operation.nest(), &kernel.wgsl);
        let marked = |axis: usize, side: usize| -> String {
            marks[axis].lines[side].iter().map(|&n| lines[n]).collect::<Vec<_>>().join("\n")
        };
        // (64: 12544 → 1): rows of the source are 12544 units, or 3136 words of 16 bytes, apart.
        assert_eq!(marks[2].strides, [12544, 1]);
        assert!(marked(2, 0).contains("source[read + 3136u]"), "{}", marked(2, 0));
        assert!(marked(2, 0).contains("a2_by4 * 12544u"));
        assert!(!marked(2, 0).contains("destination[write"));
        // (12544: 1 → 64)
        assert!(marked(1, 1).contains("destination[write + 16u]"), "{}", marked(1, 1));
        assert!(marked(0, 0).contains("a0"));
    }
}
