//! Parses the text of a module into the syntax tree that `syntax` defines: functions, and the
//! operations and regions inside them. Operations are parsed in `operation`.

use std::{collections::HashMap, ops::Range};

use smallvec::SmallVec;

use super::{
    cursor::{TextRange, decoded, find_entry},
    syntax::{MlirFunction, MlirOperation, MlirRegion, ValueId},
    types::MlirTypes,
};
use crate::{
    hlo::{HloError, MAX_INSTRUCTIONS, MAX_MODULE_BYTES, text::cursor::Cursor},
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

/// The maximum depth of nested regions. The parser recurses for each level, so an unlimited depth
/// could overflow the stack.
const MAX_REGION_DEPTH: usize = 64;

/// The parser of a module, with everything that it has parsed so far.
pub(super) struct MlirParser<'a> {
    pub(super) cursor: Cursor<'a>,
    pub(super) types: MlirTypes<'a>,
    /// The name of the module.
    pub(super) name: String,
    /// The ranges of the attribute dictionaries of the module.
    pub(super) dictionaries: Vec<TextRange>,
    pub(super) functions: Vec<MlirFunction<'a>>,
    /// The type of each value of the module, as an index into `types`.
    pub(super) values: Vec<usize>,
    /// The range of the attribute that each alias names, by the name of the alias without its `#`.
    pub(super) aliases: HashMap<&'a str, TextRange>,
    /// The values that have names in each open region, outermost first. The results of one
    /// operation may share a name.
    scopes: Vec<HashMap<&'a str, Range<ValueId>>>,
    /// True if a module was parsed. The text may have at most one.
    has_module: bool,
    /// The number of bytes so far that belong to the values of constants, because the limit on the
    /// length of a text does not include them.
    pub(super) literal_bytes: usize,
    /// The number of operations, arguments and results so far, which is limited.
    count: usize,
    /// The number of open regions, without the bodies of functions.
    depth: usize,
}

impl<'a> MlirParser<'a> {
    /// Parses a whole text.
    pub(super) fn read(text: &'a str) -> Result<Self> {
        let mut parser = Self {
            cursor: Cursor::new(text),
            types: MlirTypes::default(),
            name: String::new(),
            dictionaries: Vec::new(),
            functions: Vec::new(),
            values: Vec::new(),
            aliases: HashMap::new(),
            scopes: Vec::new(),
            has_module: false,
            literal_bytes: 0,
            count: 0,
            depth: 0,
        };
        while !parser.cursor.is_at_end() {
            if !parser.alias()? {
                parser.item()?;
            }
        }
        parser.cursor.end()?;
        Ok(parser)
    }

    /// Returns the type of a value, as an index into `types`.
    pub(super) fn value_type(&self, value: ValueId) -> usize {
        self.values[value as usize]
    }

    /// Parses the definition of an alias, or skips the resources of the file. Returns false,
    /// without consuming anything, if the text continues with neither.
    fn alias(&mut self) -> Result<bool> {
        let cursor = &mut self.cursor;
        if cursor.eat("{-#") {
            self.file_resources()?;
        } else if cursor.eat("#") {
            let name = cursor.suffix("the name of an alias")?;
            cursor.expect("=")?;
            let value = cursor.typed_attribute()?;
            self.aliases.insert(name, value);
        } else if cursor.eat("!") {
            let name = cursor.keyword();
            cursor.expect("=")?;
            let value = cursor.type_text()?;
            self.types.aliases.insert(name, value);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Skips the resources of a file, through `#-}`. The caller has already consumed `{-#`.
    /// Resources hold data such as large constants, outside the module. They consist of sections,
    /// such as `dialect_resources`; a section has groups, such as one for each dialect, and a group
    /// has entries.
    fn file_resources(&mut self) -> Result<()> {
        let cursor = &mut self.cursor;
        while !cursor.eat("#-}") {
            resource_name(cursor)?;
            cursor.expect(":")?;
            cursor.expect("{")?;
            cursor.list("}", |cursor| {
                resource_name(cursor)?;
                cursor.expect(":")?;
                cursor.expect("{")?;
                cursor.list("}", |cursor| {
                    resource_name(cursor)?;
                    cursor.expect(":")?;
                    cursor.attribute_value().map(drop)
                })
            })?;
            cursor.eat(",");
        }
        Ok(())
    }

    /// Parses an item, which may be at the top of the text or in a module: a module, a function or
    /// a mesh of devices. A mesh is skipped.
    fn item(&mut self) -> Result<()> {
        let start = self.cursor.start()?;
        if self.cursor.sees("\"") {
            return self.generic_item(start);
        }
        match self.cursor.keyword() {
            "module" | "builtin.module" => self.module(start),
            "func.func" | "func" => self.function(start),
            "sdy.mesh" => {
                self.cursor.symbol()?;
                self.cursor.expect("=")?;
                self.cursor.attribute_value()?;
                if self.cursor.sees("{") {
                    self.cursor.dictionary()?;
                }
                self.location().map(drop)
            }
            name => Err(self.unknown_item(start, name)),
        }
    }

    /// Returns the error for an unknown item.
    fn unknown_item(&self, start: usize, name: &str) -> HloError {
        if name.is_empty() {
            return self.cursor.unexpected("a module or a function");
        }
        let reason = format!("expected a module or a function, got `{}`", excerpt(name, 40));
        if name.contains('.') {
            self.cursor.not_supported(start, reason)
        } else {
            self.cursor.error(start, reason)
        }
    }

    /// Records that a module begins. Returns an error if the text already has one.
    fn begin_module(&mut self, start: usize) -> Result<()> {
        if std::mem::replace(&mut self.has_module, true) {
            let reason = "expected one module, got another";
            return Err(self.cursor.not_supported(start, reason));
        }
        Ok(())
    }

    /// Parses a module. The caller has already consumed its keyword.
    fn module(&mut self, start: usize) -> Result<()> {
        self.begin_module(start)?;
        if self.cursor.sees("@") {
            self.name = self.cursor.symbol()?;
        }
        if self.cursor.eat_keyword("attributes") {
            let range = self.cursor.dictionary()?;
            self.dictionaries.push(range);
        }
        self.cursor.expect("{")?;
        while !self.cursor.eat("}") {
            self.item()?;
        }
        self.location().map(drop)
    }

    /// Parses a function. The caller has already consumed its keyword.
    fn function(&mut self, start: usize) -> Result<()> {
        let is_private = match self.cursor.clone().keyword() {
            visibility @ ("public" | "private" | "nested") => {
                self.cursor.eat_keyword(visibility);
                visibility != "public"
            }
            _ => false,
        };
        let name = self.cursor.symbol()?;
        self.scopes.clear();
        self.scopes.push(HashMap::new());
        let (mut arguments, mut values) = (Vec::new(), Vec::new());
        self.cursor.expect("(")?;
        let mut is_first = true;
        while !self.cursor.eat(")") {
            if !std::mem::take(&mut is_first) {
                self.cursor.expect(",")?;
            }
            if self.cursor.sees("%") {
                values.push(self.argument()?);
            } else {
                self.types.read(&mut self.cursor)?;
            }
            arguments.push(self.optional_dictionary()?);
            self.location()?;
        }
        let mut results = Vec::new();
        if self.cursor.eat("->") {
            if self.cursor.eat("(") {
                while !self.cursor.eat(")") {
                    if !results.is_empty() {
                        self.cursor.expect(",")?;
                    }
                    let result = self.types.read(&mut self.cursor)?;
                    self.counted()?;
                    results.push((result, self.optional_dictionary()?));
                }
            } else {
                results.push((self.types.read(&mut self.cursor)?, None));
            }
        }
        if self.cursor.eat_keyword("attributes") {
            self.cursor.dictionary()?;
        }
        let body = if self.cursor.eat("{") { Some(self.region(values)?) } else { None };
        self.location()?;
        self.functions.push(MlirFunction { start, name, is_private, arguments, results, body });
        Ok(())
    }

    /// Consumes a dictionary if there is one, and returns its range.
    fn optional_dictionary(&mut self) -> Result<Option<TextRange>> {
        self.cursor.sees("{").then(|| self.cursor.dictionary()).transpose()
    }

    /// Parses an item in the generic form, such as `"func.func"() <{…}> ({…}) : () -> ()`.
    fn generic_item(&mut self, start: usize) -> Result<()> {
        let range = self.cursor.string()?;
        let name = self.cursor.text(range.start + 1..range.end - 1);
        self.cursor.expect("(")?;
        self.cursor.expect(")")?;
        let mut dictionaries: SmallVec<[TextRange; 2]> = SmallVec::new();
        if self.cursor.sees("<{") {
            dictionaries.push(self.cursor.dictionary()?);
        }
        let mut body = None;
        match name {
            "builtin.module" => {
                self.begin_module(start)?;
                self.cursor.expect("(")?;
                self.cursor.expect("{")?;
                while !self.cursor.eat("}") {
                    self.item()?;
                }
                self.cursor.expect(")")?;
            }
            "func.func" => {
                self.cursor.expect("(")?;
                self.cursor.expect("{")?;
                self.scopes.clear();
                self.scopes.push(HashMap::new());
                body = if self.cursor.eat("}") { None } else { Some(self.region(Vec::new())?) };
                self.cursor.expect(")")?;
            }
            "sdy.mesh" => {}
            _ => return Err(self.unknown_item(start, name)),
        }
        if self.cursor.sees("{") {
            dictionaries.push(self.cursor.dictionary()?);
        }
        self.cursor.expect(":")?;
        self.cursor.type_text()?;
        self.location()?;
        if name == "builtin.module" {
            if let Some(name) = self.entry(&dictionaries, "sym_name") {
                self.name = decoded(self.cursor.text(name));
            }
            self.dictionaries.extend(dictionaries);
        } else if name == "func.func" {
            self.generic_function(start, &dictionaries, body)?;
        }
        Ok(())
    }

    /// Returns the range of the value of the entry `name`, from the first of the dictionaries that
    /// has such an entry.
    fn entry(&self, dictionaries: &[TextRange], name: &str) -> Option<TextRange> {
        dictionaries.iter().find_map(|range| find_entry(&self.cursor, range, name))
    }

    /// Adds a function in the generic form. In this form, its name, its types and the dictionaries
    /// of its arguments and results are attributes.
    fn generic_function(
        &mut self,
        start: usize,
        dictionaries: &[TextRange],
        body: Option<MlirRegion<'a>>,
    ) -> Result<()> {
        let required = |name: &str| {
            let missing = || self.cursor.error(start, format!("expected an attribute `{name}`"));
            self.entry(dictionaries, name).ok_or_else(missing)
        };
        let (name, signature) = (required("sym_name")?, required("function_type")?);
        let name = decoded(self.cursor.text(name));
        let visibility = self.entry(dictionaries, "sym_visibility");
        let is_private = visibility.is_some_and(|range| self.cursor.text(range) != "\"public\"");
        let mut cursor = self.cursor.part(signature);
        cursor.expect("(")?;
        let mut types = Vec::new();
        cursor.list(")", |cursor| {
            types.push(self.types.read(cursor)?);
            Ok(())
        })?;
        cursor.expect("->")?;
        let mut results = Vec::new();
        if cursor.eat("(") {
            cursor.list(")", |cursor| {
                results.push(self.types.read(cursor)?);
                Ok(())
            })?;
        } else {
            results.push(self.types.read(&mut cursor)?);
        }
        if let Some(body) = &body {
            let given =
                body.arguments.iter().map(|&value| self.types.shape(self.value_type(value)));
            if !given.eq(types.iter().map(|&number| self.types.shape(number))) {
                let reason = "expected a block with the arguments of `function_type`";
                return Err(self.cursor.error(start, reason));
            }
        }
        let arguments = self.dictionary_list(self.entry(dictionaries, "arg_attrs"), types.len())?;
        let of_results =
            self.dictionary_list(self.entry(dictionaries, "res_attrs"), results.len())?;
        let results = results.into_iter().zip(of_results).collect();
        self.functions.push(MlirFunction { start, name, is_private, arguments, results, body });
        Ok(())
    }

    /// Parses a list of dictionaries, one for each of `count` arguments or results. The result has
    /// `None` for each one that is missing.
    fn dictionary_list(
        &self,
        range: Option<TextRange>,
        count: usize,
    ) -> Result<Vec<Option<TextRange>>> {
        let mut ranges = Vec::new();
        if let Some(range) = range {
            let mut cursor = self.cursor.part(range);
            cursor.expect("[")?;
            cursor.list("]", |cursor| {
                ranges.push(Some(cursor.dictionary()?));
                Ok(())
            })?;
        }
        ranges.resize(count, None);
        Ok(ranges)
    }

    /// Counts one more operation, argument or result. Returns an error if there are too many, or if
    /// the text up to here is too long.
    pub(super) fn counted(&mut self) -> Result<()> {
        self.count += 1;
        let (given, limit) = (self.count, MAX_INSTRUCTIONS);
        if given > limit {
            return Err(HloError::TooManyInstructions { given, limit });
        }
        let (given, limit) = (self.cursor.position() - self.literal_bytes, MAX_MODULE_BYTES);
        if given > limit {
            return Err(HloError::TooManyBytes { given, limit });
        }
        Ok(())
    }

    /// Adds a value for each of the given types, and returns the range of the new values.
    pub(super) fn add_values(&mut self, types: &[usize]) -> Result<Range<ValueId>> {
        let first = self.next_value();
        for &number in types {
            self.counted()?;
            self.values.push(number);
        }
        Ok(first..self.next_value())
    }

    fn next_value(&self) -> ValueId {
        ValueId::try_from(self.values.len()).expect("their number is limited")
    }

    /// Gives a name to one or several values. The name is visible in the innermost open region and
    /// in regions inside it. Returns an error if the name is already visible.
    pub(super) fn define(
        &mut self,
        start: usize,
        name: &'a str,
        values: Range<ValueId>,
    ) -> Result<()> {
        if self.scopes.iter().any(|scope| scope.contains_key(name)) {
            let reason = format!("expected a new name, got `%{}` again", excerpt(name, 40));
            return Err(self.cursor.error(start, reason));
        }
        let scope = self.scopes.last_mut().expect("a function is open");
        scope.insert(name, values);
        Ok(())
    }

    /// Parses a use of a value, such as `%0`, or `%0#1` if `%0` names several results.
    pub(super) fn operand(&mut self) -> Result<ValueId> {
        let start = self.cursor.start()?;
        self.cursor.expect("%")?;
        let name = self.cursor.suffix("the name of a value")?;
        let Some(values) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) else {
            let reason = format!("expected a value from before, got `%{}`", excerpt(name, 40));
            return Err(self.cursor.error(start, reason));
        };
        let values = values.clone();
        let number = if self.cursor.rest().starts_with('#') {
            self.cursor.expect("#")?;
            self.cursor.word(|letter| letter.is_ascii_digit()).0.parse().unwrap_or(u32::MAX)
        } else {
            0
        };
        let found = values.start.checked_add(number).filter(|value| values.contains(value));
        found.ok_or_else(|| {
            let (given, count) = (excerpt(name, 40), values.len());
            let reason = format!("expected one of the {count} results of `%{given}`");
            self.cursor.error(start, reason)
        })
    }

    /// Parses the declaration of an argument, such as `%arg0: tensor<2xf32>`, and returns its
    /// value.
    pub(super) fn argument(&mut self) -> Result<ValueId> {
        let start = self.cursor.start()?;
        self.cursor.expect("%")?;
        let name = self.cursor.suffix("the name of a value")?;
        self.cursor.expect(":")?;
        let number = self.types.read(&mut self.cursor)?;
        let value = self.add_values(&[number])?;
        self.define(start, name, value.clone())?;
        Ok(value.start)
    }

    /// Opens a region. This is separate from [`Self::region`], because in some syntaxes the
    /// arguments get their names before the brace of the region. The caller must close it with
    /// [`Self::close_region`].
    pub(super) fn open_region(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_REGION_DEPTH {
            let reason = format!("expected regions at most {MAX_REGION_DEPTH} deep, got more");
            return Err(self.cursor.not_supported(self.cursor.position(), reason));
        }
        self.scopes.push(HashMap::new());
        Ok(())
    }

    /// Closes the innermost open region, so that its names are no longer visible.
    pub(super) fn close_region(&mut self) {
        self.depth -= 1;
        self.scopes.pop();
    }

    /// Parses a region that has no arguments before its brace. The caller has already consumed the
    /// opening brace.
    pub(super) fn scoped_region(&mut self) -> Result<MlirRegion<'a>> {
        self.open_region()?;
        let region = self.region(Vec::new())?;
        self.close_region();
        Ok(region)
    }

    /// Parses the block of the innermost open region, through the closing brace. The caller has
    /// already consumed the opening brace and the declarations of `arguments`; the label of the
    /// block may declare more.
    pub(super) fn region(&mut self, arguments: Vec<ValueId>) -> Result<MlirRegion<'a>> {
        let first = arguments.first().copied().unwrap_or_else(|| self.next_value());
        let mut region = MlirRegion { arguments, values: first..first, operations: Vec::new() };
        if self.cursor.eat("^") {
            self.cursor.suffix("the name of a block")?;
            if self.cursor.eat("(") {
                let mut is_first = true;
                while !self.cursor.eat(")") {
                    if !std::mem::take(&mut is_first) {
                        self.cursor.expect(",")?;
                    }
                    region.arguments.push(self.argument()?);
                    self.location()?;
                }
            }
            self.cursor.expect(":")?;
        }
        loop {
            let start = self.cursor.start()?;
            if self.cursor.eat("}") {
                break;
            }
            if self.cursor.sees("^") {
                let reason = "expected a region of one block, got another";
                return Err(self.cursor.not_supported(start, reason));
            }
            if region.operations.last().is_some_and(MlirOperation::is_return) {
                return Err(self.cursor.error(start, "expected `}` after the return"));
            }
            let operation = self.operation(start)?;
            region.operations.push(operation);
        }
        if !region.operations.last().is_some_and(MlirOperation::is_return) {
            let end = self.cursor.position() - 1;
            return Err(self.cursor.error(end, "expected a return at the end of the region"));
        }
        region.values.end = self.next_value();
        Ok(region)
    }

    /// Consumes a location, such as `loc("x")`, and returns the range inside its parentheses.
    /// Returns `None` if there is none.
    pub(super) fn location(&mut self) -> Result<Option<TextRange>> {
        if !self.cursor.eat_keyword("loc") {
            return Ok(None);
        }
        if !self.cursor.sees("(") {
            return Err(self.cursor.unexpected("`(`"));
        }
        let range = self.cursor.group()?;
        Ok(Some(range.start + 1..range.end - 1))
    }
}

/// Skips the name of a resource, or of a section of resources.
fn resource_name(cursor: &mut Cursor<'_>) -> Result<()> {
    if cursor.sees("\"") {
        return cursor.string().map(drop);
    }
    match cursor.keyword() {
        "" => Err(cursor.unexpected("the name of a resource")),
        _ => Ok(()),
    }
}
