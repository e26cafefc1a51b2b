//! Steps in place that visit the updates of an array instead of the whole array.
//!
//! If the start of a window is known only at run time, a nest that visits the array has to test the
//! window at every place. If the array keeps its buffer, the same copy can be made from the side of
//! the updates: each of them is stored at its place, and nothing else is visited. So the time of a
//! step of a decoder depends on the size of its row, and not on the size of its cache.

use super::{
    BufferId, ProgramError,
    graph::{ArrayOrigin, GraphNode, TuplePath},
    lower::{ModuleLowering, passes_words, simplified},
    pull::{KernelOutput, KernelVisits, Pulled, pull},
    scatter::{may_overlap, updates_walk},
};
use crate::{hlo::Opcode, nest::CopyNest, shape::Shape, stride::StrideDescriptor};

/// An instruction that updates an array, a scatter or a `dynamic-update-slice`, and the index of
/// the array among the arrays of a scatter.
type Updates = (GraphNode, usize);

impl ModuleLowering<'_> {
    /// Returns the instruction of which `output` is the result, if it updates the array of the
    /// parameter `taken`, and the result has the layout of that parameter.
    pub(super) fn updates_of(
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

    /// Returns true if windows may overlap, and no table tells yet which one is the last.
    pub(super) fn lacks_table(&self, updates: Updates) -> bool {
        may_overlap(&self.graph, updates) && !self.buffers.tables.contains_key(&updates.0)
    }

    /// Returns the nest and the sources of a step that stores the updates in the buffer of the
    /// array, whose shape is `shape`. Returns `None` if the step might read the array, or if two
    /// invocations might have to change one word, because units have less than 32 bits.
    pub(super) fn visited(
        &mut self,
        output: &KernelOutput,
        updates: Updates,
        shape: &Shape,
    ) -> Option<(CopyNest, Vec<BufferId>)> {
        let walk = updates_walk(&self.graph, updates, shape)?;
        let walk = StrideDescriptor::try_from(&walk).ok()?;
        let (node, number) = updates;
        let visited = KernelOutput {
            path: std::iter::once(number).collect(),
            visits: KernelVisits::Updates { array: output.destination },
            ..KernelOutput::plain(node, output.element_type, &walk)
        };
        // The step that visits the whole array is possible, so it is used after any error here.
        let pulled = pull(&mut self.graph, &mut self.buffers, &visited).ok();
        let Pulled { nest, sources, .. } = pulled?;
        let nest = simplified(nest, self.keeps_axes);
        let (taken, _) = output.takes_over?;
        let fits = nest.keeps_units() && nest.dst_bits() >= 32 && !passes_words(&nest);
        (fits && !sources.contains(&taken)).then_some((nest, sources))
    }
}
