//! The devices that run copies and programs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use pyo3::{prelude::*, types::PyString};
use rayon::ThreadPool;
use stridec::{
    Error, Operation,
    gpu::{Adapters, Gpu, GpuError},
    program::Program,
};

use crate::{errors::invalid, numbers::shown, target::named};

/// The values of the argument `device`, for messages.
const EXPECTED: &str = "\"host\", \"gpu\", \"gpu:NAME\" or \"auto\"";

/// The value of the argument `device`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Device {
    Host,
    Gpu,
    /// The first GPU with this text in its name.
    Named(String),
    /// A GPU if the machine has one that can run the kernels, and otherwise the host. Software
    /// drivers are not used.
    Auto,
}

impl Device {
    /// Returns the device that the argument `device` describes. None is the host.
    pub(crate) fn given(given: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(given) = given else { return Ok(Self::Host) };
        match given.cast::<PyString>() {
            Ok(text) => Self::of(&text.to_string_lossy()),
            Err(_) => Err(invalid("device", EXPECTED, shown(given))),
        }
    }

    pub(crate) fn of(text: &str) -> PyResult<Self> {
        match text {
            "host" => Ok(Self::Host),
            "gpu" => Ok(Self::Gpu),
            "auto" => Ok(Self::Auto),
            _ => match text.strip_prefix("gpu:") {
                Some(name) => Ok(Self::Named(name.to_owned())),
                None => Err(invalid("device", EXPECTED, format!("{text:?}"))),
            },
        }
    }

    /// Returns the value of the argument that describes this device.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Host => "host".to_owned(),
            Self::Gpu => "gpu".to_owned(),
            Self::Named(name) => format!("gpu:{name}"),
            Self::Auto => "auto".to_owned(),
        }
    }

    /// Copies a whole source image to a whole destination image.
    pub(crate) fn copy(
        &self,
        operation: &Operation,
        source: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        if let Some(gpu) = self.gpu()? {
            match operation.run_on_gpu(&gpu, source, out, |_| {}) {
                Err(error) if *self == Self::Auto && error.is_beyond_limits() => {}
                ran => return Ok(ran.map(|_| ())?),
            }
        }
        on_host(|| operation.run_on_host(source, out))
    }

    /// Runs a program on whole images of its parameters, and writes whole images of its results.
    pub(crate) fn run(
        &self,
        program: &Program,
        parameters: &[&[u8]],
        results: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        if let Some(gpu) = self.gpu()? {
            program.check_parameters(parameters)?;
            match gpu.run_program(program, parameters) {
                Err(error) if *self == Self::Auto && error.is_beyond_limits() => {}
                ran => {
                    for (to, from) in results.iter_mut().zip(ran?) {
                        to.copy_from_slice(&from);
                    }
                    return Ok(());
                }
            }
        }
        Ok(on_host(|| program.run_on_host_into(parameters, results))?)
    }

    /// Returns the GPU that this device needs, or `None` for the host. Each process opens it, or
    /// fails to open it, once for each value of the argument `device`.
    fn gpu(&self) -> Result<Option<Arc<Gpu>>, Error> {
        static ANY: Mutex<Option<Opened>> = Mutex::new(None);
        static NAMED: Mutex<BTreeMap<String, Mutex<Option<Opened>>>> = Mutex::new(BTreeMap::new());
        static HARDWARE: Mutex<Option<Opened>> = Mutex::new(None);
        match self {
            Self::Host => Ok(None),
            Self::Gpu => Ok(opened(&ANY, Gpu::open)?.map(Some)?),
            Self::Named(name) => {
                let mut slots = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
                let slot = slots.entry(name.clone()).or_default();
                Ok(opened(slot, || open_named(name))?.map(Some)?)
            }
            Self::Auto => match opened(&HARDWARE, Gpu::open_hardware)? {
                Err(error) if error.is_no_device() => Ok(None),
                gpu => Ok(gpu.map(Some)?),
            },
        }
    }
}

/// Opens the first adapter that has `name` in its name.
fn open_named(name: &str) -> Result<Gpu, GpuError> {
    let adapters = Adapters::enumerate();
    match named(&adapters, name) {
        Some(adapter) => Gpu::open_adapter(adapter),
        None => {
            let reason =
                format!("no adapter has {name:?} in its name; `stridec.adapters()` lists them");
            Err(GpuError::NoDevice { reason })
        }
    }
}

type Found = Result<Arc<Gpu>, GpuError>;

/// The result of opening a device, and the process that opened it. A device cannot be used after a
/// fork.
struct Opened {
    process: u32,
    found: Found,
}

fn opened(
    slot: &Mutex<Option<Opened>>,
    open: impl FnOnce() -> Result<Gpu, GpuError>,
) -> Result<Found, Error> {
    let process = std::process::id();
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if slot.as_ref().is_none_or(|opened| opened.process != process) {
        // A device that was opened before a fork is never dropped, because the threads of its
        // driver do not exist in this process.
        std::mem::forget(slot.take());
        *slot = Some(Opened { process, found: open().map(Arc::new) });
    }
    let opened = slot.as_ref().expect("it was filled above");
    Ok(opened.found.clone())
}

/// The id of the process that imported the module.
static LOADED_BY: OnceLock<u32> = OnceLock::new();

/// Records the id of this process. Called when the module is imported.
pub(crate) fn loaded() {
    LOADED_BY.get_or_init(std::process::id);
}

/// Runs a function on the host's threads. After a fork, new threads are started, because the
/// threads of the parent process do not exist in the child.
fn on_host<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    static AFTER_FORK: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let process = std::process::id();
    if LOADED_BY.get().is_none_or(|&loaded| loaded == process) {
        return run();
    }
    let pool = {
        let mut slot = AFTER_FORK.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some((owner, pool)) if *owner == process => Some(pool.clone()),
            _ => {
                std::mem::forget(slot.take());
                let made = rayon::ThreadPoolBuilder::new().build().ok().map(Arc::new);
                slot.clone_from(&made.clone().map(|pool| (process, pool)));
                made
            }
        }
    };
    match pool {
        Some(pool) => pool.install(run),
        None => run(),
    }
}
