//! Integers that decide which element is moved: the starts of dynamic slices, the indices of
//! gathers, and predicates.
//!
//! If such an integer depends only on the index of the element, as an `iota` does, it becomes an
//! affine expression, which loads nothing from memory. Any other integer becomes a *lookup*: the
//! kernel loads the operands and computes the integer at run time. The operands and intermediate
//! results of a lookup are called its *numbers*.

use super::{
    BufferId, ProgramError,
    graph::{ArrayOrigin, GraphNode, TuplePath},
    literal::{constant_at, storage_bits},
    numbers::{LookupBuilder, comparison, integer},
    pull::{Halt, Pull, Stop, unsupported},
    window::padded,
};
use crate::{
    hlo::{Binary, Instruction, Literal, Opcode},
    nest::{Index, Lookup, LookupExpr, NestError, Number, Operator, OutOfRange, WalkRegion},
    shape::Shape,
    stride::StrideDescriptor,
};

/// The maximum depth of nested computations in a lookup. Modules with deeper computations are
/// refused. The limit bounds the depth of the recursion.
const MAX_DEPTH: usize = 128;

/// The range `0..=last` of a lookup, and the rule that brings a value outside this range into it.
#[derive(Clone, Copy)]
pub(super) struct NumberRange {
    pub(super) last: u64,
    pub(super) out_of_range: OutOfRange,
}

impl NumberRange {
    /// Returns the range `0..=last`, with the rule that values are clamped into the range, as XLA
    /// clamps the starts of slices.
    pub(super) fn clamped(last: u64) -> Self {
        Self { last, out_of_range: OutOfRange::Clamp }
    }
}

impl Pull<'_, '_> {
    /// Returns the start of a dynamic slice along each dimension. `extents` are the extents of the
    /// array, and `sizes` the extents of the slice. Each start is clamped so that the slice is
    /// inside the array.
    ///
    /// The operands of `node` from index `first` on contain the starts: either a scalar for each
    /// dimension, or a single vector.
    pub(super) fn starts(
        &mut self,
        region: &mut WalkRegion,
        (node, first): (GraphNode, usize),
        extents: &[u64],
        sizes: &[u64],
    ) -> Result<Vec<Index>, Halt> {
        let operands = self.graph.instruction(node).operands().len();
        let vector = operands == first + 1
            && self.graph.instruction(self.graph.operand(node, first)).shape().rank() == 1;
        let mut starts = Vec::with_capacity(extents.len());
        for (dimension, (extent, size)) in extents.iter().zip(sizes).enumerate() {
            let range = NumberRange::clamped(extent.saturating_sub(*size));
            let (operand, index) = if vector {
                (first, vec![Index::constant(dimension as u64)])
            } else {
                (first + dimension, vec![])
            };
            let operand = self.graph.operand(node, operand);
            starts.push(self.number(region, operand, &index, range)?);
        }
        Ok(starts)
    }

    /// Returns the integer at `index` of the array `node`, as an affine expression or a lookup.
    /// `last` and `out_of_range` bring the integer into a range, so that it cannot select an
    /// element outside the array.
    pub(super) fn number(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
        NumberRange { last, out_of_range }: NumberRange,
    ) -> Result<Index, Halt> {
        if last == 0 {
            return Ok(Index::constant(0));
        }
        if let Some(index) = self.integer(region, node, index)? {
            let (low, high) = index.interval();
            if low >= 0 && high.unsigned_abs() <= last {
                return Ok(index);
            }
        }
        let mut numbers = LookupBuilder::default();
        let number = self.computed(region, &mut numbers, node, index, 0)?;
        let numbers = numbers.used(number);
        let lookup = Lookup { numbers, last, out_of_range };
        if let [Number { of: LookupExpr::Constant(_), .. }] = lookup.numbers[..] {
            return Ok(Index::constant(lookup.value(&[], |_| 0)));
        }
        Ok(self.assembly.lookup(lookup)?)
    }

    /// Returns the entry at `index` of the table of a scatter, as a lookup. `buffer` holds the
    /// table, and is a constant or a scratch buffer. `last` and `out_of_range` bring the entry into
    /// a range.
    pub(super) fn entry(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        buffer: BufferId,
        index: &[Index],
        NumberRange { last, out_of_range }: NumberRange,
    ) -> Result<Index, Halt> {
        let mut numbers = LookupBuilder::default();
        let shape = match buffer {
            BufferId::Constant(number) => self.buffers.constants[number].0.clone(),
            BufferId::Scratch(number) => self.buffers.scratch[number].clone(),
            BufferId::Parameter(_) | BufferId::Result(_) => unreachable!("no table is there"),
        };
        self.loaded(region, &mut numbers, node, (buffer, &shape), index)?;
        Ok(self.assembly.lookup(Lookup { numbers: numbers.all, last, out_of_range })?)
    }

    /// Adds the integer at `index` of the array `node`, and all numbers that it depends on, to the
    /// lookup `numbers`. Returns the index of the new number in that lookup.
    pub(super) fn computed(
        &mut self,
        region: &mut WalkRegion,
        numbers: &mut LookupBuilder,
        node: GraphNode,
        index: &[Index],
        depth: usize,
    ) -> Result<usize, Halt> {
        let origin = self.graph.origin(node, TuplePath::new())?;
        let found = match origin {
            ArrayOrigin::Parameter(number, ref path) => {
                let (place, shape) = self.buffers.parameter(number, path);
                return self.loaded(
                    region,
                    numbers,
                    node,
                    (BufferId::Parameter(place), &shape),
                    index,
                );
            }
            ArrayOrigin::Part(part, ref path) => {
                if let Some(literal) = self.graph.literal(part, path) {
                    return self.known(region, numbers, origin, &literal, index);
                }
                part
            }
            ArrayOrigin::Instruction(found) => found,
        };
        if let Some(&scratch) = self.buffers.scratch_of.get(&origin) {
            let shape = self.buffers.scratch[scratch].clone();
            return self.loaded(
                region,
                numbers,
                found,
                (BufferId::Scratch(scratch), &shape),
                index,
            );
        }
        if let Some(literal) = self.buffers.folded.get(&origin).cloned() {
            return self.known(region, numbers, origin, &literal, index);
        }
        if let ArrayOrigin::Part(node, path) = origin {
            return Err(Halt::Stop(Stop::Before(node, path)));
        }
        let instruction = self.graph.instruction(found);
        if let Opcode::Constant(literal) = instruction.opcode() {
            return self.known(region, numbers, origin, literal, index);
        }
        let key = (found, index.iter().map(|index| index.form().clone()).collect());
        if let Some(&number) = numbers.of.get(&key) {
            return Ok(number);
        }
        if depth == MAX_DEPTH {
            let reason = format!("; more than {MAX_DEPTH} computations lie inside one another");
            return Err(unsupported(self.graph, found, &reason));
        }
        let computed = self.operation(region, numbers, found, index, depth)?;
        let number = if let Some(number) = computed {
            number
        } else {
            match self.elsewhere(region, found, index)? {
                Some((operand, index)) => {
                    self.computed(region, numbers, operand, &index, depth + 1)?
                }
                None => self.reduced(region, numbers, found, index, depth + 1)?,
            }
        };
        numbers.of.insert(key, number);
        Ok(number)
    }

    /// Adds the result of an arithmetic instruction, and its operands, to the lookup `numbers`.
    /// Returns `None` if the instruction only moves elements, or is a reduce.
    fn operation(
        &mut self,
        region: &mut WalkRegion,
        numbers: &mut LookupBuilder,
        node: GraphNode,
        index: &[Index],
        depth: usize,
    ) -> Result<Option<usize>, Halt> {
        let instruction: &Instruction = self.graph.instruction(node);
        let opcode = instruction.opcode();
        let own = integer(instruction.shape().element_type());
        match opcode {
            Opcode::Binary(Binary::Divide | Binary::Remainder)
                if own.is_some_and(|own| own.bits == 64) =>
            {
                return Err(unsupported(
                    self.graph,
                    node,
                    " for 64-bit integers if the result decides which data is moved",
                ));
            }
            Opcode::Iota { .. }
            | Opcode::Convert
            | Opcode::Select
            | Opcode::Clamp
            | Opcode::Unary(_)
            | Opcode::Binary(_)
            | Opcode::Compare { total_order: false, .. } => {}
            _ => return Ok(None),
        }
        let Some(own) = own else {
            return Err(Halt::Stop(Stop::Compute(node)));
        };
        if let Opcode::Iota { dimension } = opcode {
            let form = index[*dimension].form().clone();
            return Ok(Some(numbers.add(own, LookupExpr::Index(form))?));
        }
        let mut operands = [0; 3];
        for (number, place) in operands.iter_mut().zip(0..instruction.operands().len()) {
            let operand = self.graph.operand(node, place);
            if integer(self.graph.instruction(operand).shape().element_type()).is_none() {
                return Err(Halt::Stop(Stop::Compute(node)));
            }
            // The bounds of clamp and the predicate of select may be scalars although the other
            // operands are arrays.
            let is_scalar = self.graph.instruction(operand).shape().rank() == 0;
            let index = if is_scalar { &[] } else { index };
            *number = self.computed(region, numbers, operand, index, depth + 1)?;
        }
        let [a, b, c] = operands;
        let of = match opcode {
            Opcode::Convert => LookupExpr::Convert(a),
            Opcode::Select => LookupExpr::Select(a, b, c),
            Opcode::Clamp => {
                let least = numbers.compute(own, LookupExpr::Binary(Operator::Maximum, b, a))?;
                LookupExpr::Binary(Operator::Minimum, least, c)
            }
            Opcode::Unary(unary) => match numbers.unary(own, *unary, a)? {
                Some(of) => of,
                None => return Err(Halt::Stop(Stop::Compute(node))),
            },
            Opcode::Binary(binary) => match numbers.binary(own, *binary, a, b)? {
                Some(of) => of,
                None => return Err(Halt::Stop(Stop::Compute(node))),
            },
            Opcode::Compare { direction, .. } => LookupExpr::Binary(comparison(*direction), a, b),
            _ => return Ok(None),
        };
        Ok(Some(numbers.compute(own, of)?))
    }

    /// Returns the operand from which the element at `index` is copied, and the index of the
    /// element in that operand. Returns `None` for a reduce that combines elements.
    fn elsewhere(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
    ) -> Result<Option<(GraphNode, Vec<Index>)>, Halt> {
        let instruction = self.graph.instruction(node);
        if let Opcode::Concatenate { dimension } = instruction.opcode() {
            let (low, high) = index[*dimension].interval();
            let mut first = 0;
            for number in 0..instruction.operands().len() {
                let operand = self.graph.operand(node, number);
                let end = first + i64::try_from(self.extents(operand)?[*dimension]).unwrap_or(0);
                if first <= low && high < end {
                    let mut index = index.to_vec();
                    let along = index[*dimension].scaled(1, -first);
                    index[*dimension] = along.ok_or(NestError::PAST_LIMIT)?;
                    return Ok(Some((operand, index)));
                }
                first = end;
            }
        }
        if let Opcode::Pad { dimensions } = instruction.opcode() {
            let [operand, fill] = [0, 1].map(|number| self.graph.operand(node, number));
            let windows = padded(&self.extents(operand)?, dimensions);
            match self.inside(region, index, windows)? {
                (Some((inside, index)), None) => {
                    *region = inside;
                    return Ok(Some((operand, index)));
                }
                (None, _) => return Ok(Some((fill, vec![]))),
                (Some(_), Some(_)) => {}
            }
        }
        let unit = storage_bits(instruction.shape().element_type());
        match self.moved(node, region, index, &Index::constant(0), unit) {
            Ok(Some((operand, index, _))) => Ok(Some((operand, index))),
            Ok(None) if matches!(instruction.opcode(), Opcode::Reduce { .. }) => Ok(None),
            // The instruction chooses between operands or divides elements. Its value must be
            // computed into a scratch buffer first.
            Ok(None) | Err(Halt::Unit(_)) => Err(Halt::Stop(Stop::Before(node, TuplePath::new()))),
            Err(halt) => Err(halt),
        }
    }

    /// Adds an element of a constant to the lookup `numbers`. If the index of the element is known
    /// at compile time, or if all elements are equal, the value of the element becomes part of the
    /// lookup. Otherwise the kernel loads it from a buffer.
    fn known(
        &mut self,
        region: &mut WalkRegion,
        numbers: &mut LookupBuilder,
        origin: ArrayOrigin,
        literal: &Literal,
        index: &[Index],
    ) -> Result<usize, Halt> {
        let shape = literal.shape();
        let node = match origin {
            ArrayOrigin::Instruction(node) | ArrayOrigin::Part(node, _) => node,
            ArrayOrigin::Parameter(..) => unreachable!("a parameter is no constant"),
        };
        let Some(own) = integer(shape.element_type()) else {
            return Err(unsupported(self.graph, node, NO_INTEGER));
        };
        if let Some(bits) = constant_at(literal, index) {
            let value = own.wrap(bits.cast_signed());
            return Ok(numbers.add(own, LookupExpr::Constant(value))?);
        }
        let value = self.constant_buffer(origin, literal);
        self.loaded(region, numbers, node, (value, shape), index)
    }

    /// Adds the load of an integer from a buffer to the lookup `numbers`. Returns an error if the
    /// buffer holds anything except integers of at least 8 bits.
    fn loaded(
        &mut self,
        region: &mut WalkRegion,
        numbers: &mut LookupBuilder,
        node: GraphNode,
        (value, shape): (BufferId, &Shape),
        index: &[Index],
    ) -> Result<usize, Halt> {
        let descriptor = StrideDescriptor::try_from(shape)
            .map_err(|error| ProgramError::layout(value, shape, error))?;
        let own = integer(shape.element_type());
        let Some(own) = own.filter(|own| {
            descriptor.element_bits() == own.bits_in_memory()
                && descriptor.prefix_elements().is_some()
        }) else {
            return Err(unsupported(self.graph, node, NO_INTEGER));
        };
        let source = self.source(value, true, |assembly| assembly.number_source(&descriptor))?;
        let at =
            self.assembly.load(region, source, &descriptor, index.iter().cloned().collect())?;
        Ok(numbers.add(own, LookupExpr::Load { source, at })?)
    }
}

/// The end of the error message for a value that a lookup cannot load.
const NO_INTEGER: &str =
    "; a value that decides which data is moved must be an integer of at least 8 bits";
