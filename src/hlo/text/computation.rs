//! Parses computations and their instructions.

use std::collections::HashMap;

use super::{
    attributes, literal,
    parse::{Reader, attribute, computation_name},
};
use crate::{
    hlo::{
        HloError, InstructionError, Literal, Opcode,
        attributes::{OpcodeContext, opcode},
    },
    proto::hlo as proto,
    shape::{FieldPath, Shape, queries},
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

/// An instruction as it was written, before it is checked.
struct Draft<'a> {
    name: &'a str,
    shape: Shape,
    proto: proto::HloInstructionProto,
    literal: Option<Literal>,
    /// The name of each operand, paired with its shape if the text gives one.
    operands: Vec<(Option<Shape>, &'a str)>,
    /// The names of the called computations.
    called: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    /// Reads a computation, after any `ENTRY`, and returns its index.
    pub(super) fn computation(&mut self) -> Result<usize> {
        let start = self.cursor.start()?;
        let name = computation_name(&mut self.cursor)?;
        self.builder.begin(name);
        let (mut root, mut last) = (None, None);
        let mut names = HashMap::new();
        while !self.cursor.eat("}") {
            let begin = self.cursor.start()?;
            let is_root = self.cursor.eat_word("ROOT");
            let place = self.instruction(begin, &mut names)?;
            last = Some(place);
            if is_root && root.replace(place).is_some() {
                return Err(self.cursor.error(begin, "expected one `ROOT`, got another"));
            }
        }
        while self.cursor.eat(",") {
            attribute(&mut self.cursor)?;
        }
        let Some(root) = root.or(last) else {
            return Err(self.cursor.error(start, "expected at least one instruction, got none"));
        };
        let place = self.builder.computation(name, root);
        let place = place.map_err(|error| located(self.cursor.line(start), error))?;
        if self.names.insert(name, place).is_some() {
            let reason = format!("a computation before this one is called `{}`", shown(name));
            return Err(self.cursor.error(start, reason));
        }
        Ok(place)
    }

    /// Reads an instruction, after any `ROOT`, adds it to the builder and returns its index.
    fn instruction(&mut self, start: usize, names: &mut HashMap<&'a str, usize>) -> Result<usize> {
        let draft = self.draft()?;
        self.within_limit()?;
        if names.contains_key(draft.name) {
            let reason =
                format!("an instruction before this one is called `{}`", shown(draft.name));
            return Err(self.cursor.error(start, reason));
        }
        let (name, shape) = (draft.name, draft.shape.clone());
        let metadata = draft.proto.metadata.as_ref();
        self.builder.source(metadata.and_then(|metadata| self.frames.line(metadata)));
        let resolved = self.resolved(draft, names);
        let added = resolved.map_err(|error| self.builder.instruction_error(name, error)).and_then(
            |(opcode, operands)| {
                self.builder.add_named(name.to_owned(), opcode, operands, Some(shape))
            },
        );
        let place = added.map_err(|error| located(self.cursor.line(start), error))?;
        names.insert(name, place);
        Ok(place)
    }

    /// Reads an instruction without checking it.
    fn draft(&mut self) -> Result<Draft<'a>> {
        let cursor = &mut self.cursor;
        let name = cursor.name()?;
        cursor.expect("=")?;
        let shape = cursor.shape()?;
        let opcode = cursor.expect_word("an opcode")?;
        let proto = proto::HloInstructionProto { opcode: opcode.to_owned(), ..Default::default() };
        cursor.expect("(")?;
        let (literal, operands, called) = (None, Vec::new(), Vec::new());
        let mut draft = Draft { name, shape, proto, literal, operands, called };
        match opcode {
            "parameter" => draft.proto.parameter_number = cursor.number("a parameter's number")?,
            "constant" => {
                let start = cursor.position();
                draft.literal = literal::literal(cursor, &draft.shape)?;
                self.literal_bytes += cursor.position() - start;
            }
            _ => {
                while !cursor.sees(")") {
                    if !draft.operands.is_empty() {
                        cursor.expect(",")?;
                    }
                    draft.operands.push(self::operand(cursor)?);
                }
            }
        }
        cursor.expect(")")?;
        while cursor.eat(",") {
            let (attribute, start, value) = attribute(cursor)?;
            let part = &mut cursor.over(start, value);
            attributes::read(attribute, value, part, &mut draft.proto, &mut draft.called)?;
        }
        Ok(draft)
    }

    /// Resolves the names in an instruction and returns its opcode and the indices of its operands.
    fn resolved(
        &self,
        draft: Draft<'_>,
        names: &HashMap<&str, usize>,
    ) -> std::result::Result<(Opcode, Vec<usize>), InstructionError> {
        let instructions = self.builder.instructions();
        let mut operands = Vec::with_capacity(draft.operands.len());
        for (i, (shape, name)) in draft.operands.iter().enumerate() {
            let accepted = "an instruction before this one, of the same computation";
            let &place =
                names.get(name).ok_or_else(|| unknown("operand_ids", i, name, accepted))?;
            let given = instructions[place].shape();
            if let Some(shape) = shape
                && !queries::compatible(shape, given)
            {
                let expected = format!("{}, as stands before its name", shape.without_layout());
                let given = given.clone().into();
                return Err(InstructionError::Operand { operand: i, expected, given });
            }
            operands.push(place);
        }
        let mut called = Vec::with_capacity(draft.called.len());
        for (i, name) in draft.called.iter().enumerate() {
            let accepted = "a computation before this one";
            let place = self.names.get(name);
            called
                .push(*place.ok_or_else(|| unknown("called_computation_ids", i, name, accepted))?);
        }
        let shapes: Vec<&Shape> =
            operands.iter().map(|&place: &usize| instructions[place].shape()).collect();
        let (literal, shape) = (draft.literal, &draft.shape);
        let context = OpcodeContext { literal, called, operands: &shapes, shape };
        Ok((opcode(&draft.proto, context)?, operands))
    }
}

/// Reads an operand of the form `[shape] name`.
fn operand<'a>(cursor: &mut super::cursor::Cursor<'a>) -> Result<(Option<Shape>, &'a str)> {
    let shape = if cursor.sees("%") {
        None
    } else if cursor.sees("(") {
        Some(cursor.shape()?)
    } else {
        let start = cursor.start()?;
        let word = cursor.expect_word("an operand")?;
        let rest = cursor.rest();
        let is_shape = rest.starts_with('[') || word == "b" && rest.starts_with('(');
        cursor.set_position(start);
        is_shape.then(|| cursor.shape()).transpose()?
    };
    Ok((shape, cursor.name()?))
}

fn located(line: usize, error: HloError) -> HloError {
    HloError::Line { line, error: error.into() }
}

fn shown(name: &str) -> std::borrow::Cow<'_, str> {
    excerpt(name, 80)
}

fn unknown(list: &'static str, i: usize, name: &str, accepted: &'static str) -> InstructionError {
    let field = FieldPath::new(list).index(i);
    InstructionError::Unknown { field, given: format!("`{}`", shown(name)), accepted }
}
