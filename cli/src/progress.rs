//! The progress bar of a long run.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Returns a progress bar for `bytes` bytes. It is visible only if stderr is a terminal. The caller
/// must clear it at the end.
pub(super) fn bar(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    )
    .expect("the template is valid");
    ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr()).with_style(style)
}
