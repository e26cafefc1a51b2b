//! [`KernelKey`]: the parts of a kernel that determine its pipeline.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use super::{Binding, KernelParts, writer::ends_line};

/// The parts of a kernel on which its pipeline depends: its code without comments, its entry point,
/// its bindings, and whether it has a proof.
///
/// Kernels with equal keys can share a pipeline, even if their comments name different tensors. A
/// kernel with a proof and a kernel without one never have the same key, because only one of their
/// pipelines has run-time checks. A key is cheap to clone and to compare.
#[derive(Clone, Debug)]
pub struct KernelKey(Arc<KeyParts>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct KeyParts {
    /// The hash of the other fields. It is compared first, so that the code of different keys is
    /// rarely compared.
    hash: u64,
    code: String,
    entry_point: String,
    bindings: Vec<Binding>,
    proved: bool,
}

impl KernelKey {
    /// Returns the key of a kernel with these parts.
    pub(super) fn new(parts: &KernelParts, proved: bool) -> Self {
        let code = code(&parts.wgsl);
        let (entry_point, bindings) = (parts.entry_point.clone(), parts.bindings.clone());
        let mut hasher = DefaultHasher::new();
        (&code, &entry_point, &bindings, proved).hash(&mut hasher);
        let hash = hasher.finish();
        Self(Arc::new(KeyParts { hash, code, entry_point, bindings, proved }))
    }

    /// Returns the kernel's WGSL without comments, with each run of white space replaced by one
    /// space.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0.code
    }
}

impl PartialEq for KernelKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for KernelKey {}

impl Hash for KernelKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}

/// Returns WGSL text without its comments, with each run of white space replaced by one space.
///
/// WGSL has no string literals, so `//` and `/*` always begin a comment. `/*` comments nest. A
/// comment separates tokens, as white space does.
fn code(wgsl: &str) -> String {
    let mut code = String::with_capacity(wgsl.len());
    let mut rest = wgsl;
    let mut separated = false;
    while let Some(character) = rest.chars().next() {
        if is_blank(character) {
            rest = &rest[character.len_utf8()..];
        } else if rest.starts_with("//") {
            rest = &rest[rest.find(ends_line).unwrap_or(rest.len())..];
        } else if rest.starts_with("/*") {
            rest = after_block_comment(rest);
        } else {
            if separated && !code.is_empty() {
                code.push(' ');
            }
            separated = false;
            code.push(character);
            rest = &rest[character.len_utf8()..];
            continue;
        }
        separated = true;
    }
    code
}

/// Returns true if a character is removed as white space. WGSL also counts direction marks as white
/// space, but they are kept.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t') || ends_line(character)
}

/// Returns the text after the comment `/* … */` with which `text` begins. If the comment is not
/// closed, the result is empty.
fn after_block_comment(text: &str) -> &str {
    let (mut depth, mut rest) = (0_u32, text);
    loop {
        if let Some(after) = rest.strip_prefix("/*") {
            (depth, rest) = (depth + 1, after);
        } else if let Some(after) = rest.strip_prefix("*/") {
            (depth, rest) = (depth - 1, after);
            if depth == 0 {
                return rest;
            }
        } else {
            let mut characters = rest.chars();
            if characters.next().is_none() {
                return rest;
            }
            rest = characters.as_str();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_white_space_are_no_code() {
        for (text, expected) in [
            ("", ""),
            ("// all", ""),
            ("a // x\n  b", "a b"),
            ("a// x */ /*\u{2028}b", "a b"),
            ("a/**/b", "a b"),
            ("a/*/* x */ y // */\u{85}b", "a b"),
            ("/* a */\n\n\tb\r\n", "b"),
            ("a / b /c", "a / b /c"),
            ("a /* open", "a"),
            ("é // é\nü", "é ü"),
        ] {
            assert_eq!(code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn naga_reads_the_same_code() {
        let kernel = "/* /* // */ */ @compute @workgroup_size(1) // @workgroup_size(2)\n\
                      fn main() { var a = 8 / /* 2 */ 4; // */ a = 3;\u{2029} a /= 1; }";
        let short = code(kernel);
        assert_eq!(short, "@compute @workgroup_size(1) fn main() { var a = 8 / 4; a /= 1; }");
        let body = |text: &str| {
            let module = naga::front::wgsl::parse_str(text).unwrap();
            format!("{:?}", module.entry_points[0].function.expressions.iter().collect::<Vec<_>>())
        };
        assert_eq!(body(kernel), body(&short));
        for end in ['\n', '\u{b}', '\u{c}', '\r', '\u{85}', '\u{2028}', '\u{2029}'] {
            let text =
                format!("@compute @workgroup_size(1) fn main() {{ var a = 8; // x{end} a = 4; }}");
            assert_eq!(body(&text), body(&code(&text)), "{end:?}");
            assert!(code(&text).ends_with("a = 4; }"), "{end:?}");
        }
    }
}
