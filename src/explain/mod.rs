//! Pictures of layouts: [`terminal`] text, an [`svg`] document, and an [`html`] page that runs the
//! kernel in a browser.
//!
//! A layout is drawn from the descriptor that the compiler uses, and the movement of elements is
//! read from the kernel's nest. A [`Picture`] describes what to draw.
//! [`Tensor::draw`](crate::Tensor::draw) and [`Operation::draw`](crate::Operation::draw) create
//! pictures. In all of them, a *place* is the room for one element in memory. A place without an
//! element is padding or a gap between rows ([names](crate::guide::names)). All three writers draw
//! from the same model of a picture:
//!
//! ```text
//! Picture ─┬─► tiles      the boxes of each level of tiles, and the places of padding
//!          ├─► shown      the indices that are drawn, and the number of hidden ones between
//!          ├─► grid       the array, a cell for each index
//!          ├─► strip      the memory, a cell for each place
//!          ├─► movement   the place of the source that a place of the destination reads
//!          └─► sentences  sizes, strides, digits, and padding with its reasons and cost
//! ```
//!
//! A [`ProgramPicture`] draws the results of a program, coloured by the sources of their elements
//! (`mosaic`), and traces one element back through the instructions. A [`ReshardPicture`] draws a
//! reshard plan: the array with the tiles of both sides (`shards`), and the bytes sent between
//! devices (`flows`).
//!
//! ```
//! use stridec::{Tensor, explain::terminal};
//! let tensor: Tensor = "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?;
//! let text = tensor.draw(|picture| terminal(picture, 80));
//! assert!(text.contains("9 of 15 places are padding"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod colour;
mod data;
mod flows;
mod grid;
mod html;
mod marks;
mod mosaic;
mod movement;
mod operation;
mod paint;
mod picture;
mod program;
mod program_page;
mod reshard;
mod reshard_page;
mod sentences;
mod shards;
mod shown;
mod strip;
mod svg;
mod terminal;
mod tiles;

pub use html::{Compiled, Content, below, content, html};
pub use picture::{Movement, Picture, Side};
pub use program::ProgramPicture;
pub use reshard::ReshardPicture;
pub use svg::svg;
pub use terminal::terminal;
