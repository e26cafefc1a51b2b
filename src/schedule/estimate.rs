//! [`Estimate`]: the memory traffic and the time of kernels on a target, for a compiler that
//! chooses among layouts or programs.
//!
//! The time of a kernel is the time of its dispatches plus the time of its work:
//!
//! ```text
//! nanoseconds = dispatches · dispatch_nanoseconds
//!             + words · cost · 1000 / operations_per_microsecond
//! ```
//!
//! Here *words* are the 32-bit words that the kernel writes, and *cost* is the number of operations
//! for each word, as documented in `src/schedule/cost.rs`. It includes memory traffic: a line that
//! is fetched costs operations too. The two rates belong to the target's
//! [`CostModel`](super::CostModel).

use std::{
    iter::Sum,
    ops::{Add, AddAssign},
};

use super::{Schedule, ScheduleError, Strategy, Target, WordRuns, schedule};
use crate::nest::{CopyNest, Traffic};

/// The estimated memory traffic and time of an operation or a program on a target.
///
/// Estimates of different operations, layouts and programs can be compared and added if they are
/// for the same target.
///
/// ```
/// use stridec::{Operation, Target};
/// let estimate = |from: &str, to: &str| {
///     Operation::relayout(from.parse()?, to.parse()?)?.estimate(&Target::webgpu())
/// };
/// let turned = estimate("f32[1024,1024]", "f32[1024,1024]{0,1}")?;
/// assert_eq!((turned.bytes_read, turned.bytes_written), (4 << 20, 4 << 20));
/// let padded = estimate("f32[1024,3]", "f32[1024,3]{1,0:T(8,128)}")?;
/// assert_eq!((padded.bytes_read, padded.bytes_written), (12 << 10, 512 << 10));
/// assert!(padded.nanoseconds < turned.nanoseconds);
/// let bitcast = estimate("f32[1,1024]", "f32[1,1024]{0,1}")?;
/// assert_eq!(bitcast.nanoseconds, 0.0);
/// # Ok::<(), stridec::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Estimate {
    /// The number of bytes that are read from the sources. Bytes that several invocations read
    /// count once. If guards or indices that are known only at run time decide what is read, this
    /// is an upper bound.
    pub bytes_read: u64,
    /// The number of bytes that are written: the whole destination, or the elements alone if gaps
    /// are kept.
    pub bytes_written: u64,
    /// The time of the kernels, in nanoseconds, if they follow other kernels in one submission.
    /// Uploads, downloads, submissions and compilation do not count.
    ///
    /// Without [`Target::measured_on`], the rates are those of another adapter, so that only ratios
    /// of times are meaningful. `stridec calibrate` measures them.
    pub nanoseconds: f64,
}

impl Add for Estimate {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes_read: self.bytes_read.saturating_add(other.bytes_read),
            bytes_written: self.bytes_written.saturating_add(other.bytes_written),
            nanoseconds: self.nanoseconds + other.nanoseconds,
        }
    }
}

impl AddAssign for Estimate {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Estimate {
    fn sum<I: Iterator<Item = Self>>(estimates: I) -> Self {
        estimates.fold(Self::default(), Add::add)
    }
}

/// Returns the estimate for the kernel that [`schedule()`] chooses for a nest. It is zero for a
/// nest that copies all bytes of its only source to the same places, because the destination can be
/// the buffer of the source then.
///
/// # Errors
///
/// Returns the errors of [`schedule()`].
pub fn estimate(nest: &CopyNest, target: &Target) -> Result<Estimate, ScheduleError> {
    let schedule = schedule(nest.clone(), target)?;
    Ok(if nest.is_bitcast() { Estimate::default() } else { schedule.estimate(target) })
}

impl Schedule {
    /// Returns the estimated traffic and time of the kernel for this schedule. `target` is the
    /// target of the schedule. A plain copy of all bytes has a time here, unlike in
    /// [`estimate()`].
    #[must_use]
    pub fn estimate(&self, target: &Target) -> Estimate {
        if self.strategy() == Strategy::Empty {
            return Estimate::default();
        }
        let nest = self.nest();
        let Traffic { read, written } = Traffic::of(nest);
        let words = match nest.scattered() {
            // An invocation stores one unit.
            Some(_) => written.div_ceil(4),
            None if self.block().is_some() => nest.dst_bytes().div_ceil(4),
            None => {
                WordRuns::of(nest).map_or(0, |runs| runs.count())
                    * u64::from(nest.dst_bits().max(32) / 32)
            }
        };
        let model = &target.model;
        #[expect(clippy::cast_precision_loss, reason = "an estimate needs no 53 bits")]
        let operations = words as f64 * self.cost(target) as f64 / 100.0;
        let work = operations * 1000.0 / f64::from(model.operations_per_microsecond.max(1));
        Estimate {
            bytes_read: read,
            bytes_written: written,
            nanoseconds: f64::from(model.dispatch_nanoseconds) + work,
        }
    }
}
