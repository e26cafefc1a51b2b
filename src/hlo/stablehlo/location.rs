//! Finds the source lines of operations in the locations that MLIR prints as `loc(…)`.

use super::{
    cursor::{TextRange, decoded},
    parse::MlirParser,
};
use crate::hlo::{SourceLine, text::cursor::Cursor};

/// The maximum number of nested locations that are followed for one operation. Without a limit,
/// aliases that refer to each other in a cycle would be followed forever.
const MAX_STEPS: usize = 32;

impl MlirParser<'_> {
    /// Returns the file and the line of the innermost location in forms such as
    /// `"f"("model.py":3:1)`, `callsite("f"(…) at …)` and `#loc1`. Returns `None` for other kinds
    /// of locations.
    pub(super) fn source_line(&self, range: TextRange) -> Option<SourceLine> {
        let mut cursor = self.cursor.part(range);
        for _ in 0..MAX_STEPS {
            if cursor.eat("#") {
                let name = cursor.suffix("").ok()?;
                cursor = self.cursor.part(self.aliases.get(name)?.clone());
                if cursor.eat_keyword("loc") {
                    cursor.expect("(").ok()?;
                }
            } else if cursor.sees("\"") {
                let range = cursor.string().ok()?;
                if cursor.eat(":") {
                    let file = decoded(cursor.text(range));
                    return line(&mut cursor).map(|line| SourceLine::new(file, line));
                }
                cursor.expect("(").ok()?;
            } else if cursor.eat_keyword("fused") {
                if cursor.sees("<") {
                    cursor.group().ok()?;
                }
                cursor.expect("[").ok()?;
            } else if cursor.eat_keyword("callsite") {
                cursor.expect("(").ok()?;
            } else {
                return None;
            }
        }
        None
    }
}

/// Parses the number of a line. Returns `None` if it is not positive.
fn line(cursor: &mut Cursor<'_>) -> Option<u32> {
    let range = cursor.digits()?;
    cursor.text(range).parse().ok().filter(|&line| line > 0)
}
