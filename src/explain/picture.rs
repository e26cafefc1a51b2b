//! [`Picture`]: a layout, or an operation between two, to be drawn.

use crate::{nest::CopyNest, stride::StrideDescriptor, window::Window};

/// A layout, or an operation between two, to be drawn.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// One line that names the picture.
    pub title: &'a str,
    /// The layout, or the source of an operation.
    pub layout: Side<'a>,
    /// The destination of an operation.
    pub movement: Option<Movement<'a>>,
}

/// One layout.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The layout's text, such as `bf16[16,256]{1,0:T(8,128)(2,1)}`.
    pub notation: &'a str,
    /// The layout lowered to strides.
    pub descriptor: &'a StrideDescriptor,
}

/// The destination of an operation, and the movement of elements to it.
#[derive(Clone, Copy, Debug)]
pub struct Movement<'a> {
    /// The layout of the destination.
    pub destination: Side<'a>,
    /// The source index of each destination index.
    pub window: &'a Window,
    /// The loop nest that the kernel runs.
    pub nest: &'a CopyNest,
}

impl<'a> Picture<'a> {
    /// Makes a picture of one layout.
    #[must_use]
    pub fn layout(layout: Side<'a>) -> Self {
        Self { title: layout.notation, layout, movement: None }
    }

    /// Makes a picture of an operation.
    #[must_use]
    pub fn operation(title: &'a str, source: Side<'a>, movement: Movement<'a>) -> Self {
        Self { title, layout: source, movement: Some(movement) }
    }
}
