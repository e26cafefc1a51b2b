//! [`Gpu`]: an open device, which is an adapter of this machine or a device that the embedder owns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::scratch::Scratch;
use super::{Adapter, AdapterLimits, Adapters, DeviceType, GpuError, PipelineCache};

/// The number of devices that have been opened or adopted so far, which is the identifier of the
/// next device. wgpu's identifiers cannot be used, because they repeat across wgpu's instances.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// An open device, with everything that running kernels on it takes.
///
/// A clone refers to the same device: it shares the pipelines and the scratch buffers, and it
/// accepts the same [`Buffer`](super::Buffer)s. Several threads can use a `Gpu`.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(super) owner: u64,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) limits: AdapterLimits,
    pub(super) cache: Arc<PipelineCache>,
    /// The driver's cache of compiled shaders, or `None` if the embedder gave none.
    pub(super) driver_cache: Option<wgpu::PipelineCache>,
    pub(super) timeout: Duration,
    /// The driver's message about the loss of the device. It stays empty for a device that the
    /// embedder owns.
    pub(super) lost: Arc<OnceLock<String>>,
    /// The buffers of the last [`Gpu::run`], which the next run reuses.
    pub(super) scratch: Arc<Mutex<Scratch>>,
}

impl Gpu {
    /// The longest time to wait for the device, which is much longer than any relayout takes.
    const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

    /// Opens the preferred adapter of the machine; see [`Adapters::choose`].
    ///
    /// # Errors
    /// Returns [`GpuError::NoDevice`] if the machine has no suitable adapter, and
    /// [`GpuError::DeviceRefused`] if the adapter cannot be opened.
    pub fn open() -> Result<Self, GpuError> {
        Self::open_adapter(Adapters::enumerate().choose()?)
    }

    /// Opens the preferred hardware adapter; see [`Adapters::choose_hardware`].
    ///
    /// # Errors
    /// Returns the errors of [`open`](Self::open).
    pub fn open_hardware() -> Result<Self, GpuError> {
        Self::open_adapter(&Adapters::hardware()?)
    }

    /// Opens an adapter with all its limits. No feature is required. Timestamps are enabled if the
    /// adapter supports them.
    ///
    /// # Errors
    /// Returns [`GpuError::NoDevice`] if the adapter cannot run compute shaders, and
    /// [`GpuError::DeviceRefused`] if the adapter cannot be opened.
    pub fn open_adapter(adapter: &Adapter) -> Result<Self, GpuError> {
        if !adapter.computes() {
            return Err(GpuError::NoDevice {
                reason: format!("{:?} does not run compute shaders", adapter.name()),
            });
        }
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("stridec"),
            required_features: adapter.handle().features() & wgpu::Features::TIMESTAMP_QUERY,
            required_limits: adapter.handle().limits(),
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.handle().request_device(&descriptor))
            .map_err(|error| GpuError::DeviceRefused {
                adapter: adapter.name().to_owned(),
                message: error.to_string(),
            })?;
        let gpu = Self::from_device(device, queue);
        let lost = Arc::clone(&gpu.lost);
        gpu.device.set_device_lost_callback(move |_, message| {
            // Only the first message is kept: `set` fails for a later one.
            let _ = lost.set(message);
        });
        Ok(gpu)
    }

    /// Adopts a device of the embedder and its queue. Leaves the callbacks of the device unchanged.
    ///
    /// Each call creates a separate cache of pipelines. To share one cache, adopt the device once
    /// and clone the result.
    #[must_use]
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let limits = AdapterLimits::new(&device.limits(), device.adapter_info().device_type);
        Self {
            owner: OPENED.fetch_add(1, Ordering::Relaxed),
            device,
            queue,
            limits,
            cache: Arc::new(PipelineCache::new(PipelineCache::DEFAULT_CAPACITY)),
            driver_cache: None,
            timeout: Self::DEFAULT_TIMEOUT,
            lost: Arc::default(),
            scratch: Arc::default(),
        }
    }

    /// Replaces the cache with an empty one that keeps at most `capacity` pipelines. If `capacity`
    /// is 0, a kernel is compiled each time it runs. Existing clones keep the old cache.
    #[must_use]
    pub fn with_cache_capacity(mut self, capacity: usize) -> Self {
        self.cache = Arc::new(PipelineCache::new(capacity));
        self
    }

    /// Compiles pipelines with wgpu's pipeline cache, which must belong to this device. The
    /// embedder can store the contents of that cache between runs of its program, with
    /// [`wgpu::PipelineCache::get_data`]. Existing clones do not use that cache.
    #[must_use]
    pub fn with_driver_cache(mut self, cache: wgpu::PipelineCache) -> Self {
        self.driver_cache = Some(cache);
        self
    }

    /// Sets the longest time that a single wait for the device may take. The default is two
    /// minutes.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns the limits of the device. A device that the embedder owns may have lower limits than
    /// its adapter.
    #[must_use]
    pub fn limits(&self) -> AdapterLimits {
        self.limits
    }

    /// Returns the name of the adapter.
    #[must_use]
    pub fn name(&self) -> String {
        self.device.adapter_info().name
    }

    /// Returns the backend that drives the device: `vulkan`, `metal`, `dx12` or `gl`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.device.adapter_info().backend.to_str()
    }

    /// Returns the kind of device.
    #[must_use]
    pub fn device_type(&self) -> DeviceType {
        self.device.adapter_info().device_type.into()
    }

    /// Returns the pipeline cache.
    #[must_use]
    pub fn cache(&self) -> &PipelineCache {
        &self.cache
    }

    /// Returns wgpu's device.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Returns wgpu's queue.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }
}
