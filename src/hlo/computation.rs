//! A function: instructions in order, and the one that is its result.

use super::{HloError, Instruction, MAX_CALL_DEPTH, Opcode};
use crate::shape::{FieldPath, Shape, excerpt};

/// A function of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    name: String,
    instructions: Vec<Instruction>,
    /// The instruction of each parameter, by number.
    parameters: Vec<usize>,
    root: usize,
    /// Computations inside one another, this one included.
    depth: usize,
}

impl Computation {
    /// The computation at `path` in its module; `before` are those that it may call, and `root` is one of its
    /// instructions.
    pub(super) fn new(
        name: String,
        instructions: Vec<Instruction>,
        root: usize,
        before: &[Self],
    ) -> Result<Self, HloError> {
        let mut found = Vec::new();
        let mut depth = 1;
        for (place, instruction) in instructions.iter().enumerate() {
            if let Opcode::Parameter { number } = *instruction.opcode() {
                found.push((number, place));
            }
            for &callee in instruction.opcode().computations() {
                depth = depth.max(before[callee].depth + 1);
            }
        }
        found.sort_unstable();
        if let Some((expected, &(_, place))) =
            found.iter().enumerate().find(|(expected, (number, _))| expected != number)
        {
            let path = FieldPath::new("computations").index(before.len());
            let field = path.field("instructions").index(place).field("parameter_number");
            let count = found.len();
            let given = found[expected].0;
            return Err(HloError::Field {
                field,
                given: format!("{given} in a computation of {count} parameters"),
                accepted: "each number from 0 up once",
            });
        }
        if depth > MAX_CALL_DEPTH {
            let computation = excerpt(&name, 80).into_owned();
            return Err(HloError::TooDeep { computation, limit: MAX_CALL_DEPTH });
        }
        let parameters = found.into_iter().map(|(_, place)| place).collect();
        Ok(Self { name, instructions, parameters, root, depth })
    }

    /// Its name, such as `main`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its instructions, operands before users.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The place of each parameter's instruction, by number.
    #[must_use]
    pub fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    /// The place of the instruction whose value is the result.
    #[must_use]
    pub fn root(&self) -> usize {
        self.root
    }

    /// The shape of a parameter's instruction.
    pub(super) fn parameter_shape(&self, number: usize) -> &Shape {
        self.instructions[self.parameters[number]].shape()
    }

    /// The shape of the result.
    pub(super) fn root_shape(&self) -> &Shape {
        self.instructions[self.root].shape()
    }
}
