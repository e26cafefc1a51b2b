//! [`LookupBuilder`]: builds a lookup, which is an integer that a kernel computes at run time. The
//! functions below translate HLO's types and operators to the types and operators of lookups.

use std::collections::HashMap;

use super::{graph::GraphNode, literal::is_integer};
use crate::{
    hlo::{Binary, ComparisonDirection, Unary},
    nest::{Affine, Integer, LookupExpr, MAX_NUMBERS, NestError, Number, Operator},
    shape::ElementType,
};

/// A lookup under construction: a list of numbers, which are the operands and intermediate results.
/// Each number may use earlier ones.
#[derive(Default)]
pub(super) struct LookupBuilder {
    pub(super) all: Vec<Number>,
    /// The index in `all` of each value that was added. The key is the instruction and the index of
    /// the element, so that a value that is used twice is computed only once.
    pub(super) of: HashMap<(GraphNode, Vec<Affine>), usize>,
}

impl LookupBuilder {
    /// Adds a number and returns its index in `all`. If the list already has an equal number,
    /// returns the index of that number. Returns an error if the lookup already has [`MAX_NUMBERS`]
    /// numbers.
    pub(super) fn add(&mut self, integer: Integer, of: LookupExpr) -> Result<usize, NestError> {
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

    /// Adds a computed number and returns its index in `all`. Operations on constants are computed
    /// now, and a conversion to the same type returns the operand, so that the kernel has less to
    /// compute.
    pub(super) fn compute(&mut self, integer: Integer, of: LookupExpr) -> Result<usize, NestError> {
        let of = match of {
            LookupExpr::Select(holds, a, b) => match self.constant(holds) {
                Some(0) => LookupExpr::Convert(b),
                Some(_) => LookupExpr::Convert(a),
                None => of,
            },
            of => of,
        };
        let constant = match of {
            LookupExpr::Convert(a) if self.all[a].integer == integer => return Ok(a),
            LookupExpr::Convert(a) => self.constant(a),
            LookupExpr::Binary(operator, a, b) => {
                self.constant(a).zip(self.constant(b)).map(|(a, b)| operator.of(a, b))
            }
            _ => None,
        };
        let constant = constant.map(|value| LookupExpr::Constant(integer.wrap(value)));
        self.add(integer, constant.unwrap_or(of))
    }

    /// Returns the expression for a binary operation on the numbers `a` and `b` of the type `own`,
    /// and adds the intermediate results that the expression needs. Returns `None` if lookups
    /// cannot express the operation.
    pub(super) fn binary(
        &mut self,
        own: Integer,
        binary: Binary,
        a: usize,
        b: usize,
    ) -> Result<Option<LookupExpr>, NestError> {
        if let Some(operator) = operator(binary) {
            return Ok(Some(LookupExpr::Binary(operator, a, b)));
        }
        if binary != Binary::Xor {
            return Ok(None);
        }
        if own == Integer::PRED {
            return Ok(Some(LookupExpr::Binary(Operator::NotEqual, a, b)));
        }
        // `a ^ b` equals `(a | b) - (a & b)`, and lookups have no operator for exclusive or.
        let [either, both] = [Operator::Or, Operator::And]
            .map(|operator| self.compute(own, LookupExpr::Binary(operator, a, b)));
        Ok(Some(LookupExpr::Binary(Operator::Subtract, either?, both?)))
    }

    /// Returns the expression for a unary operation on the number `a` of the type `own`, and adds
    /// the intermediate results that the expression needs. Returns `None` if lookups cannot express
    /// the operation.
    pub(super) fn unary(
        &mut self,
        own: Integer,
        unary: Unary,
        a: usize,
    ) -> Result<Option<LookupExpr>, NestError> {
        let mut constant = |value| self.add(own, LookupExpr::Constant(own.wrap(value)));
        Ok(Some(match unary {
            Unary::Abs if !own.is_signed => LookupExpr::Convert(a),
            Unary::Abs => {
                let negative = LookupExpr::Binary(Operator::Subtract, constant(0)?, a);
                LookupExpr::Binary(Operator::Maximum, a, self.compute(own, negative)?)
            }
            Unary::Negate => LookupExpr::Binary(Operator::Subtract, constant(0)?, a),
            Unary::Not if own == Integer::PRED => {
                LookupExpr::Binary(Operator::Equal, a, constant(0)?)
            }
            Unary::Not => LookupExpr::Binary(Operator::Subtract, constant(-1)?, a),
            Unary::Sign if !own.is_signed => LookupExpr::Binary(Operator::Minimum, a, constant(1)?),
            Unary::Sign => {
                let least = LookupExpr::Binary(Operator::Maximum, a, constant(-1)?);
                let one = constant(1)?;
                LookupExpr::Binary(Operator::Minimum, self.compute(own, least)?, one)
            }
            _ => return Ok(None),
        }))
    }

    /// Returns the value of the number with index `number` if this number is a constant.
    fn constant(&self, number: usize) -> Option<i128> {
        match self.all[number].of {
            LookupExpr::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Removes unused numbers: keeps the number at index `last` and all numbers on which it
    /// depends. Adapts the indices in these numbers to the shorter list.
    pub(super) fn used(self, last: usize) -> Vec<Number> {
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

/// Returns the indices of the numbers that an expression uses.
fn operands(of: &LookupExpr) -> impl Iterator<Item = usize> {
    let all = match *of {
        LookupExpr::Load { .. } | LookupExpr::Index(_) | LookupExpr::Constant(_) => [None; 3],
        LookupExpr::Convert(a) => [Some(a), None, None],
        LookupExpr::Binary(_, a, b) => [Some(a), Some(b), None],
        LookupExpr::Select(holds, a, b) => [Some(holds), Some(a), Some(b)],
    };
    all.into_iter().flatten()
}

/// Returns a copy of `number` in which the indices of operands are replaced. `places` has the new
/// index for each old one.
fn renamed(number: Number, places: &[usize]) -> Number {
    let of = match number.of {
        LookupExpr::Convert(a) => LookupExpr::Convert(places[a]),
        LookupExpr::Binary(operator, a, b) => LookupExpr::Binary(operator, places[a], places[b]),
        LookupExpr::Select(holds, a, b) => LookupExpr::Select(places[holds], places[a], places[b]),
        other => other,
    };
    Number { of, ..number }
}

/// Returns the integer type with which lookups compute values of an element type. Returns `None`
/// for floats, and for integers below 8 bits, because lookups cannot compute with them.
pub(super) fn integer(element_type: ElementType) -> Option<Integer> {
    if element_type == ElementType::Pred {
        return Some(Integer::PRED);
    }
    let bits = element_type.bits()?;
    let is_signed = element_type.is_signed_integer();
    (is_integer(element_type) && bits >= 8).then_some(Integer { bits, is_signed })
}

/// Returns the operator of lookups that performs a binary instruction, or `None` if there is no
/// single one.
pub(super) fn operator(binary: Binary) -> Option<Operator> {
    Some(match binary {
        Binary::And => Operator::And,
        Binary::Or => Operator::Or,
        Binary::Add => Operator::Add,
        Binary::Subtract => Operator::Subtract,
        Binary::Multiply => Operator::Multiply,
        Binary::Divide => Operator::Divide,
        Binary::Remainder => Operator::Remainder,
        Binary::Minimum => Operator::Minimum,
        Binary::Maximum => Operator::Maximum,
        _ => return None,
    })
}

/// Returns the operator of lookups that performs a comparison.
pub(super) fn comparison(direction: ComparisonDirection) -> Operator {
    match direction {
        ComparisonDirection::Eq => Operator::Equal,
        ComparisonDirection::Ne => Operator::NotEqual,
        ComparisonDirection::Ge => Operator::GreaterEqual,
        ComparisonDirection::Gt => Operator::Greater,
        ComparisonDirection::Le => Operator::LessEqual,
        ComparisonDirection::Lt => Operator::Less,
    }
}
