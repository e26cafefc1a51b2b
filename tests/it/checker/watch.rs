//! What an interpreter tells of an invocation while it runs it.

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
    /// A statement computes this expression of the function that runs.
    fn expression(&mut self, _: usize) {}
    /// Statements run on a condition, or others do.
    fn branch(&mut self) {}
    /// The statement at this place calls a function.
    fn call(&mut self, _statement: usize) {}
    /// The function that was called last ends.
    fn end_of_call(&mut self) {}
    /// A load or a store.
    fn access(&mut self, _: Access) {}
}

/// Nobody is told.
impl Watch for () {}
