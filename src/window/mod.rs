//! Which element goes where, logically: [`Window`].

mod feature_level;
mod slice;
#[allow(clippy::module_inception)]
mod window;

pub use feature_level::FeatureLevel;
pub use slice::Slice;
pub use window::{Window, WindowDimension, WindowError};
