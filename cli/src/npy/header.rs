//! The header of a `.npy` file: format versions 1 to 3, as `numpy.lib.format` documents them.
//!
//! ```text
//! \x93NUMPY  major  minor  length (2 bytes, from version 2 on 4)  {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n
//! ```

use std::{fmt::Write as _, str::CharIndices};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The maximum length of a dtype or a key, in bytes.
const MAX_STRING: usize = 64;

/// The maximum size of a header, in bytes. The headers that numpy writes have a few hundred.
pub(crate) const MAX_HEADER: usize = 1 << 20;

/// The alignment of the data in a file, in bytes, which allows programs to map the data.
const ALIGNMENT: usize = 64;

/// The fields of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The element type, such as `<f4`.
    pub(super) descr: String,
    /// True if the first dimension is the most minor one.
    pub(super) fortran_order: bool,
    /// The extents.
    pub(super) shape: Vec<u64>,
}

impl Header {
    /// Parses the header at the start of a file. Returns the header and the offset of the data,
    /// which is at most [`MAX_HEADER`].
    pub(crate) fn read(file: &[u8]) -> Result<(Self, usize), String> {
        let rest =
            file.strip_prefix(MAGIC).ok_or("expected \\x93NUMPY at the start of the file")?;
        let (length, start) = match *rest {
            [1, _, a, b, ..] => (usize::from(u16::from_le_bytes([a, b])), 10),
            [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
            [version @ (0 | 4..), ..] => {
                return Err(format!("expected format version 1, 2 or 3, got version {version}"));
            }
            _ => return Err("ends inside its header".into()),
        };
        if length > MAX_HEADER - start {
            return Err(format!("a header of {length} bytes; expected at most {MAX_HEADER}"));
        }
        let end = start + length;
        let text = file.get(start..end).ok_or("ends inside its header")?;
        let text = std::str::from_utf8(text).map_err(|error| format!("its header: {error}"))?;
        Ok((DictParser::new(text).header()?, end))
    }

    /// Returns the bytes of the header.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut shape = String::new();
        for extent in &self.shape {
            // Writing to a string succeeds.
            let _ = write!(shape, "{extent}, ");
        }
        let shape = match self.shape.len() {
            1 => shape.trim_end(),
            _ => shape.trim_end_matches(", "),
        };
        let order = if self.fortran_order { "True" } else { "False" };
        let descr = &self.descr;
        let mut text =
            format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}");
        // The two-byte length of version 1 is sufficient for 64 extents of 20 digits.
        let blanks = ALIGNMENT - (MAGIC.len() + 4 + text.len() + 1) % ALIGNMENT;
        text.extend(std::iter::repeat_n(' ', blanks % ALIGNMENT));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0, text.len().to_le_bytes()[0], text.len().to_le_bytes()[1]]);
        bytes.extend(text.into_bytes());
        bytes
    }
}

/// Parses the Python dict in a header, whose keys may be in any order. Each method first skips
/// whitespace.
struct DictParser<'a> {
    text: &'a str,
    rest: std::iter::Peekable<CharIndices<'a>>,
}

impl<'a> DictParser<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, rest: text.char_indices().peekable() }
    }

    /// Parses the whole dict. Each of the three keys must occur once, and no other key may occur.
    fn header(mut self) -> Result<Header, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.eat('}') {
            let key = self.string()?;
            self.expect(':')?;
            let is_there = match key {
                "descr" => descr.is_some(),
                "fortran_order" => fortran_order.is_some(),
                _ => key == "shape" && shape.is_some(),
            };
            if is_there {
                return Err(format!("its header has the key '{key}' twice"));
            }
            match key {
                "descr" => descr = Some(self.descr()?.to_owned()),
                "fortran_order" => fortran_order = Some(self.boolean()?),
                "shape" => shape = Some(self.shape()?),
                _ => {
                    let key = key.escape_debug();
                    return Err(format!(
                        "expected the keys 'descr', 'fortran_order' and 'shape' in its header, got '{key}'"
                    ));
                }
            }
            if !self.eat(',') {
                self.expect('}')?;
                break;
            }
        }
        let lacks = |key| format!("its header lacks the key '{key}'");
        Ok(Header {
            descr: descr.ok_or_else(|| lacks("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| lacks("fortran_order"))?,
            shape: shape.ok_or_else(|| lacks("shape"))?,
        })
    }

    /// Parses the value of `descr`. Returns an error for a structured dtype, which is a list or a
    /// tuple.
    fn descr(&mut self) -> Result<&'a str, String> {
        self.blanks();
        match self.rest.peek() {
            Some((_, '[' | '(')) => {
                Err("a structured dtype; expected one type for all elements".into())
            }
            _ => self.string(),
        }
    }

    /// Parses the value of `shape`, a tuple of extents.
    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            let word = self.word();
            // Python 2 writes long integers as 3L.
            let extent = word.strip_suffix('L').unwrap_or(word).parse();
            shape.push(extent.map_err(|_| {
                format!("shape[{}]: expected a number from 0 to 2^64-1, got `{word}`", shape.len())
            })?);
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }

    /// Parses `True` or `False`.
    fn boolean(&mut self) -> Result<bool, String> {
        match self.word() {
            "True" => Ok(true),
            "False" => Ok(false),
            word => Err(format!("fortran_order: expected True or False, got `{word}`")),
        }
    }

    /// Parses a string in single or double quotes. Escapes are not interpreted.
    fn string(&mut self) -> Result<&'a str, String> {
        self.blanks();
        let unterminated = "its header has no string where one belongs";
        match self.rest.next() {
            Some((start, quote @ ('\'' | '"'))) => {
                let end = self.rest.find(|&(_, c)| c == quote).ok_or(unterminated)?.0;
                match end - start - 1 {
                    ..=MAX_STRING => Ok(&self.text[start + 1..end]),
                    length => Err(format!(
                        "its header has a string of {length} bytes; expected at most {MAX_STRING}"
                    )),
                }
            }
            _ => Err(unterminated.into()),
        }
    }

    /// Parses a word of letters, digits and signs, up to [`MAX_STRING`] characters. The word is
    /// empty if another character comes first.
    fn word(&mut self) -> &'a str {
        self.blanks();
        let start = self.position();
        while self.rest.next_if(|&(_, c)| c.is_alphanumeric() || c == '-').is_some() {}
        let word = &self.text[start..self.position()];
        // All valid words are shorter, and the start of a longer one is enough for the error
        // message.
        word.char_indices().nth(MAX_STRING).map_or(word, |(end, _)| &word[..end])
    }

    /// Returns the offset of the next character, in bytes.
    fn position(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |&(at, _)| at)
    }

    /// Skips whitespace.
    fn blanks(&mut self) {
        while self.rest.next_if(|&(_, c)| c.is_whitespace()).is_some() {}
    }

    /// Skips `sign`. Returns false if another character follows.
    fn eat(&mut self, sign: char) -> bool {
        self.blanks();
        self.rest.next_if(|&(_, c)| c == sign).is_some()
    }

    /// Skips `sign`. Returns an error if another character follows.
    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.eat(sign) {
            return Ok(());
        }
        let at = self.position();
        Err(format!("its header has no `{sign}` where one belongs, at character {at}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend(text.bytes());
        bytes
    }

    #[test]
    fn what_is_written_reads_back() {
        for shape in [vec![], vec![3], vec![0, 7], vec![u64::MAX; 64]] {
            let header = Header { descr: "<f4".into(), fortran_order: false, shape };
            let mut bytes = header.write();
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(bytes.last(), Some(&b'\n'));
            bytes.extend([1, 2, 3]);
            assert_eq!(Header::read(&bytes), Ok((header, bytes.len() - 3)));
        }
    }

    #[test]
    fn the_text_is_numpys() {
        let header = |shape: &[u64]| {
            let header =
                Header { descr: "<f4".into(), fortran_order: false, shape: shape.to_vec() };
            String::from_utf8(header.write()[10..].to_vec()).unwrap().trim_end().to_owned()
        };
        assert_eq!(header(&[3]), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
        assert_eq!(header(&[2, 3]), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
        assert_eq!(header(&[]), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
    }

    #[test]
    fn old_and_odd_headers_read() {
        let text = "{\"shape\":(3L,),'fortran_order':True,  'descr':'|u1'}\n";
        let expected = Header { descr: "|u1".into(), fortran_order: true, shape: vec![3] };
        assert_eq!(Header::read(&file(text)).unwrap().0, expected);
        let mut version2 = b"\x93NUMPY\x02\x00".to_vec();
        version2.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
        version2.extend(text.bytes());
        assert_eq!(Header::read(&version2), Ok((expected, version2.len())));
    }

    #[test]
    fn broken_headers_say_where() {
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        for (from, to, message) in [
            ("(2, 3)", "(2, -3)", "shape[1]: expected a number from 0 to 2^64-1, got `-3`"),
            (
                "(2, 3)",
                "(2, 99999999999999999999)",
                "shape[1]: expected a number from 0 to 2^64-1, got `99999999999999999999`",
            ),
            ("'<f4'", "[('a', '<f4')]", "a structured dtype"),
            ("False", "None", "fortran_order: expected True or False, got `None`"),
            ("'descr': '<f4', ", "", "its header lacks the key 'descr'"),
            ("'descr'", "'shape': (6,), 'descr'", "its header has the key 'shape' twice"),
            ("}", "'descr': '<f4'}", "its header has the key 'descr' twice"),
            ("}", "'fortran_order': True}", "its header has the key 'fortran_order' twice"),
            ("}", "", "its header has no string"),
            ("'<f4'", "'<f4", "its header has no"),
            ("'<f4'", &format!("'{}'", "f".repeat(65)), "its header has a string of 65 bytes"),
            (
                "2, 3",
                &"2".repeat(9999),
                &format!("shape[0]: expected a number from 0 to 2^64-1, got `{}`", "2".repeat(64)),
            ),
        ] {
            let error = Header::read(&file(&good.replace(from, to))).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
        let whole = file(good);
        for length in 0..whole.len() {
            assert!(Header::read(&whole[..length]).is_err());
        }
        assert!(Header::read(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{").is_err());
        assert!(Header::read(b"\x93NUMPY\x09\x00ab{").unwrap_err().contains("version 9"));
    }
}
