//! What an interpreter tells of an invocation while it runs it.

use naga::BinaryOperator;

use super::value::Value;

/// A load or a store of neighbouring words of a buffer.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)] // the checker looks at the buffers afterwards; benches/paper looks at these
pub(crate) struct Access {
    /// Where it stands in the text: equal for the invocations that make it together.
    pub(crate) site: usize,
    /// The binding.
    pub(crate) buffer: usize,
    pub(crate) first_word: usize,
    pub(crate) words: usize,
}

/// Is told of what an invocation does, in order.
pub(crate) trait Watch {
    /// An operator of two operands, on so many components. What divides is a constant in every kernel.
    fn binary(&mut self, _: BinaryOperator, _right: &Value, _components: usize) {}
    /// A choice, a function or an operator of one operand on so many components; or a branch.
    fn operations(&mut self, _: usize) {}
    /// A load or a store.
    fn access(&mut self, _: Access) {}
}

/// Nobody is told.
impl Watch for () {}
