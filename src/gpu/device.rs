//! An open device: one of this machine's adapters, or a device that the embedder owns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::scratch::Scratch;
use super::{Adapter, AdapterLimits, Adapters, DeviceType, GpuError, PipelineCache};

/// Numbers the devices that were opened or adopted; wgpu's own identifiers repeat across its instances.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// An open device with what it needs to run kernels.
///
/// A clone is the same device: it shares buffers, pipelines and what [`run`](Self::run) keeps. It may be used from many
/// threads.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(super) owner: u64,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) limits: AdapterLimits,
    pub(super) cache: Arc<PipelineCache>,
    pub(super) timeout: Duration,
    /// What the driver said when the device was lost; stays empty for a device that the embedder owns.
    pub(super) lost: Arc<OnceLock<String>>,
    /// The buffers of the last [`Gpu::run`], for the next one.
    pub(super) scratch: Arc<Mutex<Scratch>>,
}

impl Gpu {
    /// How long a wait may take unless [`with_timeout`](Self::with_timeout) says otherwise; much longer than any relayout.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

    /// Opens the best adapter of the machine; see [`Adapters::choose`].
    ///
    /// # Errors
    /// [`GpuError::NoDevice`] where there is none, [`GpuError::DeviceRefused`] where it does not open.
    pub fn open() -> Result<Self, GpuError> {
        Self::open_adapter(Adapters::enumerate().choose()?)
    }

    /// Opens the best adapter that is no software driver; see [`Adapters::hardware`].
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_hardware() -> Result<Self, GpuError> {
        Self::open_adapter(&Adapters::hardware()?)
    }

    /// Opens an adapter with all the limits it has. No feature is required; timestamps are asked for where they exist.
    ///
    /// # Errors
    /// [`GpuError::NoDevice`] where the adapter cannot compute, [`GpuError::DeviceRefused`] where it does not open.
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
            // The first reason is the one that counts.
            let _ = lost.set(message);
        });
        Ok(gpu)
    }

    /// Takes a device and its queue that the embedder owns. Its callbacks are left alone.
    ///
    /// Adopt a device once and clone the result: each call makes a cache of its own.
    #[must_use]
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let limits = AdapterLimits::new(&device.limits(), device.adapter_info().device_type);
        Self {
            owner: OPENED.fetch_add(1, Ordering::Relaxed),
            device,
            queue,
            limits,
            cache: Arc::new(PipelineCache::new(PipelineCache::DEFAULT_CAPACITY)),
            timeout: Self::DEFAULT_TIMEOUT,
            lost: Arc::default(),
            scratch: Arc::default(),
        }
    }

    /// Starts a new cache, of at most `capacity` pipelines; with 0, each kernel is compiled every time. Clones made
    /// before keep the old one.
    #[must_use]
    pub fn with_cache_capacity(mut self, capacity: usize) -> Self {
        self.cache = Arc::new(PipelineCache::new(capacity));
        self
    }

    /// Sets how long one wait for the device may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The limits of the device, which may be lower than its adapter's where an embedder opened it.
    #[must_use]
    pub fn limits(&self) -> AdapterLimits {
        self.limits
    }

    /// The name of the adapter.
    #[must_use]
    pub fn name(&self) -> String {
        self.device.adapter_info().name
    }

    /// The interface that drives it: `vulkan`, `metal`, `dx12` or `gl`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.device.adapter_info().backend.to_str()
    }

    /// What kind of device it is.
    #[must_use]
    pub fn device_type(&self) -> DeviceType {
        self.device.adapter_info().device_type.into()
    }

    /// The cache of pipelines.
    #[must_use]
    pub fn cache(&self) -> &PipelineCache {
        &self.cache
    }

    /// The device as wgpu knows it.
    #[must_use]
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Its queue.
    #[must_use]
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }
}
