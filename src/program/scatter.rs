//! Scatters that replace elements: each update replaces a window of an array. If windows overlap,
//! the last one wins.
//!
//! A scatter processes its updates in order, and writes each one at the place that its indices
//! give. A nest works in the other direction: for each place of the array, it has to find the
//! window that was written there last. If a scatter has at most 16 windows, guards test each
//! window. If it has more, the nest finds the last window at each place in a table. The table is a
//! constant, or a scratch buffer that an earlier kernel fills by marking the places of all windows.

use super::{
    BufferId,
    fold::MAX_ELEMENTS,
    graph::{ArrayOrigin, Graph, GraphNode, TuplePath},
    literal::{element, elements, signed},
    moved::vector_at,
    number::NumberRange,
    numbers::integer,
    pull::{Halt, PendingValue, Pull, Stop, refused, unsupported},
    window::WindowRange,
};
use crate::{
    hlo::{Literal, Opcode, Scatter},
    nest::{Index, NestError, OutOfRange, WalkRegion},
    shape::{ElementType, Layout, Shape},
    stride::StrideDescriptor,
};

/// The maximum number of windows for which a kernel tests each index. A higher limit makes the text
/// of kernels longer. With a lower limit, more scatters need a table, which costs an additional
/// kernel unless the indices are constant.
const MAX_WINDOWS: u64 = 16;

/// A scatter for one of its arrays, and the shape of its windows. Windows are numbered from 0 in
/// the order in which they are written.
struct ScatterWindows<'a> {
    scatter: &'a Scatter,
    /// The array, the indices and the updates.
    operands: [GraphNode; 3],
    /// The extents of the array.
    own: Vec<u64>,
    /// The extents of a window, one for each dimension of the array.
    extents: Vec<u64>,
    /// The dimension of the updates that runs along the windows, for each dimension of the array.
    /// `None` if windows have extent 1 in the dimension.
    window_of: Vec<Option<usize>>,
    /// The batch dimensions: the dimensions of the updates whose indices together number the
    /// windows. Their extents are in `sizes`.
    batches: Vec<usize>,
    sizes: Vec<u64>,
    /// The rank of the updates, and the rank of the indices.
    ranks: [usize; 2],
}

impl<'a> ScatterWindows<'a> {
    /// Returns the windows of one array of a scatter, which may update several arrays at once.
    /// `number` is the index of the array among the operands. Returns `None` if an extent is not
    /// fixed.
    fn new(graph: &Graph, node: GraphNode, scatter: &'a Scatter, number: usize) -> Option<Self> {
        let count = graph.instruction(node).operands().len() / 2;
        let operands = [number, count, count + 1 + number];
        let operands @ [array, indices, updates] =
            operands.map(|number| graph.operand(node, number));
        let extents_of = |node: GraphNode| super::literal::extents(graph.instruction(node).shape());
        let (own, of_updates) = (extents_of(array)?, extents_of(updates)?);
        let is_window = |dimension: &usize| scatter.update_window_dims.contains(dimension);
        let batches: Vec<usize> = (0..of_updates.len()).filter(|d| !is_window(d)).collect();
        let sizes: Vec<u64> = batches.iter().map(|&dimension| of_updates[dimension]).collect();
        let lacks = |dimension: &usize| {
            scatter.inserted_window_dims.contains(dimension)
                || scatter.input_batching_dims.contains(dimension)
        };
        let (mut extents, mut window_of) = (vec![1; own.len()], vec![None; own.len()]);
        let kept = (0..own.len()).filter(|dimension| !lacks(dimension));
        for (dimension, &window) in kept.zip(&scatter.update_window_dims) {
            extents[dimension] = of_updates[window];
            window_of[dimension] = Some(window);
        }
        let ranks = [of_updates.len(), graph.instruction(indices).shape().rank()];
        Some(Self { scatter, operands, own, extents, window_of, batches, sizes, ranks })
    }

    /// Returns the dimensions of the array along which windows can start at different places, in
    /// ascending order. Along all other dimensions, every window that is written starts at 0.
    /// Either no index gives its start, or it is as long as the array, so that any other start is
    /// out of range.
    fn placed(&self) -> Vec<usize> {
        let mut dimensions = self.scatter.scatter_dims_to_operand_dims.clone();
        dimensions.extend(&self.scatter.input_batching_dims);
        dimensions.retain(|&dimension| self.last_start(dimension) > 0);
        dimensions.sort_unstable();
        dimensions
    }

    /// Returns the greatest start along `dimension` for which a window is still inside the array.
    fn last_start(&self, dimension: usize) -> u64 {
        self.own[dimension] - self.extents[dimension]
    }

    /// Returns the index of window `number` along the batch dimensions.
    fn batch(&self, number: u64) -> Vec<Index> {
        let mut rest = number;
        let mut batch = vec![Index::constant(0); self.sizes.len()];
        for (digit, size) in batch.iter_mut().zip(&self.sizes).rev() {
            (*digit, rest) = (Index::constant(rest % size), rest / size);
        }
        batch
    }

    /// Calls `start` for each dimension along which the indices give the start of window `batch`.
    /// The arguments are the dimension, and the index of this start in the array of indices.
    fn starts<E>(
        &self,
        batch: &[Index],
        mut start: impl FnMut(usize, Vec<Index>) -> Result<(), E>,
    ) -> Result<(), E> {
        let places: Vec<&Index> = batch.iter().collect();
        for (entry, &dimension) in self.scatter.scatter_dims_to_operand_dims.iter().enumerate() {
            let vector = self.scatter.index_vector_dim;
            start(dimension, vector_at(&places, vector, entry, self.ranks[1]))?;
        }
        Ok(())
    }

    /// Returns each batching dimension of the array, with the position of that dimension in
    /// `batch`. The index of a window along this batch dimension is also the start of the window in
    /// the array.
    fn batching(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let scatter = self.scatter;
        let pairs = scatter.input_batching_dims.iter();
        pairs
            .zip(&scatter.scatter_indices_batching_dims)
            .map(|(&dimension, &of)| (dimension, of - usize::from(of > scatter.index_vector_dim)))
    }

    /// Returns the number of window `batch`, counted from 1, or `None` if it exceeds 2^60.
    fn number(&self, batch: &[Index]) -> Option<Index> {
        let mut number = Index::constant(0);
        for (digit, &size) in batch.iter().zip(&self.sizes) {
            number = number.scaled(signed(size), 0)?.plus(1, digit)?;
        }
        number.scaled(1, 1)
    }

    /// Returns true if no two windows overlap, whatever the indices are. Windows with different
    /// indices along batching dimensions of the array start at different places there, and have
    /// extent 1.
    fn are_disjoint(&self) -> bool {
        let is_batching = |of: usize| self.batching().any(|(_, batching)| batching == of);
        self.sizes.iter().enumerate().all(|(of, &size)| size == 1 || is_batching(of))
    }

    /// Returns the shape of the updates, with a layout in which the elements of each window have
    /// the same order as in the array, whose shape is `array`. Loops over this layout store each
    /// window in order of address.
    fn walk(&self, array: &Shape) -> Option<Shape> {
        let layout = array.layout_or_default();
        let inside =
            layout.minor_to_major.iter().filter_map(|&dimension| self.window_of[dimension]);
        let order = inside.chain(self.batches.iter().rev().copied());
        let mut extents = vec![0; self.ranks[0]];
        for (&dimension, &size) in self.batches.iter().zip(&self.sizes) {
            extents[dimension] = size;
        }
        for (dimension, &extent) in self.window_of.iter().zip(&self.extents) {
            if let Some(dimension) = dimension {
                extents[*dimension] = extent;
            }
        }
        walk(array, extents, order)
    }

    /// Returns the index, in the updates, of the element at `place` inside window `batch`.
    fn update(&self, batch: impl IntoIterator<Item = Index>, place: &[Index]) -> Vec<Index> {
        let mut index = vec![Index::constant(0); self.ranks[0]];
        for (&dimension, digit) in self.batches.iter().zip(batch) {
            index[dimension] = digit;
        }
        for (dimension, place) in self.window_of.iter().zip(place) {
            if let Some(dimension) = dimension {
                index[*dimension] = place.clone();
            }
        }
        index
    }
}

/// Returns a shape with the given extents and the given order of dimensions, the minor one first,
/// for loops over updates. Elements have the width that they have in `array`.
fn walk(array: &Shape, extents: Vec<u64>, order: impl Iterator<Item = usize>) -> Option<Shape> {
    let bits = array.layout().map_or(0, |layout| layout.element_size_in_bits);
    let layout = Layout::new(order).element_size(bits);
    Shape::new(array.element_type(), extents, Some(layout)).ok()
}

/// Returns the shape for loops over the updates of `node`, a scatter or a `dynamic-update-slice`.
/// `array` is the shape of the array that is updated, and `number` its index among the arrays of a
/// scatter. Returns `None` for another instruction, or if an extent is not fixed.
pub(super) fn updates_walk(
    graph: &Graph,
    (node, number): (GraphNode, usize),
    array: &Shape,
) -> Option<Shape> {
    match graph.instruction(node).opcode() {
        Opcode::Scatter(scatter) => ScatterWindows::new(graph, node, scatter, number)?.walk(array),
        Opcode::DynamicUpdateSlice => {
            let update = graph.instruction(graph.operand(node, 1)).shape();
            let extents = super::literal::extents(update)?;
            let layout = array.layout_or_default();
            walk(array, extents, layout.minor_to_major.iter().copied())
        }
        _ => None,
    }
}

/// Returns true if windows of the scatter `node` may overlap, so that a table must tell which one
/// is the last. Returns false for any other instruction.
pub(super) fn may_overlap(graph: &Graph, (node, number): (GraphNode, usize)) -> bool {
    let Opcode::Scatter(scatter) = graph.instruction(node).opcode() else { return false };
    let windows = ScatterWindows::new(graph, node, scatter, number);
    windows.is_some_and(|windows| !windows.are_disjoint())
}

/// Returns the two shapes for making the table of a scatter at run time: the shape of the table,
/// and the shape for loops that mark places in it.
///
/// The table has an entry for each place along the dimensions in which windows can start at
/// different places. The loops run over all windows, and over the places inside each window.
/// Returns `None` if a shape has too many elements for 32-bit indices.
pub(super) fn table_shapes(graph: &Graph, node: GraphNode) -> Option<[Shape; 2]> {
    let Opcode::Scatter(scatter) = graph.instruction(node).opcode() else { return None };
    let windows = ScatterWindows::new(graph, node, scatter, 0)?;
    let placed = windows.placed();
    let table = placed.iter().map(|&dimension| windows.own[dimension]).collect();
    let places = placed.iter().map(|&dimension| windows.extents[dimension]);
    let walk = windows.sizes.iter().copied().chain(places).collect();
    let shape = |extents: Vec<u64>| {
        let places = extents.iter().try_fold(1_u64, |all, &extent| all.checked_mul(extent))?;
        let fits = places < u64::from(u32::MAX);
        Shape::new(ElementType::U32, extents, None).ok().filter(|_| fits)
    };
    Some([shape(table)?, shape(walk)?])
}

impl Pull<'_, '_> {
    /// Traces an element of a scatter. The element is copied from the last window that contains it,
    /// or from the array if no window does. A window that is partly outside the array is ignored.
    pub(super) fn scatter(
        &mut self,
        node: GraphNode,
        scatter: &Scatter,
        item: PendingValue,
    ) -> Result<(), Halt> {
        let number = item.path.first().copied().unwrap_or(0);
        if !self.replaces(scatter, number) {
            return Err(unsupported(self.graph, node, "; its combiner does not return its update"));
        }
        let Some(windows) = ScatterWindows::new(self.graph, node, scatter, number) else {
            return Err(unsupported(self.graph, node, "; its extents are not fixed"));
        };
        if elements(&windows.sizes) <= MAX_WINDOWS {
            self.one_by_one(&windows, item)
        } else {
            self.by_table(node, &windows, item)
        }
    }

    /// Returns the start of window `batch` along each dimension of the array. A start that leaves
    /// no room for the window is replaced by the first invalid start, so that a guard can exclude
    /// the window.
    fn window_starts(
        &mut self,
        region: &mut WalkRegion,
        windows: &ScatterWindows,
        batch: &[Index],
    ) -> Result<Vec<Index>, Halt> {
        let mut starts = vec![Index::constant(0); windows.own.len()];
        windows.starts(batch, |dimension, at| {
            let last = windows.last_start(dimension) + 1;
            let range = NumberRange { last, out_of_range: OutOfRange::Last };
            starts[dimension] = self.number(region, windows.operands[1], &at, range)?;
            Ok::<(), Halt>(())
        })?;
        for (dimension, of) in windows.batching() {
            starts[dimension] = batch[of].clone();
        }
        Ok(starts)
    }

    /// Tests all windows with guards, from the last window to the first, because the last one that
    /// contains an element wins.
    fn one_by_one(&mut self, windows: &ScatterWindows, item: PendingValue) -> Result<(), Halt> {
        let [operand, _, updates] = windows.operands;
        let PendingValue { mut region, index, part, .. } = item;
        let mut ways = Vec::new();
        for number in (0..elements(&windows.sizes)).rev() {
            let batch = windows.batch(number);
            let starts = self.window_starts(&mut region, windows, &batch)?;
            let extents = windows.own.iter().zip(&windows.extents);
            let parts = starts.into_iter().zip(extents).map(|(start, (&own, &extent))| {
                WindowRange { start, starts: Some(own - extent + 1), extent, every: 1 }
            });
            let (inside, outside) = self.inside(&region, &index, parts.collect())?;
            if let Some((region, place)) = inside {
                let index = windows.update(batch, &place);
                let (path, part) = (TuplePath::new(), part.clone());
                ways.push(PendingValue { node: updates, path, region, index, part });
            }
            let Some(outside) = outside else {
                self.pending.extend(ways.into_iter().rev());
                return Ok(());
            };
            region = outside;
        }
        ways.push(PendingValue { node: operand, path: TuplePath::new(), region, index, part });
        self.pending.extend(ways.into_iter().rev());
        Ok(())
    }

    /// Finds the window of an element with a lookup in a table, which is a constant or a scratch
    /// buffer.
    fn by_table(
        &mut self,
        node: GraphNode,
        windows: &ScatterWindows,
        item: PendingValue,
    ) -> Result<(), Halt> {
        let [operand, indices, updates] = windows.operands;
        let count = elements(&windows.sizes);
        let table = if let Some(&known) = self.buffers.tables.get(&node) {
            known
        } else {
            let literal = self.indices(node, indices, count)?;
            let (shape, table) = self.table(node, windows, &literal)?;
            self.buffers.constants.push((shape, table));
            let table = BufferId::Constant(self.buffers.constants.len() - 1);
            self.buffers.tables.insert(node, table);
            table
        };
        let dimensions = windows.placed();
        let PendingValue { mut region, mut index, part, .. } = item;
        // Along the other dimensions, every window starts at 0, and may be shorter than the array.
        for (dimension, &extent) in windows.extents.iter().enumerate() {
            if dimensions.contains(&dimension) || extent == windows.own[dimension] {
                continue;
            }
            let split = self.assembly.split_region(&region, &index[dimension], 0, extent)?;
            if let Some((region, _)) = split.outside {
                self.go_on(operand, region, index.clone(), part.clone());
            }
            let Some((inside, along)) = split.inside else { return Ok(()) };
            (region, index[dimension]) = (inside, along);
        }
        let at: Vec<Index> = dimensions.iter().map(|&d| index[d].clone()).collect();
        let window = self.entry(&mut region, node, table, &at, NumberRange::clamped(count))?;
        // Entries count windows from 1. An entry of 0 means that no window contains the place.
        let split = self.assembly.split_region(&region, &window, 1, count + 1)?;
        if let Some((region, _)) = split.outside {
            self.go_on(operand, region, index.clone(), part.clone());
        }
        let Some((mut region, window)) = split.inside else { return Ok(()) };
        let mut rest = window.scaled(1, -1).ok_or(NestError::PAST_LIMIT)?;
        let mut batch = vec![Index::constant(0); windows.sizes.len()];
        for (digit, &size) in batch.iter_mut().zip(&windows.sizes).rev() {
            [rest, *digit] = self.assembly.divide(&mut region, &rest, size)?;
        }
        let mut place = index.clone();
        for &dimension in &dimensions {
            place[dimension] = Index::constant(0);
        }
        let mut starts = Vec::new();
        windows.starts(&batch, |dimension, at| {
            // Most windows have extent 1 along these dimensions.
            if windows.extents[dimension] > 1 && dimensions.contains(&dimension) {
                let range = NumberRange::clamped(windows.last_start(dimension));
                starts.push((dimension, self.number(&mut region, indices, &at, range)?));
            }
            Ok::<(), Halt>(())
        })?;
        for (dimension, start) in starts {
            let within = index[dimension].plus(-1, &start).ok_or(NestError::PAST_LIMIT)?;
            let extent = windows.extents[dimension];
            let split = self.assembly.split_region(&region, &within, 0, extent)?;
            // The table names only windows that contain the place, so this case never applies.
            if let Some((region, _)) = split.outside {
                self.go_on(operand, region, index.clone(), part.clone());
            }
            let Some((inside, within)) = split.inside else { return Ok(()) };
            (region, place[dimension]) = (inside, within);
        }
        self.go_on(updates, region, windows.update(batch, &place), part);
        Ok(())
    }

    /// Builds a nest that marks the places of each window in a table. `index` has the index of a
    /// window along each batch dimension, followed by a place inside the window along each
    /// dimension of the table.
    pub(super) fn mark_windows(
        &mut self,
        node: GraphNode,
        mut region: WalkRegion,
        index: &[Index],
    ) -> Result<(), Halt> {
        let windows = match self.graph.instruction(node).opcode() {
            Opcode::Scatter(scatter) => ScatterWindows::new(self.graph, node, scatter, 0),
            _ => None,
        };
        let Some(windows) = windows else {
            return Err(unsupported(self.graph, node, "; its extents are not fixed"));
        };
        let (batch, places) = index.split_at(windows.sizes.len());
        let mut starts = self.window_starts(&mut region, &windows, batch)?;
        for (dimension, start) in starts.iter_mut().enumerate() {
            let end = windows.last_start(dimension) + 1;
            let split = self.assembly.split_region(&region, start, 0, end)?;
            let Some(inside) = split.inside else { return Ok(()) };
            (region, *start) = inside;
        }
        let mut at = Index::constant(0);
        for (dimension, place) in windows.placed().into_iter().zip(places) {
            let place = starts[dimension].clone().plus(1, place);
            let outer = at.scaled(signed(windows.own[dimension]), 0);
            at = outer
                .zip(place)
                .and_then(|(outer, place)| outer.plus(1, &place))
                .ok_or(NestError::PAST_LIMIT)?;
        }
        let number = windows.number(batch).ok_or(NestError::PAST_LIMIT)?;
        Ok(self.assembly.mark(region, at, number)?)
    }

    /// Visits the updates of a scatter or a `dynamic-update-slice`, and stores each element at its
    /// place in the array. `index` is the index of an element of the updates. `number` is the index
    /// of the array among the arrays of a scatter.
    ///
    /// Windows that overlap need a table, so that only the last one is stored at each place.
    pub(super) fn visit_updates(
        &mut self,
        (node, number): (GraphNode, usize),
        mut region: WalkRegion,
        index: Vec<Index>,
        array: &StrideDescriptor,
    ) -> Result<(), Halt> {
        let (updates, place) = match self.graph.instruction(node).opcode() {
            Opcode::DynamicUpdateSlice => {
                let (own, update) = (self.extents(node)?, self.graph.operand(node, 1));
                let extents = self.extents(update)?;
                let starts = self.starts(&mut region, (node, 2), &own, &extents)?;
                let place =
                    starts.iter().zip(&index).map(|(start, index)| start.clone().plus(1, index));
                (update, place.collect::<Option<Vec<Index>>>().ok_or(NestError::PAST_LIMIT)?)
            }
            Opcode::Scatter(scatter) => {
                let windows = ScatterWindows::new(self.graph, node, scatter, number);
                let windows = windows.filter(|_| self.replaces(scatter, number));
                let Some(windows) = windows else {
                    return Err(unsupported(self.graph, node, "; it has no windows to visit"));
                };
                let updates = windows.operands[2];
                match self.stored(node, &windows, &mut region, &index)? {
                    Some(place) => (updates, place),
                    None => return Ok(()),
                }
            }
            _ => return Err(unsupported(self.graph, node, "; it has no windows to visit")),
        };
        self.assembly.store_at(&mut region, array, place.into())?;
        self.go_on(updates, region, index, Index::constant(0));
        Ok(())
    }

    /// Returns the index, in the array, of the place at which an element of the updates is stored,
    /// and restricts the region to the elements that are stored. Returns `None` if none is.
    fn stored(
        &mut self,
        node: GraphNode,
        windows: &ScatterWindows,
        region: &mut WalkRegion,
        index: &[Index],
    ) -> Result<Option<Vec<Index>>, Halt> {
        let batch: Vec<Index> = windows.batches.iter().map(|&d| index[d].clone()).collect();
        let starts = self.window_starts(region, windows, &batch)?;
        let mut place = Vec::with_capacity(starts.len());
        for (dimension, start) in starts.into_iter().enumerate() {
            let end = windows.last_start(dimension) + 1;
            let split = self.assembly.split_region(region, &start, 0, end)?;
            let Some((inside, start)) = split.inside else { return Ok(None) };
            *region = inside;
            let within = windows.window_of[dimension].map(|of| &index[of]);
            place.push(match within {
                Some(within) => start.plus(1, within).ok_or(NestError::PAST_LIMIT)?,
                None => start,
            });
        }
        if windows.are_disjoint() {
            return Ok(Some(place));
        }
        let Some(&table) = self.buffers.tables.get(&node) else {
            return Err(unsupported(self.graph, node, "; its windows may overlap"));
        };
        let count = elements(&windows.sizes);
        let at: Vec<Index> = windows.placed().iter().map(|&d| place[d].clone()).collect();
        let last = self.entry(region, node, table, &at, NumberRange::clamped(count))?;
        let number = windows.number(&batch).ok_or(NestError::PAST_LIMIT)?;
        let later = last.plus(-1, &number).ok_or(NestError::PAST_LIMIT)?;
        let split = self.assembly.split_region(region, &later, 0, 1)?;
        let Some((inside, _)) = split.inside else { return Ok(None) };
        *region = inside;
        Ok(Some(place))
    }

    /// Returns the indices of a scatter with many windows if they are constants. Otherwise returns
    /// [`Stop::Table`], which requests a table that is made at run time.
    fn indices(
        &mut self,
        node: GraphNode,
        indices: GraphNode,
        count: u64,
    ) -> Result<Literal, Halt> {
        let reason = format!(
            "; it has {count} windows, and the indices of more than {MAX_WINDOWS} windows must be known at compile time"
        );
        let origin = self.graph.origin(indices, TuplePath::new())?;
        if let Some(literal) = self.buffers.folded.get(&origin) {
            return Ok(literal.clone());
        }
        let folds = match origin {
            ArrayOrigin::Part(part, ref path) => match self.graph.literal(part, path) {
                Some(literal) => return Ok(literal),
                None => None,
            },
            ArrayOrigin::Parameter(..) => None,
            ArrayOrigin::Instruction(found) => match self.graph.instruction(found).opcode() {
                Opcode::Constant(literal) => return Ok(Literal::clone(literal)),
                _ => Some(found),
            },
        };
        let error = Box::new(refused(self.graph, node, &reason));
        Err(Halt::Stop(Stop::Table { scatter: node, folds, error }))
    }

    /// Returns the table of a scatter with constant indices. The table has an entry for each place
    /// along the dimensions in which windows can start at different places. The entry is the number
    /// of the last window at that place, counted from 1, or 0 if there is no window.
    fn table(
        &self,
        node: GraphNode,
        windows: &ScatterWindows,
        literal: &Literal,
    ) -> Result<(Shape, Vec<u8>), Halt> {
        let dimensions = windows.placed();
        let extents: Vec<u64> = dimensions.iter().map(|&d| windows.own[d]).collect();
        let places = extents.iter().try_fold(1_u64, |places, &extent| places.checked_mul(extent));
        let count = elements(&windows.sizes);
        let few = places.is_some_and(|places| places.max(count) <= MAX_ELEMENTS);
        let own = integer(literal.shape().element_type());
        let shape = Shape::new(ElementType::U32, extents, None);
        let is_one = |dimension: &usize| windows.extents[*dimension] == 1;
        let (true, true, Some(own), Ok(shape)) = (few, dimensions.iter().all(is_one), own, shape)
        else {
            let reason =
                format!("; of {count} windows each is one place of at most {MAX_ELEMENTS}");
            let error = Box::new(refused(self.graph, node, &reason));
            return Err(Halt::Stop(Stop::Table { scatter: node, folds: None, error }));
        };
        let sizes = super::literal::extents(literal.shape()).unwrap_or_default();
        let mut table = vec![0_u32; usize::try_from(places.unwrap_or(0)).unwrap_or(0)];
        for number in 0..u32::try_from(count).unwrap_or(u32::MAX) {
            let batch = windows.batch(number.into());
            let mut starts = vec![0; windows.own.len()];
            let known = windows.starts(&batch, |dimension, at| {
                let at = at.iter().zip(&sizes);
                let place =
                    at.fold(0, |place, (at, size)| place * size + at.as_constant().unwrap_or(0));
                starts[dimension] = own.wrap(element(literal, place).cast_signed());
                Ok::<(), std::convert::Infallible>(())
            });
            let Ok(()) = known;
            for (dimension, of) in windows.batching() {
                starts[dimension] = batch[of].as_constant().unwrap_or(0).into();
            }
            let is_inside = |(dimension, &start): (usize, &i128)| {
                (0..=i128::from(windows.last_start(dimension))).contains(&start)
            };
            if !starts.iter().enumerate().all(is_inside) {
                continue;
            }
            let place = dimensions.iter().try_fold(0, |place: u64, &dimension| {
                let start = u64::try_from(starts[dimension]).ok()?;
                Some(place * windows.own[dimension] + start)
            });
            let place = place.and_then(|place| usize::try_from(place).ok());
            if let Some(entry) = place.and_then(|place| table.get_mut(place)) {
                *entry = number + 1;
            }
        }
        Ok((shape, table.into_iter().flat_map(u32::to_le_bytes).collect()))
    }

    /// Returns true if the combiner of a scatter replaces the elements of array `array` by its
    /// updates, and does not combine both. `array` is an index into the arrays of the scatter.
    fn replaces(&self, scatter: &Scatter, array: usize) -> bool {
        let combiner = &self.graph.computations()[scatter.computation];
        let count = combiner.parameters().len() / 2;
        let root = &combiner.instructions()[combiner.root()];
        let returned = match root.opcode() {
            Opcode::Tuple => &combiner.instructions()[root.operands()[array]],
            _ => root,
        };
        matches!(returned.opcode(), Opcode::Parameter { number } if *number == count + array)
    }
}
