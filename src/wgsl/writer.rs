//! [`Writer`]: builds WGSL text line by line, with indentation and line breaks for readers.

use std::fmt::{self, Write as _};

use crate::schedule::{RunTimeExtents, Schedule};

/// The maximum length of a line, in characters. Longer lines are broken if they have a place to
/// break.
const MAX_WIDTH: usize = 108;

/// Returns true if a character ends a line in WGSL, and with it a `//` comment.
pub(super) fn ends_line(character: char) -> bool {
    matches!(character, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Builds WGSL text line by line, indents nested blocks and breaks long lines.
#[derive(Debug)]
pub(super) struct Writer {
    text: String,
    depth: usize,
    grid: [u32; 4],
    /// The name of the variable of each source.
    sources: Vec<String>,
    /// The loops around the copy, if some of their extents are known only at run time.
    extents: Option<RunTimeExtents>,
    /// The prefix of the name of every function; empty for a kernel.
    prefix: String,
}

impl Writer {
    /// Returns a writer with an empty text for a kernel with this schedule.
    pub(super) fn new(schedule: &Schedule) -> Self {
        let [x, y, z] = schedule.workgroups();
        let text = String::with_capacity(4096);
        let grid = [schedule.workgroup_size(), x, y, z];
        let sources = match schedule.nest().sources().len() {
            1 => vec!["source".to_owned()],
            count => (0..count).map(|number| format!("source{number}")).collect(),
        };
        let extents = schedule.extents().cloned();
        Self { text, depth: 0, grid, sources, extents, prefix: String::new() }
    }

    /// Returns a writer with an empty text, for functions that another kernel calls. `sources` has
    /// the name of the variable of each source. `prefix` is the common start of the functions'
    /// names.
    #[cfg(any(test, feature = "accessors"))]
    pub(super) fn of_functions(sources: Vec<String>, prefix: String) -> Self {
        Self { text: String::new(), depth: 0, grid: [1; 4], sources, extents: None, prefix }
    }

    /// Returns true if the text is a kernel, and not functions that another kernel calls.
    pub(super) fn is_kernel(&self) -> bool {
        self.prefix.is_empty()
    }

    /// Returns the name of the variable of a source.
    pub(super) fn source_variable(&self, number: usize) -> &str {
        &self.sources[number]
    }

    /// Returns the array that holds a source: its variable, or, of the first source with extents at
    /// run time, the item that the invocation copies.
    pub(super) fn source(&self, number: usize) -> String {
        let item = match self.extents() {
            Some(extents) if number == 0 && extents.keeps_order() => "[item]",
            Some(_) if number == 0 => "[source_item]",
            _ => "",
        };
        format!("{}{item}", self.sources[number])
    }

    /// Returns the array that holds the destination: its variable or, with extents at run time, the
    /// item that the invocation copies.
    pub(super) fn destination(&self) -> &'static str {
        if self.extents().is_some() { "destination[item]" } else { "destination" }
    }

    /// Returns the loops around the copy, if some of their extents are known only at run time.
    pub(super) fn extents(&self) -> Option<&RunTimeExtents> {
        if cfg!(stridec_plain_host) { None } else { self.extents.as_ref() }
    }

    /// Returns the name of a function, preceded by the prefix.
    pub(super) fn function(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Returns the number of invocations in a workgroup, followed by the numbers of workgroups in
    /// x, y and z.
    pub(super) fn grid(&self) -> [u32; 4] {
        self.grid
    }

    /// Writes one line. A long line is broken before operators or after commas.
    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        let start = self.start(self.depth);
        self.write(line);
        if self.text.len() - start <= MAX_WIDTH {
            return self.text.push('\n');
        }
        let line = self.text.split_off(start + 4 * self.depth);
        self.text.truncate(start);
        let mut rest = line.as_str();
        let mut depth = self.depth;
        while let Some(at) =
            break_point(rest, MAX_WIDTH - 4 * depth, &[" + ", " - ", " || ", " && ", " | ", ","])
        {
            self.indented(depth, [rest[..at].trim_end()]);
            rest = rest[at..].trim_start();
            depth = self.depth + 1;
        }
        self.indented(depth, [rest]);
    }

    /// Writes code with a remark. The remark is on the same line if there is room, and above it
    /// otherwise.
    pub(super) fn noted(&mut self, code: fmt::Arguments<'_>, note: fmt::Arguments<'_>) {
        let start = self.start(self.depth);
        self.write(code);
        let columns = self.text.len() - start + " // ".len();
        self.text.push_str(" // ");
        let remark = self.text.len();
        self.write(note);
        if columns + self.text[remark..].chars().count() <= MAX_WIDTH {
            self.text.push('\n');
        } else {
            self.text.truncate(start);
            self.comment("", note);
            self.line(code);
        }
    }

    /// Writes a comment. After the first line, lines are indented by the width of `label`.
    ///
    /// Every character that ends a line in WGSL starts a new comment line. Shapes and names come
    /// from users, and no part of them may become code.
    pub(super) fn comment(&mut self, label: &str, text: fmt::Arguments<'_>) {
        let text = text.to_string();
        let room = MAX_WIDTH - 4 * self.depth - 3 - label.len();
        let blanks = " ".repeat(label.len());
        let mut label = label;
        for line in text.trim_end().split(ends_line) {
            let mut rest = line;
            while let Some(at) = break_point(rest, room, &[" "]) {
                self.indented(self.depth, ["// ", label, rest[..at].trim_end()]);
                rest = rest[at..].trim_start();
                label = &blanks;
            }
            self.indented(self.depth, ["// ", label, rest]);
            label = &blanks;
        }
    }

    /// Writes a list as `head item, item tail`. If it does not fit on one line, each item gets a
    /// line of its own.
    pub(super) fn list(&mut self, head: &str, items: &[String], tail: &str) {
        let length = items.iter().map(|item| item.len() + 2).sum::<usize>();
        if 4 * self.depth + head.len() + length + tail.len() <= MAX_WIDTH {
            return self.line(format_args!("{head}{}{tail}", items.join(", ")));
        }
        self.line(format_args!("{head}"));
        self.depth += 1;
        for item in items {
            self.line(format_args!("{item},"));
        }
        self.depth -= 1;
        self.line(format_args!("{tail}"));
    }

    /// Writes one line without breaking it. Indents it by `depth` levels more than the current
    /// block.
    pub(super) fn indented_line(&mut self, depth: usize, line: &str) {
        self.indented(self.depth + depth, [line]);
    }

    /// Writes an empty line.
    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes `head { … }` around the code from `body`.
    pub(super) fn block(&mut self, head: fmt::Arguments<'_>, body: impl FnOnce(&mut Self)) {
        self.line(format_args!("{head} {{"));
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line(format_args!("}}"));
    }

    /// Returns the finished text.
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Writes the indentation of a line. Returns the index at which the line starts in the text.
    fn start(&mut self, depth: usize) -> usize {
        let start = self.text.len();
        for _ in 0..depth {
            self.text.push_str("    ");
        }
        start
    }

    fn write(&mut self, text: fmt::Arguments<'_>) {
        self.text.write_fmt(text).expect("writing to a String cannot fail");
    }

    /// Writes one line without breaking it. The line is the concatenation of `parts`.
    fn indented<const PARTS: usize>(&mut self, depth: usize, parts: [&str; PARTS]) {
        self.start(depth);
        for part in parts {
            self.text.push_str(part);
        }
        self.text.push('\n');
    }
}

/// Returns the index at which to break `line`: the last of `marks` that has at most `room`
/// characters before it. Returns `None` if the line fits, or if it has no such mark.
fn break_point(line: &str, room: usize, marks: &[&str]) -> Option<usize> {
    if line.len() <= room {
        return None; // a line has at most as many characters as bytes
    }
    let (end, _) = line.char_indices().nth(room)?;
    // A comma stays at the end of its line; an operator starts the next line.
    let place = |mark: &&str| {
        let at = line[..end].rfind(*mark)?;
        Some(if *mark == "," { at + 1 } else { at })
    };
    marks.iter().filter_map(place).max().filter(|&at| at > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Writer)) -> Vec<String> {
        let mut writer = Writer::of_functions(Vec::new(), String::new());
        writer.depth = 1;
        write(&mut writer);
        writer.finish().lines().map(str::to_owned).collect()
    }

    #[test]
    fn long_lines_break_before_an_operator() {
        let sum = ["outer * 12345u"; 12].join(" + ");
        let lines = written(|writer| writer.line(format_args!("let read = {sum};")));
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= MAX_WIDTH));
        assert!(lines[0].starts_with("    let") && lines[1].starts_with("        + outer"));
        let joined: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        assert_eq!(joined.join(" "), format!("let read = {sum};"));
    }

    #[test]
    fn remarks_go_where_there_is_room() {
        let short = written(|writer| writer.noted(format_args!("a;"), format_args!("why")));
        assert_eq!(short, ["    a; // why"]);
        let room = MAX_WIDTH - "        ; // why".len();
        for (length, lines) in [(room, 1), (room + 1, 2)] {
            let code = "b".repeat(length);
            let written = written(|writer| {
                writer.depth = 2;
                writer.noted(format_args!("{code};"), format_args!("why"));
            });
            assert_eq!(written.len(), lines);
        }
        let long = "b".repeat(100);
        let lines =
            written(|writer| writer.noted(format_args!("{long};"), format_args!("because")));
        assert_eq!(lines, ["    // because".to_owned(), format!("    {long};")]);
    }

    #[test]
    fn a_list_that_fills_its_line_stays_on_it() {
        let list = |length: usize| {
            let items = ["a".to_owned(), "b".repeat(length)];
            written(|writer| {
                writer.depth = 2;
                writer.list("f(", &items, ");");
            })
        };
        let room = MAX_WIDTH - "        f(a, , );".len();
        assert_eq!(list(room), [format!("        f(a, {});", "b".repeat(room))]);
        let long = format!("            {},", "b".repeat(room + 1));
        assert_eq!(list(room + 1), ["        f(", "            a,", &long, "        );"]);
    }

    #[test]
    fn comments_keep_their_column() {
        let text = vec!["word"; 30].join(" ");
        let lines = written(|writer| writer.comment("nest  ", format_args!("{text}")));
        assert!(
            lines[0].starts_with("    // nest  word") && lines[1].starts_with("    //       word")
        );
    }
}
