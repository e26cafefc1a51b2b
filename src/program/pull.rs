//! [`pull`]: traces the elements of a value backwards through the instructions, to the buffers and
//! constants from which they are copied. The result is a nest.
//!
//! All elements are traced at once. An index is not an integer but an affine form of the loops over
//! the value's memory, with bounds. An instruction that chooses between operands, such as
//! `concatenate`, divides the positions of these loops into *regions*, and the trace continues in
//! another operand for each region. Regions whose source is not known yet wait on a stack.

use std::collections::{HashMap, HashSet};

use super::{
    BufferId, ProgramError,
    converted::ConvertedElements,
    graph::{ArrayOrigin, Graph, GraphNode, TuplePath},
    literal::{extents, is_integer, packed_bits, parts, storage_bits},
    trail::Trail,
};
use crate::{
    hlo::Literal,
    nest::{Assembly, CopyNest, Index, MAX_CASES, NestError, WalkRegion},
    shape::{ElementType, Shape},
    stride::StrideDescriptor,
};

/// The parameters, constants and scratch buffers that kernels read, and the values that were folded
/// to constants so far.
#[derive(Debug, Default)]
pub(super) struct ModuleBuffers {
    /// The arrays of the parameters, in order. An entry has the index of the parameter, the path to
    /// the array inside the parameter, and the shape of the array.
    pub(super) parameters: Vec<(usize, TuplePath, Shape)>,
    /// The shape and bytes of each constant that a kernel reads.
    pub(super) constants: Vec<(Shape, Vec<u8>)>,
    /// The constant of each value that became one, as an index into `constants`.
    pub(super) constant_of: HashMap<ArrayOrigin, usize>,
    /// The table of each scatter that has one: a constant or a scratch buffer with the last window
    /// at each place.
    pub(super) tables: HashMap<GraphNode, BufferId>,
    /// The values that were folded to constants.
    pub(super) folded: HashMap<ArrayOrigin, Literal>,
    /// The scratch buffer of each value that has one, as an index into `scratch`.
    pub(super) scratch_of: HashMap<ArrayOrigin, usize>,
    /// The shapes of the scratch buffers, in default layouts.
    pub(super) scratch: Vec<Shape>,
    /// The conversions that do not fold to constants.
    pub(super) conversions: HashSet<GraphNode>,
}

/// The array that a kernel computes, and its layout in memory.
pub(super) struct KernelOutput<'a> {
    pub(super) node: GraphNode,
    pub(super) path: TuplePath,
    pub(super) element_type: ElementType,
    pub(super) destination: &'a StrideDescriptor,
    /// True if a [`Trail`] is recorded.
    pub(super) keeps_trail: bool,
    /// The maximum number of cases in the nest.
    pub(super) most_cases: usize,
    /// The number of entries of the table, if the kernel makes the table of the scatter `node`.
    /// Then `destination` describes the walk over all windows that marks their places.
    pub(super) table_places: Option<u64>,
    /// The parameter whose buffer the array may take over, and the function that makes the nest of
    /// such a copy, [`Assembly::in_place`].
    pub(super) takes_over: Option<(BufferId, InPlace)>,
}

impl<'a> KernelOutput<'a> {
    /// Returns the output for a node whose value is an array, without a trail.
    pub(super) fn plain(
        node: GraphNode,
        element_type: ElementType,
        destination: &'a StrideDescriptor,
    ) -> Self {
        let (path, keeps_trail, most_cases) = (TuplePath::new(), false, MAX_CASES);
        Self {
            node,
            path,
            element_type,
            destination,
            keeps_trail,
            most_cases,
            table_places: None,
            takes_over: None,
        }
    }
}

/// A function that makes the nest of a copy into the buffer of one of its sources, given the index
/// of that source. It is passed as a value so that programs without aliases need not link
/// [`Assembly::in_place`].
pub(super) type InPlace = fn(&Assembly, usize) -> Option<CopyNest>;

/// The result of tracing a value back to its sources.
pub(super) struct Pulled {
    pub(super) nest: CopyNest,
    /// The buffer of each source.
    pub(super) sources: Vec<BufferId>,
    /// The instructions through which elements pass, in the order of the first visits.
    pub(super) nodes: Vec<GraphNode>,
    /// The trail, or `None` if none is recorded.
    pub(super) trail: Option<Trail>,
    /// The nest and the sources of a copy into the buffer that the array takes over. `None` if it
    /// takes over no buffer, or if the copy would read places after it has overwritten them.
    pub(super) in_place: Option<(CopyNest, Vec<BufferId>)>,
}

/// The reason why one nest cannot compute a value yet. The caller removes the reason if it can, and
/// traces the value again.
pub(super) enum Stop {
    /// The value is not supported.
    Refused(Box<ProgramError>),
    /// This array inside the value of a node must be computed into a scratch buffer first.
    Before(GraphNode, TuplePath),
    /// This array must first be computed into a scratch buffer without padding. Its elements are
    /// put together from units, but its layout adds padding or gives elements another width.
    Apart(GraphNode, TuplePath),
    /// The node computes its value from others. The trace can continue only if the value folds to a
    /// constant.
    Compute(GraphNode),
    /// This conversion must be folded to a constant. If it does not fold, kernels may perform it.
    Convert(GraphNode),
    /// The table of this scatter must be made at run time, unless the value of `folds` folds to a
    /// constant. The error applies if no such table is possible.
    Table { scatter: GraphNode, folds: Option<GraphNode>, error: Box<ProgramError> },
    /// A bound of a kernel is exceeded. The list has the number of visits of each node, in the
    /// order of the first visits.
    Bound(Box<NestError>, Vec<(GraphNode, usize)>),
}

impl From<ProgramError> for Stop {
    fn from(error: ProgramError) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// Builds the nest that copies the elements of a value from the buffers that hold them. If an
/// instruction divides elements, the trace starts again with smaller units.
pub(super) fn pull(
    graph: &mut Graph,
    buffers: &mut ModuleBuffers,
    output: &KernelOutput,
) -> Result<Pulled, Stop> {
    let mut unit = storage_bits(output.element_type);
    loop {
        match Pull::run(graph, buffers, output, unit) {
            Err(Halt::Unit(bits)) if bits < unit => unit = bits,
            Err(Halt::Unit(_)) => {
                let reason = "; its elements would be taken apart";
                return Err(refused(graph, output.node, reason).into());
            }
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

/// The reason why a trace ends early.
pub(super) enum Halt {
    Stop(Stop),
    /// Elements must be divided into units of this width in bits, so that the trace has to start
    /// again.
    Unit(u32),
    /// The nest cannot express the copy.
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

/// Elements whose source is not known yet. At each position in `region`, the element to write is
/// element `index` of the array at `path` in the value of `node`.
pub(super) struct PendingValue {
    pub(super) node: GraphNode,
    pub(super) path: TuplePath,
    pub(super) region: WalkRegion,
    pub(super) index: Vec<Index>,
    /// The index of the unit inside the element; 0 if elements are moved whole.
    pub(super) part: Index,
}

/// The state of tracing one value.
pub(super) struct Pull<'g, 'm> {
    pub(super) graph: &'g mut Graph<'m>,
    pub(super) buffers: &'g mut ModuleBuffers,
    pub(super) assembly: Assembly,
    /// The width of a unit, in bits. An element consists of one or more units.
    pub(super) unit: u32,
    /// The width of the destination's element type, in bits.
    pub(super) width: u32,
    /// True if units are signed and the destination gives each unit a wider place. The sign is then
    /// repeated in the rest of the place.
    pub(super) extends: bool,
    /// The number of bits of an element that are written. If it is less than 8, the kernel copies
    /// only the low bits of the source's elements.
    pub(super) bits: u32,
    /// True if the destination packs elements that are smaller than a byte.
    pub(super) packs: bool,
    /// The sources of the nest. The flag is true for a source from which lookups load.
    pub(super) sources: Vec<(BufferId, bool)>,
    /// The elements whose source is not known yet, as a stack.
    pub(super) pending: Vec<PendingValue>,
    /// The conversion through which elements pass, as far as it is known.
    pub(super) converted: ConvertedElements,
    /// The number of visits of each node.
    pub(super) visits: HashMap<GraphNode, usize>,
    /// The nodes, in the order of their first visits.
    pub(super) order: Vec<GraphNode>,
}

impl<'g, 'm> Pull<'g, 'm> {
    /// Traces a value in units of `unit` bits.
    fn run(
        graph: &'g mut Graph<'m>,
        buffers: &'g mut ModuleBuffers,
        output: &KernelOutput,
        unit: u32,
    ) -> Result<Pulled, Halt> {
        let root = output.node;
        let parts = parts(output.element_type, unit);
        let (mut assembly, start) = if parts > 1 {
            if output.destination.padding() != 0
                || output.destination.element_bits() != parts * unit
            {
                return Err(Halt::Stop(Stop::Apart(root, output.path.clone())));
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
            width: packed_bits(output.element_type),
            extends: output.element_type.is_signed_integer()
                && unit < 8
                && output.destination.element_bits() > parts * unit,
            bits: if is_integer(output.element_type) {
                output.element_type.bits().unwrap_or(unit)
            } else {
                unit
            },
            packs: output.destination.element_bits() < 8,
            sources: Vec::new(),
            pending: Vec::new(),
            converted: ConvertedElements::new(output.element_type),
            visits: HashMap::new(),
            order: Vec::new(),
        };
        if let Some(places) = output.table_places {
            pull.assembly.mark_table(places);
            if let Some((region, index)) = start {
                pull.mark_windows(root, region, &index)
                    .map_err(|halt| bounded(halt, &pull.order, &pull.visits))?;
            }
        } else if let Some((region, mut index)) = start {
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
        let mut trail = output.keeps_trail.then(|| Trail::new(unit, parts));
        while let Some(item) = pull.pending.pop() {
            pull.converted.leave(pull.pending.len());
            if let Some(trail) = &mut trail {
                trail.enter(&item, pull.graph)?;
            }
            if let Err(halt) = pull.follow(item) {
                return Err(bounded(halt, &pull.order, &pull.visits));
            }
            if let Some(trail) = &mut trail {
                trail.leave(pull.pending.len(), pull.assembly.cases());
            }
        }
        let Self { mut assembly, sources, visits, order: nodes, converted, .. } = pull;
        assembly.convert(converted.conversion());
        let sources: Vec<BufferId> = sources.into_iter().map(|(value, _)| value).collect();
        let kept = output.takes_over.and_then(|(taken, in_place)| {
            let number = sources.iter().position(|&source| source == taken)?;
            let nest = in_place(&assembly, number)?;
            let mut sources = sources.clone();
            sources.remove(number);
            Some((nest, sources)).filter(|(_, sources)| !sources.contains(&taken))
        });
        let nest = assembly.finish().map_err(|error| bounded(error.into(), &nodes, &visits))?;
        let reads = |(taken, _): (BufferId, InPlace)| sources.contains(&taken);
        let in_place = match output.takes_over {
            Some(taken) if !reads(taken) => Some((nest.clone(), sources.clone())),
            _ => kept,
        };
        let trail = trail.map(|trail| trail.finished(&nest, &sources));
        Ok(Pulled { nest, sources, nodes, trail, in_place })
    }

    /// Traces elements back through one instruction. If they are in a buffer or consist of known
    /// bits, the trace of these elements ends.
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
                if let Some(literal) = self.graph.literal(node, path) {
                    return self.constant(item, origin, &literal);
                }
                let path = path.clone();
                return self.instruction(PendingValue { path, ..item }, node);
            }
        };
        let item = PendingValue { path: TuplePath::new(), ..item };
        let visits = self.visits.entry(node).or_insert(0);
        *visits += 1;
        if *visits == 1 {
            self.order.push(node);
        }
        self.instruction(item, node)
    }

    /// Returns the index of the source of the nest that reads `value`. `add` adds the source to the
    /// assembly when it is first used. `of_numbers` is true if lookups load from it.
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

    /// Returns the extents of a node's array, or an error if an extent is not fixed.
    pub(super) fn extents(&self, node: GraphNode) -> Result<Vec<u64>, Halt> {
        let shape = self.graph.instruction(node).shape();
        extents(shape).ok_or_else(|| unsupported(self.graph, node, "; its extents are not fixed"))
    }
}

/// Turns an error that a scratch buffer may avoid into [`Stop::Bound`], with the visits of each
/// node in the order of the first visits. All other errors are returned unchanged.
fn bounded(halt: Halt, order: &[GraphNode], visits: &HashMap<GraphNode, usize>) -> Halt {
    match halt {
        Halt::Nest(error @ (NestError::Bound { .. } | NestError::Reach { .. })) => {
            let visits = order.iter().map(|node| (*node, visits[node]));
            Halt::Stop(Stop::Bound(Box::new(error), visits.collect()))
        }
        halt => halt,
    }
}

impl ModuleBuffers {
    /// Returns an array of a parameter: its index among the arrays of all parameters, and its
    /// shape.
    pub(super) fn parameter(&self, number: usize, path: &TuplePath) -> (usize, Shape) {
        let found =
            self.parameters.iter().enumerate().find(|(_, of)| (of.0, &of.1) == (number, path));
        let (place, (_, _, shape)) = found.expect("every array of a parameter is listed");
        (place, shape.clone())
    }
}

/// Returns the error for an instruction that is not supported, as a [`Halt`].
pub(super) fn unsupported(graph: &Graph, node: GraphNode, reason: &str) -> Halt {
    refused(graph, node, reason).into()
}

/// Returns the error for an instruction that is not supported. `reason` is the end of the message.
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
