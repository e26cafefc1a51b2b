//! [`Picture`]: a description of the drawing of one layout, or of an operation between two layouts.

use crate::{nest::CopyNest, stride::StrideDescriptor, window::Window};

/// A layout to draw, or an operation between two layouts.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// The title of the picture, in one line.
    pub title: &'a str,
    /// The only layout, or the source of an operation.
    pub layout: Side<'a>,
    /// The destination of an operation, or `None` for a single layout.
    pub movement: Option<Movement<'a>>,
}

/// One layout.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The layout as text, such as `bf16[16,256]{1,0:T(8,128)(2,1)}`.
    pub notation: &'a str,
    /// The layout, lowered to strides.
    pub descriptor: &'a StrideDescriptor,
}

/// The destination of an operation, and how elements move to it.
#[derive(Clone, Copy, Debug)]
pub struct Movement<'a> {
    /// The layout of the destination.
    pub destination: Side<'a>,
    /// The window, which gives the source index for each destination index.
    pub window: &'a Window,
    /// The loop nest that the kernel runs.
    pub nest: &'a CopyNest,
}

impl<'a> Picture<'a> {
    /// Creates a picture of a single layout.
    #[must_use]
    pub fn layout(layout: Side<'a>) -> Self {
        Self { title: layout.notation, layout, movement: None }
    }

    /// Creates a picture of an operation.
    #[must_use]
    pub fn operation(title: &'a str, source: Side<'a>, movement: Movement<'a>) -> Self {
        Self { title, layout: source, movement: Some(movement) }
    }
}
