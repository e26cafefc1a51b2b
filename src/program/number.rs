//! Integers that move data, such as the starts of dynamic slices, the indices of gathers and predicates: as forms where
//! they depend on the index alone, else as lookups.

use std::collections::HashMap;

use super::{
    ProgramError, Value,
    graph::{Node, Origin, Path},
    literal::{element, extents, is_integer, storage_bits, uniform},
    pull::{Halt, Pull, Stop, unsupported},
    window::padded,
};
use crate::{
    hlo::{Binary, ComparisonDirection, Instruction, Literal, Opcode, Unary},
    nest::{
        Affine, Below, Index, Integer, Lookup, MAX_NUMBERS, NestError, Number, NumberOf, Operator,
        Region,
    },
    shape::{ElementType, Shape},
    stride::StrideDescriptor,
};

/// How many computations may lie inside one another.
const MAX_DEPTH: usize = 128;

/// The range that a number is brought into.
#[derive(Clone, Copy)]
pub(super) struct Range {
    pub(super) last: u64,
    pub(super) below: Below,
}

impl Range {
    /// Clamped, as starts are.
    pub(super) fn clamped(last: u64) -> Self {
        Self { last, below: Below::Zero }
    }
}

/// A lookup while it is made.
#[derive(Default)]
pub(super) struct Numbers {
    all: Vec<Number>,
    /// The numbers of values at their indices, so that what is used twice is computed once.
    of: HashMap<(Node, Vec<Affine>), usize>,
}

impl Numbers {
    fn add(&mut self, integer: Integer, of: NumberOf) -> Result<usize, NestError> {
        let number = Number { integer, of };
        let known = self.all.iter().position(|known| *known == number);
        if known.is_none() && self.all.len() == MAX_NUMBERS {
            return Err(NestError::Bound { what: "numbers of a lookup", limit: MAX_NUMBERS });
        }
        Ok(known.unwrap_or_else(|| {
            self.all.push(number);
            self.all.len() - 1
        }))
    }

    /// Adds what is computed of other numbers; a constant where these are, and no conversion to the type that is there.
    pub(super) fn compute(&mut self, integer: Integer, of: NumberOf) -> Result<usize, NestError> {
        let of = match of {
            NumberOf::Select(holds, a, b) => match self.constant(holds) {
                Some(0) => NumberOf::Convert(b),
                Some(_) => NumberOf::Convert(a),
                None => of,
            },
            of => of,
        };
        let constant = match of {
            NumberOf::Convert(a) if self.all[a].integer == integer => return Ok(a),
            NumberOf::Convert(a) => self.constant(a),
            NumberOf::Binary(operator, a, b) => {
                self.constant(a).zip(self.constant(b)).map(|(a, b)| operator.of(a, b))
            }
            _ => None,
        };
        let constant = constant.map(|value| NumberOf::Constant(integer.wrap(value)));
        self.add(integer, constant.unwrap_or(of))
    }

    /// What an operation on one number is as operations on two.
    fn unary(&mut self, own: Integer, unary: Unary, a: usize) -> Result<NumberOf, NestError> {
        let mut constant = |value| self.add(own, NumberOf::Constant(own.wrap(value)));
        Ok(match unary {
            Unary::Abs if !own.is_signed => NumberOf::Convert(a),
            Unary::Abs => {
                let negative = NumberOf::Binary(Operator::Subtract, constant(0)?, a);
                NumberOf::Binary(Operator::Maximum, a, self.compute(own, negative)?)
            }
            Unary::Negate => NumberOf::Binary(Operator::Subtract, constant(0)?, a),
            Unary::Not if own == Integer::PRED => {
                NumberOf::Binary(Operator::Equal, a, constant(0)?)
            }
            Unary::Not => NumberOf::Binary(Operator::Subtract, constant(-1)?, a),
            Unary::Sign if !own.is_signed => NumberOf::Binary(Operator::Minimum, a, constant(1)?),
            Unary::Sign => {
                let least = NumberOf::Binary(Operator::Maximum, a, constant(-1)?);
                let one = constant(1)?;
                NumberOf::Binary(Operator::Minimum, self.compute(own, least)?, one)
            }
        })
    }

    fn constant(&self, number: usize) -> Option<i128> {
        match self.all[number].of {
            NumberOf::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Keeps what the last number is made of.
    fn used(self, last: usize) -> Vec<Number> {
        let mut used = vec![false; self.all.len()];
        used[last] = true;
        for (place, number) in self.all.iter().enumerate().rev() {
            if used[place] {
                operands(&number.of).for_each(|operand| used[operand] = true);
            }
        }
        let mut next = 0;
        let places: Vec<usize> = used
            .iter()
            .map(|&used| {
                next += usize::from(used);
                next.saturating_sub(1)
            })
            .collect();
        let kept = self.all.into_iter().zip(used).filter(|(_, used)| *used);
        kept.map(|(number, _)| renamed(number, &places)).collect()
    }
}

fn operands(of: &NumberOf) -> impl Iterator<Item = usize> {
    let all = match *of {
        NumberOf::Load { .. } | NumberOf::Index(_) | NumberOf::Constant(_) => [None; 3],
        NumberOf::Convert(a) => [Some(a), None, None],
        NumberOf::Binary(_, a, b) => [Some(a), Some(b), None],
        NumberOf::Select(holds, a, b) => [Some(holds), Some(a), Some(b)],
    };
    all.into_iter().flatten()
}

fn renamed(number: Number, places: &[usize]) -> Number {
    let of = match number.of {
        NumberOf::Convert(a) => NumberOf::Convert(places[a]),
        NumberOf::Binary(operator, a, b) => NumberOf::Binary(operator, places[a], places[b]),
        NumberOf::Select(holds, a, b) => NumberOf::Select(places[holds], places[a], places[b]),
        other => other,
    };
    Number { of, ..number }
}

impl Pull<'_, '_> {
    /// The starts of a dynamic slice of `sizes` out of `extents`, clamped so that it lies inside: the operands from
    /// `first` on, a scalar for each dimension, or one vector of them.
    pub(super) fn starts(
        &mut self,
        region: &mut Region,
        (node, first): (Node, usize),
        extents: &[u64],
        sizes: &[u64],
    ) -> Result<Vec<Index>, Halt> {
        let operands = self.graph.instruction(node).operands().len();
        let vector = operands == first + 1
            && self.graph.instruction(self.graph.operand(node, first)).shape().rank() == 1;
        let mut starts = Vec::with_capacity(extents.len());
        for (dimension, (extent, size)) in extents.iter().zip(sizes).enumerate() {
            let range = Range::clamped(extent.saturating_sub(*size));
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

    /// The integer of a value at an index, brought into a range.
    pub(super) fn number(
        &mut self,
        region: &mut Region,
        node: Node,
        index: &[Index],
        Range { last, below }: Range,
    ) -> Result<Index, Halt> {
        if last == 0 {
            return Ok(Index::constant(0));
        }
        if let Some(index) = self.integer(region, node, index, 0)? {
            let (low, high) = index.interval();
            if low >= 0 && high.unsigned_abs() <= last {
                return Ok(index);
            }
        }
        let mut numbers = Numbers::default();
        let number = self.computed(region, &mut numbers, node, index, 0)?;
        let numbers = numbers.used(number);
        let lookup = Lookup { numbers, last, below };
        if let [Number { of: NumberOf::Constant(_), .. }] = lookup.numbers[..] {
            return Ok(Index::constant(lookup.value(&[], |_| 0)));
        }
        Ok(self.assembly.lookup(lookup)?)
    }

    /// The number at an index of a constant that kernels read, brought into a range.
    pub(super) fn entry(
        &mut self,
        region: &mut Region,
        node: Node,
        constant: usize,
        index: &[Index],
        Range { last, below }: Range,
    ) -> Result<Index, Halt> {
        let mut numbers = Numbers::default();
        let shape = self.kept.constants[constant].0.clone();
        let buffer = (Value::Constant(constant), &shape);
        self.loaded(region, &mut numbers, node, buffer, index)?;
        Ok(self.assembly.lookup(Lookup { numbers: numbers.all, last, below })?)
    }

    /// Adds the number of a value at an index.
    pub(super) fn computed(
        &mut self,
        region: &mut Region,
        numbers: &mut Numbers,
        node: Node,
        index: &[Index],
        depth: usize,
    ) -> Result<usize, Halt> {
        let origin = self.graph.origin(node, Path::new())?;
        let found = match origin {
            Origin::Parameter(number, ref path) => {
                let (place, shape) = self.kept.parameter(number, path);
                return self.loaded(
                    region,
                    numbers,
                    node,
                    (Value::Parameter(place), &shape),
                    index,
                );
            }
            Origin::Part(part, ref path) => {
                let literal = self.literal(part, path);
                return self.known(region, numbers, origin, &literal, index);
            }
            Origin::Node(found) => found,
        };
        if let Some(&scratch) = self.kept.scratch_of.get(&origin) {
            let shape = self.kept.scratch[scratch].clone();
            return self.loaded(region, numbers, found, (Value::Scratch(scratch), &shape), index);
        }
        if let Some(literal) = self.kept.folded.get(&origin).cloned() {
            return self.known(region, numbers, origin, &literal, index);
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

    /// What an instruction computes of the numbers of its operands; `None` where it computes none.
    fn operation(
        &mut self,
        region: &mut Region,
        numbers: &mut Numbers,
        node: Node,
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
                    " of 64 bits, where data is moved by it",
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
            return Ok(Some(numbers.add(own, NumberOf::Index(form))?));
        }
        let mut operands = [0; 3];
        for (number, place) in operands.iter_mut().zip(0..instruction.operands().len()) {
            let operand = self.graph.operand(node, place);
            if integer(self.graph.instruction(operand).shape().element_type()).is_none() {
                return Err(Halt::Stop(Stop::Compute(node)));
            }
            // Clamp takes scalars beside arrays, and select a scalar predicate.
            let is_scalar = self.graph.instruction(operand).shape().rank() == 0;
            let index = if is_scalar { &[] } else { index };
            *number = self.computed(region, numbers, operand, index, depth + 1)?;
        }
        let [a, b, c] = operands;
        let of = match opcode {
            Opcode::Convert => NumberOf::Convert(a),
            Opcode::Select => NumberOf::Select(a, b, c),
            Opcode::Clamp => {
                let least = numbers.compute(own, NumberOf::Binary(Operator::Maximum, b, a))?;
                NumberOf::Binary(Operator::Minimum, least, c)
            }
            Opcode::Unary(unary) => numbers.unary(own, *unary, a)?,
            Opcode::Binary(binary) => NumberOf::Binary(operator(*binary), a, b),
            Opcode::Compare { direction, .. } => NumberOf::Binary(comparison(*direction), a, b),
            _ => return Ok(None),
        };
        Ok(Some(numbers.compute(own, of)?))
    }

    /// Where the element at an index of a value that moves data comes from; `None` of a reduce that computes.
    fn elsewhere(
        &mut self,
        region: &mut Region,
        node: Node,
        index: &[Index],
    ) -> Result<Option<(Node, Vec<Index>)>, Halt> {
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
            // What chooses between operands, or takes elements apart, has to be there before.
            Ok(None) | Err(Halt::Unit(_)) => Err(Halt::Stop(Stop::Before(node))),
            Err(halt) => Err(halt),
        }
    }

    /// Adds a number of a constant.
    fn known(
        &mut self,
        region: &mut Region,
        numbers: &mut Numbers,
        origin: Origin,
        literal: &Literal,
        index: &[Index],
    ) -> Result<usize, Halt> {
        let shape = literal.shape();
        let node = match origin {
            Origin::Node(node) | Origin::Part(node, _) => node,
            Origin::Parameter(..) => unreachable!("a parameter is no constant"),
        };
        let Some(own) = integer(shape.element_type()) else {
            return Err(unsupported(self.graph, node, NO_INTEGER));
        };
        let sizes = extents(shape).unwrap_or_default();
        let place = index.iter().zip(&sizes).try_fold(0, |place, (index, size)| {
            index.as_constant().map(|index| place * size + index)
        });
        let bits = uniform(literal).or_else(|| place.map(|place| element(literal, place)));
        if let Some(bits) = bits {
            let value = own.wrap(bits.cast_signed());
            return Ok(numbers.add(own, NumberOf::Constant(value))?);
        }
        let value = self.constant_buffer(origin, literal);
        self.loaded(region, numbers, node, (value, shape), index)
    }

    /// Adds a number that a buffer holds.
    fn loaded(
        &mut self,
        region: &mut Region,
        numbers: &mut Numbers,
        node: Node,
        (value, shape): (Value, &Shape),
        index: &[Index],
    ) -> Result<usize, Halt> {
        let descriptor = StrideDescriptor::try_from(shape)
            .map_err(|error| ProgramError::layout(value, shape, error))?;
        let own = integer(shape.element_type());
        let Some(own) = own.filter(|own| {
            let bits = own.bits_in_memory();
            descriptor.element_bits() == bits
                && (descriptor.prefix_bytes() * 8).is_multiple_of(bits.into())
        }) else {
            return Err(unsupported(self.graph, node, NO_INTEGER));
        };
        let source = self.source(value, true, |assembly| assembly.number_source(&descriptor))?;
        let at =
            self.assembly.load(region, source, &descriptor, index.iter().cloned().collect())?;
        Ok(numbers.add(own, NumberOf::Load { source, at })?)
    }
}

/// Why a value is no number of a lookup.
const NO_INTEGER: &str = "; where data is moved by it, it has to be an integer of 8 bits or more";

/// The type of numbers of lookups that an element type is.
pub(super) fn integer(element_type: ElementType) -> Option<Integer> {
    if element_type == ElementType::Pred {
        return Some(Integer::PRED);
    }
    let bits = element_type.bits()?;
    let is_signed = element_type.is_signed_integer();
    (is_integer(element_type) && bits >= 8).then_some(Integer { bits, is_signed })
}

/// The operator of an instruction.
pub(super) fn operator(binary: Binary) -> Operator {
    match binary {
        Binary::And => Operator::And,
        Binary::Or => Operator::Or,
        Binary::Add => Operator::Add,
        Binary::Subtract => Operator::Subtract,
        Binary::Multiply => Operator::Multiply,
        Binary::Divide => Operator::Divide,
        Binary::Remainder => Operator::Remainder,
        Binary::Minimum => Operator::Minimum,
        Binary::Maximum => Operator::Maximum,
    }
}

/// The operator of a comparison.
fn comparison(direction: ComparisonDirection) -> Operator {
    match direction {
        ComparisonDirection::Eq => Operator::Equal,
        ComparisonDirection::Ne => Operator::NotEqual,
        ComparisonDirection::Ge => Operator::GreaterEqual,
        ComparisonDirection::Gt => Operator::Greater,
        ComparisonDirection::Le => Operator::LessEqual,
        ComparisonDirection::Lt => Operator::Less,
    }
}
