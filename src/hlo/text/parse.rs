//! Parses modules from text.

use std::collections::HashMap;

use super::{cursor::Cursor, source};
use crate::{
    hlo::{Builder, HloError, MAX_MODULE_BYTES, Module, source_line::StackFrames, stablehlo},
    shape::{FieldPath, Shape},
};

/// The tables of source locations, which recent dumps place before the computations.
const TABLES: [&str; 4] = ["FileNames", "FunctionNames", "FileLocations", "StackFrames"];

impl Module {
    /// Reads HLO text, in the form that XLA prints and `--xla_dump_to` writes, or StableHLO text,
    /// as JAX prints it. A text that begins with `module` or with an alias of MLIR is StableHLO.
    ///
    /// Names may lack `%`, operands may lack shapes, and shapes may lack layouts, in which case the
    /// default layouts apply. Without `entry_computation_layout`, the buffers have the layouts of
    /// the parameters and the root.
    ///
    /// ```
    /// use stridec::hlo::Module;
    /// let module = Module::parse(
    ///     "HloModule flip, entry_computation_layout={(f32[2,3]{1,0})->f32[3,2]{0,1}}
    ///
    ///      ENTRY %main.3 (x: f32[2,3]) -> f32[3,2] {
    ///        %x = f32[2,3]{1,0} parameter(0)
    ///        ROOT %transpose.2 = f32[3,2]{0,1} transpose(f32[2,3]{1,0} %x), dimensions={1,0}
    ///      }",
    /// )?;
    /// assert_eq!(module.result().to_string(), "f32[3,2]{0,1}");
    /// assert_eq!(Module::parse(&module.to_string())?, module);
    /// # Ok::<(), stridec::hlo::HloError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a module, if the module is invalid, or if it
    /// exceeds a limit of stridec.
    pub fn parse(text: &str) -> Result<Self, HloError> {
        let mut cursor = Cursor::new(text);
        cursor.start()?;
        if cursor.is_mlir() {
            return stablehlo::parse(text);
        }
        let (name, buffers) = header(&mut cursor)?;
        let (builder, frames) = (Builder::new(name), StackFrames::default());
        let mut reader =
            Reader { cursor, literal_bytes: 0, builder, names: HashMap::new(), frames };
        let entry = reader.computations()?;
        let Reader { builder, cursor, .. } = reader;
        let Some(entry) = entry else {
            return Err(cursor.unexpected("`ENTRY` and a computation"));
        };
        let (parameters, result) =
            buffers.unwrap_or_else(|| builder.computations()[entry].signature());
        builder.module(entry, parameters, result)
    }
}

/// The shapes of the entry computation's parameters and of its result.
type EntryBuffers = (Vec<Shape>, Shape);

/// Reads the optional line before the computations, which gives the name of the module and the
/// shapes of its buffers.
pub(in crate::hlo) fn header<'a>(
    cursor: &mut Cursor<'a>,
) -> Result<(&'a str, Option<EntryBuffers>), HloError> {
    cursor.start()?;
    let (mut name, mut buffers) = ("", None);
    if cursor.eat_word("HloModule") {
        name = cursor.name()?;
        while cursor.eat(",") {
            let (attribute, start, value) = attribute(cursor)?;
            if attribute == "entry_computation_layout" {
                buffers = Some(entry_layout(&mut cursor.over(start, value))?);
            }
        }
    }
    Ok((name, buffers))
}

/// Reads an attribute and returns its name, the position of its value, and the value.
pub(in crate::hlo) fn attribute<'a>(
    cursor: &mut Cursor<'a>,
) -> Result<(&'a str, usize, &'a str), HloError> {
    let name = cursor.expect_word("an attribute")?;
    cursor.expect("=")?;
    let (start, value) = cursor.value()?;
    Ok((name, start, value))
}

/// Reads a table of source locations, if one comes next, and returns its name and contents.
pub(in crate::hlo) fn table<'a>(cursor: &mut Cursor<'a>) -> Option<(&'static str, &'a str)> {
    let name = TABLES.into_iter().find(|name| cursor.eat_word(name))?;
    Some((name, cursor.paragraph()))
}

/// Reads the head of a computation, up to and including the opening brace, and returns the name.
pub(in crate::hlo) fn computation_name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, HloError> {
    let name = cursor.name()?;
    if cursor.sees("(") {
        cursor.balanced()?;
    }
    if cursor.eat("->") {
        cursor.shape_text()?;
    }
    cursor.expect("{")?;
    Ok(name)
}

/// Reads the shapes of the entry computation's buffers, in the form `{(shape, …)->shape}`.
fn entry_layout(cursor: &mut Cursor<'_>) -> Result<EntryBuffers, HloError> {
    cursor.expect("{")?;
    cursor.expect("(")?;
    let mut parameters = Vec::new();
    while !cursor.eat(")") {
        if !parameters.is_empty() {
            cursor.expect(",")?;
        }
        parameters.push(cursor.shape()?);
    }
    cursor.expect("->")?;
    let result = cursor.shape()?;
    cursor.expect("}")?;
    Ok((parameters, result))
}

/// The state of the module parser.
pub(super) struct Reader<'a> {
    pub(super) cursor: Cursor<'a>,
    /// The number of bytes read so far that belong to constants.
    pub(super) literal_bytes: usize,
    pub(super) builder: Builder,
    /// The index of each computation, by name.
    pub(super) names: HashMap<&'a str, usize>,
    /// The source locations that instructions refer to.
    pub(super) frames: StackFrames,
}

impl Reader<'_> {
    /// Returns an error if the text read so far, not counting constants, exceeds
    /// [`MAX_MODULE_BYTES`].
    pub(super) fn within_limit(&self) -> Result<(), HloError> {
        let (given, limit) = (self.cursor.position() - self.literal_bytes, MAX_MODULE_BYTES);
        if given > limit {
            return Err(HloError::TooManyBytes { given, limit });
        }
        Ok(())
    }

    /// Reads all computations and returns the index of the entry. If no computation is marked
    /// `ENTRY`, a single computation is the entry.
    fn computations(&mut self) -> Result<Option<usize>, HloError> {
        let mut entry = None;
        while !self.cursor.is_at_end() {
            if let Some((name, body)) = table(&mut self.cursor) {
                source::read_table(name, body, &mut self.frames);
                continue;
            }
            let start = self.cursor.start()?;
            let is_entry = self.cursor.eat_word("ENTRY");
            let computation = self.computation()?;
            if is_entry && entry.replace(computation).is_some() {
                let reason = "expected one `ENTRY`, got another";
                return Err(self.cursor.error(start, reason));
            }
        }
        let only = self.builder.computations().len() == 1;
        if entry.is_none() && !only && !self.builder.computations().is_empty() {
            return Err(HloError::Field {
                field: FieldPath::new("entry_computation_id"),
                given: "no computation begins with `ENTRY`".to_owned(),
                accepted: "one that does, where there are several",
            });
        }
        Ok(entry.or(only.then_some(0)))
    }
}
