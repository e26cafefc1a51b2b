//! Masks: predicates that depend only on the index of the element. They become conditions on the
//! loop counters, called guards.
//!
//! For example, JAX zeroes a triangle with `select(row >= column, x, 0)`, in which `iota` gives the
//! row and the column. stridec does not compute the comparison as a value. Instead, the predicate
//! becomes the guard `0 <= row - column`, like the guards of padding.
//!
//! A predicate may also be computed from such comparisons. JAX writes `where(tril(ones), x, y)` as
//! `select(select(row >= column, 1, 0) != 0, x, y)`. If the comparison is known to be true, all
//! operands are constants, and the rules of [`fold`](super::fold) give the predicate; the same
//! applies if it is known to be false. So the elements are divided by one comparison after the
//! other, until each part has a single value of the predicate. If other operands are left, which
//! only the running kernel knows, a lookup computes the predicate from them.

use super::{
    fold::element_bits,
    graph::{ArrayOrigin, GraphNode, TuplePath},
    literal::{constant_at, element, elements, extents, is_integer, signed, storage_bits},
    number::NumberRange,
    pull::{Halt, PendingValue, Pull},
};
use crate::{
    hlo::{Binary, ComparisonDirection, Instruction, Opcode},
    nest::{Index, WalkRegion},
    shape::ElementType,
};

/// The greatest number of instructions that the compiler visits from a predicate or an integer to
/// write it as an affine expression, or as constants that masks choose. If there are more, a lookup
/// computes the value at run time.
const MAX_VISITS: usize = 128;

/// The greatest number of parts into which the masks of one predicate divide the elements. If there
/// were more, a lookup computes the predicate at run time, which takes one case of the nest for
/// each of its two values.
const MAX_PARTS: usize = 16;

/// A predicate, expressed as a guard: the predicate is true if `0 <= index < end`, or if this
/// condition fails and `negated` is set.
#[derive(Clone)]
struct Mask {
    index: Index,
    end: u64,
    negated: bool,
}

impl Mask {
    /// Returns true if every value of `index` that is not negative is below `end`.
    fn is_half_line(&self) -> bool {
        self.index.greatest().is_none_or(|greatest| greatest < self.end)
    }

    /// Returns the value of the predicate if the guard of the mask has the value `inside`.
    fn holds(&self, inside: bool) -> bool {
        inside != self.negated
    }

    /// Returns the value of the predicate, if the bounds of the index or the masks in `known` give
    /// it.
    fn decided(self, known: &[KnownMask]) -> Decided {
        let (low, high) = self.index.interval();
        let is_below = |end: u64| high < signed(end);
        let bounded = if low >= 0 && is_below(self.end) {
            Some(true)
        } else if high < 0 || low >= signed(self.end) {
            Some(false)
        } else {
            None
        };
        let opposite = self.index.scaled(-1, -1).filter(|_| self.is_half_line());
        let inside = bounded.or_else(|| {
            known.iter().find_map(|(mask, inside)| {
                // The bounds of an index become narrower, and with them the ends of half lines.
                let has_end = mask.end == self.end || mask.is_half_line() && self.is_half_line();
                let is_same = has_end && mask.index.form() == self.index.form();
                let is_opposite = mask.is_half_line()
                    && opposite.as_ref().is_some_and(|of| of.form() == mask.index.form());
                (is_same || is_opposite).then_some(*inside == is_same)
            })
        });
        match inside {
            Some(inside) => Decided::Bits(self.holds(inside).into()),
            None => Decided::By(Box::new(self)),
        }
    }
}

/// A mask, and true if its guard holds, for the elements under consideration.
type KnownMask = (Mask, bool);

/// The value of an element, as far as it follows from the masks that are known.
enum Decided {
    /// The bits of the element.
    Bits(u128),
    /// The element depends on a mask that is not known yet.
    By(Box<Mask>),
    /// The element depends on more than masks.
    Open,
}

/// The parts into which masks and lookups divide some elements, in the order in which their cases
/// must be added, each with the value of the predicate there.
type PredicateParts = Vec<(WalkRegion, bool)>;

impl Pull<'_, '_> {
    /// Traces an element of `select`. Guards test the predicate: the trace continues in `on_true`
    /// for elements at which the predicate is true, and in `on_false` for the others. If the
    /// predicate cannot be expressed by [`Mask`]s, a lookup loads it at run time.
    pub(super) fn select(&mut self, node: GraphNode, item: PendingValue) -> Result<(), Halt> {
        let [predicate, on_true, on_false] =
            [0, 1, 2].map(|number| self.graph.operand(node, number));
        let PendingValue { region, index, part, .. } = item;
        let is_scalar = self.graph.instruction(predicate).shape().rank() == 0;
        let at = if is_scalar { &[] } else { &index[..] };
        let mut parts = PredicateParts::new();
        if !self.divide(region.clone(), predicate, at, &mut vec![], &mut parts)? {
            parts.clear();
            self.divide_at_run_time(region, predicate, at, &mut parts)?;
        }
        // The trace takes the last value from the stack first.
        for (region, holds) in parts.into_iter().rev() {
            let operand = if holds { on_true } else { on_false };
            self.go_on(operand, region, index.clone(), part.clone());
        }
        Ok(())
    }

    /// Divides a region by the masks in a predicate, until each part has one value of it, and adds
    /// these parts. `known` has the masks by which the region was divided before. Returns false if
    /// there are more than [`MAX_PARTS`].
    fn divide(
        &mut self,
        mut region: WalkRegion,
        predicate: GraphNode,
        at: &[Index],
        known: &mut Vec<KnownMask>,
        parts: &mut PredicateParts,
    ) -> Result<bool, Halt> {
        match self.decided(&mut region, predicate, at, known, &mut MAX_VISITS.clone())? {
            Decided::Bits(bits) => parts.push((region, bits != 0)),
            Decided::By(mask) => {
                let split = self.assembly.split_region(&region, &mask.index, 0, mask.end)?;
                let is_split = split.inside.is_some() && split.outside.is_some();
                let mut ends = [parts.len(); 2];
                for (end, (half, inside)) in
                    ends.iter_mut().zip([(split.inside, true), (split.outside, false)])
                {
                    if let Some((half, _)) = half {
                        known.push((Mask::clone(&mask), inside));
                        let fits = self.divide(half, predicate, at, known, parts)?;
                        known.pop();
                        if !fits {
                            return Ok(false);
                        }
                    }
                    *end = parts.len();
                }
                // If the last part of the inside has the value of the whole outside, both are one
                // part, which needs no guard.
                if is_split && ends[1] == ends[0] + 1 && parts[ends[0]].1 == parts[ends[0] - 1].1 {
                    parts.pop();
                    parts[ends[0] - 1].0 = region;
                }
            }
            Decided::Open => {
                let (rest, at) = self.rest(&mut region, predicate, at, known)?;
                self.divide_at_run_time(region, rest, &at, parts)?;
            }
        }
        Ok(parts.len() <= MAX_PARTS)
    }

    /// Divides a region by a lookup that loads the predicate, and adds the two parts.
    fn divide_at_run_time(
        &mut self,
        mut region: WalkRegion,
        predicate: GraphNode,
        at: &[Index],
        parts: &mut PredicateParts,
    ) -> Result<(), Halt> {
        let holds = self.number(&mut region, predicate, at, NumberRange::clamped(1))?;
        let split = self.assembly.split_region(&region, &holds, 0, 1)?;
        parts.extend(split.inside.map(|(region, _)| (region, false)));
        parts.extend(split.outside.map(|(region, _)| (region, true)));
        Ok(())
    }

    /// Returns the value at `index` of `node`, if constants and the masks in `known` decide it.
    /// Each call takes one of `visits`; without any left, the value counts as open.
    fn decided(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
        known: &[KnownMask],
        visits: &mut usize,
    ) -> Result<Decided, Halt> {
        let ArrayOrigin::Instruction(found) = self.graph.origin(node, TuplePath::new())? else {
            return Ok(Decided::Open);
        };
        let Some(left) = visits.checked_sub(1) else { return Ok(Decided::Open) };
        *visits = left;
        match self.graph.instruction(found).opcode() {
            Opcode::Constant(literal) => {
                Ok(constant_at(literal, index).map_or(Decided::Open, Decided::Bits))
            }
            Opcode::Compare { direction, total_order: false } => {
                match self.mask(region, found, *direction, index, visits)? {
                    Some(mask) => Ok(mask.decided(known)),
                    None => self.decided_by_operands(region, found, index, known, visits),
                }
            }
            Opcode::Convert
            | Opcode::Compare { .. }
            | Opcode::Select
            | Opcode::Clamp
            | Opcode::Unary(_)
            | Opcode::Binary(_) => self.decided_by_operands(region, found, index, known, visits),
            _ => match self.substituted(region, found, index)? {
                Some((operand, moved)) => self.decided(region, operand, &moved, known, visits),
                None => Ok(Decided::Open),
            },
        }
    }

    /// Returns the value at `index` of an instruction that works element by element, if constants
    /// and the masks in `known` decide its operands.
    fn decided_by_operands(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
        known: &[KnownMask],
        visits: &mut usize,
    ) -> Result<Decided, Halt> {
        let instruction = self.graph.instruction(node);
        let opcode = instruction.opcode();
        let mut operands: [Option<(ElementType, u128)>; 3] = [None; 3];
        let (mut by, mut is_open) = (None, false);
        for number in 0..instruction.operands().len().min(3) {
            // Only one operand of a select counts, if the predicate is known.
            match (opcode, number, operands[0]) {
                (Opcode::Select, 1 | 2, None) => break,
                (Opcode::Select, 1, Some((_, 0))) => continue,
                (Opcode::Select, 2, Some((_, holds))) if holds != 0 => continue,
                _ => {}
            }
            match self.decided_operand(region, node, number, index, known, visits)? {
                Decided::Bits(bits) if decides(instruction, bits) => {
                    return Ok(Decided::Bits(bits));
                }
                Decided::Bits(bits) => {
                    let operand = self.graph.instruction(self.graph.operand(node, number));
                    operands[number] = Some((operand.shape().element_type(), bits));
                }
                Decided::By(mask) => by = by.or(Some(mask)),
                Decided::Open => is_open = true,
            }
        }
        Ok(match by {
            // If the mask makes one predicate known, the other one may become the result.
            Some(mask) if !is_open || is_logical(instruction) => Decided::By(mask),
            None if !is_open => {
                let bits = element_bits(instruction, |number| operands[number]);
                bits.map_or(Decided::Open, Decided::Bits)
            }
            _ => Decided::Open,
        })
    }

    /// Returns the value at `index` of operand `number` of an instruction that works element by
    /// element.
    fn decided_operand(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        number: usize,
        index: &[Index],
        known: &[KnownMask],
        visits: &mut usize,
    ) -> Result<Decided, Halt> {
        let operand = self.graph.operand(node, number);
        // The bounds of clamp and the predicate of select may be scalars although the other
        // operands are arrays.
        let is_scalar = self.graph.instruction(operand).shape().rank() == 0;
        self.decided(region, operand, if is_scalar { &[] } else { index }, known, visits)
    }

    /// Returns the operand that gives a predicate where the masks in `known` leave it open, and the
    /// index of the element in that operand. It is the predicate itself if several operands are
    /// open.
    fn rest(
        &mut self,
        region: &mut WalkRegion,
        predicate: GraphNode,
        at: &[Index],
        known: &[KnownMask],
    ) -> Result<(GraphNode, Vec<Index>), Halt> {
        let (mut node, mut index) = (predicate, at.to_vec());
        if known.is_empty() {
            return Ok((node, index));
        }
        let visits = &mut MAX_VISITS.clone();
        while *visits > 0
            && let ArrayOrigin::Instruction(found) = self.graph.origin(node, TuplePath::new())?
        {
            *visits -= 1;
            let instruction = self.graph.instruction(found);
            let open = if is_logical(instruction) {
                let mut open = vec![];
                for number in 0..2 {
                    let of = self.decided_operand(region, found, number, &index, known, visits)?;
                    if !matches!(of, Decided::Bits(_)) {
                        open.push(number);
                    }
                }
                open
            } else if let Opcode::Select = instruction.opcode() {
                match self.decided_operand(region, found, 0, &index, known, visits)? {
                    Decided::Bits(bits) => vec![if bits == 0 { 2 } else { 1 }],
                    _ => vec![],
                }
            } else {
                match self.substituted(region, found, &index)? {
                    Some(moved) => (node, index) = moved,
                    None => break,
                }
                continue;
            };
            let [operand] = open[..] else { break };
            node = self.graph.operand(found, operand);
        }
        Ok((node, index))
    }

    /// Expresses a comparison of integers at `index` as a guard. Returns `None` if the integers
    /// depend on anything except the index.
    fn mask(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        direction: ComparisonDirection,
        index: &[Index],
        visits: &mut usize,
    ) -> Result<Option<Mask>, Halt> {
        use ComparisonDirection::{Eq, Ge, Gt, Le, Lt, Ne};
        let sides = [0, 1].map(|number| self.graph.operand(node, number));
        let Some(left) = self.affine(region, sides[0], index, visits)? else { return Ok(None) };
        let Some(right) = self.affine(region, sides[1], index, visits)? else { return Ok(None) };
        let (above, below, least) = match direction {
            Ge | Eq | Ne => (&left, &right, 0),
            Gt => (&left, &right, -1),
            Le => (&right, &left, 0),
            Lt => (&right, &left, -1),
        };
        let difference = above.plus(-1, below).and_then(|index| index.scaled(1, least));
        let Some(index) = difference else { return Ok(None) };
        let end = match direction {
            Eq | Ne => 1,
            _ => index.greatest().map_or(1, |greatest| greatest + 1),
        };
        Ok(Some(Mask { index, end, negated: direction == Ne }))
    }

    /// Expresses the integer at `index` of `node` as an affine expression. Returns `None` if the
    /// integer depends on anything except the index, or if it may wrap around in its type.
    pub(super) fn integer(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
    ) -> Result<Option<Index>, Halt> {
        self.affine(region, node, index, &mut MAX_VISITS.clone())
    }

    /// Does the work of [`integer`](Self::integer). Each call takes one of `visits`; without any
    /// left, the result is `None`.
    fn affine(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
        visits: &mut usize,
    ) -> Result<Option<Index>, Halt> {
        let ArrayOrigin::Instruction(found) = self.graph.origin(node, TuplePath::new())? else {
            return Ok(None);
        };
        let instruction = self.graph.instruction(found);
        let element_type = instruction.shape().element_type();
        let Some(left) = visits.checked_sub(1).filter(|_| is_integer(element_type)) else {
            return Ok(None);
        };
        *visits = left;
        let value = match instruction.opcode() {
            Opcode::Iota { dimension } => Some(index[*dimension].clone()),
            Opcode::Constant(literal) => {
                let one = extents(literal.shape()).is_some_and(|sizes| elements(&sizes) == 1);
                one.then(|| number(element_type, element(literal, 0))).flatten()
            }
            Opcode::Convert => {
                let operand = self.graph.operand(found, 0);
                self.affine(region, operand, index, visits)?
            }
            Opcode::Binary(binary @ (Binary::Add | Binary::Subtract)) => {
                let sides = [0, 1].map(|number| self.graph.operand(found, number));
                let scale = if *binary == Binary::Add { 1 } else { -1 };
                let left = self.affine(region, sides[0], index, visits)?;
                let right = self.affine(region, sides[1], index, visits)?;
                left.zip(right).and_then(|(left, right)| left.plus(scale, &right))
            }
            _ => match self.substituted(region, found, index)? {
                Some((operand, moved)) => self.affine(region, operand, &moved, visits)?,
                None => None,
            },
        };
        Ok(value.filter(|value| fits(value, element_type)))
    }

    /// Returns the operand from which the element at `index` is copied, and the index of the
    /// element in that operand. Returns `None` if the instruction does more than move elements, or
    /// if it is not one of the simple instructions listed here.
    fn substituted(
        &mut self,
        region: &mut WalkRegion,
        node: GraphNode,
        index: &[Index],
    ) -> Result<Option<(GraphNode, Vec<Index>)>, Halt> {
        let instruction = self.graph.instruction(node);
        if !matches!(
            instruction.opcode(),
            Opcode::Broadcast { .. }
                | Opcode::Transpose { .. }
                | Opcode::Reverse { .. }
                | Opcode::Slice { .. }
                | Opcode::Reshape
                | Opcode::Reduce { .. }
        ) {
            return Ok(None);
        }
        let unit = storage_bits(instruction.shape().element_type());
        let moved = self.moved(node, region, index, &Index::constant(0), unit)?;
        Ok(moved.map(|(operand, index, _)| (operand, index)))
    }
}

/// Returns true for the conjunction and the disjunction of two predicates.
fn is_logical(instruction: &Instruction) -> bool {
    instruction.shape().element_type() == ElementType::Pred
        && matches!(instruction.opcode(), Opcode::Binary(Binary::And | Binary::Or))
}

/// Returns true if an operand with these bits is the result of an instruction, whatever its other
/// operand is.
fn decides(instruction: &Instruction, bits: u128) -> bool {
    let is_or = matches!(instruction.opcode(), Opcode::Binary(Binary::Or));
    is_logical(instruction) && is_or == (bits != 0)
}

/// Returns the integer that the bits of an element encode, or `None` if an `i64` cannot hold it.
fn number(element_type: ElementType, bits: u128) -> Option<Index> {
    let unused = 128 - element_type.bits()?;
    let high = bits << unused;
    let number = if element_type.is_signed_integer() {
        high.cast_signed() >> unused
    } else {
        (high >> unused).cast_signed()
    };
    Some(Index::constant_signed(i64::try_from(number).ok()?))
}

/// Returns true if the range of the integer type includes all values of `index`.
fn fits(index: &Index, element_type: ElementType) -> bool {
    let bits = element_type.bits().unwrap_or(0);
    let (least, most) = if element_type.is_signed_integer() {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    } else {
        (0, (1_i128 << bits) - 1)
    };
    let (low, high) = index.interval();
    i128::from(low) >= least && i128::from(high) <= most
}
