//! The instructions of a module as one graph, in which calls are entered, tuples are taken apart
//! and instructions that change no value are skipped.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::ProgramError;
use crate::hlo::{Computation, Instruction, Module, Opcode};

/// The maximum number of instructions followed for one module. An instruction inside a call counts
/// each time that the call is entered. The limit bounds compile time; a lower one would refuse more
/// modules.
pub(super) const MAX_STEPS: usize = 1 << 20;

/// A call of a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CallFrame {
    computation: usize,
    /// The frame and the instruction of the call; `None` for the entry computation.
    caller: Option<(usize, usize)>,
}

/// An instruction in the context of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GraphNode {
    frame: usize,
    place: usize,
}

/// The part numbers that select an array in nested tuples, outermost first.
pub(super) type TuplePath = SmallVec<[usize; 2]>;

/// The definition of an array, after calls and tuples are resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArrayOrigin {
    /// The result of an instruction.
    Instruction(GraphNode),
    /// A parameter of the program, or an array inside a parameter that is a tuple.
    Parameter(usize, TuplePath),
    /// An array inside a constant that is a tuple.
    Part(GraphNode, TuplePath),
}

/// The instructions of a module, and the calls entered so far.
#[derive(Debug)]
pub(super) struct Graph<'a> {
    module: &'a Module,
    frames: Vec<CallFrame>,
    entered: HashMap<CallFrame, usize>,
    steps: usize,
}

impl<'a> Graph<'a> {
    pub(super) fn new(module: &'a Module) -> Self {
        let entry = CallFrame { computation: module.entry_index(), caller: None };
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

    /// Returns an operand of a node. The operand may be a call, a tuple or a copy;
    /// [`origin`](Self::origin) looks through these.
    pub(super) fn operand(&self, node: GraphNode, number: usize) -> GraphNode {
        GraphNode { place: self.instruction(node).operands()[number], ..node }
    }

    /// Counts an instruction that is followed. Refuses the module after [`MAX_STEPS`] instructions.
    pub(super) fn step(&mut self) -> Result<(), ProgramError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(ProgramError::TooLong { limit: MAX_STEPS });
        }
        Ok(())
    }

    /// Finds the definition of an array. `path` selects the array in the node's value.
    pub(super) fn origin(
        &mut self,
        node: GraphNode,
        path: TuplePath,
    ) -> Result<ArrayOrigin, ProgramError> {
        self.origin_passing(node, path, |_, _| {})
    }

    /// Like [`origin`](Self::origin), and calls `pass` with the computation and the place of each
    /// instruction on the way.
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
                Opcode::Parameter { number } => match self.frames[node.frame].caller {
                    None => return Ok(ArrayOrigin::Parameter(*number, path)),
                    Some((frame, place)) => self.operand(GraphNode { frame, place }, *number),
                },
                Opcode::Tuple if !path.is_empty() => {
                    let part = path.remove(0);
                    self.operand(node, part)
                }
                Opcode::GetTupleElement { index } => {
                    path.insert(0, *index);
                    self.operand(node, 0)
                }
                Opcode::Call { computation } | Opcode::Fusion { computation, .. } => {
                    self.enter(node, *computation)
                }
                Opcode::Copy | Opcode::OptBarrier | Opcode::IdentityCall(_) => {
                    self.operand(node, 0)
                }
                Opcode::Constant(_) if !path.is_empty() => {
                    return Ok(ArrayOrigin::Part(node, path));
                }
                _ => return Ok(ArrayOrigin::Instruction(node)),
            };
        }
    }

    /// Returns the root of a computation that a node calls, in the frame of that call.
    fn enter(&mut self, node: GraphNode, computation: usize) -> GraphNode {
        let frame = CallFrame { computation, caller: Some((node.frame, node.place)) };
        let next = self.frames.len();
        let number = *self.entered.entry(frame).or_insert(next);
        if number == next {
            self.frames.push(frame);
        }
        GraphNode { frame: number, place: self.module.computations()[computation].root() }
    }
}
