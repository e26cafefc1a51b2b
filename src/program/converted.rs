//! Conversions between element types: the rule by which a trace continues from a `convert` to its
//! operand.
//!
//! A nest, the loops of one kernel, applies one conversion to all elements that it reads. If only
//! some elements pass through a conversion, or if elements pass through several, an earlier step
//! must therefore compute an intermediate value into a scratch buffer. Constants and padding values
//! are no problem, because they are converted at compile time.

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

/// The conversion that a nest applies to the elements that it reads, as far as the trace has found
/// it.
pub(super) struct ConvertedElements {
    /// The element type of the value that is traced.
    element_type: ElementType,
    /// The conversion, its instruction, and the operand of that instruction.
    of: Option<(Conversion, GraphNode, GraphNode)>,
    /// The number of elements that were waiting on the stack when the trace entered the conversion.
    /// Elements that are added later pass through the conversion, and are traced before the others.
    /// `None` if the element under trace does not pass through it.
    below: Option<usize>,
    /// True if the nest reads an element that passes through the conversion.
    reads: bool,
    /// True if the nest reads an element that passes through no conversion.
    reads_plain: bool,
}

impl ConvertedElements {
    /// Returns the state before the trace of a value with this element type.
    pub(super) fn new(element_type: ElementType) -> Self {
        Self { element_type, of: None, below: None, reads: false, reads_plain: false }
    }

    /// Returns the conversion that the nest applies, or `None` if it copies elements unchanged.
    pub(super) fn conversion(&self) -> Option<Conversion> {
        self.of.filter(|_| self.reads).map(|of| of.0)
    }

    /// Returns the conversion that the element under trace passes through, or `None`.
    pub(super) fn inside(&self) -> Option<Conversion> {
        self.below.and(self.of).map(|of| of.0)
    }

    /// Records that the trace of a new element begins, while `pending` other elements wait on the
    /// stack. If none of the elements of the conversion are left, the trace leaves the conversion.
    pub(super) fn leave(&mut self, pending: usize) {
        self.below = self.below.filter(|&below| pending >= below);
    }

    /// Records that the nest reads an element of `node`. Returns `None` if the element passes
    /// through no conversion. Otherwise returns the node that must be computed into a scratch
    /// buffer if the nest cannot read the element, because its buffer has elements of another
    /// width. This is normally the operand of the conversion.
    ///
    /// # Errors
    ///
    /// Stops before the conversion if the nest reads other elements without it.
    pub(super) fn read(&mut self, node: GraphNode) -> Result<Option<GraphNode>, Halt> {
        let before = |node| Err(Halt::Stop(Stop::Before(node, TuplePath::new())));
        match (self.below.and(self.of), self.of) {
            (Some((_, converts, operand)), _) => {
                if self.reads_plain {
                    return before(converts);
                }
                self.reads = true;
                // If the operand itself is in a buffer, another buffer for it would not help, so
                // this names the conversion instead.
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
    /// Returns the operand whose elements an instruction converts, or `None` if the instruction is
    /// not a conversion. A comparison `x != 0` counts as the conversion of `x` to `pred`, because
    /// JAX writes this conversion so.
    pub(super) fn converted_operand(&mut self, node: GraphNode) -> Result<Option<GraphNode>, Halt> {
        let direction = match self.graph.instruction(node).opcode() {
            Opcode::Convert => return Ok(Some(self.graph.operand(node, 0))),
            Opcode::Compare { direction, total_order: false } => *direction,
            _ => return Ok(None),
        };
        let [left, right] = [0, 1].map(|number| self.graph.operand(node, number));
        Ok((direction == ComparisonDirection::Ne && self.is_zero(right)?).then_some(left))
    }

    /// Returns true if all elements of a value are zero: the value is a constant of zeros, possibly
    /// after broadcasts.
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

    /// Returns true if the nest performs the conversion `node`, so that the trace continues in
    /// `operand`. Returns false if the nest need not or cannot convert here: the conversion only
    /// keeps the low bits of integers, which a nest can copy, or its type is complex.
    ///
    /// # Errors
    ///
    /// Stops if the value must first be folded or computed into a scratch buffer.
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
        let pending = self.pending.len();
        let of = &mut self.converted;
        if let Some(outer) = of.inside() {
            // Two conversions in a row can be merged to one if the inner conversion keeps the value
            // exactly, and if no other element passes through the outer conversion alone.
            let is_only = !of.reads && of.below == Some(pending);
            let both = if to == outer.from() { conversion.then(outer) } else { None };
            return match (both, of.of) {
                (Some(both), Some((_, converts, _))) if is_only => {
                    of.of = Some((both, converts, operand));
                    Ok(true)
                }
                _ => before,
            };
        }
        // If the types differ, a later conversion took the low bits of the integers that this one
        // produces, which a nest cannot do in addition.
        let is_last = to == of.element_type;
        let is_whole = self.unit == storage_bits(to) && item.part.as_constant() == Some(0);
        if !is_last || !is_whole || of.reads_plain || of.of.is_some_and(|of| of.0 != conversion) {
            return before;
        }
        of.of = Some((conversion, node, operand));
        of.below = Some(self.pending.len());
        Ok(true)
    }

    /// Returns the width in which the elements of `node` are traced, in bits: whole elements if a
    /// later instruction converts them, and otherwise the units of the trace.
    ///
    /// # Errors
    ///
    /// Stops before an instruction that divides elements into smaller ones or joins them, if a
    /// later instruction converts these elements.
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
