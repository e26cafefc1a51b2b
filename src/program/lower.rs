//! [`lower`]: compiles a module to a list of nests, one for each result and one for each scratch
//! buffer.
//!
//! One nest for a whole module can become too large: a value that is used many times is traced many
//! times. Then this file computes the value into a scratch buffer first, and starts again.

use std::collections::HashSet;

use super::{
    BufferId, Program, ProgramError, ProgramStep,
    fold::{MAX_ELEMENTS, fold},
    graph::{ArrayOrigin, Graph, GraphNode, TuplePath},
    literal::{elements, extents, packed_bits},
    pull::{KernelOutput, ModuleBuffers, Pulled, Stop, pull, refused},
    reduce::{self, combiner},
    sort::sort,
    trail::Trail,
};
use crate::{
    hlo::{Literal, Module, Opcode},
    host,
    nest::{
        CopyNest, GreatestSums, Lookup, MAX_CASES, NestError, Source, coalesce, refine, regular,
        widen,
    },
    shape::{ElementType, Layout, Shape},
    stride::StrideDescriptor,
};

/// The greatest number of scratch buffers of a program. A module that needs more is refused.
const MAX_SCRATCH: usize = 64;

/// The preferred number of uses of a value that is moved to a scratch buffer because a kernel
/// exceeds a bound. If the value has about as many uses as cases, the kernel that computes it and
/// the kernel that reads it both stay small.
const SHARED_VISITS: usize = 8;

/// The greatest number of cases of a kernel in which no value is used several times, such as a
/// concatenation of thousands of operands. A higher limit allows longer kernels; a lower one
/// refuses more modules.
const MOST_CASES: usize = 1 << 12;

/// The greatest depth of nested computations that are folded at compile time. It bounds the depth
/// of recursion. Deeper values are not folded.
const MAX_FOLDS: usize = 64;

/// A program; for each array of the parameters, its parameter and the path to the array; and the
/// trail of each step, which records the instructions that elements pass through.
pub(super) type Traced = (Program, Vec<(usize, TuplePath)>, Vec<Trail>);

/// Compiles all results of a module to nests.
pub(super) fn lower(module: &Module) -> Result<Program, ProgramError> {
    Ok(lowered(module, false)?.0)
}

/// Compiles all results of a module to nests, and keeps the trail of each step.
pub(super) fn trace(module: &Module) -> Result<Traced, ProgramError> {
    lowered(module, true)
}

fn lowered(module: &Module, keeps_trail: bool) -> Result<Traced, ProgramError> {
    lowered_results(module, results(module), keeps_trail, false)
}

/// Compiles one result of a module as a dense, row-major array with elements of the same width.
///
/// The loops of the nest are not merged, so that there is one for each dimension of more than one
/// index, and one for the parts of an element if its units are smaller.
///
/// # Panics
///
/// Panics if the module has no such result.
#[cfg(feature = "accessors")]
pub(super) fn lower_dense(module: &Module, result: usize) -> Result<Program, ProgramError> {
    let (path, shape) = results(module).swap_remove(result);
    let dense = extents(&shape).and_then(|extents| {
        let bits = shape.layout().map_or(0, |layout| layout.element_size_in_bits);
        let layout = Layout::default_for_rank(extents.len()).element_size(bits);
        Shape::new(shape.element_type(), extents, Some(layout)).ok()
    });
    // A shape without fixed extents is refused by its descriptor.
    let results = vec![(path, dense.unwrap_or(shape))];
    Ok(lowered_results(module, results, false, true)?.0)
}

/// Returns the arrays of the result of a module, each with its path.
pub(super) fn results(module: &Module) -> Vec<(TuplePath, Shape)> {
    let mut results = Vec::new();
    each_array(module.result(), &mut TuplePath::new(), &mut |path, shape| {
        results.push((path.clone(), shape.clone()));
    });
    results
}

fn lowered_results(
    module: &Module,
    results: Vec<(TuplePath, Shape)>,
    keeps_trail: bool,
    keeps_axes: bool,
) -> Result<Traced, ProgramError> {
    let mut parameters = Vec::new();
    for (number, shape) in module.parameters().iter().enumerate() {
        each_array(shape, &mut TuplePath::new(), &mut |path, shape| {
            parameters.push((number, path.clone(), shape.clone()));
        });
    }
    let buffers = ModuleBuffers { parameters, ..ModuleBuffers::default() };
    let graph = Graph::new(module);
    let (steps, trails) = (Vec::new(), Vec::new());
    let mut lowering = ModuleLowering { graph, buffers, steps, keeps_axes, keeps_trail, trails };
    let root = lowering.graph.root();
    for (number, (path, shape)) in results.iter().enumerate() {
        lowering.value(root, path.clone(), shape, BufferId::Result(number))?;
    }
    let ModuleLowering { buffers, steps, trails, .. } = lowering;
    let places =
        buffers.parameters.iter().map(|(number, path, _)| (*number, path.clone())).collect();
    let described = |shapes: Vec<Shape>, value: fn(usize) -> BufferId| {
        let buffers = shapes.into_iter().enumerate();
        buffers.map(|(number, shape)| super::ArrayBuffer::new(value(number), shape)).collect()
    };
    let parameters: Result<Vec<_>, _> =
        described(buffers.parameters.into_iter().map(|of| of.2).collect(), BufferId::Parameter);
    let results: Result<Vec<_>, _> =
        described(results.into_iter().map(|of| of.1).collect(), BufferId::Result);
    let scratch: Result<Vec<_>, _> = described(buffers.scratch, BufferId::Scratch);
    let program = Program {
        name: module.name().to_owned(),
        parameters: parameters?,
        results: results?,
        scratch: scratch?,
        constants: buffers.constants.into_iter().map(|of| of.1).collect(),
        steps,
        kernels: Vec::new(),
    };
    Ok((program, places, trails))
}

/// Calls `each` for every array inside a shape, with the path to that array. An empty tuple has
/// none.
fn each_array(shape: &Shape, path: &mut TuplePath, each: &mut impl FnMut(&TuplePath, &Shape)) {
    if shape.element_type() != ElementType::Tuple {
        return each(path, shape);
    }
    for (part, shape) in shape.tuple_shapes().iter().enumerate() {
        path.push(part);
        each_array(shape, path, each);
        path.pop();
    }
}

struct ModuleLowering<'m> {
    graph: Graph<'m>,
    buffers: ModuleBuffers,
    steps: Vec<ProgramStep>,
    /// True if no pass splits or merges the loops of a nest.
    keeps_axes: bool,
    keeps_trail: bool,
    /// The trail of each step; empty if trails are not kept.
    trails: Vec<Trail>,
}

impl ModuleLowering<'_> {
    /// Adds the steps that write a value to a buffer with this shape.
    fn value(
        &mut self,
        node: GraphNode,
        path: TuplePath,
        shape: &Shape,
        buffer: BufferId,
    ) -> Result<(), ProgramError> {
        let destination = StrideDescriptor::try_from(shape)
            .map_err(|error| ProgramError::layout(buffer, shape, error))?;
        let element_type = shape.element_type();
        let destination = &destination;
        let (keeps_trail, most_cases) = (self.keeps_trail, MAX_CASES);
        let is_scratch = matches!(buffer, BufferId::Scratch(_));
        let mut output =
            KernelOutput { node, path, element_type, destination, keeps_trail, most_cases };
        loop {
            match pull(&mut self.graph, &mut self.buffers, &output) {
                Ok(Pulled { nest, sources, nodes, trail }) => {
                    // A kernel with many cases computes its lookups before it tests guards. A
                    // lookup that depends on the position may have no meaning if its guards fail.
                    let is_constant = nest.lookups().iter().all(Lookup::is_constant);
                    if nest.cases().len() > MAX_CASES && !is_constant {
                        let instruction = self.graph.instruction(node).name().to_owned();
                        let error = NestError::Bound { what: "cases", limit: MAX_CASES }.into();
                        return Err(ProgramError::Nest { instruction, error });
                    }
                    let nest = simplified(nest, self.keeps_axes);
                    if passes_words(&nest)
                        && let Some(middle) = self.middle(&output, &nodes, is_scratch)?
                    {
                        self.scratch(middle, TuplePath::new(), false)?;
                        continue;
                    }
                    self.trails.extend(trail);
                    self.steps.push(ProgramStep { nest, sources, destination: buffer });
                    return Ok(());
                }
                Err(Stop::Refused(error)) => return Err(*error),
                Err(Stop::Before(node, path)) => {
                    if self.constant(node, 0)?.is_none() {
                        self.scratch(node, path, false)?;
                    }
                }
                Err(Stop::Apart(node, path)) => self.scratch(node, path, true)?,
                Err(Stop::Compute(node)) => {
                    if self.constant(node, 0)?.is_none() {
                        let node = self.culprit(node)?;
                        let reason = self.reason(node)?;
                        return Err(self.unsupported(node, &reason));
                    }
                }
                Err(Stop::Constant(node, error)) => {
                    if self.constant(node, 0)?.is_none() {
                        return Err(*error);
                    }
                }
                Err(Stop::Bound(error, visits)) => {
                    let root = self.graph.origin(output.node, output.path.clone())?;
                    let nodes: Vec<GraphNode> = visits.iter().map(|of| of.0).collect();
                    let visits: Vec<(GraphNode, usize)> = visits
                        .into_iter()
                        .filter(|&(node, _)| {
                            ArrayOrigin::Instruction(node) != root && !self.is_constant(node)
                        })
                        .collect();
                    let is_long = matches!(*error, NestError::Bound { what: "cases", .. });
                    if let NestError::Reach { .. } = *error {
                        let Some(middle) = self.middle(&output, &nodes, is_scratch)? else {
                            let instruction = self.graph.instruction(node).name().to_owned();
                            return Err(ProgramError::Nest { instruction, error });
                        };
                        self.scratch(middle, TuplePath::new(), false)?;
                    } else if let Some(shared) = shared(&visits) {
                        self.scratch(shared, TuplePath::new(), false)?;
                    } else if is_long && output.most_cases < MOST_CASES {
                        output.most_cases = MOST_CASES;
                    } else if let (false, Some(&(first, _))) = (is_long, visits.first()) {
                        self.scratch(first, TuplePath::new(), false)?;
                    } else {
                        let instruction = self.graph.instruction(node).name().to_owned();
                        return Err(ProgramError::Nest { instruction, error });
                    }
                }
            }
        }
    }

    /// Returns the value to compute into a scratch buffer first if the numbers in a nest are too
    /// large. It is near the middle between the output and its sources, so that both kernels have
    /// shorter forms. Returns `None` if no value is suitable.
    fn middle(
        &mut self,
        output: &KernelOutput,
        nodes: &[GraphNode],
        is_scratch: bool,
    ) -> Result<Option<GraphNode>, ProgramError> {
        if self.buffers.scratch.len() == MAX_SCRATCH {
            return Ok(None);
        }
        let root = self.graph.origin(output.node, output.path.clone())?;
        let mut places: Vec<usize> = (0..nodes.len()).collect();
        // The output itself is last. In the default layout it would be the same problem again.
        let is_output = |node: GraphNode| ArrayOrigin::Instruction(node) == root;
        places.sort_by_key(|&place| (is_output(nodes[place]), place.abs_diff(nodes.len() / 2)));
        for node in places.into_iter().map(|place| nodes[place]) {
            if !(is_scratch && is_output(node)) && self.can_be_scratch(node) {
                return Ok(Some(node));
            }
        }
        // A reshape of a parameter is a copy if the parameter has the default layout.
        for &node in nodes {
            for number in 0..self.graph.instruction(node).operands().len() {
                let operand = self.graph.operand(node, number);
                if self.is_laid_out(operand)? {
                    return Ok(Some(operand));
                }
            }
        }
        Ok(None)
    }

    /// Returns true if a value is an array of a parameter that has no scratch buffer yet and not
    /// the default layout.
    fn is_laid_out(&mut self, node: GraphNode) -> Result<bool, ProgramError> {
        let origin = self.graph.origin(node, TuplePath::new())?;
        let ArrayOrigin::Parameter(number, path) = &origin else { return Ok(false) };
        if !self.graph.instruction(node).shape().is_array()
            || self.buffers.scratch_of.contains_key(&origin)
        {
            return Ok(false);
        }
        let (_, shape) = self.buffers.parameter(*number, path);
        let default = extents(&shape)
            .and_then(|extents| Shape::new(shape.element_type(), extents, None).ok());
        Ok(default.is_some_and(|default| default != shape))
    }

    /// Returns true if a value only moves elements, so that a nest can compute it.
    fn can_be_scratch(&mut self, node: GraphNode) -> bool {
        if self.is_constant(node) {
            return false;
        }
        let shape = self.graph.instruction(node).shape();
        let element_type = shape.element_type();
        let destination =
            plain(shape, false).and_then(|shape| StrideDescriptor::try_from(&shape).ok());
        let Some(destination) = &destination else { return false };
        let (path, keeps_trail, most_cases) = (TuplePath::new(), false, MAX_CASES);
        let output =
            KernelOutput { node, path, element_type, destination, keeps_trail, most_cases };
        let pulled = pull(&mut self.graph, &mut self.buffers, &output);
        matches!(pulled, Ok(_) | Err(Stop::Bound(..)))
    }

    fn is_constant(&self, node: GraphNode) -> bool {
        matches!(self.graph.instruction(node).opcode(), Opcode::Constant(_))
    }

    /// Returns the instruction to name in an error, for a node that does not fold: the node itself
    /// if it depends on a parameter, and otherwise the first value on the way to it that does not
    /// fold although its operands do.
    fn culprit(&mut self, mut node: GraphNode) -> Result<GraphNode, ProgramError> {
        for _ in 0..MAX_FOLDS {
            let mut next = None;
            for number in 0..self.graph.instruction(node).operands().len() {
                let operand = self.graph.operand(node, number);
                if self.constant(operand, 0)?.is_some() {
                    continue;
                }
                match self.graph.origin(operand, TuplePath::new())? {
                    ArrayOrigin::Instruction(found) if !self.reads_parameters(found)? => {
                        next = Some(found);
                    }
                    _ => return Ok(node),
                }
            }
            let Some(next) = next else { break };
            node = next;
        }
        Ok(node)
    }

    /// Returns the reason why a value is not computed.
    fn reason(&mut self, node: GraphNode) -> Result<String, ProgramError> {
        let instruction = self.graph.instruction(node);
        if instruction.opcode().is_unknown() {
            return Ok("; it is an unknown opcode".to_owned());
        }
        let is_large = extents(instruction.shape()).is_some_and(|it| elements(&it) > MAX_ELEMENTS);
        if is_large && !self.reads_parameters(node)? {
            return Ok(format!(
                "; a value that depends on no parameter is computed when compiling, if it has at \
                 most {MAX_ELEMENTS} elements"
            ));
        }
        Ok("; elements are only moved, and only indices are computed".to_owned())
    }

    /// Returns true if a value depends on a parameter of the program.
    fn reads_parameters(&mut self, node: GraphNode) -> Result<bool, ProgramError> {
        let (mut seen, mut pending) = (HashSet::new(), vec![node]);
        while let Some(node) = pending.pop() {
            for number in 0..self.graph.instruction(node).operands().len() {
                let operand = self.graph.operand(node, number);
                match self.graph.origin(operand, TuplePath::new())? {
                    ArrayOrigin::Parameter(..) => return Ok(true),
                    ArrayOrigin::Instruction(found) | ArrayOrigin::Part(found, _) => {
                        if seen.insert(found) {
                            pending.push(found);
                        }
                    }
                }
            }
        }
        Ok(false)
    }

    fn unsupported(&self, node: GraphNode, reason: &str) -> ProgramError {
        refused(&self.graph, node, reason)
    }

    /// Folds a node that depends only on constants. Returns `None` if it depends on a parameter or
    /// is too large.
    fn constant(&mut self, node: GraphNode, depth: usize) -> Result<Option<Literal>, ProgramError> {
        let origin = self.graph.origin(node, TuplePath::new())?;
        if let Some(literal) = self.buffers.folded.get(&origin) {
            return Ok(Some(literal.clone()));
        }
        let found = match origin {
            ArrayOrigin::Instruction(found) => found,
            ArrayOrigin::Part(found, ref path) => {
                let literal = self.graph.literal(found, path);
                if literal.is_some() || self.constant(found, depth)?.is_none() {
                    return Ok(literal);
                }
                // The parts of a sort are folded together.
                return Ok(self.buffers.folded.get(&origin).cloned());
            }
            ArrayOrigin::Parameter(..) => return Ok(None),
        };
        let instruction = self.graph.instruction(found);
        if depth == MAX_FOLDS {
            return Ok(None);
        }
        let literal = match instruction.opcode() {
            Opcode::Constant(literal) => return Ok(Some(Literal::clone(literal))),
            Opcode::GetDimensionSize { dimension } => {
                let operand = self.graph.instruction(self.graph.operand(found, 0));
                let size = extents(operand.shape()).map(|extents| extents[*dimension]);
                let size = size.and_then(|size| i32::try_from(size).ok());
                size.and_then(|size| {
                    Literal::new(instruction.shape(), size.to_le_bytes().to_vec()).ok()
                })
            }
            Opcode::Iota { .. }
            | Opcode::Convert
            | Opcode::Compare { .. }
            | Opcode::Select
            | Opcode::Clamp
            | Opcode::Unary(_)
            | Opcode::Binary(_)
            | Opcode::Reduce { .. } => {
                let Some(operands) = self.operands(found, depth)? else { return Ok(None) };
                match combiner(&self.graph, instruction) {
                    Some(binary) => reduce::fold(instruction, binary, &operands),
                    None => fold(instruction, &operands),
                }
            }
            Opcode::Sort { dimension, computation, .. } => {
                let Some(operands) = self.operands(found, depth)? else { return Ok(None) };
                let computation = &self.graph.computations()[*computation];
                let sorted = sort(*dimension, computation, &operands);
                for (part, literal) in sorted.iter().flatten().enumerate() {
                    let path = std::iter::once(part).collect();
                    self.buffers.folded.insert(ArrayOrigin::Part(found, path), literal.clone());
                }
                sorted.and_then(|sorted| sorted.into_iter().next())
            }
            _ => self.moved(found, depth)?,
        };
        if let Some(literal) = &literal {
            self.buffers.folded.insert(origin, literal.clone());
        }
        Ok(literal)
    }

    /// Folds the operands of a node. Returns `None` if one of them does not fold.
    fn operands(
        &mut self,
        node: GraphNode,
        depth: usize,
    ) -> Result<Option<Vec<Literal>>, ProgramError> {
        let mut operands = Vec::new();
        for number in 0..self.graph.instruction(node).operands().len() {
            let operand = self.graph.operand(node, number);
            let Some(literal) = self.constant(operand, depth + 1)? else { return Ok(None) };
            operands.push(literal);
        }
        Ok(Some(operands))
    }

    /// Folds a node that moves elements of constants, by running its nest on the host.
    fn moved(&mut self, node: GraphNode, depth: usize) -> Result<Option<Literal>, ProgramError> {
        let shape = self.graph.instruction(node).shape();
        if extents(shape).is_none_or(|extents| elements(&extents) > MAX_ELEMENTS) {
            return Ok(None);
        }
        let element_type = shape.element_type();
        let Some(shape) = plain(shape, false) else { return Ok(None) };
        let Ok(destination) = StrideDescriptor::try_from(&shape) else { return Ok(None) };
        let path = TuplePath::new();
        let destination = &destination;
        let (keeps_trail, most_cases) = (false, MAX_CASES);
        let output =
            KernelOutput { node, path, element_type, destination, keeps_trail, most_cases };
        loop {
            match pull(&mut self.graph, &mut self.buffers, &output) {
                Ok(Pulled { nest, sources, .. }) => {
                    let constants = &self.buffers.constants;
                    let of = |source: &BufferId| match *source {
                        BufferId::Constant(number) => Some(constants[number].1.as_slice()),
                        _ => None,
                    };
                    let Some(sources) = sources.iter().map(of).collect::<Option<Vec<_>>>() else {
                        return Ok(None);
                    };
                    let mut bytes = vec![0; usize::try_from(nest.dst_bytes()).unwrap_or(0)];
                    let ran = host::run_sources(&nest, &sources, &mut bytes);
                    return Ok(ran.ok().and_then(|()| Literal::new(&shape, bytes).ok()));
                }
                Err(Stop::Refused(error)) => return Err(*error),
                Err(Stop::Before(other, _) | Stop::Compute(other) | Stop::Constant(other, _)) => {
                    if other == node || self.constant(other, depth + 1)?.is_none() {
                        return Ok(None);
                    }
                }
                Err(Stop::Bound(..) | Stop::Apart(..)) => return Ok(None),
            }
        }
    }

    /// Adds steps that compute a value into a scratch buffer with the default layout, which packs
    /// elements below a byte if `packs`.
    fn scratch(
        &mut self,
        node: GraphNode,
        path: TuplePath,
        packs: bool,
    ) -> Result<(), ProgramError> {
        if self.buffers.scratch.len() == MAX_SCRATCH {
            return Err(ProgramError::TooManyScratchBuffers { limit: MAX_SCRATCH });
        }
        let whole = self.graph.instruction(node).shape();
        let array = path.iter().fold(whole, |shape, &part| &shape.tuple_shapes()[part]);
        let Some(shape) = plain(array, packs) else {
            return Err(self.unsupported(node, "; its extents are not fixed"));
        };
        // Reserve the number first: this value may need scratch buffers too, which get later
        // numbers.
        let number = self.buffers.scratch.len();
        self.buffers.scratch.push(shape.clone());
        self.value(node, path.clone(), &shape, BufferId::Scratch(number))?;
        let origin = self.graph.origin(node, path)?;
        self.buffers.scratch_of.insert(origin, number);
        Ok(())
    }
}

/// Returns a shape with the same elements in the default layout, which packs elements below a byte
/// if `packs`. Returns `None` if an extent is not fixed.
fn plain(shape: &Shape, packs: bool) -> Option<Shape> {
    let (element_type, extents) = (shape.element_type(), extents(shape)?);
    let bits = Some(packed_bits(element_type)).filter(|&bits| packs && bits < 8);
    let layout = bits.map(|bits| Layout::default_for_rank(extents.len()).element_size(bits.into()));
    Shape::new(element_type, extents, layout).ok()
}

/// Applies the passes to a nest. Cases that follow a pattern stay as they are if the numbers of the
/// one case that replaces them would be too great for a kernel. If `keeps_axes`, no loop is split
/// or merged.
fn simplified(nest: CopyNest, keeps_axes: bool) -> CopyNest {
    let passes = |nest| if keeps_axes { nest } else { widen(coalesce(refine(nest))) };
    let whole = regular(nest.clone());
    if whole != nest {
        let whole = passes(whole);
        if !passes_words(&whole) {
            return whole;
        }
    }
    passes(nest)
}

/// Returns true if a kernel would divide or compare numbers of more than 32 bits, although its
/// arrays have fewer units.
fn passes_words(nest: &CopyNest) -> bool {
    let limit = u64::from(u32::MAX);
    let mut units = nest.sources().iter().map(Source::units).chain([nest.dst_units()]);
    units.all(|units| units <= limit) && GreatestSums::of(nest).tested > limit
}

/// Returns the value to compute into a scratch buffer if a kernel exceeds a bound: one that is used
/// several times, and preferably [`SHARED_VISITS`] times.
fn shared(visits: &[(GraphNode, usize)]) -> Option<GraphNode> {
    let several = visits.iter().filter(|(_, count)| *count > 1);
    several.min_by_key(|(_, count)| count.abs_diff(SHARED_VISITS)).map(|(node, _)| *node)
}
