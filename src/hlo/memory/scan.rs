//! The result of scanning a module: its instructions with their shapes. Equal shapes are measured
//! only once.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{Footprint, InstructionMemory, MemoryReport};
use crate::{hlo::HloError, shape::Shape};

/// The maximum number of instructions to scan.
const MAX_SCANNED: usize = 1 << 22;

/// The opcodes whose result shares the memory of their operands.
const ALIASES: [&str; 4] = ["tuple", "get-tuple-element", "bitcast", "opt-barrier"];

/// The opcodes that run the instructions of their callees one after the other. All other opcodes
/// apply their callees to elements or fuse them into one loop.
const CONTROL: [&str; 6] =
    ["call", "while", "conditional", "async-start", "async-update", "async-done"];

/// Returns true if the instructions in the callees of this opcode have their own buffers.
pub(super) fn runs_callees(opcode: &str) -> bool {
    CONTROL.contains(&opcode)
}

/// The instructions of a module, with everything needed to measure their memory.
#[derive(Default)]
pub(super) struct ScannedModule<'a> {
    computations: Vec<(i64, &'a str)>,
    instructions: Vec<ScannedInstruction<'a>>,
    shapes: Vec<(Arc<Shape>, Option<Footprint>)>,
    /// The index into `shapes` of each shape, keyed by its serialized or printed form.
    shape_numbers: HashMap<&'a [u8], usize>,
    /// The id of the entry computation. If it is `None`, the instructions of all computations are
    /// counted as if they belonged to the entry.
    pub(super) entry: Option<i64>,
    /// The ids of the computations that are applied to elements or fused.
    pub(super) applied: HashSet<i64>,
    /// The shapes of the entry's parameters and result, if the module declares them.
    pub(super) buffers: Option<(Vec<Shape>, Shape)>,
}

/// An instruction of a scanned module.
struct ScannedInstruction<'a> {
    computation: usize,
    name: &'a str,
    opcode: &'a str,
    shape: usize,
    is_root: bool,
}

impl<'a> ScannedModule<'a> {
    pub(super) fn of_shape(shape: &Shape) -> Self {
        let mut scan = Self::default();
        scan.computation(0, "");
        let shape = scan.measured(shape.clone());
        scan.instructions.push(ScannedInstruction {
            computation: 0,
            name: "",
            opcode: "",
            shape,
            is_root: false,
        });
        scan
    }

    /// Begins a computation.
    pub(super) fn computation(&mut self, number: i64, name: &'a str) {
        self.computations.push((number, name));
    }

    /// Returns the number of computations.
    pub(super) fn count(&self) -> usize {
        self.computations.len()
    }

    /// Adds an instruction to the last computation. Calls `read` to parse its shape, unless a shape
    /// with the same bytes `from` has already been parsed.
    pub(super) fn instruction(
        &mut self,
        name: &'a str,
        opcode: &'a str,
        is_root: bool,
        from: &'a [u8],
        read: impl FnOnce() -> Result<Shape, HloError>,
    ) -> Result<(), HloError> {
        let (given, limit) = (self.instructions.len() + 1, MAX_SCANNED);
        if given > limit {
            return Err(HloError::TooManyInstructions { given, limit });
        }
        let shape = if let Some(&shape) = self.shape_numbers.get(from) {
            shape
        } else {
            let shape = self.measured(read()?);
            self.shape_numbers.insert(from, shape);
            shape
        };
        let computation = self.computations.len().saturating_sub(1);
        self.instructions.push(ScannedInstruction { computation, name, opcode, shape, is_root });
        Ok(())
    }

    fn measured(&mut self, shape: Shape) -> usize {
        let memory = Footprint::of(&shape);
        self.shapes.push((shape.into(), memory));
        self.shapes.len() - 1
    }

    /// Marks the last instruction as the root of its computation.
    pub(super) fn mark_last_as_root(&mut self) {
        if let Some(instruction) = self.instructions.last_mut() {
            instruction.is_root = true;
        }
    }

    /// Sums the memory of all instructions and sorts them by padding.
    pub(super) fn report(self) -> MemoryReport {
        let mut report = MemoryReport::default();
        let names: Vec<Arc<str>> =
            self.computations.iter().map(|(_, name)| (*name).into()).collect();
        let mut opcodes: HashMap<&str, Arc<str>> = HashMap::new();
        let size = |shape: &Shape| Footprint::of(shape).map_or(0, |memory| memory.bytes);
        let (mut parameters, mut results) = (0_u64, 0_u64);
        for instruction in &self.instructions {
            let number = self.computations[instruction.computation].0;
            let in_entry = self.entry.is_none_or(|entry| entry == number);
            let is_parameter = instruction.opcode == "parameter";
            let has_buffer = !ALIASES.contains(&instruction.opcode)
                && (in_entry || !is_parameter && !instruction.is_root)
                && !self.applied.contains(&number);
            let (shape, memory) = self.shapes[instruction.shape].clone();
            if let Some(memory) = memory {
                if has_buffer {
                    report.total_bytes = report.total_bytes.saturating_add(memory.bytes);
                    let padding = report.total_padding_bytes;
                    report.total_padding_bytes = padding.saturating_add(memory.padding_bytes());
                }
                if in_entry && is_parameter {
                    parameters = parameters.saturating_add(memory.bytes);
                }
                if in_entry && instruction.is_root {
                    results = results.saturating_add(memory.bytes);
                }
            }
            let opcode =
                opcodes.entry(instruction.opcode).or_insert_with(|| instruction.opcode.into());
            report.instructions.push(InstructionMemory {
                computation: names[instruction.computation].clone(),
                name: instruction.name.into(),
                opcode: opcode.clone(),
                shape,
                memory,
                has_buffer,
            });
        }
        if let Some((shapes, result)) = &self.buffers {
            parameters = shapes.iter().map(size).fold(0, u64::saturating_add);
            results = size(result);
        }
        (report.parameters_bytes, report.results_bytes) = (parameters, results);
        report.instructions.sort_by_key(|instruction| {
            let memory = instruction.memory.unwrap_or_default();
            (std::cmp::Reverse(memory.padding_bytes()), std::cmp::Reverse(memory.bytes))
        });
        report
    }
}
