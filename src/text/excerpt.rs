//! Excerpts of long texts, which keep messages short.

use std::borrow::Cow;

/// Truncates `text` to at most `most` characters and appends `…` if any were removed.
pub(crate) fn excerpt(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_texts_are_cut_between_characters() {
        assert_eq!(excerpt("äöü", 3), "äöü");
        assert_eq!(excerpt("äöüß", 3), "äöü…");
        assert_eq!(excerpt("", 0), "");
    }
}
