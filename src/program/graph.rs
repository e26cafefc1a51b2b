//! The instructions of a module as one graph of arrays, without calls and tuples.
//!
//! [`Graph::origin`] finds the instruction that defines an array. It enters called computations,
//! takes tuples apart, and skips instructions that do not change their value, such as `copy`. So
//! the rest of the compiler needs no rules for them.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::{ProgramError, pull::refused};
use crate::{
    hlo::{Computation, Instruction, Literal, Module, Opcode},
    shape::Shape,
};

/// The maximum number of instructions that the compiler follows for one module. An instruction in a
/// called computation counts once for each time that it is followed. A higher limit allows longer
/// compilation; a lower one refuses more modules.
pub(super) const MAX_STEPS: usize = 1 << 20;

/// A call that the compiler has entered. A computation that is called several times has several
/// frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CallFrame {
    /// The called computation, as an index into the module's computations.
    computation: usize,
    /// The calling instruction: the index of its frame, and its index in the computation of that
    /// frame. `None` for the entry computation.
    caller: Option<(usize, usize)>,
    /// The index of the operand of the call that becomes parameter 0 of the computation. It is 0,
    /// except in a branch of a conditional: operand 0 of a conditional is the predicate, and the
    /// single argument of branch `n` is operand `n + 1`.
    first_operand: usize,
}

/// An instruction in a call that the compiler has entered: the index of the call's frame, and the
/// index of the instruction in the called computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GraphNode {
    frame: usize,
    place: usize,
}

/// A path to an array inside nested tuples: the index of the element to enter in each tuple,
/// outermost first. The path is empty for a value that is not a tuple.
pub(super) type TuplePath = SmallVec<[usize; 2]>;

/// The definition of an array, after calls and tuples have been resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArrayOrigin {
    /// The result of an instruction.
    Instruction(GraphNode),
    /// A parameter of the program, or an array inside a parameter that is a tuple.
    Parameter(usize, TuplePath),
    /// An array inside the tuple that an instruction returns. The instruction is a constant,
    /// chooses between tuples, as a conditional does, or computes the tuple.
    Part(GraphNode, TuplePath),
}

/// The instructions of a module, and the calls that the compiler has entered so far.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    module: &'a Module,
    frames: Vec<CallFrame>,
    entered: HashMap<CallFrame, usize>,
    steps: usize,
}

impl<'a> Graph<'a> {
    /// Returns the graph of a module, in which only the entry computation has been entered.
    pub(super) fn new(module: &'a Module) -> Self {
        let entry = CallFrame { computation: module.entry_index(), caller: None, first_operand: 0 };
        Self { module, frames: vec![entry], entered: HashMap::new(), steps: 0 }
    }

    /// Returns the instruction whose value is the program's result.
    pub(super) fn root(&self) -> GraphNode {
        GraphNode { frame: 0, place: self.module.entry().root() }
    }

    pub(super) fn computations(&self) -> &'a [Computation] {
        self.module.computations()
    }

    pub(super) fn instruction(&self, node: GraphNode) -> &'a Instruction {
        let computation = self.frames[node.frame].computation;
        &self.module.computations()[computation].instructions()[node.place]
    }

    /// Returns operand `number` of a node. The operand may be a call, a tuple or a copy;
    /// [`origin`](Self::origin) finds the instruction that defines its value.
    pub(super) fn operand(&self, node: GraphNode, number: usize) -> GraphNode {
        GraphNode { place: self.instruction(node).operands()[number], ..node }
    }

    /// Returns the array at `path` inside the value of a constant, or `None` if the node is no
    /// constant.
    pub(super) fn literal(&self, node: GraphNode, path: &[usize]) -> Option<Literal> {
        let Opcode::Constant(literal) = self.instruction(node).opcode() else { return None };
        let part = |literal: Literal, &part: &usize| literal.parts().swap_remove(part);
        Some(path.iter().fold(Literal::clone(literal), part))
    }

    /// Returns the shape of the array at `path` inside a parameter of the program.
    pub(super) fn parameter(&self, number: usize, path: &[usize]) -> &'a Shape {
        let part = |shape: &'a Shape, &part: &usize| &shape.tuple_shapes()[part];
        path.iter().fold(&self.module.parameters()[number], part)
    }

    /// Counts one more instruction that the compiler follows. Returns [`ProgramError::TooLong`]
    /// after [`MAX_STEPS`] instructions, to bound the time of compilation.
    pub(super) fn step(&mut self) -> Result<(), ProgramError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(ProgramError::TooLong { limit: MAX_STEPS });
        }
        Ok(())
    }

    /// Returns the instruction or parameter that defines an array. `path` selects the array in the
    /// value of the node.
    ///
    /// # Errors
    ///
    /// Returns an error if the compiler has followed more than [`MAX_STEPS`] instructions. Also
    /// returns an error if the array is an operand that an asynchronous call receives only after
    /// its start.
    pub(super) fn origin(
        &mut self,
        node: GraphNode,
        path: TuplePath,
    ) -> Result<ArrayOrigin, ProgramError> {
        self.origin_passing(node, path, |_, _| {})
    }

    /// Returns the same value as [`origin`](Self::origin), and calls `pass` for each instruction
    /// that it follows. The arguments of `pass` are the index of the computation and the index of
    /// the instruction in it.
    pub(super) fn origin_passing(
        &mut self,
        mut node: GraphNode,
        mut path: TuplePath,
        mut pass: impl FnMut(usize, usize),
    ) -> Result<ArrayOrigin, ProgramError> {
        loop {
            self.step()?;
            pass(self.frames[node.frame].computation, node.place);
            let instruction = self.instruction(node);
            node = match instruction.opcode() {
                Opcode::Parameter { number } => {
                    let CallFrame { caller, first_operand, .. } = self.frames[node.frame];
                    let Some((frame, place)) = caller else {
                        return Ok(ArrayOrigin::Parameter(*number, path));
                    };
                    let caller = GraphNode { frame, place };
                    let number = first_operand + number;
                    if number >= self.instruction(caller).operands().len() {
                        return Err(refused(self, caller, "; some of its operands come later"));
                    }
                    self.operand(caller, number)
                }
                Opcode::Tuple if !path.is_empty() => {
                    let part = path.remove(0);
                    self.operand(node, part)
                }
                Opcode::GetTupleElement { index } => {
                    path.insert(0, *index);
                    self.operand(node, 0)
                }
                Opcode::Call { computation } | Opcode::Fusion { computation, .. } => {
                    self.enter(node, *computation, 0)
                }
                // The value of `async-start` is a tuple. Element 0 is a tuple of the operands of
                // the call, and element 1 is its result.
                Opcode::AsyncStart { computation } if path.first() == Some(&1) => {
                    path.remove(0);
                    self.enter(node, *computation, 0)
                }
                Opcode::AsyncStart { .. } if path.len() > 1 && path[0] == 0 => {
                    path.remove(0);
                    let operand = path.remove(0);
                    self.operand(node, operand)
                }
                Opcode::AsyncDone => {
                    path.insert(0, 1);
                    self.operand(node, 0)
                }
                // Elements 0 and 1 of a `copy-start` both have the value of its operand.
                Opcode::CopyStart if matches!(path.first(), Some(0 | 1)) => {
                    path.remove(0);
                    self.operand(node, 0)
                }
                Opcode::CopyDone => {
                    path.insert(0, 0);
                    self.operand(node, 0)
                }
                Opcode::Convert if self.keeps_type(node) => self.operand(node, 0),
                Opcode::Copy
                | Opcode::OptBarrier
                | Opcode::AddDependency
                | Opcode::Domain
                | Opcode::IdentityCall(_) => self.operand(node, 0),
                // An `async-update` with more operands adds arguments to the call, which have no
                // place in the tuple of `async-start`. So it is not skipped.
                Opcode::AsyncUpdate if instruction.operands().len() == 1 => self.operand(node, 0),
                _ if path.is_empty() => return Ok(ArrayOrigin::Instruction(node)),
                _ => return Ok(ArrayOrigin::Part(node, path)),
            };
        }
    }

    /// Returns true if the result of a node has the same element type as operand 0.
    fn keeps_type(&self, node: GraphNode) -> bool {
        let operand = self.instruction(self.operand(node, 0));
        operand.shape().element_type() == self.instruction(node).shape().element_type()
    }

    /// Returns the root of a branch of a conditional, in the frame of that branch.
    pub(super) fn branch(&mut self, node: GraphNode, number: usize) -> GraphNode {
        let computation = self.instruction(node).opcode().computations()[number];
        self.enter(node, computation, number + 1)
    }

    /// Enters a call: returns the root of the called computation, in the frame of that call. The
    /// first visit creates the frame.
    fn enter(&mut self, node: GraphNode, computation: usize, first_operand: usize) -> GraphNode {
        let caller = Some((node.frame, node.place));
        let frame = CallFrame { computation, caller, first_operand };
        let next = self.frames.len();
        let number = *self.entered.entry(frame).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        GraphNode { frame: number, place: self.module.computations()[computation].root() }
    }
}
