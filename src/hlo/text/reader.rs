//! Parses HLO text in one pass: computations, their instructions, and the names by which
//! instructions refer to each other.
//!
//! The parser passes each instruction to a [`TextTarget`] as soon as it is parsed. There are two
//! targets, the builder of modules and the memory report. Both use this parser, so that they accept
//! the same syntax.
//!
//! A text may also be only a list of instructions, without a computation around them, such as a few
//! lines that a user copied from a dump. This is called a *fragment*. It becomes a module with one
//! computation.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use super::{
    attributes, literal,
    log::without_log_prefixes,
    source,
    undeclared::Undeclared,
    written::{AsyncPart, WrittenAttribute, WrittenInstruction, has_callees},
};
use crate::{
    hlo::{
        HloError, InstructionError, alias::DonatedBuffers, infer::Callees,
        source_line::StackFrames, text::cursor::Cursor,
    },
    proto::hlo as proto,
    shape::{ElementType, FieldPath, Shape, ShapeError, queries},
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

/// The maximum depth of nested computations and operands. Both can be written inside an
/// instruction, and the parser recurses for each level, so an unlimited depth could overflow the
/// stack.
const MAX_NESTED: usize = 64;

/// The names of the tables of source files, locations and stack frames, which recent dumps contain
/// before the computations.
const TABLES: [&str; 4] = ["FileNames", "FunctionNames", "FileLocations", "StackFrames"];

/// The name of the module and of its only computation if the text is a fragment.
const PLACEHOLDER_NAME: &str = "_";

/// A receiver of the instructions of a text, in the order in which they are parsed. Instructions
/// and computations are referred to by the indices that the target returns.
pub(in crate::hlo) trait TextTarget: Callees {
    /// True if the target needs the values of constants. If it is false, the parser skips them.
    const HAS_LITERALS: bool;

    /// Begins a computation. If another one is open, it is suspended until the new one ends,
    /// because a text may contain a computation inside an instruction of its caller.
    fn begin(&mut self, name: &str);

    /// Ends the innermost open computation. `root` is the index of its root instruction. Returns
    /// the index of the computation in the module.
    fn end(&mut self, name: &str, root: usize) -> Result<usize>;

    /// Adds an instruction to the innermost open computation, and returns its index in that
    /// computation.
    fn add(&mut self, instruction: WrittenInstruction) -> Result<usize>;

    /// Returns the shape of an instruction of the innermost open computation.
    fn shape(&self, instruction: usize) -> &Shape;

    /// Adds the path of the next instruction, whose name is `name`, to an error about it.
    fn locate(&self, name: &str, error: InstructionError) -> HloError;

    /// Returns an error if the target does not accept a text of this length in bytes. The bytes of
    /// constants are not included.
    fn within_limit(&self, bytes: usize) -> Result<()>;

    /// Returns true if a fragment may refer to operands and computations that it does not define.
    /// The memory report does not need them.
    fn takes_fragments(&self) -> bool;
}

/// The contents of a text except its instructions, which the [`TextTarget`] receives.
#[derive(Default)]
pub(in crate::hlo) struct TextModule {
    pub(in crate::hlo) name: String,
    /// The shapes of the entry computation's parameters and result, or `None` if the text does not
    /// declare them.
    pub(in crate::hlo) buffers: Option<(Vec<Shape>, Shape)>,
    /// The buffers of parameters that results may reuse.
    pub(in crate::hlo) donated: DonatedBuffers,
    /// The index of the entry computation.
    pub(in crate::hlo) entry: usize,
}

/// Parses a whole text, passes its instructions to `target`, and returns the rest of its contents.
pub(in crate::hlo) fn read_text<T: TextTarget>(text: &str, target: &mut T) -> Result<TextModule> {
    let text = without_log_prefixes(text);
    let mut reader = TextReader {
        cursor: Cursor::new(&text),
        target,
        computations: HashMap::new(),
        count: 0,
        shapes: HashMap::new(),
        frames: StackFrames::default(),
        literal_bytes: 0,
        nested: 0,
        is_alone: false,
    };
    reader.module()
}

/// The state of parsing a text.
struct TextReader<'a, 'b, T> {
    cursor: Cursor<'a>,
    target: &'b mut T,
    /// The index of each computation, by name.
    computations: HashMap<&'a str, usize>,
    /// The number of computations that have ended so far. It is also the index of the next one.
    count: usize,
    /// The shapes so far, by their text. Most shapes occur many times in a text, and are parsed
    /// only once.
    shapes: HashMap<&'a str, Arc<Shape>>,
    /// The tables of source locations, to which the metadata of instructions refers.
    frames: StackFrames,
    /// The number of bytes so far that belong to the values of constants, because the limit on the
    /// length of a text does not include them.
    literal_bytes: usize,
    /// The number of levels of computations and operands around the current position that are
    /// written inside an instruction.
    nested: usize,
    /// True if the text is a fragment.
    is_alone: bool,
}

/// The state of parsing one computation.
#[derive(Default)]
struct Scope<'a> {
    /// The index of each instruction so far, by name.
    names: HashMap<Cow<'a, str>, usize>,
    /// The number of parameters so far.
    parameters: usize,
    /// The instruction that is marked `ROOT`, if any so far.
    root: Option<usize>,
    /// The last instruction so far. It becomes the root if no instruction is marked `ROOT`.
    last: Option<usize>,
    /// The index of the computation that each asynchronous instruction calls, by the index of the
    /// instruction. An update or a done may omit the computation in the text, and finds it here.
    wrapped: HashMap<usize, usize>,
    /// The suffix of the last generated name, which makes generated names distinct.
    anonymous: usize,
}

impl<'a, T: TextTarget> TextReader<'a, '_, T> {
    /// Parses the whole text. Returns its contents except the instructions, which go to the target.
    fn module(&mut self) -> Result<TextModule> {
        let mut module = TextModule::default();
        self.cursor.start()?;
        if self.cursor.eat_word("HloModule") {
            self.header(&mut module)?;
        } else if self.is_instruction() {
            self.is_alone = true;
            module.entry = self.instructions_alone()?;
            PLACEHOLDER_NAME.clone_into(&mut module.name);
            return Ok(module);
        }
        let mut entry = None;
        while !self.cursor.is_at_end() {
            if let Some(name) = TABLES.into_iter().find(|name| self.cursor.eat_word(name)) {
                let body = self.cursor.table_body()?;
                source::read_table(name, body, &mut self.frames);
                continue;
            }
            let start = self.cursor.start()?;
            let is_entry = self.cursor.eat_word("ENTRY");
            let computation = self.computation()?;
            if is_entry && entry.replace(computation).is_some() {
                return Err(self.cursor.error(start, "expected one `ENTRY`, got another"));
            }
        }
        // As in XLA, the last computation is the entry if none has the keyword `ENTRY`.
        match entry.or(self.count.checked_sub(1)) {
            Some(entry) => module.entry = entry,
            None => return Err(self.cursor.unexpected("`ENTRY` and a computation")),
        }
        Ok(module)
    }

    /// Parses the rest of the line that begins with `HloModule`: the name of the module, and
    /// attributes such as the shapes of its buffers.
    fn header(&mut self, module: &mut TextModule) -> Result<()> {
        self.cursor.name()?.clone_into(&mut module.name);
        while self.cursor.eat(",") {
            let (name, start, value) = self.attribute()?;
            let part = &mut self.cursor.over(start, value);
            match name {
                "entry_computation_layout" => module.buffers = Some(entry_layout(part)?),
                "input_output_alias" => {
                    module.donated.aliases = attributes::input_output_alias(part)?;
                }
                "buffer_donor" => module.donated.donors = attributes::buffer_donor(part)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Parses an attribute whose value contains no computation. Returns its name, and the position
    /// and text of its value.
    fn attribute(&mut self) -> Result<(&'a str, usize, &'a str)> {
        let name = self.cursor.expect_word("an attribute")?;
        self.cursor.expect("=")?;
        let (start, value) = match name {
            "literal" => self.cursor.literal_value()?,
            _ => self.cursor.value()?,
        };
        Ok((name, start, value))
    }

    /// Returns true if the text continues with an instruction, and false if it continues with a
    /// computation. Consumes nothing.
    fn is_instruction(&mut self) -> bool {
        let start = self.cursor.position();
        let is_instruction = self.cursor.eat_word("ROOT")
            || self.cursor.sees_shape()
            || self.cursor.name().is_ok() && self.cursor.sees("=");
        self.cursor.set_position(start);
        is_instruction
    }

    /// Parses a fragment, up to the end of the text. The instructions become a computation; returns
    /// its index.
    fn instructions_alone(&mut self) -> Result<usize> {
        self.target.begin(PLACEHOLDER_NAME);
        let mut scope = Scope::default();
        while !self.cursor.is_at_end() {
            self.statement(&mut scope)?;
        }
        let root = scope.root.or(scope.last).expect("an instruction comes next");
        self.end(PLACEHOLDER_NAME, root)
    }

    /// Parses a computation from its name on, and returns its index. The caller has already
    /// consumed `ENTRY`.
    fn computation(&mut self) -> Result<usize> {
        let start = self.cursor.start()?;
        let name = self.cursor.name()?;
        if self.cursor.sees("(") {
            self.cursor.balanced()?;
        }
        if self.cursor.eat("->") {
            self.cursor.shape_text()?;
        }
        self.cursor.expect("{")?;
        let computation = self.body(name, start)?;
        while self.cursor.eat(",") {
            self.attribute()?;
        }
        if self.computations.insert(name, computation).is_some() {
            let reason = format!("a computation before this one is called `{}`", shown(name));
            return Err(self.cursor.error(start, reason));
        }
        Ok(computation)
    }

    /// Parses the instructions of a computation, through the closing brace. Returns the index of
    /// the computation.
    fn body(&mut self, name: &str, start: usize) -> Result<usize> {
        self.target.begin(name);
        let mut scope = Scope::default();
        while !self.cursor.eat("}") {
            self.statement(&mut scope)?;
        }
        let Some(root) = scope.root.or(scope.last) else {
            return Err(self.cursor.error(start, "expected at least one instruction, got none"));
        };
        self.end(name, root).map_err(|error| located(self.cursor.line(start), error))
    }

    /// Ends the innermost open computation, and returns its index.
    fn end(&mut self, name: &str, root: usize) -> Result<usize> {
        self.count += 1;
        self.target.end(name, root)
    }

    /// Parses an instruction from its name on. In a fragment, the name and the `=` may be missing.
    fn statement(&mut self, scope: &mut Scope<'a>) -> Result<()> {
        let start = self.cursor.start()?;
        let is_root = self.cursor.eat_word("ROOT");
        let name = if self.is_alone && self.nested == 0 && self.cursor.sees_shape() {
            Self::anonymous(PLACEHOLDER_NAME, scope)
        } else {
            let name = self.cursor.name()?;
            self.cursor.expect("=")?;
            Cow::Borrowed(name)
        };
        let place = self.instruction(start, name, scope, true)?;
        scope.last = Some(place);
        if is_root && scope.root.replace(place).is_some() {
            return Err(self.cursor.error(start, "expected one `ROOT`, got another"));
        }
        Ok(())
    }

    /// Returns a name for an instruction that has none in the text. The name begins with `base`,
    /// and no instruction of the computation has it yet.
    fn anonymous(base: &str, scope: &mut Scope<'a>) -> Cow<'a, str> {
        let mut name = base.to_owned();
        while scope.names.contains_key(name.as_str()) {
            scope.anonymous += 1;
            name = format!("{base}.{}", scope.anonymous);
        }
        name.into()
    }

    /// Parses an instruction from its shape or opcode on, adds it to the target, and returns its
    /// index. `has_attributes` is false for an instruction that is written as an operand of another
    /// one, because a comma after it separates operands.
    fn instruction(
        &mut self,
        start: usize,
        name: Cow<'a, str>,
        scope: &mut Scope<'a>,
        has_attributes: bool,
    ) -> Result<usize> {
        if scope.names.contains_key(&name) {
            let reason = format!("an instruction before this one is called `{}`", shown(&name));
            return Err(self.cursor.error(start, reason));
        }
        let declared = if self.cursor.sees_shape() { Some(self.shape()?) } else { None };
        let opcode = self.cursor.expect_word("an opcode")?;
        self.cursor.expect("(")?;
        let mut proto =
            proto::HloInstructionProto { opcode: opcode.to_owned(), ..Default::default() };
        let (mut operands, mut literal, mut problem) = (Vec::new(), None, None);
        match (opcode, &declared) {
            ("parameter", _) => {
                proto.parameter_number = self.cursor.number("a parameter's number")?;
            }
            ("constant", Some(shape)) => {
                let begin = self.cursor.position();
                literal = self.literal(shape)?;
                self.literal_bytes += self.cursor.position() - begin;
            }
            ("constant", None) => {
                literal::skip(&mut self.cursor)?;
                problem = Some(Undeclared::missing());
            }
            _ => self.operands(scope, &mut operands, &mut problem)?,
        }
        self.cursor.expect(")")?;
        let mut written = Vec::new();
        while has_attributes && self.cursor.eat(",") {
            written.push(self.instruction_attribute(&mut problem)?);
        }
        self.target.within_limit(self.cursor.position() - self.literal_bytes)?;
        let line_start = start;
        let located = |reader: &Self, error| located(reader.cursor.line(line_start), error);
        if let Some(problem) = problem {
            let error = self.target.locate(&name, problem);
            return Err(located(self, error));
        }
        let wrapped = AsyncPart::of(opcode);
        if let Some(AsyncPart::Start(inner)) = wrapped {
            // The attributes belong to the wrapped opcode, so they are parsed under its name.
            inner.clone_into(&mut proto.opcode);
        }
        let mut called = Vec::new();
        for attribute in &written {
            let part = &mut self.cursor.over(attribute.start, attribute.value);
            attributes::read(attribute.name, attribute.value, part, &mut proto)?;
            called.extend(attribute.callees.iter().copied());
        }
        let shape = self.result(declared, wrapped.is_some(), &proto, &operands, &called, &written);
        let shape = shape.map_err(|error| {
            let error = self.target.locate(&name, error);
            located(self, error)
        })?;
        // The tables of stack frames are already complete, because they precede all computations.
        let source = proto.metadata.as_ref().and_then(|metadata| self.frames.line(metadata));
        if let Some(part) = wrapped {
            called = match part {
                AsyncPart::Start(_) => {
                    let inner_called = std::mem::take(&mut called);
                    // The text does not tell if the paths belong to the result of the wrapped
                    // opcode or to the result of the start. Pass them to both. No path is valid in
                    // both, so the wrong one has no effect.
                    let aliasing = proto.output_operand_aliasing.clone();
                    let computation =
                        self.wrapped(&shape, std::mem::take(&mut proto), inner_called);
                    proto.output_operand_aliasing = aliasing;
                    vec![computation.map_err(|error| located(self, error))?]
                }
                _ => operands
                    .first()
                    .and_then(|first| scope.wrapped.get(first))
                    .copied()
                    .into_iter()
                    .collect(),
            };
            part.name().clone_into(&mut proto.opcode);
        } else if called.is_empty() && matches!(opcode, "async-update" | "async-done") {
            let first = operands.first().and_then(|first| scope.wrapped.get(first));
            called = first.copied().into_iter().collect();
        }
        let (callee, is_start) = (called.first().copied(), proto.opcode.starts_with("async-"));
        let instruction = WrittenInstruction {
            name: name.clone().into_owned(),
            shape,
            proto,
            literal,
            operands,
            called,
            source,
        };
        let place = self.target.add(instruction).map_err(|error| located(self, error))?;
        if let (true, Some(callee)) = (is_start, callee) {
            scope.wrapped.insert(place, callee);
        }
        if opcode == "parameter" {
            scope.parameters += 1;
        }
        scope.names.insert(name, place);
        Ok(place)
    }

    /// Adds the computation that an asynchronous instruction calls, and returns its index. The text
    /// has only the short form, such as `slice-start`, so the computation is made here: it has
    /// parameters and one instruction with the wrapped opcode. `shape` is the shape of the start,
    /// which contains the shapes of the computation's parameters and result.
    fn wrapped(
        &mut self,
        shape: &Shape,
        proto: proto::HloInstructionProto,
        called: Vec<usize>,
    ) -> Result<usize> {
        let name = "async_wrapped";
        let (operands, result) = match shape.tuple_shapes() {
            [operands, result, ..] if operands.element_type() == ElementType::Tuple => {
                (operands.tuple_shapes(), result)
            }
            _ => {
                let expected =
                    "a tuple of the operands' tuple, the result and the state".to_owned();
                let error = InstructionError::Result { expected, given: shape.clone().into() };
                return Err(self.target.locate(&proto.opcode, error));
            }
        };
        self.target.begin(name);
        let mut places = Vec::with_capacity(operands.len());
        for (number, operand) in operands.iter().enumerate() {
            let proto = proto::HloInstructionProto {
                opcode: "parameter".to_owned(),
                parameter_number: i64::try_from(number).unwrap_or(i64::MAX),
                ..Default::default()
            };
            let shape = operand.clone().into();
            let name = format!("async_param.{number}");
            places.push(self.target.add(WrittenInstruction::new(name, shape, proto))?);
        }
        let root = self.target.add(WrittenInstruction {
            operands: places,
            called,
            ..WrittenInstruction::new("async_op".to_owned(), result.clone().into(), proto)
        })?;
        self.end(name, root)
    }

    /// Parses a shape, or returns the shape of an equal text that was parsed before.
    fn shape(&mut self) -> Result<Arc<Shape>> {
        let (start, text) = self.cursor.shape_text()?;
        if let Some(shape) = self.shapes.get(text) {
            return Ok(shape.clone());
        }
        let shape = Arc::new(self.cursor.shape_at(start, text)?);
        self.shapes.insert(text, shape.clone());
        Ok(shape)
    }

    /// Parses the value of a constant, or skips it if the target does not need it. Returns `None`
    /// if there is no value.
    fn literal(&mut self, shape: &Shape) -> Result<Option<crate::hlo::Literal>> {
        if T::HAS_LITERALS {
            return literal::literal(&mut self.cursor, shape);
        }
        literal::skip(&mut self.cursor)?;
        Ok(None)
    }

    /// Parses operands up to the closing parenthesis. If an operand does not exist, or if its shape
    /// differs from the shape that the text repeats before its name, stores the first such error in
    /// `problem`. It is returned only after the whole instruction was parsed, because an error in
    /// the syntax takes precedence.
    fn operands(
        &mut self,
        scope: &mut Scope<'a>,
        operands: &mut Vec<usize>,
        problem: &mut Option<InstructionError>,
    ) -> Result<()> {
        let mut number = 0;
        while !self.cursor.sees(")") {
            if number > 0 {
                self.cursor.expect(",")?;
            }
            match self.operand(number, scope)? {
                Ok(Some(place)) => operands.push(place),
                Ok(None) => {}
                Err(error) => drop(problem.get_or_insert(error)),
            }
            number += 1;
        }
        Ok(())
    }

    /// Parses an operand, which has one of two forms. The usual one is a name, with an optional
    /// shape before it, and optional indices of tuple elements after it, as in `name#0`. The other
    /// one is a whole instruction without attributes.
    ///
    /// The outer result is an error if the syntax is invalid. The inner one is an error if the
    /// syntax is valid but the operand is not. `None` is an operand that a fragment does not
    /// define, and that the target does not need.
    fn operand(
        &mut self,
        number: usize,
        scope: &mut Scope<'a>,
    ) -> Result<std::result::Result<Option<usize>, InstructionError>> {
        let start = self.cursor.start()?;
        let shape = if self.cursor.sees_shape() { Some(self.shape()?) } else { None };
        let has_name = !(self.cursor.sees(",") || self.cursor.sees(")")) || shape.is_none();
        let is_quoted = self.cursor.sees("%");
        let name = if has_name { self.cursor.name()? } else { "" };
        if !is_quoted && has_name && self.cursor.sees("(") {
            self.cursor.set_position(start);
            return self.nested(start, name, scope).map(|place| Ok(Some(place)));
        }
        let mut elements = Vec::new();
        while self.cursor.eat("#") {
            elements.push(self.cursor.number("the number of a tuple element")?);
        }
        let declared = shape.as_deref().filter(|_| elements.is_empty());
        let place = match scope.names.get(name) {
            Some(&place) => place,
            None if self.is_alone && self.nested == 0 => match &shape {
                Some(shape) => self.missing_operand(name, shape.clone(), scope)?,
                None if self.target.takes_fragments() => return Ok(Ok(None)),
                None => {
                    return Ok(Err(unknown(
                        "operand_ids",
                        number,
                        name,
                        "an operand with its shape",
                    )));
                }
            },
            None => {
                let accepted = "an instruction before this one, of the same computation";
                return Ok(Err(unknown("operand_ids", number, name, accepted)));
            }
        };
        if let Some(shape) = declared
            && !queries::compatible(shape, self.target.shape(place))
        {
            let expected = format!("{}, as stands before its name", shape.without_layout());
            let given = self.target.shape(place).clone().into();
            return Ok(Err(InstructionError::Operand { operand: number, expected, given }));
        }
        self.tuple_elements(start, name, place, &elements, scope).map(|place| place.map(Some))
    }

    /// Adds the `get-tuple-element` instructions that a reference such as `name#0#1` abbreviates,
    /// and returns the index of the last one. They are added only once for equal references.
    fn tuple_elements(
        &mut self,
        start: usize,
        name: &str,
        mut place: usize,
        elements: &[i64],
        scope: &mut Scope<'a>,
    ) -> Result<std::result::Result<usize, InstructionError>> {
        let mut name = name.to_owned();
        for &index in elements {
            name = format!("{name}#{index}");
            if let Some(&known) = scope.names.get(name.as_str()) {
                place = known;
                continue;
            }
            let parts = self.target.shape(place).tuple_shapes();
            let part = usize::try_from(index).ok().and_then(|index| parts.get(index));
            let Some(part) = part else {
                let greatest = i64::try_from(parts.len()).unwrap_or(i64::MAX) - 1;
                let (field, given) = (FieldPath::new("tuple_index"), index.into());
                let error = ShapeError::Range { field, given, least: 0, greatest };
                return Ok(Err(error.into()));
            };
            let proto = proto::HloInstructionProto {
                opcode: "get-tuple-element".to_owned(),
                tuple_index: index,
                ..Default::default()
            };
            let added = self.target.add(WrittenInstruction {
                operands: vec![place],
                ..WrittenInstruction::new(name.replace('#', "_"), part.clone().into(), proto)
            });
            place = added.map_err(|error| located(self.cursor.line(start), error))?;
            scope.names.insert(name.clone().into(), place);
        }
        Ok(Ok(place))
    }

    /// Adds a parameter for an operand that a fragment does not define, but whose shape it has.
    /// Returns the index of the parameter.
    fn missing_operand(
        &mut self,
        name: &'a str,
        shape: Arc<Shape>,
        scope: &mut Scope<'a>,
    ) -> Result<usize> {
        let number = scope.parameters;
        scope.parameters += 1;
        let name = match name {
            "" => Self::anonymous(&format!("_{number}"), scope),
            name => name.into(),
        };
        let proto = proto::HloInstructionProto {
            opcode: "parameter".to_owned(),
            parameter_number: i64::try_from(number).unwrap_or(i64::MAX),
            ..Default::default()
        };
        let written = WrittenInstruction::new(name.clone().into_owned(), shape, proto);
        let place = self.target.add(written)?;
        scope.names.insert(name, place);
        Ok(place)
    }

    /// Parses an operand that is a whole instruction, adds this instruction, and returns its index.
    fn nested(&mut self, start: usize, opcode: &str, scope: &mut Scope<'a>) -> Result<usize> {
        self.deeper(start, |reader| {
            let name = Self::anonymous(&format!("{opcode}.anon"), scope);
            reader.instruction(start, name, scope, false)
        })
    }

    /// Calls `read` one level of nesting deeper. Returns an error if there are too many levels.
    fn deeper<R>(&mut self, start: usize, read: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.nested >= MAX_NESTED {
            let reason = format!("expected at most {MAX_NESTED} levels of nesting, got more");
            return Err(self.cursor.error(start, reason));
        }
        self.nested += 1;
        let result = read(self);
        self.nested -= 1;
        result
    }

    /// Parses an attribute of an instruction, and the computations that its value names or
    /// contains. If a name is unknown, stores the first such error in `problem`.
    fn instruction_attribute(
        &mut self,
        problem: &mut Option<InstructionError>,
    ) -> Result<WrittenAttribute<'a>> {
        let begin = self.cursor.position();
        let name = self.cursor.expect_word("an attribute")?;
        if !has_callees(name) {
            self.cursor.set_position(begin);
            let (name, start, value) = self.attribute()?;
            return Ok(WrittenAttribute { name, start, value, callees: Vec::new() });
        }
        self.cursor.expect("=")?;
        let start = self.cursor.start()?;
        let mut callees = Vec::new();
        if self.cursor.eat("{") {
            if !self.cursor.sees("}") && self.is_instruction() {
                callees.push(self.in_place(start)?);
            } else {
                while !self.cursor.eat("}") {
                    if !callees.is_empty() {
                        self.cursor.expect(",")?;
                    }
                    let start = self.cursor.start()?;
                    if self.cursor.eat("{") {
                        callees.push(self.in_place(start)?);
                    } else {
                        self.callee(&mut callees, problem)?;
                    }
                }
            }
        } else {
            self.callee(&mut callees, problem)?;
        }
        let value = self.cursor.text(start..self.cursor.position());
        Ok(WrittenAttribute { name, start, value, callees })
    }

    /// Parses a computation that is written inside an attribute, in place of its name. The caller
    /// has already consumed the opening brace.
    fn in_place(&mut self, start: usize) -> Result<usize> {
        self.deeper(start, |reader| reader.body(PLACEHOLDER_NAME, start))
    }

    /// Parses the name of a called computation, and adds its index to `callees`. In a fragment, the
    /// name may be undefined if the target accepts this.
    fn callee(
        &mut self,
        callees: &mut Vec<usize>,
        problem: &mut Option<InstructionError>,
    ) -> Result<()> {
        let name = self.cursor.name()?;
        match self.computations.get(name) {
            Some(&computation) => callees.push(computation),
            None if self.is_alone && self.target.takes_fragments() => {}
            None => {
                let accepted = "a computation before this one";
                let error = unknown("called_computation_ids", callees.len(), name, accepted);
                problem.get_or_insert(error);
            }
        }
        Ok(())
    }

    /// Returns the shape of an instruction: the declared shape, or the inferred one if the text
    /// declares none. As in XLA, the declared shape of a transfer between devices may be replaced.
    fn result(
        &self,
        declared: Option<Arc<Shape>>,
        is_wrapped: bool,
        proto: &proto::HloInstructionProto,
        operands: &[usize],
        called: &[usize],
        written: &[WrittenAttribute<'a>],
    ) -> std::result::Result<Arc<Shape>, InstructionError> {
        let operands: Vec<&Shape> =
            operands.iter().map(|&operand| self.target.shape(operand)).collect();
        let undeclared = Undeclared {
            proto,
            operands: &operands,
            called,
            callees: &*self.target,
            attributes: written,
            cursor: &self.cursor,
        };
        match declared {
            Some(declared) => Ok(undeclared.transferred(&declared).map_or(declared, Arc::new)),
            // Inference would use `proto`, which at this point describes the wrapped opcode.
            None if is_wrapped => Err(Undeclared::missing()),
            None => undeclared.shape().map(Arc::new),
        }
    }
}

/// Parses the shapes of the entry computation's parameters and result, written as
/// `{(shape, …)->shape}`.
fn entry_layout(cursor: &mut Cursor<'_>) -> Result<(Vec<Shape>, Shape)> {
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

/// Adds a line number to an error, unless the error has one already.
fn located(line: usize, error: HloError) -> HloError {
    match error {
        HloError::Line { .. } | HloError::Text { .. } => error,
        error => HloError::Line { line, error: error.into() },
    }
}

/// Returns a name for an error message, shortened if it is long.
fn shown(name: &str) -> Cow<'_, str> {
    excerpt(name, 80)
}

/// Returns the error for the name of an operand or computation that does not exist.
fn unknown(list: &'static str, i: usize, name: &str, accepted: &'static str) -> InstructionError {
    let field = FieldPath::new(list).index(i);
    InstructionError::Unknown { field, given: format!("`{}`", shown(name)), accepted }
}
