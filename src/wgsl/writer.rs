use std::fmt::{self, Write as _};

use crate::schedule::Schedule;

/// Builds WGSL text: one call a line, indentation follows nesting.
#[derive(Debug)]
pub(super) struct Writer {
    text: String,
    depth: usize,
    grid: [u32; 4],
}

impl Writer {
    /// An empty text for a kernel of this schedule.
    pub(super) fn new(schedule: &Schedule) -> Self {
        let [x, y, z] = schedule.workgroups;
        let text = String::with_capacity(2048);
        Self { text, depth: 0, grid: [schedule.workgroup_size, x, y, z] }
    }

    /// Invocations of a workgroup, then workgroups in x, y and z.
    pub(super) fn grid(&self) -> [u32; 4] {
        self.grid
    }

    /// Writes one line.
    pub(super) fn line(&mut self, line: fmt::Arguments<'_>) {
        let indent = 4 * self.depth;
        writeln!(self.text, "{:indent$}{line}", "").expect("writing to a String cannot fail");
    }

    /// Writes an empty line.
    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes `head { … }` around what `body` writes.
    pub(super) fn block(&mut self, head: fmt::Arguments<'_>, body: impl FnOnce(&mut Self)) {
        self.line(format_args!("{head} {{"));
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line(format_args!("}}"));
    }

    /// The text so far.
    pub(super) fn finish(self) -> String {
        self.text
    }
}
