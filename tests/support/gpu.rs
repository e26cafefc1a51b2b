//! The device that tests run on, where there is one.

use std::sync::{Arc, LazyLock};

use stridec::gpu::{Gpu, GpuError};

static GPU: LazyLock<Result<Arc<Gpu>, GpuError>> = LazyLock::new(|| Gpu::open().map(Arc::new));

/// The machine's best adapter, opened once for a test binary; `None` where there is none.
///
/// Then the test passes and says on standard error that it was skipped, or fails if `STRIDEC_REQUIRE_GPU=1`.
///
/// # Panics
/// Without an adapter where one is required, and where the adapter that is there does not open.
pub(crate) fn gpu(test: &str) -> Option<Arc<Gpu>> {
    match &*GPU {
        Ok(gpu) => Some(Arc::clone(gpu)),
        Err(error) if error.is_no_device() => {
            let required = std::env::var("STRIDEC_REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!required, "STRIDEC_REQUIRE_GPU=1, but {error}");
            // Not `eprintln!`, which the test harness captures: a skipped test must be seen.
            let line = format!("SKIPPED: no GPU adapter for {test} ({error})\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
            None
        }
        Err(error) => panic!("the adapter does not open: {error}"),
    }
}
