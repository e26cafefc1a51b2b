//! [`pull`]: the index of a result handed backwards through the instructions, to where its elements come from.

use std::collections::HashMap;

use super::{
    BufferId, ProgramError,
    graph::{ArrayOrigin, Graph, GraphNode, TuplePath},
    literal::{extents, is_integer, storage_bits},
    trail::Trail,
};
use crate::{
    hlo::Literal,
    nest::{Assembly, CopyNest, Index, NestError, WalkRegion},
    shape::{ElementType, Shape},
    stride::StrideDescriptor,
};

/// The buffers that values come from: the parameters of the module and what is kept of it.
#[derive(Debug, Default)]
pub(super) struct ModuleBuffers {
    /// The arrays of the parameters, in order, with where each stands.
    pub(super) parameters: Vec<(usize, TuplePath, Shape)>,
    /// Constants that kernels read, in memory, with their shapes.
    pub(super) constants: Vec<(Shape, Vec<u8>)>,
    pub(super) constant_of: HashMap<ArrayOrigin, usize>,
    /// The constants that say in which window of a scatter a place lies, and the dimensions that they are for.
    pub(super) tables: HashMap<GraphNode, (usize, Vec<usize>)>,
    /// Values that were computed from constants.
    pub(super) folded: HashMap<ArrayOrigin, Literal>,
    /// Values that are computed before, in the order of their scratch buffers.
    pub(super) scratch_of: HashMap<ArrayOrigin, usize>,
    /// Their shapes, in default layouts.
    pub(super) scratch: Vec<Shape>,
}

/// What a kernel is to write: an array of the program, in the memory of `destination`.
pub(super) struct KernelOutput<'a> {
    pub(super) node: GraphNode,
    pub(super) path: TuplePath,
    pub(super) element_type: ElementType,
    pub(super) destination: &'a StrideDescriptor,
    /// Whether the instructions on the ways are kept.
    pub(super) keeps_trail: bool,
    /// The cases that its nest may have.
    pub(super) most_cases: usize,
}

/// What the way of a value came to.
pub(super) struct Pulled {
    pub(super) nest: CopyNest,
    /// The buffer of each source.
    pub(super) sources: Vec<BufferId>,
    /// The instructions on the ways, where these were output.
    pub(super) trail: Option<Trail>,
}

/// Why a value was not found in one go.
pub(super) enum Stop {
    /// It is refused.
    Refused(Box<ProgramError>),
    /// This value has to be there first: a number that only a run knows.
    Before(GraphNode),
    /// This value is computed: it can be followed where it is a constant.
    Compute(GraphNode),
    /// This value has to be a constant, else this is what is wrong.
    Constant(GraphNode, Box<ProgramError>),
    /// A bound of one kernel is passed; with how often each node was visited, in the order of the first visits.
    Bound(Box<NestError>, Vec<(GraphNode, usize)>),
}

impl From<ProgramError> for Stop {
    fn from(error: ProgramError) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// Finds where the elements of a value come from.
pub(super) fn pull(
    graph: &mut Graph,
    buffers: &mut ModuleBuffers,
    output: &KernelOutput,
) -> Result<Pulled, Stop> {
    let mut unit = storage_bits(output.element_type);
    loop {
        match Pull::run(graph, buffers, output, unit) {
            Err(Halt::Unit(bits)) => unit = bits,
            Err(Halt::Stop(stop)) => return Err(stop),
            Err(Halt::Nest(error @ NestError::Bound { .. })) => {
                return Err(Stop::Bound(Box::new(error), Vec::new()));
            }
            Err(Halt::Nest(error)) => {
                let instruction = graph.instruction(output.node).name().to_owned();
                let error = Box::new(error);
                return Err(ProgramError::Nest { instruction, error }.into());
            }
            Ok(pulled) => return Ok(pulled),
        }
    }
}

/// Why a way ends before its end.
pub(super) enum Halt {
    Stop(Stop),
    /// Elements have to be taken apart into units of so many bits.
    Unit(u32),
    /// What a nest refuses.
    Nest(NestError),
}

impl From<ProgramError> for Halt {
    fn from(error: ProgramError) -> Self {
        Self::Stop(error.into())
    }
}

impl From<NestError> for Halt {
    fn from(error: NestError) -> Self {
        Self::Nest(error)
    }
}

/// A value that a region takes, at an index.
pub(super) struct PendingValue {
    pub(super) node: GraphNode,
    pub(super) path: TuplePath,
    pub(super) region: WalkRegion,
    pub(super) index: Vec<Index>,
    /// Which unit of the element.
    pub(super) part: Index,
}

pub(super) struct Pull<'g, 'm> {
    pub(super) graph: &'g mut Graph<'m>,
    pub(super) buffers: &'g mut ModuleBuffers,
    pub(super) assembly: Assembly,
    /// Bits of a unit, of which an element has one or more.
    pub(super) unit: u32,
    /// Bits of an element that is written: of those below a byte, the low bits of what is read.
    pub(super) bits: u32,
    /// Whether elements below a byte are written next to each other.
    pub(super) packs: bool,
    pub(super) sources: Vec<(BufferId, bool)>,
    /// What is still to be followed, the next last.
    pub(super) pending: Vec<PendingValue>,
    pub(super) visits: HashMap<GraphNode, usize>,
    pub(super) order: Vec<GraphNode>,
}

impl<'g, 'm> Pull<'g, 'm> {
    fn run(
        graph: &'g mut Graph<'m>,
        buffers: &'g mut ModuleBuffers,
        output: &KernelOutput,
        unit: u32,
    ) -> Result<Pulled, Halt> {
        let root = output.node;
        let parts = storage_bits(output.element_type) / unit;
        let (mut assembly, start) = if parts > 1 {
            if output.destination.padding() != 0
                || output.destination.element_bits() != storage_bits(output.element_type)
            {
                return Err(unsupported(
                    graph,
                    root,
                    "; its elements are taken apart, and its layout pads or packs them",
                ));
            }
            Assembly::new(&output.destination.split_elements(parts))?
        } else {
            Assembly::new(output.destination)?
        };
        assembly.allow_cases(output.most_cases);
        let mut pull = Self {
            graph,
            buffers,
            assembly,
            unit,
            bits: if is_integer(output.element_type) {
                output.element_type.bits().unwrap_or(unit)
            } else {
                unit
            },
            packs: output.destination.element_bits() < 8,
            sources: Vec::new(),
            pending: Vec::new(),
            visits: HashMap::new(),
            order: Vec::new(),
        };
        if let Some((region, mut index)) = start {
            let part = if parts > 1 { index.pop() } else { None };
            let part = part.unwrap_or(Index::constant(0));
            let path = output.path.clone();
            pull.pending.push(PendingValue {
                node: root,
                path,
                region,
                index: index.into_vec(),
                part,
            });
        }
        let mut trail = output.keeps_trail.then(|| Trail::new(unit));
        while let Some(item) = pull.pending.pop() {
            if let Some(trail) = &mut trail {
                trail.enter(&item, pull.graph)?;
            }
            if let Err(halt) = pull.follow(item) {
                return Err(match halt {
                    Halt::Nest(error @ NestError::Bound { .. }) => {
                        let visits = pull.order.iter().map(|node| (*node, pull.visits[node]));
                        Halt::Stop(Stop::Bound(Box::new(error), visits.collect()))
                    }
                    halt => halt,
                });
            }
            if let Some(trail) = &mut trail {
                trail.leave(pull.pending.len(), pull.assembly.cases());
            }
        }
        let sources: Vec<BufferId> = pull.sources.into_iter().map(|(value, _)| value).collect();
        let nest = pull.assembly.finish()?;
        let trail = trail.map(|trail| trail.finished(&nest, &sources));
        Ok(Pulled { nest, sources, trail })
    }

    /// Follows a value one instruction back, or to its end.
    fn follow(&mut self, item: PendingValue) -> Result<(), Halt> {
        let origin = self.graph.origin(item.node, item.path.clone())?;
        if let Some(&scratch) = self.buffers.scratch_of.get(&origin) {
            let shape = self.buffers.scratch[scratch].clone();
            return self.read(item, BufferId::Scratch(scratch), &shape);
        }
        if let Some(literal) = self.buffers.folded.get(&origin).cloned() {
            return self.constant(item, origin, &literal);
        }
        let node = match origin {
            ArrayOrigin::Instruction(node) => node,
            ArrayOrigin::Parameter(number, path) => {
                let (place, shape) = self.buffers.parameter(number, &path);
                return self.read(item, BufferId::Parameter(place), &shape);
            }
            ArrayOrigin::Part(node, ref path) => {
                let literal = self.literal(node, path);
                return self.constant(item, origin, &literal);
            }
        };
        let visits = self.visits.entry(node).or_insert(0);
        *visits += 1;
        if *visits == 1 {
            self.order.push(node);
        }
        self.instruction(item, node)
    }

    /// The number of a source of the nest: of elements, or of numbers for lookups; added where it is new.
    pub(super) fn source(
        &mut self,
        value: BufferId,
        of_numbers: bool,
        add: impl FnOnce(&mut Assembly) -> Result<usize, NestError>,
    ) -> Result<usize, NestError> {
        let known = self.sources.iter().position(|known| *known == (value, of_numbers));
        known.map_or_else(
            || {
                self.sources.push((value, of_numbers));
                add(&mut self.assembly)
            },
            Ok,
        )
    }

    /// Extents of a node's array.
    pub(super) fn extents(&self, node: GraphNode) -> Result<Vec<u64>, Halt> {
        let shape = self.graph.instruction(node).shape();
        extents(shape).ok_or_else(|| unsupported(self.graph, node, "; its extents are not fixed"))
    }
}

impl ModuleBuffers {
    /// The place of a parameter's array among all, and its shape.
    pub(super) fn parameter(&self, number: usize, path: &TuplePath) -> (usize, Shape) {
        let found =
            self.parameters.iter().enumerate().find(|(_, of)| (of.0, &of.1) == (number, path));
        let (place, (_, _, shape)) = found.expect("every array of a parameter is listed");
        (place, shape.clone())
    }
}

pub(super) fn unsupported(graph: &Graph, node: GraphNode, reason: &str) -> Halt {
    refused(graph, node, reason).into()
}

/// The error of an instruction that is not supported.
pub(super) fn refused(graph: &Graph, node: GraphNode, reason: &str) -> ProgramError {
    let instruction = graph.instruction(node);
    ProgramError::Unsupported {
        instruction: instruction.name().into(),
        shape: instruction.shape().without_layout().to_string().into(),
        opcode: instruction.opcode().name().into(),
        reason: reason.into(),
        line: instruction.source().cloned().map(Box::new),
    }
}
