//! A [`Computation`] is a function of a module: a list of instructions that computes one result.
//! Other computations call it with instructions such as `call` and `fusion`.

use super::{HloError, Instruction, MAX_CALL_DEPTH, Opcode};
use crate::{
    shape::{FieldPath, Shape},
    text::excerpt,
};

/// A function. The list of instructions includes its parameters, and the instruction that computes
/// its result, which is called the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    name: String,
    instructions: Vec<Instruction>,
    /// The index of each parameter's instruction, in the order of the parameters.
    parameters: Vec<usize>,
    root: usize,
    /// The number of computations in the longest chain of calls that begins here. It is 1 for a
    /// computation without calls.
    depth: usize,
}

impl Computation {
    /// Creates a computation whose result is the instruction `root`. `before` has the computations
    /// that precede it in the module, because it may call only these.
    ///
    /// Returns an error if the parameters are not numbered 0, 1, 2 and so on, or if the chain of
    /// calls is longer than [`MAX_CALL_DEPTH`].
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

    /// Returns the name of the computation, such as `main`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the instructions. An instruction comes after its operands.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Returns the index of each parameter's instruction, in the order of the parameters.
    #[must_use]
    pub fn parameters(&self) -> &[usize] {
        &self.parameters
    }

    /// Returns the index of the instruction that computes the result.
    #[must_use]
    pub fn root(&self) -> usize {
        self.root
    }

    /// Returns the shapes of the parameters, in their order.
    pub(super) fn parameter_shapes(&self) -> impl Iterator<Item = &Shape> {
        self.parameters.iter().map(|&place| self.instructions[place].shape())
    }

    /// Returns the shape of the result.
    pub(super) fn root_shape(&self) -> &Shape {
        self.instructions[self.root].shape()
    }

    /// Returns the shapes of the parameters and of the result.
    pub(super) fn signature(&self) -> (Vec<Shape>, Shape) {
        (self.parameter_shapes().cloned().collect(), self.root_shape().clone())
    }
}
