//! [`counted`]: counts the instructions of scalars that are computed from each other.

use naga::BinaryOperator as Op;

/// The number of a scalar. It is greater than the numbers of the scalars from which it is computed.
pub type Id = usize;

/// The origin of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Constant(u32),
    /// A value that is loaded, an argument, or a value that depends on a branch.
    Opaque,
    Binary(Op),
    /// The smaller of two values.
    Min,
    /// An operation that takes this number of instructions.
    Other(u32),
    /// An operation without an instruction: the same bits, or a negated condition.
    Free(u32),
}

/// A user of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Node(Id),
    /// The scalar is the index of an access.
    Address,
    Statement,
}

/// A scalar.
#[derive(Debug)]
pub struct Node {
    pub kind: Kind,
    pub of: Vec<Id>,
    /// The call and the expression that compute the scalar.
    pub home: Option<(usize, usize)>,
    pub uses: Vec<Use>,
}

/// Returns the number of instructions of each scalar. It is 0 for a scalar that is computed as a
/// part of another scalar's instruction.
pub fn counted(nodes: &[Node]) -> Vec<u64> {
    let mut live = vec![false; nodes.len()];
    for (id, node) in nodes.iter().enumerate().rev() {
        live[id] = node.uses.iter().any(|of| match *of {
            Use::Node(user) => live[user],
            _ => true,
        });
    }
    let fusing = Fusing { nodes, live };
    (0..nodes.len()).map(|id| fusing.instructions(id)).collect()
}

struct Fusing<'a> {
    nodes: &'a [Node],
    /// True for scalars with a user that has an effect.
    live: Vec<bool>,
}

impl Fusing<'_> {
    fn op(&self, id: Id) -> Option<Op> {
        match self.nodes[id].kind {
            Kind::Binary(op) => Some(op),
            _ => None,
        }
    }

    fn constant(&self, id: Id) -> Option<u32> {
        match self.nodes[id].kind {
            Kind::Constant(bits) => Some(bits),
            _ => None,
        }
    }

    /// Returns the users of a scalar that have an effect.
    fn uses(&self, id: Id) -> impl Iterator<Item = Use> {
        let uses = self.nodes[id].uses.iter().copied();
        uses.filter(|of| !matches!(*of, Use::Node(user) if !self.live[user]))
    }

    /// Returns true if all users are scalars for which `holds` returns true.
    fn is_only_for(&self, id: Id, holds: impl Fn(Id) -> bool) -> bool {
        self.uses(id).all(|of| matches!(of, Use::Node(user) if holds(user)))
    }

    /// Returns the operator of the sums to which a scalar belongs: `+` for sums and differences, or
    /// `|`. Returns `None` for any other scalar.
    fn joins(&self, id: Id) -> Option<Op> {
        match self.op(id)? {
            Op::Add | Op::Subtract => Some(Op::Add),
            Op::InclusiveOr => Some(Op::InclusiveOr),
            _ => None,
        }
    }

    /// Returns true if a sum is computed as a part of its only user, which is a sum.
    fn is_inner(&self, id: Id) -> bool {
        let joins = self.joins(id);
        joins.is_some()
            && self.uses(id).count() == 1
            && self.is_only_for(id, |user| self.joins(user) == joins)
    }

    /// Returns true if a product, a shift or a mask is computed as a part of every user. All users
    /// are then sums.
    fn is_factor(&self, id: Id) -> bool {
        let is = |joins| move |user| self.joins(user) == Some(joins);
        let by_constant = self.nodes[id].of.get(1).is_some_and(|&by| self.constant(by).is_some());
        match self.op(id) {
            Some(Op::Multiply) => self.is_only_for(id, is(Op::Add)),
            Some(Op::ShiftLeft | Op::ShiftRight) => {
                by_constant && self.is_only_for(id, |user| self.joins(user).is_some())
            }
            Some(Op::And) => by_constant && self.is_only_for(id, is(Op::InclusiveOr)),
            _ => false,
        }
    }

    /// Returns true if a sum is computed as a part of every user. All users are then `min`.
    fn is_bounded(&self, id: Id) -> bool {
        self.joins(id) == Some(Op::Add)
            && self.sum(id) == 1
            && self.is_only_for(id, |user| self.nodes[user].kind == Kind::Min)
            && !self.nodes[id].of.iter().any(|&of| self.is_inner(of) || self.is_factor(of))
    }

    fn instructions(&self, id: Id) -> u64 {
        let node = &self.nodes[id];
        let Some(op) = self.op(id) else {
            return u64::from(self.live[id] && matches!(node.kind, Kind::Min | Kind::Other(_)));
        };
        let folds = node.of.iter().all(|&of| self.constant(of).is_some());
        if !self.live[id] || folds || self.is_inner(id) || self.is_factor(id) || self.is_bounded(id)
        {
            return 0;
        }
        match op {
            Op::Add | Op::Subtract | Op::InclusiveOr => self.sum(id),
            Op::Divide => self.constant(node.of[1]).map_or(20, division),
            _ => 1,
        }
    }

    /// Returns the number of instructions of a sum. Each product takes one instruction, which also
    /// adds another term. Each further instruction adds two of the remaining terms.
    fn sum(&self, id: Id) -> u64 {
        let (mut products, mut others, mut constants) = (0, 0_u64, 0);
        let (mut shifts, mut funnels): (Vec<i64>, u64) = (vec![], 0);
        let mut left = vec![id];
        while let Some(of) = left.pop() {
            if of == id || self.is_inner(of) {
                left.extend(&self.nodes[of].of);
            } else if self.is_factor(of) {
                products += 1;
                let Some(by) = self.shift(of) else { continue };
                match shifts.iter().position(|&other| other + by == 0) {
                    Some(at) if self.joins(id) == Some(Op::InclusiveOr) => {
                        shifts.remove(at);
                        funnels += 1;
                    }
                    _ => shifts.push(by),
                }
            } else if self.constant(of).is_some() {
                constants = 1;
            } else {
                others += 1;
            }
        }
        // A constant in an address is added to the start of the buffer.
        if self.uses(id).all(|of| of == Use::Address) {
            constants = 0;
        }
        products + (others + constants).saturating_sub(1).div_ceil(2) - funnels
    }

    /// Returns the distance of a left shift, or `None` for any other operation. A right shift by
    /// `n` is a left shift by `n - 32`.
    fn shift(&self, id: Id) -> Option<i64> {
        let by = i64::from(self.constant(*self.nodes[id].of.get(1)?)?);
        match self.op(id)? {
            Op::ShiftLeft => Some(by),
            Op::ShiftRight => Some(by - 32),
            _ => None,
        }
    }
}

/// Returns the number of instructions of a division of a `u32` by a constant. The division is the
/// upper half of a product with a 32-bit number, and a shift. If no such number is exact for all
/// dividends, the dividend is shifted first for an even divisor, and the upper half is corrected
/// for an odd one.
fn division(by: u32) -> u64 {
    let by = u64::from(by);
    let is_exact = |shift: u32| {
        let power = 1_u128 << (32 + shift);
        let factor = power.div_ceil(by.into());
        factor < 1 << 32 && factor * u128::from(by) - power <= 1 << shift
    };
    if (0..32).any(is_exact) {
        2
    } else if by.is_multiple_of(2) {
        3
    } else {
        4
    }
}
