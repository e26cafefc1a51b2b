//! A [`ScannedModule`] has the instructions of a module whose memory is measured, with the few
//! fields that determine it. The readers of protos and of texts fill it in, and do not check the
//! rules of opcodes. Equal shapes are stored and measured only once, because a large module has few
//! different ones.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{DefaultTiles, Footprint, InstructionMemory, MemoryReport, buffers::Buffers};
use crate::{
    hlo::{HloError, InputOutputAlias},
    proto::hlo as proto,
    shape::{ElementType, Shape},
};

/// The maximum number of instructions in a module whose memory is measured. It is larger than the
/// limit for other modules, because less is stored for each instruction.
const MAX_SCANNED: usize = 1 << 22;

/// The maximum total number of arrays in the results of all instructions. The analysis of buffers
/// stores an entry for each array.
const MAX_LEAVES: usize = 1 << 26;

/// The instructions of a module, with the fields that determine their memory.
#[derive(Default)]
pub(super) struct ScannedModule {
    /// The computations. A computation comes after all computations that it calls.
    pub(super) computations: Vec<ScannedComputation>,
    /// The instructions of all computations.
    pub(super) instructions: Vec<ScannedInstruction>,
    /// The different shapes of the instructions.
    pub(super) shapes: Vec<MeasuredShape>,
    /// The index of each shape in `shapes`.
    shape_numbers: HashMap<Arc<Shape>, usize>,
    /// The opcodes so far, so that instructions with equal opcodes share the text.
    opcodes: HashMap<String, Arc<str>>,
    /// The number of arrays in the results of all instructions so far, which is limited.
    leaves: usize,
    /// The id of the entry computation. If it is `None`, every instruction has a separate buffer,
    /// as in an out-of-memory report or a report of a single shape.
    pub(super) entry: Option<i64>,
    /// The shapes of the entry computation's parameters and result, if the module declares them.
    pub(super) buffers: Option<(Vec<Shape>, Shape)>,
    /// The arrays in the entry computation's result that reuse buffers of parameters.
    pub(super) aliases: Vec<InputOutputAlias>,
}

/// A computation of a scanned module.
pub(super) struct ScannedComputation {
    pub(super) id: i64,
    pub(super) name: Arc<str>,
    /// The computation's instructions, as indices into [`ScannedModule::instructions`].
    pub(super) instructions: Vec<usize>,
    /// The root, as an index into [`ScannedModule::instructions`], or `None` if there is no root.
    pub(super) root: Option<usize>,
}

/// An instruction of a scanned module.
pub(super) struct ScannedInstruction {
    pub(super) name: Box<str>,
    pub(super) opcode: Arc<str>,
    /// The shape of the result, as an index into [`ScannedModule::shapes`].
    pub(super) shape: usize,
    /// The operands, as indices into [`ScannedModule::instructions`].
    pub(super) operands: Vec<usize>,
    /// The ids of the called computations.
    pub(super) called: Vec<i64>,
    /// The index of the parameter if the opcode is `parameter`, and the index of the tuple element
    /// if it is `get-tuple-element`.
    pub(super) number: i64,
    /// The arrays in the result that share buffers with operands, as the module declares. Custom
    /// calls and fusions have such a list.
    pub(super) aliases: Vec<proto::OutputOperandAliasing>,
}

/// A shape with its memory.
pub(super) struct MeasuredShape {
    pub(super) shape: Arc<Shape>,
    /// The memory of the whole shape, or `None` if it is not known.
    pub(super) memory: Option<Footprint>,
    /// The memory of each array in the shape, in depth-first order. It is 0 if it is not known.
    pub(super) leaves: Vec<Footprint>,
}

impl MeasuredShape {
    fn new(shape: Arc<Shape>) -> Self {
        let mut leaves = Vec::new();
        measure(&shape, &mut leaves);
        Self { memory: Footprint::of(&shape), leaves, shape }
    }
}

/// Appends the memory of each array in a shape to `leaves`.
fn measure(shape: &Shape, leaves: &mut Vec<Footprint>) {
    if shape.element_type() == ElementType::Tuple {
        shape.tuple_shapes().iter().for_each(|part| measure(part, leaves));
    } else {
        leaves.push(Footprint::of(shape).unwrap_or_default());
    }
}

impl ScannedModule {
    /// Returns a module with a single instruction of the given shape.
    pub(super) fn of_shape(shape: &Shape) -> Self {
        let mut scan = Self::default();
        let proto = proto::HloInstructionProto::default();
        let shape = Arc::new(shape.clone());
        if let Ok(place) = scan.add("", &shape, &proto, Vec::new()) {
            scan.finish(0, "", vec![place], None);
        }
        scan
    }

    /// Adds an instruction and returns its index. `operands` are indices into `instructions`. Only
    /// a few fields of `proto` are used. Returns an error if the module has too many instructions
    /// or arrays.
    pub(super) fn add(
        &mut self,
        name: &str,
        shape: &Arc<Shape>,
        proto: &proto::HloInstructionProto,
        operands: Vec<usize>,
    ) -> Result<usize, HloError> {
        let (given, limit) = (self.instructions.len() + 1, MAX_SCANNED);
        if given > limit {
            return Err(HloError::TooManyInstructions { given, limit });
        }
        let shape = self.measured(shape);
        self.leaves = self.leaves.saturating_add(self.shapes[shape].leaves.len());
        if self.leaves > MAX_LEAVES {
            let (given, limit) = (self.leaves, MAX_LEAVES);
            return Err(HloError::TooManyCalledShapes { given, limit });
        }
        let opcode = if let Some(opcode) = self.opcodes.get(&proto.opcode) {
            opcode.clone()
        } else {
            let opcode: Arc<str> = proto.opcode.as_str().into();
            self.opcodes.insert(proto.opcode.clone(), opcode.clone());
            opcode
        };
        let number =
            if &*opcode == "parameter" { proto.parameter_number } else { proto.tuple_index };
        self.instructions.push(ScannedInstruction {
            name: name.into(),
            opcode,
            shape,
            operands,
            called: proto.called_computation_ids.clone(),
            number,
            aliases: proto.output_operand_aliasing.clone(),
        });
        Ok(self.instructions.len() - 1)
    }

    /// Adds a computation. The caller has already added its instructions.
    pub(super) fn finish(
        &mut self,
        id: i64,
        name: &str,
        instructions: Vec<usize>,
        root: Option<usize>,
    ) {
        self.computations.push(ScannedComputation { id, name: name.into(), instructions, root });
    }

    /// Returns the shape of an instruction.
    pub(super) fn shape(&self, instruction: usize) -> &Shape {
        &self.shapes[self.instructions[instruction].shape].shape
    }

    /// Returns the index of a shape in `shapes`. A new shape is first measured and added.
    fn measured(&mut self, shape: &Arc<Shape>) -> usize {
        if let Some(&number) = self.shape_numbers.get(shape) {
            return number;
        }
        self.shapes.push(MeasuredShape::new(shape.clone()));
        self.shape_numbers.insert(shape.clone(), self.shapes.len() - 1);
        self.shapes.len() - 1
    }

    /// Returns the ids of the computations that are fused, or applied to elements, such as the
    /// computation of a reduce. Their instructions have no buffers, because intermediate results
    /// are not stored in memory.
    pub(super) fn applied(&self) -> HashSet<i64> {
        let runs = |opcode: &str| {
            ["call", "while", "conditional", "async-start", "async-update", "async-done"]
                .contains(&opcode)
        };
        let callers = self.instructions.iter().filter(|instruction| !runs(&instruction.opcode));
        callers.flat_map(|instruction| instruction.called.iter().copied()).collect()
    }

    /// Measures the module and returns the report. Arrays without tiles first get `tiles`.
    pub(super) fn report(mut self, tiles: DefaultTiles) -> MemoryReport {
        if tiles != DefaultTiles::None {
            for measured in &mut self.shapes {
                *measured = MeasuredShape::new(tiles.apply(&measured.shape).into());
            }
            if let Some((parameters, result)) = &mut self.buffers {
                parameters.iter_mut().chain([result]).for_each(|shape| *shape = tiles.apply(shape));
            }
        }
        let buffers = Buffers::of(&self);
        let mut report = MemoryReport {
            total_bytes: buffers.total.bytes,
            total_padding_bytes: buffers.total.padding_bytes(),
            temporaries_bytes: buffers.temporaries.bytes,
            ..MemoryReport::default()
        };
        let (mut parameters, mut results) = (0_u64, 0_u64);
        for computation in &self.computations {
            let in_entry = self.entry.is_none_or(|entry| entry == computation.id);
            for &place in &computation.instructions {
                let instruction = &self.instructions[place];
                let MeasuredShape { shape, memory, .. } = &self.shapes[instruction.shape];
                let bytes = memory.map_or(0, |memory| memory.bytes);
                if in_entry && &*instruction.opcode == "parameter" {
                    parameters = parameters.saturating_add(bytes);
                }
                if in_entry && computation.root == Some(place) {
                    results = results.saturating_add(bytes);
                }
                let own = buffers.own[place];
                report.instructions.push(InstructionMemory {
                    computation: computation.name.clone(),
                    name: instruction.name.clone(),
                    opcode: instruction.opcode.clone(),
                    shape: shape.clone(),
                    memory: *memory,
                    has_buffer: own.is_some(),
                    buffers: own.unwrap_or_default(),
                });
            }
        }
        let size = |shape: &Shape| Footprint::of(shape).map_or(0, |memory| memory.bytes);
        if let Some((shapes, result)) = &self.buffers {
            parameters = shapes.iter().map(size).fold(0, u64::saturating_add);
            results = size(result);
        }
        (report.parameters_bytes, report.results_bytes) = (parameters, results);
        report.instructions.sort_by(|one, other| {
            let key = |instruction: &InstructionMemory| {
                let memory = instruction.memory.unwrap_or_default();
                (Reverse(memory.padding_bytes()), Reverse(memory.bytes))
            };
            let names = one.computation.cmp(&other.computation);
            key(one).cmp(&key(other)).then(names).then_with(|| one.name.cmp(&other.name))
        });
        report
    }
}
