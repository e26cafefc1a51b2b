//! The interface to which an interpreter reports the actions of an invocation.

/// A load or a store of contiguous words of a buffer.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)] // the checker reads the buffers afterwards; benches/paper reads these
pub(crate) struct Access {
    /// The place in the text, equal for the invocations that make the access together.
    pub(crate) site: usize,
    /// The number of the binding.
    pub(crate) buffer: usize,
    pub(crate) first_word: usize,
    pub(crate) words: usize,
}

/// Receives the actions of an invocation, in order.
pub(crate) trait Watch {
    /// A statement computes this expression of the running function.
    fn expression(&mut self, _: usize) {}
    /// Statements are run under a condition.
    fn branch(&mut self) {}
    /// The statement at this place calls a function.
    fn call(&mut self, _statement: usize) {}
    /// The innermost running function ends.
    fn end_of_call(&mut self) {}
    /// A load or a store.
    fn access(&mut self, _: Access) {}
}

/// Ignores all actions.
impl Watch for () {}
