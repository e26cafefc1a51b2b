//! The instructions of a module as one graph: calls are entered, tuples taken apart, and what changes no value passed over.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::ProgramError;
use crate::hlo::{Computation, Instruction, Module, Opcode};

/// The most instructions that are followed for one module.
pub(super) const MAX_STEPS: usize = 1 << 20;

/// A computation that is entered from a place of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CallFrame {
    computation: usize,
    /// The frame and the instruction that call it; `None` for the entry.
    caller: Option<(usize, usize)>,
}

/// The value of an instruction: of one in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GraphNode {
    frame: usize,
    place: usize,
}

/// Parts of tuples, the outermost first.
pub(super) type TuplePath = SmallVec<[usize; 2]>;

/// An array of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ArrayOrigin {
    /// The result of an instruction.
    Instruction(GraphNode),
    /// A parameter of the program, or the part of one.
    Parameter(usize, TuplePath),
    /// A part of a constant that is a tuple.
    Part(GraphNode, TuplePath),
}

/// The instructions of a module, with the frames that were entered so far.
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

    /// The instruction whose value is the program's result.
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

    /// An operand's value: a node whose own value is to be looked for.
    pub(super) fn operand(&self, node: GraphNode, number: usize) -> GraphNode {
        GraphNode { place: self.instruction(node).operands()[number], ..node }
    }

    /// Counts an instruction that is followed.
    pub(super) fn step(&mut self) -> Result<(), ProgramError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(ProgramError::TooLong { limit: MAX_STEPS });
        }
        Ok(())
    }

    /// Where an array of a node comes from; `path` leads to it in the node's value.
    pub(super) fn origin(
        &mut self,
        node: GraphNode,
        path: TuplePath,
    ) -> Result<ArrayOrigin, ProgramError> {
        self.origin_passing(node, path, |_, _| {})
    }

    /// The same, and calls `pass` with each instruction on the way: its computation and its place there.
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

    /// The root of a computation that a node calls.
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
