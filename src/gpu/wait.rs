//! Waits for work on the device for a limited time, and detects the loss of the device.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Gpu, GpuError};

impl Gpu {
    /// Waits until a submission is done, or until the timeout of this device expires.
    pub(super) fn wait(
        &self,
        operation: &'static str,
        submission: wgpu::SubmissionIndex,
    ) -> Result<(), GpuError> {
        let poll = wgpu::PollType::Wait {
            submission_index: Some(submission),
            timeout: Some(self.timeout),
        };
        // If the device is lost during the wait, wgpu panics and reports the loss in no other way.
        // The state of wgpu is still usable after that panic.
        let polled = catch_unwind(AssertUnwindSafe(|| self.device.poll(poll)));
        self.check_lost(operation)?;
        match polled {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(wgpu::PollError::Timeout)) => {
                Err(GpuError::Timeout { operation, limit: self.timeout })
            }
            // The device was lost before the submission, so wgpu never accepted it.
            Ok(Err(error @ wgpu::PollError::WrongSubmissionIndex(..))) => {
                Err(GpuError::DeviceLost { operation, message: error.to_string() })
            }
            Err(_) => Err(GpuError::DeviceLost {
                operation,
                message: "wgpu panicked while waiting for it".to_owned(),
            }),
        }
    }

    /// Returns an error if the driver has reported that the device is lost.
    pub(super) fn check_lost(&self, operation: &'static str) -> Result<(), GpuError> {
        match self.lost.get() {
            None => Ok(()),
            Some(message) => Err(GpuError::DeviceLost { operation, message: message.clone() }),
        }
    }
}
