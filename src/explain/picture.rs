//! What is drawn: a layout, or an operation between two.

use crate::{nest::CopyNest, stride::StrideDescriptor, window::Window};

/// What to draw: one layout, or an operation between two.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// One line that names it.
    pub title: &'a str,
    /// The layout; the source of an operation.
    pub layout: Side<'a>,
    /// Where its elements go, in an operation.
    pub movement: Option<Movement<'a>>,
}

/// One layout.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// As it is written, `bf16[16,256]{1,0:T(8,128)(2,1)}`.
    pub notation: &'a str,
    /// Where its elements lie.
    pub descriptor: &'a StrideDescriptor,
}

/// The other half of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Movement<'a> {
    /// Where the elements go.
    pub destination: Side<'a>,
    /// Which logical index takes which.
    pub window: &'a Window,
    /// The loop nest that its kernel runs.
    pub nest: &'a CopyNest,
}

impl<'a> Picture<'a> {
    /// A layout alone.
    #[must_use]
    pub fn layout(layout: Side<'a>) -> Self {
        Self { title: layout.notation, layout, movement: None }
    }

    /// An operation.
    #[must_use]
    pub fn operation(title: &'a str, source: Side<'a>, movement: Movement<'a>) -> Self {
        Self { title, layout: source, movement: Some(movement) }
    }
}
