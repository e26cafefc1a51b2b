//! Conversions of elements: how a trace continues from a `convert` to its operand.
//!
//! A nest converts all units that it reads in the same way. Constants and padding values may be on
//! either side of the conversion, because they are converted at compile time. If only some elements
//! pass through a conversion, or if they pass through several, an intermediate value is computed
//! into a scratch buffer first.

use super::{
    graph::{ArrayOrigin, GraphNode, TuplePath},
    literal::{storage_bits, uniform},
    pull::{Halt, PendingValue, Pull, Stop},
};
use crate::{
    hlo::{ComparisonDirection, Opcode},
    nest::Conversion,
    shape::ElementType,
};

/// The conversion of the elements that a nest reads, as far as it is known.
pub(super) struct ConvertedElements {
    /// The element type of the value that is traced.
    element_type: ElementType,
    /// The conversion, its instruction, and the operand of that instruction.
    of: Option<(Conversion, GraphNode, GraphNode)>,
    /// The height of the stack of pending elements below those that pass through the conversion, or
    /// `None` if no such elements are traced. The elements of a conversion are pushed together, so
    /// that they are traced before all elements below them.
    below: Option<usize>,
    /// True if an element was read through the conversion.
    reads: bool,
    /// True if an element was read that passes through no conversion.
    reads_plain: bool,
}

impl ConvertedElements {
    /// Returns the state at the start of the trace of a value with this element type.
    pub(super) fn new(element_type: ElementType) -> Self {
        Self { element_type, of: None, below: None, reads: false, reads_plain: false }
    }

    /// Returns the conversion of the nest; `None` if elements are copied as they are.
    pub(super) fn conversion(&self) -> Option<Conversion> {
        self.of.filter(|_| self.reads).map(|of| of.0)
    }

    /// Returns the conversion that the element under trace passes through, or `None`.
    pub(super) fn inside(&self) -> Option<Conversion> {
        self.below.and(self.of).map(|of| of.0)
    }

    /// Records that a new element is traced, while `pending` others wait on the stack.
    pub(super) fn leave(&mut self, pending: usize) {
        self.below = self.below.filter(|&below| pending >= below);
    }

    /// Records that an element of `node` is read. Returns the operand of the conversion that it
    /// passes through, or `None` if it is copied as it is.
    ///
    /// # Errors
    ///
    /// Stops before the conversion if other elements of the nest are read in another way.
    pub(super) fn read(&mut self, node: GraphNode) -> Result<Option<GraphNode>, Halt> {
        let before = |node| Err(Halt::Stop(Stop::Before(node, TuplePath::new())));
        match (self.below.and(self.of), self.of) {
            (Some((_, converts, operand)), _) => {
                if self.reads_plain {
                    return before(converts);
                }
                self.reads = true;
                // An operand that is the buffer itself cannot be computed into another buffer.
                Ok(Some(if operand == node { converts } else { operand }))
            }
            (None, Some((_, converts, _))) if self.reads => before(converts),
            (None, _) => {
                self.reads_plain = true;
                Ok(None)
            }
        }
    }
}

impl Pull<'_, '_> {
    /// Returns the operand whose elements an instruction converts, or `None` if the instruction
    /// converts nothing. JAX writes a conversion to `pred` as a comparison with zero.
    pub(super) fn converted_operand(&mut self, node: GraphNode) -> Result<Option<GraphNode>, Halt> {
        let direction = match self.graph.instruction(node).opcode() {
            Opcode::Convert => return Ok(Some(self.graph.operand(node, 0))),
            Opcode::Compare { direction, total_order: false } => *direction,
            _ => return Ok(None),
        };
        let [left, right] = [0, 1].map(|number| self.graph.operand(node, number));
        Ok((direction == ComparisonDirection::Ne && self.is_zero(right)?).then_some(left))
    }

    /// Returns true if a value is a constant of zeros, possibly after a broadcast.
    fn is_zero(&mut self, mut node: GraphNode) -> Result<bool, Halt> {
        loop {
            let ArrayOrigin::Instruction(found) = self.graph.origin(node, TuplePath::new())? else {
                return Ok(false);
            };
            let instruction = self.graph.instruction(found);
            match instruction.opcode() {
                Opcode::Broadcast { .. } => node = self.graph.operand(found, 0),
                Opcode::Constant(literal) => {
                    let to_pred =
                        Conversion::new(literal.shape().element_type(), ElementType::Pred);
                    let is_zero = |bits| to_pred.is_some_and(|of| of.apply(bits) == 0);
                    return Ok(uniform(literal).is_some_and(is_zero));
                }
                _ => return Ok(false),
            }
        }
    }

    /// Returns true if the trace continues in `operand`, whose elements the instruction converts.
    /// Returns false if the instruction is no conversion for a nest: it keeps the low bits of
    /// integers, which a nest can copy, or its type is complex.
    ///
    /// # Errors
    ///
    /// Stops if the value has to be folded or computed into a scratch buffer first.
    pub(super) fn converts(
        &mut self,
        node: GraphNode,
        operand: GraphNode,
        item: &PendingValue,
    ) -> Result<bool, Halt> {
        let [from, to] =
            [operand, node].map(|of| self.graph.instruction(of).shape().element_type());
        let Some(conversion) = Conversion::new(from, to) else { return Ok(false) };
        let before = Err(Halt::Stop(Stop::Before(node, TuplePath::new())));
        let is_convert = matches!(self.graph.instruction(node).opcode(), Opcode::Convert);
        let keeps = is_convert && self.keeps(node, operand, &item.part);
        if self.converted.inside().is_none() && keeps {
            return Ok(false);
        }
        if !self.buffers.conversions.contains(&node) {
            return Err(Halt::Stop(Stop::Convert(node)));
        }
        let of = &mut self.converted;
        if let Some(outer) = of.inside() {
            // Two conversions in a row are one if the first loses nothing.
            let both = if to == outer.from() { conversion.then(outer) } else { None };
            return match (both, of.of) {
                (Some(both), Some((_, converts, _))) if !of.reads => {
                    of.of = Some((both, converts, operand));
                    Ok(true)
                }
                _ => before,
            };
        }
        // Between this conversion and the value, low bits may have been taken from integers.
        let is_last = to == of.element_type;
        let is_whole = self.unit == storage_bits(to) && item.part.as_constant() == Some(0);
        if !is_last || !is_whole || of.reads_plain || of.of.is_some_and(|of| of.0 != conversion) {
            return before;
        }
        of.of = Some((conversion, node, operand));
        of.below = Some(self.pending.len());
        Ok(true)
    }

    /// Returns the width of the units in which an instruction's elements are traced, in bits.
    /// Before a conversion, a unit is a whole element.
    ///
    /// # Errors
    ///
    /// Stops before an instruction that takes elements apart, if they are converted after that.
    pub(super) fn unit_before(&self, node: GraphNode) -> Result<u32, Halt> {
        if self.converted.inside().is_none() {
            return Ok(self.unit);
        }
        let instruction = self.graph.instruction(node);
        let takes_apart = match instruction.opcode() {
            Opcode::BitcastConvert | Opcode::Real | Opcode::Imag | Opcode::Complex => true,
            Opcode::Bitcast => {
                let operand = self.graph.instruction(self.graph.operand(node, 0));
                operand.shape().element_type() != instruction.shape().element_type()
            }
            _ => false,
        };
        if takes_apart {
            return Err(Halt::Stop(Stop::Before(node, TuplePath::new())));
        }
        Ok(storage_bits(instruction.shape().element_type()))
    }
}
