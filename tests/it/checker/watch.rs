//! The interface to which an interpreter reports the actions of an invocation.

/// A load or a store of contiguous words of a buffer.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)] // the checker reads the buffers afterwards; benches/paper reads these
pub(crate) struct Access {
    /// The statement or expression that makes the access. It is equal for the invocations that make
    /// the access together.
    pub(crate) site: usize,
    /// The index of the buffer.
    pub(crate) buffer: usize,
    pub(crate) first_word: usize,
    pub(crate) words: usize,
}

/// Receives the actions of an invocation, in order.
pub(crate) trait Watch {
    /// A statement computes this expression of the current function.
    fn expression(&mut self, _: usize) {}
    /// Statements are run under a condition.
    fn branch(&mut self) {}
    /// The statement with this number calls a function.
    fn call(&mut self, _statement: usize) {}
    /// The current function returns.
    fn end_of_call(&mut self) {}
    /// A load or a store accesses a buffer.
    fn access(&mut self, _: Access) {}
}

/// Ignores all actions.
impl Watch for () {}
