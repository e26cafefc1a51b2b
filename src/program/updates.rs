//! Steps in place that visit the updates of an array instead of the whole array.
//!
//! If the start of a window is known only at run time, a nest that visits the array has to test the
//! window at every place. If the array keeps its buffer, a nest can visit the updates instead, and
//! store each of them at its place. Because it visits nothing else, the time of a step of a decoder
//! depends on the size of its row, and not on the size of its cache.

use super::{
    BufferId, ProgramError,
    graph::{ArrayOrigin, GraphNode, TuplePath},
    lower::{MAX_SCRATCH, ModuleLowering, passes_words, simplified},
    pull::{KernelOutput, KernelVisits, Pulled, pull},
    scatter::{may_overlap, table_shapes, updates_walk},
};
use crate::{hlo::Opcode, nest::CopyNest, shape::Shape, stride::StrideDescriptor};

/// An instruction that updates an array: a scatter or a `dynamic-update-slice`. The number is the
/// index of the array among the arrays of a scatter.
type Updates = (GraphNode, usize);

impl ModuleLowering<'_> {
    /// Returns the nest and the sources of a step that visits only the updates of `output`, and
    /// stores them in the buffer of the array that is updated. `shape` is the shape of the array.
    ///
    /// Returns `None` if the output is no update of the parameter that it takes over, or if the
    /// updates cannot be visited. If windows may overlap, this adds the steps that make their
    /// table.
    pub(super) fn updates(
        &mut self,
        output: &KernelOutput,
        shape: &Shape,
    ) -> Result<Option<(CopyNest, Vec<BufferId>)>, ProgramError> {
        // The build for the web page leaves out nests that visit updates.
        let Some((taken, _)) = output.takes_over.filter(|_| !cfg!(stridec_plain_host)) else {
            return Ok(None);
        };
        let Some(updates) = self.updates_of(output, taken)? else { return Ok(None) };
        let (node, _) = updates;
        if !may_overlap(&self.graph, updates) || self.buffers.tables.contains_key(&node) {
            return Ok(self.visiting(output, taken, updates, shape));
        }
        let Some([table, _]) = table_shapes(&self.graph, node) else { return Ok(None) };
        let bytes = StrideDescriptor::try_from(&table).map(|table| table.image_bytes());
        let is_small = bytes.is_ok_and(|bytes| bytes <= output.destination.image_bytes());
        if !is_small || self.buffers.scratch.len() == MAX_SCRATCH {
            return Ok(None);
        }
        // The nest is made before the table, so that no table is made in vain. The table will be
        // the next scratch buffer.
        let number = self.buffers.scratch.len();
        self.buffers.scratch.push(table);
        self.buffers.tables.insert(node, BufferId::Scratch(number));
        let visiting = self.visiting(output, taken, updates, shape);
        self.buffers.scratch.truncate(number);
        self.buffers.tables.remove(&node);
        let (steps, trails) = (self.steps.len(), self.trails.len());
        if visiting.is_none() || matches!(self.table(node), Ok(true)) {
            return Ok(visiting);
        }
        self.buffers.scratch.truncate(number);
        self.buffers.tables.remove(&node);
        self.steps.truncate(steps);
        self.trails.truncate(trails);
        Ok(None)
    }

    /// Returns the instruction that computes `output`, if it updates the array of the parameter
    /// `taken` and its result has the layout of that parameter.
    fn updates_of(
        &mut self,
        output: &KernelOutput,
        taken: BufferId,
    ) -> Result<Option<Updates>, ProgramError> {
        let (node, number) = match self.graph.origin(output.node, output.path.clone())? {
            ArrayOrigin::Instruction(node) => (node, 0),
            ArrayOrigin::Part(node, path) => (node, path[0]),
            ArrayOrigin::Parameter(..) => return Ok(None),
        };
        let opcode = self.graph.instruction(node).opcode();
        if !matches!(opcode, Opcode::Scatter(_) | Opcode::DynamicUpdateSlice) {
            return Ok(None);
        }
        let array = self.graph.operand(node, number);
        let ArrayOrigin::Parameter(of, path) = self.graph.origin(array, TuplePath::new())? else {
            return Ok(None);
        };
        let (place, own) = self.buffers.parameter(of, &path);
        let is_same = StrideDescriptor::try_from(&own).as_ref() == Ok(output.destination);
        Ok((BufferId::Parameter(place) == taken && is_same).then_some((node, number)))
    }

    /// Returns the nest and the sources of a step that visits `updates`. Returns `None` if the step
    /// might read the array, if elements are narrower than 32 bits, so that two invocations might
    /// have to change one word, if elements are converted, or if the numbers of the nest are too
    /// large.
    fn visiting(
        &mut self,
        output: &KernelOutput,
        taken: BufferId,
        updates: Updates,
        shape: &Shape,
    ) -> Option<(CopyNest, Vec<BufferId>)> {
        let walk = updates_walk(&self.graph, updates, shape)?;
        let walk = StrideDescriptor::try_from(&walk).ok()?;
        let (node, number) = updates;
        let visiting = KernelOutput {
            path: std::iter::once(number).collect(),
            visits: KernelVisits::Updates { array: output.destination },
            ..KernelOutput::plain(node, output.element_type, &walk)
        };
        // The step that visits the whole array is possible, so it is used after any error here.
        let pulled = pull(&mut self.graph, &mut self.buffers, &visiting).ok();
        let Pulled { nest, sources, .. } = pulled?;
        let nest = simplified(nest, self.keeps_axes);
        let fits = nest.keeps_units() && nest.dst_bits() >= 32 && !passes_words(&nest);
        (fits && !sources.contains(&taken)).then_some((nest, sources))
    }
}
