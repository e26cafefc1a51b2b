//! Parses operations, in the generic form, which is the same for all operations, or in the syntax
//! that each operation defines for itself.
//!
//! The syntaxes of StableHLO's operations are defined in `StablehloOps.td` and
//! `AssemblyFormat.cpp`. All consist of the same components in different orders: operands,
//! `name = value`, keywords, brackets, a dictionary, and the types after a colon. So a single
//! parser collects components until it sees the types. It accepts all operations, and also some
//! texts that MLIR would refuse.

use std::ops::Range;

use smallvec::SmallVec;

use super::{
    cursor::TextRange,
    parse::MlirParser,
    syntax::{MlirOperation, MlirRegion, ValueId, is_return},
};
use crate::{hlo::HloError, shape::Shape, text::excerpt};

type Result<T> = std::result::Result<T, HloError>;

/// The names of the attributes that stridec needs from an operation's own syntax, in which they
/// have the form `name = value`, such as `dims = [1, 0]`. All others are skipped.
const FIELDS: [&str; 7] = ["dims", "dim", "sizes", "low", "high", "interior", "dimensions"];

/// The dialects whose operations are accepted in their own syntax. Operations of other dialects are
/// accepted in the generic form only, because their syntaxes may have other components.
const DIALECTS: [&str; 5] = ["stablehlo", "mhlo", "chlo", "sdy", "func"];

/// The operations of StableHLO whose syntax has keywords without a value, each with its keyword. An
/// empty keyword allows any, because a comparison has one for its direction, such as `LT`, and one
/// for its type, such as `FLOAT`.
const KEYWORDS: [(&str, &str); 2] = [(".compare", ""), (".reduce", "across")];

/// The types of an operation's operands and results, as indices into
/// [`MlirTypes`](super::types::MlirTypes).
struct MlirSignature {
    /// The types of the operands, or `None` if the syntax omits them.
    operands: Option<SmallVec<[usize; 3]>>,
    results: SmallVec<[usize; 1]>,
}

/// The components of an operation in its own syntax that were parsed so far.
#[derive(Default)]
struct MlirParts {
    operands: SmallVec<[ValueId; 3]>,
    /// The initial values of a reduction. In the text, each follows its input, but in the list of
    /// operands, they follow all inputs.
    starts: SmallVec<[ValueId; 1]>,
    /// The attributes, as in [`MlirOperation::fields`].
    fields: SmallVec<[(&'static str, TextRange); 1]>,
    dictionaries: SmallVec<[TextRange; 1]>,
    /// The ranges of the names of a loop's arguments. The text gives them once, before the two
    /// regions that use them.
    loop_arguments: Vec<TextRange>,
    /// The number of keywords so far.
    keywords: usize,
    /// True if a comma is required before the next operand or attribute, because the last component
    /// was an operand, an attribute or a keyword.
    needs_comma: bool,
}

impl<'a> MlirParser<'a> {
    /// Parses an operation, with the names of its results before it and its location after it.
    /// `start` is the position of the operation.
    pub(super) fn operation(&mut self, start: usize) -> Result<MlirOperation<'a>> {
        self.counted()?;
        let mut names: SmallVec<[(usize, &'a str, u32); 1]> = SmallVec::new();
        if self.cursor.sees("%") {
            loop {
                let position = self.cursor.start()?;
                self.cursor.expect("%")?;
                let name = self.cursor.suffix("the name of a value")?;
                let count = if self.cursor.eat(":") {
                    self.cursor.number("a number of results")?
                } else {
                    1
                };
                let count = u32::try_from(count).ok().filter(|&count| count > 0);
                names.push((
                    position,
                    name,
                    count.ok_or_else(|| {
                        self.cursor.error(position, "expected a number of results, at least 1")
                    })?,
                ));
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.expect("=")?;
        }
        let count = names.iter().map(|&(_, _, count)| u64::from(count)).sum();
        let mut operation = if self.cursor.sees("\"") {
            self.generic_operation(start)?
        } else {
            self.own_syntax(start, count)?
        };
        operation.location = self.location()?;
        let results = operation.results.clone();
        if !names.is_empty() && results.len() as u64 != count {
            let given = results.len();
            let reason = format!("expected {given} names, one for each result, got {count}");
            return Err(self.cursor.error(start, reason));
        }
        let mut next = results.start;
        for (position, name, count) in names {
            self.define(position, name, next..next + count)?;
            next += count;
            if operation.result_name.is_empty() {
                operation.result_name = name;
            }
        }
        Ok(operation)
    }

    /// Parses an operation in the generic form, such as `"stablehlo.add"(%0, %1) : (t, t) -> t`.
    fn generic_operation(&mut self, start: usize) -> Result<MlirOperation<'a>> {
        let range = self.cursor.string()?;
        let name = self.cursor.text(range.start + 1..range.end - 1);
        let mut operands = SmallVec::new();
        self.cursor.expect("(")?;
        while !self.cursor.eat(")") {
            if !operands.is_empty() {
                self.cursor.expect(",")?;
            }
            operands.push(self.operand()?);
        }
        if self.cursor.sees("[") {
            let reason = "expected an operation without successors";
            return Err(self.cursor.not_supported(start, reason));
        }
        let mut dictionaries = SmallVec::new();
        if self.cursor.sees("<{") {
            dictionaries.push(self.counted_dictionary()?);
        }
        let mut regions = Vec::new();
        if self.cursor.eat("(") {
            loop {
                self.cursor.expect("{")?;
                regions.push(if self.cursor.eat("}") {
                    MlirRegion::default()
                } else {
                    self.scoped_region()?
                });
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.expect(")")?;
        }
        if self.cursor.sees("{") {
            dictionaries.push(self.counted_dictionary()?);
        }
        self.cursor.expect(":")?;
        let types = self.cursor.start()?;
        let signature = self.signature(name, operands.len())?;
        let results = self.checked(types, &operands, &signature)?;
        Ok(MlirOperation {
            start,
            name,
            result_name: "",
            results,
            operands,
            fields: SmallVec::new(),
            dictionaries,
            regions,
            location: None,
        })
    }

    /// Consumes a dictionary. If it begins with the value of a constant, adds its bytes to
    /// `literal_bytes`, because the limit on the length of the text does not include constants.
    fn counted_dictionary(&mut self) -> Result<TextRange> {
        let range = self.cursor.dictionary()?;
        if self.cursor.text(range.clone()).starts_with("value = dense<") {
            self.literal_bytes += range.len();
        }
        Ok(range)
    }

    /// Checks the types that the text of an operation gives for its operands. Adds a value for each
    /// of its results, and returns these values.
    fn checked(
        &mut self,
        start: usize,
        operands: &[ValueId],
        signature: &MlirSignature,
    ) -> Result<Range<ValueId>> {
        if let Some(types) = &signature.operands {
            if types.len() != operands.len() {
                let (expected, given) = (operands.len(), types.len());
                let reason =
                    format!("expected {expected} types, one for each operand, got {given}");
                return Err(self.cursor.error(start, reason));
            }
            for (number, (&operand, &given)) in operands.iter().zip(types).enumerate() {
                let (expected, given) =
                    (self.types.shape(self.value_type(operand)), self.types.shape(given));
                if expected != given {
                    let reason =
                        format!("expected {expected}, the type of operand {number}, got {given}");
                    return Err(self.cursor.error(start, reason));
                }
            }
        }
        self.add_values(&signature.results)
    }

    /// Parses the types of an operation after its colon. `operands` is the number of its operands.
    /// The usual form is `(operands) -> results`. Some operations have a short form, which gives
    /// one type for all operands and results, or only the type of the result.
    fn signature(&mut self, name: &str, operands: usize) -> Result<MlirSignature> {
        let listed = if self.cursor.eat("(") {
            let listed = self.type_list(Some(")"))?;
            if !self.cursor.sees("->") {
                return Err(self.cursor.unexpected("`->`"));
            }
            listed
        } else {
            self.type_list(None)?
        };
        if self.cursor.eat("->") {
            let results = if self.cursor.eat("(") {
                self.type_list(Some(")"))?
            } else {
                SmallVec::from_slice(&[self.types.read(&mut self.cursor)?])
            };
            return Ok(MlirSignature {
                operands: Some(listed),
                results: results.into_iter().collect(),
            });
        }
        let base = name.rsplit('.').next().unwrap_or(name);
        let all = |number: usize| Some(SmallVec::from_elem(number, operands));
        Ok(match (base, listed.as_slice()) {
            ("return", _) => MlirSignature { operands: Some(listed), results: SmallVec::new() },
            ("sharding_group", &[one]) => {
                MlirSignature { operands: all(one), results: SmallVec::new() }
            }
            ("select", &[predicate, value]) if operands == 3 => MlirSignature {
                operands: Some(SmallVec::from_slice(&[predicate, value, value])),
                results: SmallVec::from_slice(&[value]),
            },
            ("complex" | "tuple", &[result]) => {
                MlirSignature { operands: None, results: SmallVec::from_slice(&[result]) }
            }
            (_, &[one]) => {
                MlirSignature { operands: all(one), results: SmallVec::from_slice(&[one]) }
            }
            _ => {
                MlirSignature { results: listed.iter().copied().collect(), operands: Some(listed) }
            }
        })
    }

    /// Parses types that are separated by commas. If `close` is given, also consumes `close` after
    /// them, and the list may be empty.
    fn type_list(&mut self, close: Option<&str>) -> Result<SmallVec<[usize; 3]>> {
        let mut types = SmallVec::new();
        if close.is_some_and(|close| self.cursor.eat(close)) {
            return Ok(types);
        }
        loop {
            types.push(self.types.read(&mut self.cursor)?);
            if !self.cursor.eat(",") {
                break;
            }
        }
        if let Some(close) = close {
            self.cursor.expect(close)?;
        }
        Ok(types)
    }

    /// Parses an operation in its own syntax. `count` is the number of results that the text names;
    /// an operation without operands and results may have no types.
    fn own_syntax(&mut self, start: usize, count: u64) -> Result<MlirOperation<'a>> {
        let name = self.cursor.keyword();
        match name.split_once('.') {
            Some((dialect, _)) if DIALECTS.contains(&dialect) => {}
            None if matches!(name, "call" | "return") => {}
            None if name.is_empty() => return Err(self.cursor.unexpected("an operation")),
            dialect => {
                let accepted = "expected an operation of stablehlo, mhlo, chlo, sdy or func";
                let reason = format!("{accepted}, got `{}`", excerpt(name, 40));
                return Err(match dialect {
                    None => self.cursor.error(start, reason),
                    Some(_) => self.cursor.not_supported(start, reason),
                });
            }
        }
        if self.cursor.sees("<") {
            self.cursor.group()?;
        }
        let mut parts = MlirParts::default();
        let mut regions = Vec::new();
        let mut has_types = false;
        if is_return(name) {
            self.returned(&mut parts)?;
            has_types = self.cursor.eat(":");
        } else {
            while !has_types && !self.part(name, &mut parts, &mut regions)? {
                has_types = self.cursor.eat(":");
            }
        }
        parts.operands.append(&mut parts.starts);
        let types = self.cursor.start()?;
        let signature = if has_types {
            self.signature(name, parts.operands.len())?
        } else if parts.operands.is_empty() && count == 0 {
            MlirSignature { operands: None, results: SmallVec::new() }
        } else {
            return Err(self.cursor.unexpected("`:` and the types"));
        };
        let results = self.checked(types, &parts.operands, &signature)?;
        if has_types {
            self.regions_after_types(&mut parts, &mut regions)?;
        }
        if !parts.loop_arguments.is_empty() && regions.is_empty() {
            return Err(self.cursor.unexpected("`cond`"));
        }
        let MlirParts { operands, fields, dictionaries, .. } = parts;
        if let Some((_, applied)) = fields.iter().find(|(field, _)| *field == "applies") {
            let applied = self.cursor.text(applied.clone());
            regions.push(self.applied_region(start, &operands, applied)?);
        }
        Ok(MlirOperation {
            start,
            name,
            result_name: "",
            results,
            operands,
            fields,
            dictionaries,
            regions,
            location: None,
        })
    }

    /// Parses the operands of a return, and skips its dictionary.
    fn returned(&mut self, parts: &mut MlirParts) -> Result<()> {
        while self.cursor.sees("%") {
            parts.operands.push(self.operand()?);
            if !self.cursor.eat(",") {
                break;
            }
        }
        if self.cursor.sees("{") {
            self.cursor.dictionary()?;
        }
        Ok(())
    }

    /// Parses the next component of an operation in its own syntax. Returns true if the operation
    /// ends here and has no types.
    fn part(
        &mut self,
        name: &str,
        parts: &mut MlirParts,
        regions: &mut Vec<MlirRegion<'a>>,
    ) -> Result<bool> {
        let has_comma = self.cursor.eat(",");
        let start = self.cursor.start()?;
        let next = self.cursor.rest().chars().next();
        // The syntaxes of CHLO and Shardy are not checked for commas and keywords.
        let is_strict = !name.starts_with("chlo.") && !name.starts_with("sdy.");
        let is_listed = next.is_some_and(|letter| letter == '%' || letter.is_ascii_alphabetic());
        let had_value = std::mem::take(&mut parts.needs_comma);
        if is_strict && has_comma && !is_listed && next != Some('(') {
            return Err(self.cursor.unexpected("an operand or an attribute"));
        }
        if is_strict && had_value && is_listed && !has_comma {
            return Err(self.cursor.unexpected("`,` or `:`"));
        }
        let field = |parts: &mut MlirParts, name: &'static str, range: TextRange| {
            if parts.fields.iter().all(|(field, _)| *field != name) {
                parts.fields.push((name, range));
            }
        };
        match next {
            Some(':') => {}
            Some('%') => {
                parts.operands.push(self.operand()?);
                parts.needs_comma = true;
            }
            Some('(') => return self.parenthesized(name, parts, regions),
            Some('{') if self.begins_block() => {
                self.cursor.expect("{")?;
                regions.push(self.scoped_region()?);
            }
            Some('{') => parts.dictionaries.push(self.counted_dictionary()?),
            Some('[') => {
                let range = self.cursor.group()?;
                field(parts, "ranges", range);
            }
            Some('<') => {
                self.cursor.group()?;
            }
            Some('"') => {
                self.cursor.string()?;
            }
            Some('@') => {
                self.cursor.symbol()?;
                field(parts, "symbol", start..self.cursor.position());
            }
            _ => {
                let keyword = self.cursor.keyword();
                let end = self.cursor.position();
                if keyword.is_empty() {
                    return Err(self.cursor.unexpected("`:` and the types"));
                }
                if keyword.starts_with("dense") && self.cursor.rest().starts_with('<') {
                    let group = self.cursor.group()?;
                    self.literal_bytes += group.len();
                    field(parts, "value", start..group.end);
                } else if self.cursor.eat("=") {
                    let range = self.cursor.attribute_value()?;
                    parts.needs_comma = true;
                    if let Some(&known) = FIELDS.iter().find(|name| **name == keyword) {
                        field(parts, known, range);
                    }
                } else if keyword == "applies" {
                    let start = self.cursor.start()?;
                    if self.cursor.keyword().is_empty() {
                        return Err(self.cursor.unexpected("the name of an operation"));
                    }
                    field(parts, "applies", start..self.cursor.position());
                } else if matches!(keyword, "cond" | "do") && self.cursor.sees("{") {
                    self.loop_region(parts, regions)?;
                    return Ok(keyword == "do");
                } else if is_strict
                    && !KEYWORDS.iter().any(|&(of, word)| {
                        name.ends_with(of) && (word.is_empty() || word == keyword)
                    })
                {
                    self.cursor.set_position(start);
                    return Err(self.cursor.unexpected("an operand, an attribute or `:`"));
                } else if parts.keywords < 2 {
                    field(parts, ["first", "second"][parts.keywords], start..end);
                    parts.keywords += 1;
                    parts.needs_comma = keyword != "across";
                }
            }
        }
        Ok(false)
    }

    /// Returns true if the next brace opens a region, which then begins with the label of a block,
    /// such as `^bb0`. Otherwise the brace opens a dictionary.
    fn begins_block(&self) -> bool {
        let mut cursor = self.cursor.clone();
        cursor.eat("{") && cursor.sees("^")
    }

    /// Parses a component in parentheses. It contains operands, the pairs of a reduction or a loop,
    /// regions, or the arguments of a region that follows. Returns true if the operation ends after
    /// this component.
    fn parenthesized(
        &mut self,
        name: &str,
        parts: &mut MlirParts,
        regions: &mut Vec<MlirRegion<'a>>,
    ) -> Result<bool> {
        let start = self.cursor.start()?;
        self.cursor.expect("(")?;
        if self.cursor.eat(")") {
            return Ok(name.ends_with(".optimization_barrier"));
        }
        if self.cursor.sees("%") && self.names_an_argument() {
            self.cursor.set_position(start);
            regions.push(self.region_with_arguments()?);
            return Ok(false);
        }
        loop {
            let start = self.cursor.start()?;
            if self.cursor.eat("{") {
                regions.push(self.scoped_region()?);
            } else if self.cursor.sees("%") {
                self.parenthesized_operand(parts)?;
            } else if !self.cursor.keyword().is_empty() {
                self.cursor.expect("=")?;
                self.cursor.attribute_value()?;
            } else {
                return Err(self.cursor.error(start, "expected an operand"));
            }
            if self.cursor.eat(")") {
                return Ok(false);
            }
            if !self.cursor.eat(",") {
                return Err(self.cursor.unexpected("`,` or `)`"));
            }
        }
    }

    /// Returns true if the next value is the declaration of an argument, such as `%arg0: …`, and
    /// not an operand.
    fn names_an_argument(&self) -> bool {
        let mut cursor = self.cursor.clone();
        cursor.eat("%") && cursor.suffix("").is_ok() && cursor.sees(":")
    }

    /// Parses an operand in parentheses: `%0`, or the pair `%0 init: %1` of a reduction, or the
    /// pair `%arg = %0` of a loop.
    fn parenthesized_operand(&mut self, parts: &mut MlirParts) -> Result<()> {
        let start = self.cursor.start()?;
        let mut ahead = self.cursor.clone();
        ahead.expect("%")?;
        ahead.suffix("the name of a value")?;
        let end = ahead.position();
        if ahead.eat("=") {
            self.cursor = ahead;
            parts.loop_arguments.push(start + 1..end);
            parts.operands.push(self.operand()?);
            return Ok(());
        }
        parts.operands.push(self.operand()?);
        if self.cursor.eat_keyword("init") {
            self.cursor.expect(":")?;
            parts.starts.push(self.operand()?);
        }
        Ok(())
    }

    /// Parses a region whose arguments precede its brace, in one or several lists in parentheses.
    ///
    /// A reduction of several arrays has a list for each array, with the two arguments that it
    /// combines. In the region, the first arguments of all lists precede the second ones.
    fn region_with_arguments(&mut self) -> Result<MlirRegion<'a>> {
        self.open_region()?;
        let mut lists: Vec<Vec<ValueId>> = Vec::new();
        while self.cursor.eat("(") {
            let mut arguments = Vec::new();
            while !self.cursor.eat(")") {
                if !arguments.is_empty() {
                    self.cursor.expect(",")?;
                }
                arguments.push(self.argument()?);
                self.location()?;
            }
            lists.push(arguments);
        }
        self.cursor.expect("{")?;
        let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
        let transposed = match lists.len() {
            0 | 1 => lists.into_iter().flatten().collect(),
            _ => {
                let at = |place| lists.iter().filter_map(move |list| list.get(place).copied());
                (0..longest).flat_map(at).collect()
            }
        };
        let region = self.region(transposed)?;
        self.close_region();
        Ok(region)
    }

    /// Parses the components after the types: the dictionary and the two regions of a loop, or the
    /// region of a reduction.
    fn regions_after_types(
        &mut self,
        parts: &mut MlirParts,
        regions: &mut Vec<MlirRegion<'a>>,
    ) -> Result<()> {
        if self.cursor.eat_keyword("attributes") {
            parts.dictionaries.push(self.cursor.dictionary()?);
        }
        if self.cursor.eat_keyword("reducer") {
            regions.push(self.region_with_arguments()?);
        }
        for keyword in ["cond", "do"] {
            if self.cursor.eat_keyword(keyword) {
                self.loop_region(parts, regions)?;
            }
        }
        Ok(())
    }

    /// Parses a region of a loop from its opening brace on. `parts` has the names of its arguments.
    /// They have the types of the operands.
    fn loop_region(&mut self, parts: &MlirParts, regions: &mut Vec<MlirRegion<'a>>) -> Result<()> {
        self.cursor.expect("{")?;
        self.open_region()?;
        let types: Vec<usize> =
            parts.operands.iter().map(|&value| self.value_type(value)).collect();
        let values = self.add_values(&types)?;
        for (value, range) in values.clone().zip(&parts.loop_arguments) {
            let name = self.cursor.text(range.clone());
            self.define(range.start, name, value..value + 1)?;
        }
        let region = self.region(values.collect())?;
        self.close_region();
        regions.push(region);
        Ok(())
    }

    /// Builds the region of a reduction in the short form, in which the text only names an
    /// operation, such as `stablehlo.add`. The region applies this operation to its two scalar
    /// arguments, and returns the result.
    fn applied_region(
        &mut self,
        start: usize,
        operands: &[ValueId],
        name: &'a str,
    ) -> Result<MlirRegion<'a>> {
        let Some(&operand) = operands.first() else {
            return Err(self.cursor.error(start, "expected at least one operand, got none"));
        };
        let element_type = self.types.shape(self.value_type(operand)).element_type();
        let scalar = Shape::new(element_type, [], None)
            .map_err(|error| self.cursor.error(start, error.to_string()))?;
        let number = self.types.add(scalar);
        let values = self.add_values(&[number, number, number])?;
        let plain = |name, operands: &[ValueId], results| MlirOperation {
            start,
            name,
            result_name: "",
            results,
            operands: SmallVec::from_slice(operands),
            fields: SmallVec::new(),
            dictionaries: SmallVec::new(),
            regions: Vec::new(),
            location: None,
        };
        let (one, two, result) = (values.start, values.start + 1, values.start + 2);
        let applied = plain(name, &[one, two], result..result + 1);
        let returned = plain("stablehlo.return", &[result], result..result);
        let operations = vec![applied, returned];
        Ok(MlirRegion { arguments: vec![one, two], values, operations })
    }
}
