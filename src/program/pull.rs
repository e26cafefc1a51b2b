//! [`pull`]: traces the elements of a value backwards through the instructions, to the buffers and
//! constants from which they are copied. The result is a *nest*: the loops of a kernel that copies
//! them.
//!
//! All elements are traced at once: an index is not one integer, but an affine expression of the
//! loops over the value's memory, with bounds. An instruction that chooses between operands, such
//! as `concatenate`, divides the iterations of these loops into *regions*, one for each operand.
//! Each region waits on a stack until the trace continues in its operand. If an instruction divides
//! elements, the trace moves them in parts, called *units*.

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

/// The buffers that the kernels of a module read, and the values that were folded to constants so
/// far.
#[derive(Debug, Default)]
pub(super) struct ModuleBuffers {
    /// The arrays inside the parameters, in order. An entry has the index of the parameter, the
    /// path to the array inside the parameter, and the shape of the array.
    pub(super) parameters: Vec<(usize, TuplePath, Shape)>,
    /// The shape and bytes of each constant that a kernel reads.
    pub(super) constants: Vec<(Shape, Vec<u8>)>,
    /// The constant buffer of each value that has one, as an index into `constants`.
    pub(super) constant_of: HashMap<ArrayOrigin, usize>,
    /// The table of each scatter that needs one. It is a constant or a scratch buffer, and tells
    /// for each place of the array which window is the last one written there.
    pub(super) tables: HashMap<GraphNode, BufferId>,
    /// The values that were computed at compile time, because they depend on constants only.
    pub(super) folded: HashMap<ArrayOrigin, Literal>,
    /// The scratch buffer of each value that has one, as an index into `scratch`.
    pub(super) scratch_of: HashMap<ArrayOrigin, usize>,
    /// The shapes of the scratch buffers, in default layouts.
    pub(super) scratch: Vec<Shape>,
    /// The conversions that kernels perform, because their values do not fold to constants.
    pub(super) conversions: HashSet<GraphNode>,
}

/// The array that a kernel computes, and its layout in memory.
pub(super) struct KernelOutput<'a> {
    pub(super) node: GraphNode,
    pub(super) path: TuplePath,
    pub(super) element_type: ElementType,
    pub(super) destination: &'a StrideDescriptor,
    /// True if the trace also records a [`Trail`].
    pub(super) keeps_trail: bool,
    /// The maximum number of cases in the nest.
    pub(super) most_cases: usize,
    /// The places that the loops of the kernel visit.
    pub(super) visits: KernelVisits<'a>,
    /// The parameter whose buffer the array may take over, and the function that makes the nest of
    /// a copy into this buffer, [`Assembly::in_place`]. `None` if no alias allows this.
    pub(super) takes_over: Option<(BufferId, InPlace)>,
}

/// The places that the loops of a kernel visit.
#[derive(Clone, Copy)]
pub(super) enum KernelVisits<'a> {
    /// The memory of the array, in order of address.
    Array,
    /// All windows of the scatter `node`, and the places inside each window. The kernel marks them
    /// in a table with this number of entries instead of computing an array. `destination` is the
    /// array over which the loops run, with an element for each place of each window.
    Windows { table_places: u64 },
    /// The updates of a scatter or a `dynamic-update-slice`, `node`. The kernel stores each of them
    /// in the array that is described here, and `destination` is the array of updates over which
    /// the loops run.
    Updates { array: &'a StrideDescriptor },
}

impl<'a> KernelOutput<'a> {
    /// Returns the output for a node whose value is an array that is computed without a trail, a
    /// table, or an alias.
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
            visits: KernelVisits::Array,
            takes_over: None,
        }
    }
}

/// A function that makes the nest of a copy into the buffer of one of its own sources. The argument
/// is the index of that source. The function is passed as a value, so that programs without aliases
/// need not link [`Assembly::in_place`].
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
    /// The nest and the sources of a copy into the buffer that the array takes over. `None` if the
    /// array takes over no buffer, or if the copy might read places after it has overwritten them.
    pub(super) in_place: Option<(CopyNest, Vec<BufferId>)>,
}

/// The reason why one nest cannot compute a value yet. The caller folds the value in the way, or
/// moves it to a scratch buffer, and then traces the value again.
pub(super) enum Stop {
    /// stridec cannot compile the value.
    Refused(Box<ProgramError>),
    /// An earlier kernel must compute this array into a scratch buffer. The node and the path name
    /// the array.
    Before(GraphNode, TuplePath),
    /// An earlier kernel must compute this array into a scratch buffer without padding. The reason
    /// is that a trace divides its elements into units, but the layout of the output adds padding
    /// or gives elements another width.
    Apart(GraphNode, TuplePath),
    /// The node computes new element values. The trace can continue only if the value of the node
    /// folds to a constant.
    Compute(GraphNode),
    /// The caller must try to fold this conversion to a constant. If the conversion does not fold,
    /// the caller permits kernels to perform it.
    Convert(GraphNode),
    /// The scatter needs a table that is made at run time, unless the node `folds` folds to a
    /// constant. If neither is possible, the caller returns `error`.
    Table { scatter: GraphNode, folds: Option<GraphNode>, error: Box<ProgramError> },
    /// The nest exceeds a bound of a kernel. The list has each node with its number of visits, in
    /// the order of the first visits, so that the caller can choose a value for a scratch buffer.
    Bound(Box<NestError>, Vec<(GraphNode, usize)>),
}

impl From<ProgramError> for Stop {
    fn from(error: ProgramError) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// Builds the nest that copies the elements of a value from the buffers that hold them. If an
/// instruction divides elements, such as `bitcast-convert` from `f32` to `u8`, the trace starts
/// again with smaller units.
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
    /// The trace must start again with units of this width, in bits, because an instruction divides
    /// elements.
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

/// Elements whose source is not known yet. In each iteration that belongs to `region`, the nest
/// writes the element at `index` of an array: the array at `path` in the value of `node`.
pub(super) struct PendingValue {
    pub(super) node: GraphNode,
    pub(super) path: TuplePath,
    pub(super) region: WalkRegion,
    pub(super) index: Vec<Index>,
    /// The index of the unit inside the element. It is 0 if elements are moved whole.
    pub(super) part: Index,
}

/// The state of [`pull`] while it traces one value.
pub(super) struct Pull<'g, 'm> {
    pub(super) graph: &'g mut Graph<'m>,
    pub(super) buffers: &'g mut ModuleBuffers,
    pub(super) assembly: Assembly,
    /// The width of a unit, in bits. An element consists of one or more units.
    pub(super) unit: u32,
    /// The width of the destination's element type, in bits.
    pub(super) width: u32,
    /// True if elements are signed and have more room in the destination than they need. The unused
    /// bits then repeat the sign.
    pub(super) extends: bool,
    /// The number of bits of each element that the kernel writes. If it is less than 8, the kernel
    /// copies only the low bits of the source's elements.
    pub(super) bits: u32,
    /// True if the destination packs elements that are smaller than a byte, so that several share
    /// one byte.
    pub(super) packs: bool,
    /// The sources of the nest. The flag is true for a source from which lookups load, and false
    /// for a source from which elements are copied.
    pub(super) sources: Vec<(BufferId, bool)>,
    /// The stack of elements whose source is not known yet.
    pub(super) pending: Vec<PendingValue>,
    /// The conversion between element types that the nest performs, as far as the trace has found
    /// it.
    pub(super) converted: ConvertedElements,
    /// The number of times that the trace reached each node. A node with many visits is a candidate
    /// for a scratch buffer.
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
        match (output.visits, start) {
            (KernelVisits::Array, None) => {}
            (KernelVisits::Array, Some((region, mut index))) => {
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
            (KernelVisits::Windows { table_places }, start) => {
                pull.assembly.mark_table(table_places);
                if let Some((region, index)) = start {
                    pull.mark_windows(root, region, &index)
                        .map_err(|halt| bounded(halt, &pull.order, &pull.visits))?;
                }
            }
            (KernelVisits::Updates { .. }, _) if parts > 1 => {
                return Err(Halt::Stop(Stop::Apart(root, output.path.clone())));
            }
            (KernelVisits::Updates { array }, start) => {
                pull.assembly.scatter_into(array)?;
                if let Some((region, index)) = start {
                    let number = output.path.first().copied().unwrap_or(0);
                    pull.visit_updates((root, number), region, index.into_vec(), array)?;
                }
            }
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

    /// Traces the elements of `item` back through one instruction. The trace of these elements ends
    /// if a buffer holds them or if their bits are known.
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

    /// Returns the index, among the sources of the nest, of the buffer `value`. On the first use,
    /// `add` adds this source to the assembly. `of_numbers` is true if lookups load from the
    /// source.
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

/// Converts an error that a scratch buffer may avoid to [`Stop::Bound`], with the number of visits
/// of each node in the order of the first visits. Returns all other errors unchanged.
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
    /// Returns the array at `path` in parameter `number`: the index of the array among the arrays
    /// of all parameters, and its shape.
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

/// Returns the error for an instruction that is not supported. `reason` becomes the end of the
/// message.
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
