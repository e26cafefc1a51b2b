//! The GPU on which tests run kernels, if the machine has one.

use std::sync::{Arc, LazyLock};

use stridec::gpu::{Gpu, GpuError};

/// The adapter, which is opened at its first use and shared by all tests of a program.
static GPU: LazyLock<Result<Arc<Gpu>, GpuError>> = LazyLock::new(|| Gpu::open().map(Arc::new));

/// Returns the machine's best adapter, or `None` if there is none. `test` is the name of the test
/// that asks.
///
/// A test that gets `None` passes, and a line on standard error says that it was skipped. With
/// `STRIDEC_REQUIRE_GPU=1` it fails.
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
