//! The progress of a long run.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over so many bytes, on stderr where that is a terminal; to be cleared at the end.
pub(super) fn bar(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    )
    .expect("the template is valid");
    ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr()).with_style(style)
}
