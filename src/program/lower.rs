//! [`lower`]: compiles a module to a list of steps. Each step is a *nest*, the loops of one kernel,
//! which computes one result or one scratch buffer.
//!
//! Normally one nest computes a result. But the nest can exceed a bound of a kernel, for example
//! because a value that is used many times is traced again for each use. In this case, a separate
//! step computes such a value into a scratch buffer, and the result is traced again, this time only
//! back to the scratch buffer.

use std::collections::HashSet;

use super::{
    BufferId, Program, ProgramAlias, ProgramError, ProgramStep,
    fold::{MAX_ELEMENTS, fold},
    graph::{ArrayOrigin, Graph, GraphNode, TuplePath},
    literal::{elements, extents, packed_bits},
    pull::{InPlace, KernelOutput, KernelVisits, ModuleBuffers, Pulled, Stop, pull, refused},
    reduce::{self, combiner},
    scatter::table_shapes,
    sort::sort,
    trail::Trail,
};
use crate::{
    hlo::{Literal, Module, Opcode},
    host,
    nest::{
        Assembly, CopyNest, GreatestSums, Lookup, MAX_CASES, NestError, Source, coalesce, refine,
        regular, widen,
    },
    shape::{ElementType, Layout, Shape},
    stride::StrideDescriptor,
};

/// The maximum number of scratch buffers of a program. A module that needs more is refused, to
/// bound the number of kernels and the time of compilation.
pub(super) const MAX_SCRATCH: usize = 64;

/// The preferred number of uses of a value that gets a scratch buffer because a kernel exceeds a
/// bound. For example, if a value is used 8 times in a kernel of 64 cases, the scratch buffer
/// replaces this kernel by two kernels of about 8 cases each. With fewer or more uses, one of the
/// two kernels is larger.
const SHARED_VISITS: usize = 8;

/// The maximum number of cases of a kernel in which every value is used only once, such as a
/// concatenation of thousands of operands. No value of such a kernel is shared, so that a scratch
/// buffer would not make it shorter. A higher limit allows longer kernels; a lower one refuses more
/// modules.
const MOST_CASES: usize = 1 << 12;

/// The maximum depth of nested computations that are folded at compile time. Values at a greater
/// depth are not folded. The limit bounds the depth of the recursion.
const MAX_FOLDS: usize = 64;

/// The maximum total size of the values that are computed at compile time, in bytes. The limit
/// bounds the memory and the time that a hostile module can take. A lower limit would refuse
/// modules with many large tables.
const MAX_FOLDED_BYTES: usize = 256 << 20;

/// A lowered program, with the trails and the aliases that were requested.
pub(super) struct Lowered {
    pub(super) program: Program,
    /// The parameter that contains each array of [`Program::parameters`], with the path to the
    /// array.
    pub(super) parameters: Vec<(usize, TuplePath)>,
    /// The trail of each step, which records the instructions through which elements pass. Empty if
    /// the caller did not request trails.
    pub(super) trails: Vec<Trail>,
    /// The aliases of the module, each with a step that writes the result into the buffer of its
    /// parameter. The step is `None` if it might read places of that buffer after it has
    /// overwritten them. The list is empty if the caller did not request a program in place.
    pub(super) in_place: Vec<(ProgramAlias, Option<ProgramStep>)>,
}

/// Compiles all results of a module to nests.
pub(super) fn lower(module: &Module) -> Result<Program, ProgramError> {
    Ok(lowered(module, false, None)?.program)
}

/// Compiles all results of a module to nests and records the trail of each step, for
/// [`Ways`](super::Ways).
pub(super) fn trace(module: &Module) -> Result<Lowered, ProgramError> {
    lowered(module, true, None)
}

/// Compiles all results of a module to nests.
///
/// `keeps_trail` requests the trail of each step. `in_place` requests a step for each result that
/// takes over the buffer of a parameter; the function in it makes the nest of such a step.
pub(super) fn lowered(
    module: &Module,
    keeps_trail: bool,
    in_place: Option<InPlace>,
) -> Result<Lowered, ProgramError> {
    lowered_results(module, results(module), keeps_trail, false, in_place)
}

/// Compiles one result of a module, as a dense, row-major array whose elements keep their width.
///
/// The loops of the nest are not merged: each dimension with an extent of more than 1 has a loop.
/// If elements are divided into parts, one more loop counts the parts of an element.
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
    // A shape without fixed extents is kept here, because the conversion to strides refuses it
    // later, with an error.
    let results = vec![(path, dense.unwrap_or(shape))];
    Ok(lowered_results(module, results, false, true, None)?.program)
}

/// Returns the arrays inside the result of a module, each with the path to it.
pub(super) fn results(module: &Module) -> Vec<(TuplePath, Shape)> {
    let mut results = Vec::new();
    each_array(module.result(), &mut TuplePath::new(), &mut |path, shape| {
        results.push((path.clone(), shape.clone()));
    });
    results
}

/// Returns the name of each parameter in a module, in the order of
/// [`Program::parameters`](super::Program::parameters). It is the name of the instruction. The
/// arrays inside a tuple have their places after it, as in "x.0".
///
/// ```
/// use stridec::{hlo::Module, program::parameter_names};
/// let module = Module::parse(
///     "ENTRY e { x = (f32[2], f32[3]) parameter(0) ROOT y = f32[4] parameter(1) }",
/// )?;
/// assert_eq!(parameter_names(&module), ["x.0", "x.1", "y"]);
/// # Ok::<(), stridec::Error>(())
/// ```
#[must_use]
pub fn parameter_names(module: &Module) -> Vec<String> {
    let mut names = Vec::new();
    let entry = module.entry();
    for (shape, &place) in module.parameters().iter().zip(entry.parameters()) {
        let name = entry.instructions()[place].name();
        each_array(shape, &mut TuplePath::new(), &mut |path, _| {
            let parts = path.iter().map(|part| format!(".{part}"));
            names.push(std::iter::once(name.to_owned()).chain(parts).collect());
        });
    }
    names
}

/// Compiles the given results. If `keeps_axes` is true, no pass splits or merges loops.
fn lowered_results(
    module: &Module,
    results: Vec<(TuplePath, Shape)>,
    keeps_trail: bool,
    keeps_axes: bool,
    in_place: Option<InPlace>,
) -> Result<Lowered, ProgramError> {
    let mut parameters = Vec::new();
    for (number, shape) in module.parameters().iter().enumerate() {
        each_array(shape, &mut TuplePath::new(), &mut |path, shape| {
            parameters.push((number, path.clone(), shape.clone()));
        });
    }
    let buffers = ModuleBuffers { parameters, ..ModuleBuffers::default() };
    let graph = Graph::new(module);
    let aliases = if in_place.is_some() { aliases(module, &buffers, &results) } else { vec![] };
    let mut lowering = ModuleLowering {
        graph,
        buffers,
        steps: Vec::new(),
        keeps_axes,
        keeps_trail,
        trails: Vec::new(),
        folded_bytes: 0,
        aliases,
        makes_in_place: in_place,
        in_place: Vec::new(),
    };
    let root = lowering.graph.root();
    for (number, (path, shape)) in results.iter().enumerate() {
        lowering.value(root, path.clone(), shape, BufferId::Result(number))?;
    }
    let ModuleLowering { buffers, steps, trails, in_place, .. } = lowering;
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
        aliases: Vec::new(),
        refused_aliases: Vec::new(),
        parameter_names: Vec::new(),
        result_names: Vec::new(),
    };
    Ok(Lowered { program, parameters: places, trails, in_place })
}

/// Returns the aliases of a module as pairs of arrays. Each alias names its result by an index into
/// `results`, and its parameter by an index into the parameters of `buffers`.
fn aliases(
    module: &Module,
    buffers: &ModuleBuffers,
    results: &[(TuplePath, Shape)],
) -> Vec<ProgramAlias> {
    let of = module.aliases().iter().filter_map(|alias| {
        let result = results.iter().position(|of| of.0[..] == alias.output_index[..])?;
        let parameter = buffers.parameters.iter().position(|(number, path, _)| {
            *number == alias.parameter_number && path[..] == alias.parameter_index[..]
        })?;
        Some(ProgramAlias { result, parameter })
    });
    of.collect()
}

/// Calls `each` for every array inside `shape`, with the path to that array. An empty tuple
/// contains no array.
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

/// The state of the compilation of a module: the graph, and the buffers and steps that were added
/// so far.
pub(super) struct ModuleLowering<'m> {
    pub(super) graph: Graph<'m>,
    pub(super) buffers: ModuleBuffers,
    pub(super) steps: Vec<ProgramStep>,
    /// True if no pass splits or merges the loops of a nest.
    pub(super) keeps_axes: bool,
    keeps_trail: bool,
    /// The trail of each step. Empty if trails were not requested.
    pub(super) trails: Vec<Trail>,
    /// The size of all values that were folded to constants, in bytes.
    folded_bytes: usize,
    /// The aliases of the module. Empty if the caller did not request a program in place.
    aliases: Vec<ProgramAlias>,
    makes_in_place: Option<InPlace>,
    in_place: Vec<(ProgramAlias, Option<ProgramStep>)>,
}

impl ModuleLowering<'_> {
    /// Adds the steps that compute a value and write it to `buffer`, which has the shape `shape`.
    ///
    /// Each round of the loop traces the value with [`pull`]. If the trace stops, the value that is
    /// in the way is folded to a constant or computed into a scratch buffer, and the next round
    /// traces again.
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
        let alias = self.aliases.iter().find(|of| buffer == BufferId::Result(of.result)).copied();
        let taken = alias.map(|alias| BufferId::Parameter(alias.parameter));
        let takes_over = taken.zip(self.makes_in_place);
        let mut output = KernelOutput {
            node,
            path,
            element_type,
            destination,
            keeps_trail,
            most_cases,
            visits: match self.table_places(node, buffer) {
                Some(table_places) => KernelVisits::Windows { table_places },
                None => KernelVisits::Array,
            },
            takes_over,
        };
        loop {
            match pull(&mut self.graph, &mut self.buffers, &output) {
                Ok(Pulled { nest, sources, nodes, trail, in_place }) => {
                    // A kernel with many cases computes all lookups before it tests any guard. So
                    // it would also compute a lookup where the guards for its loads fail, which is
                    // allowed only if the lookup does not depend on the position.
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
                    // If nothing is looked up, the nest visits only the window already.
                    let is_known = in_place.as_ref().is_some_and(|of| of.0.lookups().is_empty());
                    let updates = if is_known { None } else { self.updates(&output, shape)? };
                    self.trails.extend(trail);
                    self.steps.push(ProgramStep { nest, sources, destination: buffer });
                    if let Some(alias) = alias {
                        let step = updates.or_else(|| {
                            let (nest, sources) = in_place?;
                            let nest = simplified(nest, self.keeps_axes);
                            (!passes_words(&nest)).then_some((nest, sources))
                        });
                        let step = step.map(|(nest, sources)| ProgramStep {
                            nest,
                            sources,
                            destination: buffer,
                        });
                        self.in_place.push((alias, step));
                    }
                    return Ok(());
                }
                Err(Stop::Refused(error)) => return Err(*error),
                Err(Stop::Before(node, path)) => self.folded_or_scratch(node, path)?,
                Err(Stop::Apart(node, path)) => self.scratch(node, path, true)?,
                Err(Stop::Convert(node)) => self.allow_conversion(node)?,
                Err(Stop::Compute(node)) => {
                    if self.constant(node, 0)?.is_none() {
                        let node = self.culprit(node)?;
                        let reason = self.reason(node)?;
                        return Err(self.unsupported(node, &reason));
                    }
                }
                Err(Stop::Table { scatter, folds, error }) => {
                    let folded = match folds {
                        Some(node) => self.constant(node, 0)?.is_some(),
                        None => false,
                    };
                    if !folded && !self.table(scatter)? {
                        return Err(*error);
                    }
                }
                Err(Stop::Bound(error, visits)) => {
                    self.past_bound(&mut output, error, visits, is_scratch)?;
                }
            }
        }
    }

    /// Makes room in a nest that exceeds a bound of a kernel: computes a value into a scratch
    /// buffer, or allows more cases. `visits` has each node with its number of visits. `is_scratch`
    /// is true if the output itself is a scratch buffer.
    fn past_bound(
        &mut self,
        output: &mut KernelOutput,
        error: Box<NestError>,
        visits: Vec<(GraphNode, usize)>,
        is_scratch: bool,
    ) -> Result<(), ProgramError> {
        let root = self.graph.origin(output.node, output.path.clone())?;
        let nodes: Vec<GraphNode> = visits.iter().map(|of| of.0).collect();
        let visits: Vec<(GraphNode, usize)> = visits
            .into_iter()
            .filter(|&(node, _)| ArrayOrigin::Instruction(node) != root && !self.is_constant(node))
            .collect();
        let is_long = matches!(*error, NestError::Bound { what: "cases", .. });
        if let NestError::Reach { .. } = *error {
            let Some(middle) = self.middle(output, &nodes, is_scratch)? else {
                let instruction = self.graph.instruction(output.node).name().to_owned();
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
            let instruction = self.graph.instruction(output.node).name().to_owned();
            return Err(ProgramError::Nest { instruction, error });
        }
        Ok(())
    }

    /// Folds a value to a constant, or adds the steps that compute it into a scratch buffer.
    fn folded_or_scratch(&mut self, node: GraphNode, path: TuplePath) -> Result<(), ProgramError> {
        if self.constant(node, 0)?.is_none() {
            self.scratch(node, path, false)?;
        }
        Ok(())
    }

    /// Folds a conversion to a constant, or else lets kernels perform it.
    fn allow_conversion(&mut self, node: GraphNode) -> Result<(), ProgramError> {
        if self.constant(node, 0)?.is_none() {
            self.buffers.conversions.insert(node);
        }
        Ok(())
    }

    /// Adds two steps that make the table of a scatter in a scratch buffer: one clears the table,
    /// and the other marks the places of each window. Returns false if no such table is possible.
    pub(super) fn table(&mut self, scatter: GraphNode) -> Result<bool, ProgramError> {
        let shapes = table_shapes(&self.graph, scatter);
        // The build for the web page leaves out tables that are made at run time.
        let Some([table, walk]) = shapes.filter(|_| !cfg!(stridec_plain_host)) else {
            return Ok(false);
        };
        if self.buffers.scratch.len() == MAX_SCRATCH {
            return Err(ProgramError::TooManyScratchBuffers { limit: MAX_SCRATCH });
        }
        let destination = BufferId::Scratch(self.buffers.scratch.len());
        let descriptor = StrideDescriptor::try_from(&table)
            .map_err(|error| ProgramError::layout(destination, &table, error))?;
        let cleared = Assembly::new(&descriptor).and_then(|(assembly, _)| assembly.finish());
        let nest = simplified(
            cleared.map_err(|error| {
                let instruction = self.graph.instruction(scatter).name().to_owned();
                ProgramError::Nest { instruction, error: Box::new(error) }
            })?,
            self.keeps_axes,
        );
        if self.keeps_trail {
            self.trails.push(Trail::new(32, 1));
        }
        self.buffers.scratch.push(table);
        self.steps.push(ProgramStep { nest, sources: vec![], destination });
        self.buffers.tables.insert(scatter, destination);
        self.value(scatter, TuplePath::new(), &walk, destination)?;
        Ok(true)
    }

    /// Returns the number of entries of the table if `buffer` is the table of the scatter `node`,
    /// so that the step must mark windows in it. Returns `None` if the step computes the value of
    /// `node`.
    fn table_places(&self, node: GraphNode, buffer: BufferId) -> Option<u64> {
        let BufferId::Scratch(number) = buffer else { return None };
        let is_table = self.buffers.tables.get(&node) == Some(&buffer);
        is_table.then(|| extents(&self.buffers.scratch[number]).map_or(0, |of| elements(&of)))
    }

    /// Chooses a value to compute into a scratch buffer, because the numbers in a nest are too
    /// large for a kernel. Returns `None` if no value is suitable.
    ///
    /// `nodes` are the instructions between the output and its sources, in the order of the trace.
    /// Values near the middle of `nodes` are preferred, because then both the kernel that writes
    /// the scratch buffer and the kernel that reads it have shorter expressions.
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
        // The output itself is tried last. If the output is a scratch buffer already, it is not
        // tried, because a second scratch buffer would have the same problem.
        let is_output = |node: GraphNode| ArrayOrigin::Instruction(node) == root;
        places.sort_by_key(|&place| (is_output(nodes[place]), place.abs_diff(nodes.len() / 2)));
        for node in places.into_iter().map(|place| nodes[place]) {
            if !(is_scratch && is_output(node)) && self.can_be_scratch(node) {
                return Ok(Some(node));
            }
        }
        // Otherwise try a copy of a parameter to the default layout. A reshape of an array in the
        // default layout moves no element, so the expressions after this copy are shorter.
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

    /// Returns true if a copy to the default layout could help: the value is an array of a
    /// parameter, its layout is not the default one, and it has no scratch buffer yet.
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

    /// Returns true if a scratch buffer can hold the value: it is not a constant, and a trace of
    /// the value ends at sources or exceeds only a bound of a kernel.
    fn can_be_scratch(&mut self, node: GraphNode) -> bool {
        if self.is_constant(node) {
            return false;
        }
        let shape = self.graph.instruction(node).shape();
        let element_type = shape.element_type();
        let destination =
            plain(shape, false).and_then(|shape| StrideDescriptor::try_from(&shape).ok());
        let Some(destination) = &destination else { return false };
        let output = KernelOutput::plain(node, element_type, destination);
        let pulled = pull(&mut self.graph, &mut self.buffers, &output);
        matches!(pulled, Ok(_) | Err(Stop::Bound(..)))
    }

    fn is_constant(&self, node: GraphNode) -> bool {
        matches!(self.graph.instruction(node).opcode(), Opcode::Constant(_))
    }

    /// Returns the instruction to name in the error for a value that cannot be computed at compile
    /// time.
    ///
    /// If `node` depends on a parameter, the error names `node`. Otherwise this function follows
    /// operands that do not fold, and the error names the first instruction that does not fold
    /// although all its operands do.
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

    /// Returns the reason why the value of `node` is not computed at compile time, as the end of an
    /// error message.
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
        let rule = "; elements are only moved and converted, and only indices are computed";
        let table = match instruction.opcode() {
            Opcode::Unary(_) | Opcode::Binary(_) => self.narrow_parameter(node)?,
            _ => None,
        };
        Ok(match table {
            None => rule.to_owned(),
            Some((element_type, bits)) => format!(
                "{rule}; a function of one {element_type} can be a table of {} entries, which JAX \
                 looks up by table[x]",
                1_u32 << bits
            ),
        })
    }

    /// Returns the element type of the only parameter on which a value depends, and the width of
    /// the type in bits. Returns `None` if the value depends on several parameters or on none, or
    /// if the elements have more than 8 bits.
    fn narrow_parameter(
        &mut self,
        node: GraphNode,
    ) -> Result<Option<(ElementType, u32)>, ProgramError> {
        let read = self.parameters_of(node, 2)?;
        let mut read = read.iter();
        let (Some((number, path)), None) = (read.next(), read.next()) else { return Ok(None) };
        let element_type = self.graph.parameter(*number, path).element_type();
        Ok(element_type.bits().filter(|bits| *bits <= 8).map(|bits| (element_type, bits)))
    }

    /// Returns true if a value depends on a parameter of the program, directly or through its
    /// operands.
    fn reads_parameters(&mut self, node: GraphNode) -> Result<bool, ProgramError> {
        Ok(!self.parameters_of(node, 1)?.is_empty())
    }

    /// Returns the parameters of the program on which a value depends, directly or through its
    /// operands. Stops when it has found `most` of them.
    fn parameters_of(
        &mut self,
        node: GraphNode,
        most: usize,
    ) -> Result<HashSet<(usize, TuplePath)>, ProgramError> {
        let (mut seen, mut pending) = (HashSet::new(), vec![node]);
        let mut read = HashSet::new();
        while let Some(node) = pending.pop() {
            for number in 0..self.graph.instruction(node).operands().len() {
                let operand = self.graph.operand(node, number);
                match self.graph.origin(operand, TuplePath::new())? {
                    ArrayOrigin::Parameter(number, path) => {
                        read.insert((number, path));
                        if read.len() == most {
                            return Ok(read);
                        }
                    }
                    ArrayOrigin::Instruction(found) | ArrayOrigin::Part(found, _) => {
                        if seen.insert(found) {
                            pending.push(found);
                        }
                    }
                }
            }
        }
        Ok(read)
    }

    fn unsupported(&self, node: GraphNode, reason: &str) -> ProgramError {
        refused(&self.graph, node, reason)
    }

    /// Returns the value of `node`, computed at compile time. Returns `None` if the value depends
    /// on a parameter, is too large, or is computed by an instruction that is not folded.
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
                // If the fold was a sort of several operands, it has stored every array of its
                // result, including the array at `path`.
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
                    self.keep(found, ArrayOrigin::Part(found, path), literal)?;
                }
                sorted.and_then(|sorted| sorted.into_iter().next())
            }
            _ => self.moved(found, depth)?,
        };
        if let Some(literal) = &literal {
            self.keep(found, origin, literal)?;
        }
        Ok(literal)
    }

    /// Stores a value that was computed at compile time under its origin, so that it is not
    /// computed again.
    ///
    /// # Errors
    ///
    /// Returns an error if the stored values together exceed [`MAX_FOLDED_BYTES`].
    fn keep(
        &mut self,
        node: GraphNode,
        origin: ArrayOrigin,
        literal: &Literal,
    ) -> Result<(), ProgramError> {
        self.folded_bytes = self.folded_bytes.saturating_add(literal.bytes().len());
        if self.folded_bytes > MAX_FOLDED_BYTES {
            let reason = format!(
                "; the values that depend on no parameter and are computed when compiling take \
                 more than {MAX_FOLDED_BYTES} bytes together, which passing some of them as \
                 parameters avoids"
            );
            return Err(self.unsupported(node, &reason));
        }
        self.buffers.folded.insert(origin, literal.clone());
        Ok(())
    }

    /// Folds all operands of a node. Returns `None` if an operand does not fold.
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

    /// Returns the value of a node that only moves elements of constants, by running its nest on
    /// the host. Returns `None` if the value depends on a parameter, or is too large.
    fn moved(&mut self, node: GraphNode, depth: usize) -> Result<Option<Literal>, ProgramError> {
        let shape = self.graph.instruction(node).shape();
        if extents(shape).is_none_or(|extents| elements(&extents) > MAX_ELEMENTS) {
            return Ok(None);
        }
        let element_type = shape.element_type();
        let Some(shape) = plain(shape, false) else { return Ok(None) };
        let Ok(destination) = StrideDescriptor::try_from(&shape) else { return Ok(None) };
        let output = KernelOutput::plain(node, element_type, &destination);
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
                Err(
                    Stop::Before(other, _)
                    | Stop::Compute(other)
                    | Stop::Convert(other)
                    | Stop::Table { folds: Some(other), .. },
                ) => {
                    if other == node || self.constant(other, depth + 1)?.is_none() {
                        return Ok(None);
                    }
                }
                Err(Stop::Bound(..) | Stop::Apart(..) | Stop::Table { .. }) => return Ok(None),
            }
        }
    }

    /// Adds the steps that compute a value into a new scratch buffer, in the default layout. If
    /// `packs` is true, the scratch buffer packs elements smaller than a byte.
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
        // Reserve the index of this scratch buffer now, because the steps that compute its value
        // may need more scratch buffers.
        let number = self.buffers.scratch.len();
        self.buffers.scratch.push(shape.clone());
        self.value(node, path.clone(), &shape, BufferId::Scratch(number))?;
        let origin = self.graph.origin(node, path)?;
        self.buffers.scratch_of.insert(origin, number);
        Ok(())
    }
}

/// Returns `shape` with the default layout. If `packs` is true, the layout packs elements smaller
/// than a byte. Returns `None` if an extent is not fixed.
fn plain(shape: &Shape, packs: bool) -> Option<Shape> {
    let (element_type, extents) = (shape.element_type(), extents(shape)?);
    let bits = Some(packed_bits(element_type)).filter(|&bits| packs && bits < 8);
    let layout = bits.map(|bits| Layout::default_for_rank(extents.len()).element_size(bits.into()));
    Shape::new(element_type, extents, layout).ok()
}

/// Applies the passes that simplify a nest. If `keeps_axes` is true, no loop is split or merged.
///
/// The pass `regular` may replace many cases by a single one. Its result is not used if the numbers
/// in that case would be too large for a kernel.
pub(super) fn simplified(nest: CopyNest, keeps_axes: bool) -> CopyNest {
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

/// Returns true if a kernel would have to divide or compare numbers of more than 32 bits, although
/// 32 bits suffice to count the elements of each array. A scratch buffer may then avoid the large
/// numbers.
pub(super) fn passes_words(nest: &CopyNest) -> bool {
    let limit = u64::from(u32::MAX);
    let mut units = nest.sources().iter().map(Source::units).chain([nest.dst_units()]);
    units.all(|units| units <= limit) && GreatestSums::of(nest).tested > limit
}

/// Chooses a value to compute into a scratch buffer, because a kernel exceeds a bound. `visits` has
/// the number of uses of each value. The choice is a value with several uses, and preferably about
/// [`SHARED_VISITS`] of them. Returns `None` if every value is used once.
fn shared(visits: &[(GraphNode, usize)]) -> Option<GraphNode> {
    let several = visits.iter().filter(|(_, count)| *count > 1);
    several.min_by_key(|(_, count)| count.abs_diff(SHARED_VISITS)).map(|(node, _)| *node)
}
