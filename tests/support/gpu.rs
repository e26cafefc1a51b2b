//! The device for the tests, if there is one.

use std::sync::{Arc, LazyLock};

use stridec::gpu::{Gpu, GpuError};

static GPU: LazyLock<Result<Arc<Gpu>, GpuError>> = LazyLock::new(|| Gpu::open().map(Arc::new));

/// Returns the machine's best adapter, opened once for a test program, or `None` without one.
///
/// Without one the test passes and says on standard error that it was skipped, or fails if
/// `STRIDEC_REQUIRE_GPU=1`.
///
/// # Panics
///
/// Panics if an adapter is required and there is none, and if the adapter does not open.
pub(crate) fn gpu(test: &str) -> Option<Arc<Gpu>> {
    match &*GPU {
        Ok(gpu) => Some(Arc::clone(gpu)),
        Err(error) if error.is_no_device() => {
            let required = std::env::var("STRIDEC_REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!required, "STRIDEC_REQUIRE_GPU=1, but {error}");
            // Not `eprintln!`, which the test harness captures: people must see that a test was
            // skipped.
            let line = format!("SKIPPED: no GPU adapter for {test} ({error})\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
            None
        }
        Err(error) => panic!("the adapter does not open: {error}"),
    }
}
