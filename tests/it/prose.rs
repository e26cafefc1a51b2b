//! The rules of language that a program can check, so that comments and documents read like those
//! of other projects.
//!
//! Some turns of phrase are hard to read, and writers who know a subject too well use many of them.
//! The limits were measured on the comments of other crates: wgpu has 3 of these phrases for each
//! 1,000 words, and regex has 6. A sentence that a reader understands at once is better than a
//! sentence that was bent to avoid a phrase.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The phrases that are counted. A marker is a list of phrases, a phrase is a list of words with
/// blanks between them, and a word is a list of alternatives. `^` matches the start of a sentence.
/// A blank at the end of a phrase matches a blank in the text.
const MARKERS: &[&[&str]] = &[
    &["^Whether|What|Where|Why|Who|How|Of|For|That "],
    &["^The same"],
    &["at the most|least"],
    &["of which|whom"],
    &["so many|much"],
    &["What|what is|are|has|was|of|a|the|each|no|one|such|others|comes|goes|reads|begins"],
    &["that of", "those of|that|which|below|above"],
    &["one way|after|by", "one of which"],
    &["the same of|with|where|for|in|as"],
    &["has to be"],
    &["which|who|that is|are not"],
    &[", where"],
    &[
        "where it|they|there|this|these|that|no|its|all|the|a|one|some|each|unit|units|row|rows|line|lines|column|columns ",
    ],
    &["stand|stands"],
    &["come|comes|came to"],
    &["asked|asks"],
    &["anywhere"],
    &["goes"],
    &["inside of"],
    &["as many|much|long|often as"],
    &["other|others than"],
    &["each|all of them|these|which"],
];

/// First words that a documentation comment must not have.
const FIRST_WORDS: [&str; 10] =
    ["What", "Whether", "How", "Where", "Why", "Who", "Of", "For", "That", "The same"];

/// A part of the repository, and the limits for its comments.
struct Area {
    name: &'static str,
    paths: &'static [&'static str],
    /// The maximum number of markers for each 1,000 words.
    markers: usize,
    /// The maximum number of documentation comments that begin with one of [`FIRST_WORDS`].
    first_words: usize,
    /// The maximum number of comment lines with more than 100 columns.
    long_lines: usize,
}

/// The limits only ever become smaller. They are lowered when a part has been rewritten.
const AREAS: [Area; 4] = [
    Area {
        name: "src",
        paths: &["src", "cli/src"],
        markers: 3,
        first_words: 0,
        // Tables, grammars and formulas need long lines.
        long_lines: 20,
    },
    Area {
        name: "tests",
        paths: &["tests", "cli/tests"],
        markers: 3,
        first_words: 0,
        long_lines: 0,
    },
    Area {
        name: "benches, packages and examples",
        paths: &["benches", "python", "web", "examples", "fuzz", "build.rs", "cli/build.rs"],
        markers: 2,
        first_words: 0,
        long_lines: 18,
    },
    Area { name: "Markdown", paths: &["."], markers: 6, first_words: 0, long_lines: usize::MAX },
];

/// The type names that several modules use with the same meaning, each with the reason. There are
/// at most 15.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Cursor", "the position of a reader in its text"),
    ("Device", "the place where a run happens: the library's choice, and the flag for it"),
    ("Format", "the binary or text form of something that is read"),
    ("Parser", "the state of a parser"),
    ("Source", "a buffer that a nest reads, and the file for it"),
    ("Step", "one step of a plan or of a descriptor's construction"),
    ("Tile", "a tile of a layout, and the part of a copy that is moved at a time"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files below a path that have one of the endings, sorted by name.
fn files(path: &Path, endings: &[&str]) -> Vec<PathBuf> {
    const LEFT_OUT: [&str; 5] = ["target", "node_modules", "vendor", "__pycache__", "shared"];
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(path) else { return vec![] };
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let named = |entry: &PathBuf| entry.file_name().unwrap().to_str().unwrap().to_owned();
    entries.retain(|entry| !LEFT_OUT.contains(&&*named(entry)) && !named(entry).starts_with('.'));
    let of_entry = |entry: &PathBuf| {
        if entry.is_dir() {
            return files(entry, endings);
        }
        let ending = entry.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if endings.contains(&ending) { vec![entry.clone()] } else { vec![] }
    };
    entries.iter().flat_map(of_entry).collect()
}

/// The syntax of comments in a kind of file.
#[derive(Clone, Copy, PartialEq)]
enum Comments {
    Slashes,
    Hashes,
    /// The whole file is text.
    Markdown,
}

impl Comments {
    fn of(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("md") => Self::Markdown,
            Some("py" | "toml" | "sh") => Self::Hashes,
            _ => Self::Slashes,
        }
    }

    /// Returns the text of a line that is a comment, or `None` for any other line.
    fn text(self, line: &str) -> Option<&str> {
        let start = line.trim_start();
        match self {
            Self::Slashes => {
                let text = start.strip_prefix("//")?;
                Some(text.strip_prefix(['/', '!']).unwrap_or(text).trim())
            }
            Self::Hashes => start.strip_prefix('#').map(str::trim),
            Self::Markdown => Some(line.trim()),
        }
    }
}

/// Returns the paragraphs of a file's comments, each with the number of its first line. Code in
/// fences is left out.
fn paragraphs(file: &str, comments: Comments) -> Vec<(usize, String)> {
    let (mut all, mut block, mut start) = (Vec::new(), Vec::new(), 0);
    let mut is_fenced = false;
    for (number, line) in file.lines().enumerate() {
        let comment = comments.text(line);
        let mut text = comment.unwrap_or_default();
        if text.starts_with("```") {
            (is_fenced, text) = (!is_fenced, "");
        }
        is_fenced &= comment.is_some();
        let is_markup = comments == Comments::Markdown && text.starts_with(['|', '#', '<', '!']);
        if is_fenced || is_markup {
            text = "";
        }
        if !text.is_empty() {
            start = if block.is_empty() { number + 1 } else { start };
            block.push(text);
            continue;
        }
        if !block.is_empty() {
            all.push((start, block.join(" ")));
            block.clear();
        }
        if comment.is_none()
            && comments == Comments::Slashes
            && let Some((_, after)) = line.split_once(" // ")
        {
            all.push((number + 1, after.trim().to_owned()));
        }
    }
    if !block.is_empty() {
        all.push((start, block.join(" ")));
    }
    all
}

/// Returns the sentences of a paragraph. Code in backticks is replaced with a single letter.
fn sentences(paragraph: &str) -> Vec<String> {
    let mut pieces: Vec<String> = paragraph.split('`').map(str::to_owned).collect();
    let last = pieces.len() - 1;
    for (number, piece) in pieces.iter_mut().enumerate() {
        if number % 2 == 1 && number < last {
            "X".clone_into(piece);
        } else if number % 2 == 1 {
            piece.insert(0, '`');
        }
    }
    let (text, mut sentences, mut start) = (pieces.concat(), Vec::new(), 0);
    let mut ends = false;
    for (at, letter) in text.char_indices() {
        if ends && letter.is_whitespace() {
            sentences.push(text[start..at].trim_start().to_owned());
            start = at;
        }
        ends = matches!(letter, '.' | ';' | ':' | '!' | '?');
    }
    sentences.push(text[start..].trim_start().to_owned());
    sentences
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the length of a phrase at the start of `text`, or `None` if the phrase is not there.
fn phrase_at(phrase: &str, text: &str) -> Option<usize> {
    let mut length = 0;
    for (number, word) in phrase.split(' ').enumerate() {
        if number > 0 {
            length += text[length..].starts_with(' ').then_some(1)?;
        }
        // One alternative of a word may be the start of another. An alternative counts only if the
        // end of a word follows.
        let ends = |word: &&str| {
            let after = text[length..].strip_prefix(word);
            after.is_some_and(|after| word.is_empty() || !after.starts_with(is_of_word))
        };
        length += word.split('|').find(ends)?.len();
    }
    Some(length)
}

/// Returns the places of a sentence at which a phrase can start, which are words and commas.
fn starts(sentence: &str) -> Vec<usize> {
    let mut before = ' ';
    let starts = sentence.char_indices().filter(|&(_, letter)| {
        let is_start = letter == ',' || is_of_word(letter) && !is_of_word(before);
        before = letter;
        is_start
    });
    starts.map(|(at, _)| at).collect()
}

/// Returns the number of occurrences of a marker in a sentence, without overlaps.
fn count(marker: &[&str], sentence: &str, starts: &[usize]) -> usize {
    let (mut found, mut end) = (0, 0);
    for &start in starts.iter().filter(|&&start| start == 0 || !marker[0].starts_with('^')) {
        let text = &sentence[start..];
        let length =
            marker.iter().find_map(|phrase| phrase_at(phrase.trim_start_matches('^'), text));
        if let Some(length) = length.filter(|_| start >= end) {
            (found, end) = (found + 1, start + length);
        }
    }
    found
}

/// Returns the documentation comments of a file, each with the number and the text of its first
/// line.
fn documentation(file: &str) -> Vec<(usize, String)> {
    let (mut all, mut continues) = (Vec::new(), false);
    for (number, line) in file.lines().enumerate() {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(text) = text.filter(|_| !continues) {
            all.push((number + 1, text.trim().to_owned()));
        }
        continues = text.is_some();
    }
    all
}

/// The counts for an area.
#[derive(Default)]
struct Counts {
    words: usize,
    markers: usize,
    first_words: usize,
    long_lines: usize,
    /// The sentences and lines that were counted.
    found: Vec<(usize, String)>,
}

impl Counts {
    fn add(&mut self, path: &Path) {
        let Ok(file) = fs::read_to_string(path) else { return };
        let (comments, name) = (Comments::of(path), path.strip_prefix(root()).unwrap().display());
        for (line, paragraph) in paragraphs(&file, comments) {
            for sentence in sentences(&paragraph) {
                let words = sentence.split_whitespace().count();
                if words < 2 {
                    continue;
                }
                let starts = starts(&sentence);
                let markers = MARKERS.iter().map(|marker| count(marker, &sentence, &starts)).sum();
                (self.words, self.markers) = (self.words + words, self.markers + markers);
                if markers > 0 {
                    self.found.push((markers, format!("{name}:{line}: {sentence}")));
                }
            }
        }
        if path.extension().is_some_and(|ending| ending == "rs") {
            for (line, text) in documentation(&file) {
                let begins = |first: &&str| {
                    text.strip_prefix(*first).is_some_and(|after| !after.starts_with(is_of_word))
                };
                if FIRST_WORDS.iter().any(begins) {
                    self.first_words += 1;
                    self.found.push((10, format!("{name}:{line}: begins with: {text}")));
                }
            }
        }
        if comments != Comments::Markdown {
            for (number, line) in file.lines().enumerate() {
                if comments.text(line).is_some() && line.chars().count() > 100 {
                    self.long_lines += 1;
                    self.found.push((5, format!("{name}:{}: a long line", number + 1)));
                }
            }
        }
    }
}

#[test]
fn comments_and_documents_are_plain_english() {
    let mut failures = Vec::new();
    for area in &AREAS {
        let endings: &[&str] = if area.name == "Markdown" {
            &["md"]
        } else {
            &["rs", "js", "mjs", "proto", "wgsl", "py", "toml", "sh"]
        };
        let mut counts = Counts::default();
        for path in area.paths.iter().flat_map(|path| files(&root().join(path), endings)) {
            counts.add(&path);
        }
        let Counts { words, markers, first_words, long_lines, mut found } = counts;
        let rate = 1000. * f64::from(u32::try_from(markers).unwrap())
            / f64::from(u32::try_from(words.max(1)).unwrap());
        println!(
            "{}: {words} words, {rate:.1} markers for each 1,000; {first_words} first words, {long_lines} long lines",
            area.name
        );
        if markers * 1000 > area.markers * words
            || first_words > area.first_words
            || long_lines > area.long_lines
        {
            found.sort_by(|a, b| b.cmp(a));
            found.truncate(40);
            let found: Vec<String> = found.into_iter().map(|(_, text)| text).collect();
            failures.push(format!(
                "{}: {rate:.1} markers for each 1,000 words, {first_words} first words, {long_lines} long lines; \
                 expected at most {}, {} and {}\n{}",
                area.name,
                area.markers,
                area.first_words,
                area.long_lines,
                found.join("\n")
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Returns the name of the type that a line declares, or `None` if the line declares no type.
fn declared(line: &str) -> Option<&str> {
    let mut line = line.trim_start();
    if let Some(after) = line.strip_prefix("pub") {
        line = match after.strip_prefix('(') {
            Some(after) => after.split_once(')')?.1,
            None => after,
        };
        line = line.strip_prefix(' ')?.trim_start();
    }
    line = line.strip_prefix("unsafe ").unwrap_or(line);
    let (keyword, after) = line.split_once(' ')?;
    if !["struct", "enum", "trait", "type", "union"].contains(&keyword) {
        return None;
    }
    let after = after.trim_start();
    let name = &after[..after.find(|letter| !is_of_word(letter)).unwrap_or(after.len())];
    name.starts_with(|letter: char| letter.is_ascii_uppercase()).then_some(name)
}

/// A type name is declared once in a module, and in only one module of the crate.
#[test]
fn type_names_have_one_meaning() {
    // The names of associated types are not counted.
    const LEFT_OUT: [&str; 8] =
        ["Err", "Error", "Value", "Result", "Item", "Target", "Output", "IntoIter"];
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in ["src", "cli/src"] {
        for path in files(&root().join(folder), &["rs"]) {
            let file = fs::read_to_string(&path).unwrap();
            let inside = path.strip_prefix(root().join(folder)).unwrap();
            let module = inside.components().next().unwrap().as_os_str().to_str().unwrap();
            let module = format!("{folder}/{}", module.trim_end_matches(".rs"));
            for name in file.lines().filter_map(declared) {
                if !LEFT_OUT.contains(&name) {
                    places.entry(name.to_owned()).or_default().push(module.clone());
                }
            }
        }
    }
    places.retain(|_, modules| modules.len() > 1);
    let is_twice =
        |modules: &[String]| modules.iter().collect::<BTreeSet<_>>().len() < modules.len();
    let twice: Vec<_> = places.iter().filter(|(_, modules)| is_twice(modules)).collect();
    assert!(twice.is_empty(), "{} names twice in one module: {twice:#?}", twice.len());
    let is_listed = |name: &str| SHARED_NAMES.iter().any(|shared| shared.0 == name);
    let others: Vec<_> = places.iter().filter(|(name, _)| !is_listed(name)).collect();
    assert!(others.is_empty(), "{} names in several modules: {others:#?}", others.len());
    assert!(SHARED_NAMES.len() <= 15);
}

#[test]
fn markers_are_counted_as_words() {
    let all = |sentence: &str| {
        MARKERS.iter().map(|marker| count(marker, sentence, &starts(sentence))).sum::<usize>()
    };
    assert_eq!(all("What is so many and where it stands"), 5);
    assert_eq!(all("The stream of whom, where others than those below come to anywhere"), 6);
    assert_eq!(all("whatever somewhat is inside, wherever it forgoes standstill"), 0);
    assert_eq!(all("Where"), 0);
    assert_eq!(sentences("A `b. c` d. Where e: f"), ["A X d.", "Where e:", "f"]);
    let file = "/// One\n/// two.\nfn f() {} // three four\n//! ```\n//! no\n//! ```\n// five";
    let found = paragraphs(file, Comments::Slashes);
    assert_eq!(found, [(1, "One two.".into()), (3, "three four".into()), (7, "five".to_owned())]);
    assert_eq!(declared("    pub(crate) struct Axis<T> {"), Some("Axis"));
    assert_eq!(declared("pub type Rows = Vec<u8>;"), Some("Rows"));
    assert_eq!(declared("let structure = 1;"), None);
}
