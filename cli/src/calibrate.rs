//! `stridec calibrate`: writes a target whose cost model is fitted to this machine's device.

use super::{
    args::{CalibrateArgs, CalibrateDevice},
    errors::{Exit, Failure},
    output::Output,
};

/// Runs `stridec calibrate`: times kernels on the GPU, fits a cost model to their times, and writes
/// the target with this model as JSON.
pub(super) fn calibrate(args: &CalibrateArgs) -> Result<(), Failure> {
    if args.device == CalibrateDevice::Host {
        let why = "the host has no numbers to fit: it asks the machine for its caches and instructions when it runs";
        return Err(Failure::new(Exit::Unsupported, why));
    }
    let mut output = Output::open(&args.output)?;
    let (report, target) = device::measure(args.device == CalibrateDevice::Gpu)?;
    // Print the report on stderr, so that stdout is valid JSON.
    if args.output == std::path::Path::new("-") {
        super::errors::note(&report);
    } else {
        super::output::print(&report)?;
    }
    output.write(target.to_json().as_bytes())?;
    output.finish()
}

#[cfg(all(test, feature = "gpu"))]
pub(super) use device::cases;

#[cfg(not(feature = "gpu"))]
mod device {
    use stridec::Target;

    use super::Failure;

    pub(super) fn measure(_: bool) -> Result<(String, Target), Failure> {
        Err(crate::devices::without_gpu())
    }
}

#[cfg(feature = "gpu")]
mod device {
    use std::{
        fmt::Write as _,
        fs,
        time::{Duration, Instant, SystemTime, UNIX_EPOCH},
    };

    use stridec::{
        Error, Operation, Target, Tensor,
        gpu::{DeviceType, Gpu},
        shape::{ElementType, Layout, Shape},
        window::Slice,
    };

    use super::{Exit, Failure};
    use crate::{
        bench::failed,
        errors::printable,
        fit::{Fit, fit},
        trials::{Agreement, Trial, trial},
    };

    /// The time limit of the measurement. No further case is started after it.
    const TIME: Duration = Duration::from_secs(25);
    /// The number of timed runs of each kernel. Only the fastest run is used.
    const REPETITIONS: usize = 9;
    /// The size of the copy that measures the time of a dispatch, in bytes, and the number of these
    /// copies in a submission.
    const SMALL_BYTES: usize = 1 << 10;
    const SMALL_KERNELS: u32 = 200;
    /// The minimum number of cases to which a model is fitted.
    const LEAST_CASES: usize = 8;

    /// The amount of work to measure. It is smaller for a software driver than for hardware.
    struct Size {
        /// The approximate number of bytes that a case moves.
        bytes: u64,
        /// The number of kernels in a submission.
        back_to_back: u32,
        /// The values to try for [`CostModel::lanes`](stridec::schedule::CostModel::lanes), the
        /// number of invocations that run at the same time.
        lanes: &'static [u32],
    }

    const SOFTWARE: Size = Size { bytes: 2 << 20, back_to_back: 1, lanes: &[4, 8, 16] };
    const HARDWARE: Size = Size { bytes: 64 << 20, back_to_back: 10, lanes: &[32, 64] };

    /// Times kernels on the best adapter, and fits a cost model to the times. A software driver is
    /// used only if `software` is true. Returns a report for the user, and the target with the
    /// fitted model.
    pub(super) fn measure(software: bool) -> Result<(String, Target), Failure> {
        let gpu = if software { Gpu::open() } else { Gpu::open_hardware() };
        let gpu = gpu.map_err(Error::from)?;
        let is_cpu = gpu.device_type() == DeviceType::Cpu;
        let size = if is_cpu { SOFTWARE } else { HARDWARE };
        let name: String = gpu.name().chars().filter(|c| !c.is_control()).take(100).collect();
        let mut target = gpu.limits().target(if name.is_empty() { "adapter" } else { &name });
        let start = Instant::now();
        let mut trials = Vec::new();
        for operation in cases(size.bytes)? {
            let (trial, _) =
                trial(&gpu, &operation, &target, REPETITIONS, size.back_to_back).map_err(failed)?;
            trials.push(trial);
            if start.elapsed() > TIME {
                break;
            }
        }
        let too_few = || {
            let why = format!(
                "the device ran {} cases in {} s, too few to fit a model",
                trials.len(),
                TIME.as_secs()
            );
            Failure::new(Exit::Failed, why)
        };
        if trials.len() < LEAST_CASES {
            return Err(too_few());
        }
        let before = Agreement::of(&trials, &target);
        let mut unseen = Agreement::default();
        // Judge the fit on trials that it has not seen: each half by a model that is fitted to the
        // other half.
        for half in 0..2 {
            let side = |wanted: usize| -> Vec<&Trial> {
                let all = trials.iter().enumerate();
                all.filter(|(n, _)| n % 2 == wanted).map(|(_, trial)| trial).collect()
            };
            let mut other = target.clone();
            other.model = fit(&side(1 - half), &target, size.lanes).ok_or_else(too_few)?.model;
            for trial in side(half) {
                unseen.add(trial, &other);
            }
        }
        let found =
            fit(&trials.iter().collect::<Vec<_>>(), &target, size.lanes).ok_or_else(too_few)?;
        target.model = found.model;
        target.model.dispatch_nanoseconds = dispatch_nanoseconds(&gpu, &target)?;
        target.model.operations_per_microsecond =
            operations_per_microsecond(&trials, &target, found.dispatch).ok_or_else(too_few)?;
        target.measured_on = origin(&gpu, is_cpu);
        let mut report = format!("{}\n", printable(&target.measured_on));
        let _ = describe(&mut report, &trials, &found, start.elapsed());
        let _ = writeln!(
            report,
            "a dispatch between others: {:.1} µs",
            f64::from(target.model.dispatch_nanoseconds) / 1e3
        );
        let _ = writeln!(report, "with the preset's numbers: {before}");
        let _ = writeln!(report, "with these: {}", Agreement::of(&trials, &target));
        for trial in trials.iter().filter(|trial| trial.regret(&target) > 1.1) {
            let Some(both) = trial.chosen_and_best(&target) else { continue };
            let [chosen, best] =
                both.map(|n| format!("{}, {:.3} ns a word", trial.candidates[n], trial.times[n]));
            let _ = writeln!(report, "  {}: {chosen}; the best is {best}", trial.title);
        }
        let _ = writeln!(report, "each half by the numbers of the other: {unseen}");
        Ok((report, target))
    }

    /// Measures the time that a dispatch takes in addition to its work, in nanoseconds: the time
    /// of a kernel that copies a few bytes, if it follows others in a submission.
    fn dispatch_nanoseconds(gpu: &Gpu, target: &Target) -> Result<u32, Failure> {
        let bytes = vec![0; SMALL_BYTES];
        let flat = || Tensor::dense(ElementType::U8, [bytes.len() as u64]);
        let kernel = Operation::relayout(flat()?, flat()?)?.compile(target)?;
        let source = gpu.upload(&bytes).map_err(Error::from)?;
        let destination = gpu.upload(&bytes).map_err(Error::from)?;
        let mut least = [Duration::MAX; 2];
        for _ in 0..=REPETITIONS {
            for (least, times) in least.iter_mut().zip([1, 1 + SMALL_KERNELS]) {
                let start = Instant::now();
                gpu.dispatch_repeated(&kernel, &source, &destination, times)
                    .map_err(Error::from)?;
                *least = start.elapsed().min(*least);
            }
        }
        let [one, many] = least;
        let nanoseconds = many.saturating_sub(one).as_nanos() / u128::from(SMALL_KERNELS);
        Ok(u32::try_from(nanoseconds).unwrap_or(u32::MAX))
    }

    /// Returns the rate at which the device completes the operations of the kernels that `target`
    /// would choose: the geometric mean over the trials. `fixed` is the part of a measured time
    /// that does not depend on the kernel, in nanoseconds. Returns `None` without trials.
    fn operations_per_microsecond(trials: &[Trial], target: &Target, fixed: f64) -> Option<u32> {
        let (mut sum, mut count) = (0.0, 0.0);
        for trial in trials {
            let [chosen, _] = trial.chosen_and_best(target)?;
            let whole = trial.times[chosen] * trial.words;
            // Noise may make the fixed part too large.
            let work = (whole - fixed).max(whole / 2.0);
            #[expect(clippy::cast_precision_loss, reason = "costs of a word are small")]
            let operations = trial.candidates[chosen].cost_by(target) as f64 / 100.0 * trial.words;
            sum += (operations / work * 1000.0).ln();
            count += 1.0;
        }
        if count == 0.0 {
            return None;
        }
        let mean: f64 = sum / count;
        let rate = mean.exp().round().clamp(1.0, f64::from(u32::MAX));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        Some(rate as u32)
    }

    /// Adds a description of the fit to the report: the number of measured kernels, the fitted
    /// numbers, and the error.
    fn describe(
        text: &mut String,
        trials: &[Trial],
        fit: &Fit,
        took: Duration,
    ) -> std::fmt::Result {
        let kernels: usize = trials.iter().map(|trial| trial.times.len()).sum();
        writeln!(
            text,
            "{kernels} kernels of {} operations in {:.0} s",
            trials.len(),
            took.as_secs_f64()
        )?;
        writeln!(text, "an operation of {} lanes: {:.3} ns", fit.model.lanes, fit.operation)?;
        for (name, cost) in fit.model.costs() {
            writeln!(text, "  {name:8}{:10.3} operations", f64::from(cost) / 1000.0)?;
        }
        writeln!(text, "a dispatch: {:.1} µs, with its submission", fit.dispatch / 1e3)?;
        writeln!(text, "times differ from the fit by {:.0}%", fit.error * 100.0)
    }

    /// Describes the origin of a measurement: the name of the device, the processor if the device
    /// is a CPU, and the date.
    fn origin(gpu: &Gpu, is_cpu: bool) -> String {
        let mut text = format!("{} ({})", gpu.name(), gpu.backend());
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        if let (true, Some((_, processor))) = (is_cpu, model) {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let _ = write!(text, ", {processor}, threads: {threads}");
        }
        let _ = write!(text, ", {}", date());
        text.chars().filter(|c| !c.is_control()).take(200).collect()
    }

    /// Returns today's date in UTC, such as `2026-11-22`.
    fn date() -> String {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let (mut days, mut year) = (seconds / 86_400, 1970);
        let is_leap = |year: u64| {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        };
        while days >= 365 + u64::from(is_leap(year)) {
            days -= 365 + u64::from(is_leap(year));
            year += 1;
        }
        let months = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut month = 0;
        while days >= months[month] {
            days -= months[month];
            month += 1;
        }
        format!("{year}-{:02}-{:02}", month + 1, days + 1)
    }

    /// Returns the operations to measure: transposes, copies of rows, slices and tiles, each of
    /// about `bytes` bytes. `benches/gpu/model.rs` judges the model with other operations.
    pub(crate) fn cases(bytes: u64) -> Result<Vec<Operation>, Failure> {
        let permutations: [(&[u64], &[usize]); 7] = [
            (&[768, 640], &[1, 0]),
            (&[4, 96, 40, 24], &[0, 2, 3, 1]),
            (&[20, 16, 24, 36], &[3, 2, 1, 0]),
            (&[4, 64, 48, 20], &[0, 2, 1, 3]),
            (&[4, 40, 24, 96], &[0, 3, 1, 2]),
            (&[5; 8], &[7, 6, 5, 4, 3, 2, 1, 0]),
            (&[3, 520, 248], &[1, 2, 0]),
        ];
        let types = [
            ElementType::F32,
            ElementType::U8,
            ElementType::F16,
            ElementType::F64,
            ElementType::C128,
        ];
        let mut cases = Vec::new();
        for (sizes, order) in permutations {
            for element_type in types {
                let source = Shape::new(element_type, grown(sizes, element_type, bytes), None)
                    .map_err(Error::from)?;
                let layout = Layout::new(order.iter().rev().copied());
                let destination =
                    Shape::new(element_type, grown(sizes, element_type, bytes), Some(layout))
                        .map_err(Error::from)?;
                cases.push(relayout(source, destination)?);
            }
        }
        for (window, strides) in [([600, 500], [1, 1]), ([720, 768], [1, 2]), ([720, 768], [2, -1])]
        {
            for element_type in types {
                let sizes = grown(&[720, 768], element_type, bytes);
                let window = [window[0] * (sizes[0] / 720), window[1]];
                let slice = Slice::new([0, 0], window, strides);
                let source = Tensor::dense(element_type, sizes)?;
                cases.push(Operation::slice(source, &slice, None)?);
            }
        }
        for (element_type, from, to) in [
            (ElementType::Bf16, "", "{1,0:T(8,128)(2,1)}"),
            (ElementType::F32, "{1,0:T(8,128)}", "{0,1}"),
            (ElementType::S8, "{1,0:T(32,128)(4,1)}", "{1,0}"),
        ] {
            let sizes = grown(&[600, 500], element_type, bytes);
            let shape = |layout| format!("{element_type}[{},{}]{layout}", sizes[0], sizes[1]);
            let [from, to] = [from, to].map(|layout| shape(layout).parse::<Shape>());
            let (from, to) = (from.map_err(Error::from)?, to.map_err(Error::from)?);
            cases.push(relayout(from, to)?);
        }
        // Mix the cases, so that even the first few contain every type and every kind.
        let count = cases.len();
        let mut mixed: Vec<_> = cases.into_iter().enumerate().collect();
        mixed.sort_by_key(|&(n, _)| n * 23 % count);
        Ok(mixed.into_iter().map(|(_, one)| one).collect())
    }

    fn relayout(from: Shape, to: Shape) -> Result<Operation, Error> {
        Operation::relayout(from.try_into()?, to.try_into()?)
    }

    /// Returns `sizes` with the first extent increased, so that the array has about `bytes` bytes.
    fn grown(sizes: &[u64], element_type: ElementType, bytes: u64) -> Vec<u64> {
        let bits = u64::from(element_type.storage_bits().unwrap_or(32));
        let one = sizes.iter().product::<u64>() * bits / 8;
        let mut sizes = sizes.to_vec();
        sizes[0] *= (bytes / one).max(1);
        sizes
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn cases_are_of_the_size_that_was_asked_for() {
            for bytes in [SOFTWARE.bytes, HARDWARE.bytes] {
                let cases = cases(bytes).unwrap();
                assert!(cases.len() >= 40);
                for operation in cases {
                    let moved = operation.source_descriptor().image_bytes();
                    assert!(
                        (bytes / 4..bytes * 5).contains(&moved),
                        "{}: {moved}",
                        operation.title()
                    );
                }
            }
        }

        #[test]
        fn dates_are_dates() {
            let date = date();
            assert!(date.len() == 10 && date.as_str() > "2026-01-01", "{date}");
        }
    }
}
