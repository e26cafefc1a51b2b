//! Runs an operation or a program on a GPU or on the host, whole or in parts. The caller chooses
//! the device, or leaves the choice to this module.

use std::fmt;

#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, GpuError};
use crate::{
    error::Error,
    host,
    nest::slabs,
    program::Program,
    request::{AtRunTime, Operation},
};

/// The number of bytes that the host writes between two reports of progress. With a larger value,
/// reports are less frequent. With a smaller one, more time is lost in starting a parallel run for
/// each slab.
const SLAB: u64 = 256 << 20;

/// The choice of a device on which to run an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Device {
    /// A GPU if one can run the operation, otherwise the host. Software drivers are not used,
    /// because they run on the host's cores and are slower than the host itself.
    #[default]
    Auto,
    /// The best adapter of the machine, which may be a software driver.
    #[cfg(feature = "gpu")]
    Gpu,
    /// The CPU, without any driver.
    Host,
}

/// The device on which an operation ran, displayed as `the host` or `the GPU: NAME, BACKEND`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ran {
    /// A GPU or a software driver.
    #[cfg(feature = "gpu")]
    OnGpu {
        /// The adapter's name.
        name: String,
        /// The graphics API of the adapter: `vulkan`, `metal`, `dx12` or `gl`.
        backend: &'static str,
        /// The number of parts in which the GPU ran the operation, or 1 if it ran as a whole.
        parts: usize,
    },
    /// The CPU.
    OnHost {
        /// The reason why no GPU ran the operation, if a GPU was tried.
        why: Option<String>,
    },
}

#[cfg(feature = "gpu")]
impl Ran {
    /// Returns that a GPU ran an operation in a number of parts.
    fn on(gpu: &Gpu, parts: usize) -> Self {
        Self::OnGpu { name: gpu.name(), backend: gpu.backend(), parts }
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            #[cfg(feature = "gpu")]
            Self::OnGpu { name, backend, parts: 1 } => write!(f, "the GPU: {name}, {backend}"),
            #[cfg(feature = "gpu")]
            Self::OnGpu { name, backend, parts } => {
                write!(f, "the GPU: {name}, {backend}, in {parts} parts")
            }
            Self::OnHost { why: Some(why) } => write!(f, "the host: {why}"),
            Self::OnHost { why: None } => f.write_str("the host"),
        }
    }
}

impl Operation {
    /// Runs the operation on a device that `device` allows. `source` and `destination` each hold
    /// all bytes of a tensor, padding included.
    ///
    /// If one kernel can bind both buffers, a GPU runs the operation in one piece, otherwise in
    /// parts; see `Gpu::run_nest`. With [`Device::Auto`], the host takes over if no GPU can be
    /// opened or if the operation exceeds the limits or the memory of the GPU. The host and a GPU
    /// write equal bytes. `progress` is called with the number of destination bytes that have been
    /// written so far.
    ///
    /// Each call opens a device. To run many operations, open a `Gpu` once and use its methods.
    ///
    /// ```
    /// use stridec::{Operation, run::Device};
    /// let operation = Operation::relayout("u8[2,3]".parse()?, "u8[2,3]{0,1}".parse()?)?;
    /// let mut columns = [0; 6];
    /// operation.run(Device::Auto, b"abcdef", &mut columns, |_| {})?;
    /// assert_eq!(&columns, b"adbecf");
    /// # Ok::<(), stridec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer does not have the length of its tensor. With `Device::Gpu`,
    /// also returns an error if no adapter can be opened or the operation exceeds its limits. If a
    /// GPU fails during the run, the contents of the destination are unspecified.
    pub fn run(
        &self,
        device: Device,
        source: &[u8],
        destination: &mut [u8],
        mut progress: impl FnMut(u64),
    ) -> Result<Ran, Error> {
        let why = match device {
            Device::Host => None,
            #[cfg(feature = "gpu")]
            Device::Gpu => {
                let gpu = Gpu::open()?;
                let parts = self.run_on_gpu(&gpu, source, destination, progress)?;
                return Ok(Ran::on(&gpu, parts));
            }
            #[cfg(feature = "gpu")]
            Device::Auto => {
                let ran = Gpu::open_hardware().and_then(|gpu| {
                    let parts = self.run_on_gpu(&gpu, source, destination, &mut progress)?;
                    Ok(Ran::on(&gpu, parts))
                });
                match ran {
                    Err(error) if error.is_no_device() || error.is_beyond_limits() => {
                        Some(error.to_string())
                    }
                    ran => return Ok(ran?),
                }
            }
            #[cfg(not(feature = "gpu"))]
            Device::Auto => Some("stridec was built without the feature `gpu`".to_owned()),
        };
        on_host(self, SLAB, source, destination, &mut progress)?;
        Ok(Ran::OnHost { why })
    }

    /// Runs the operation on a GPU that is open, and returns the number of kernels that it took.
    /// Otherwise it is like [`run`](Self::run) with [`Device::Gpu`].
    ///
    /// # Errors
    ///
    /// Returns an error if a buffer does not have the length of its tensor, if the operation
    /// exceeds the limits of the GPU, or if the GPU fails during the run.
    #[cfg(feature = "gpu")]
    pub fn run_on_gpu(
        &self,
        gpu: &Gpu,
        source: &[u8],
        destination: &mut [u8],
        progress: impl FnMut(u64),
    ) -> Result<usize, GpuError> {
        let target = gpu.limits().target(gpu.name());
        gpu.run_nest_of(self.nest(), &target, &self.sources(source), destination, progress)
    }
}

impl AtRunTime {
    /// Runs the operation at the given extents, in the order of its arguments, on a device that
    /// `device` allows. `source` and `destination` each hold all bytes of a tensor at these
    /// extents.
    ///
    /// A GPU runs the kernel for all extents. With [`Device::Auto`], the host takes over in the
    /// same cases as in [`Operation::run`]. Each call opens a device and compiles the kernel. To
    /// run it for many extents, use `Gpu::bind_with_extents`.
    ///
    /// ```
    /// use stridec::{Operation, run::Device};
    /// let operation = Operation::relayout("u8[9,2,4]".parse()?, "u8[9,2,4]{1,2,0}".parse()?)?;
    /// let mut columns = [0; 8];
    /// operation.at_run_time(&[0])?.run(Device::Auto, &[1], b"abcdefgh", &mut columns)?;
    /// assert_eq!(&columns, b"aebfcgdh");
    /// # Ok::<(), stridec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the number of extents is wrong or one is above its maximum, and the
    /// errors of [`Operation::run`].
    pub fn run(
        &self,
        device: Device,
        extents: &[u64],
        source: &[u8],
        destination: &mut [u8],
    ) -> Result<Ran, Error> {
        let operation = self.with_extents(extents)?;
        let why = match device {
            Device::Host => None,
            #[cfg(feature = "gpu")]
            Device::Gpu => {
                return self.run_on_gpu(&Gpu::open()?, extents, source, destination);
            }
            #[cfg(feature = "gpu")]
            Device::Auto => {
                let ran = Gpu::open_hardware()
                    .map_err(Error::from)
                    .and_then(|gpu| self.run_on_gpu(&gpu, extents, source, destination));
                match ran {
                    Err(Error::Gpu(error)) if error.is_no_device() || error.is_beyond_limits() => {
                        Some(error.to_string())
                    }
                    Err(Error::Schedule(error)) => Some(error.to_string()),
                    ran => return ran,
                }
            }
            #[cfg(not(feature = "gpu"))]
            Device::Auto => Some("stridec was built without the feature `gpu`".to_owned()),
        };
        operation.run_on_host(source, destination)?;
        Ok(Ran::OnHost { why })
    }

    #[cfg(feature = "gpu")]
    fn run_on_gpu(
        &self,
        gpu: &Gpu,
        extents: &[u64],
        source: &[u8],
        destination: &mut [u8],
    ) -> Result<Ran, Error> {
        let kernel = self.compile(&gpu.limits().target(gpu.name()))?;
        let sources = self.operation().sources(source);
        gpu.run_with_extents(&kernel, extents, &sources, destination)?;
        Ok(Ran::on(gpu, 1))
    }
}

impl Program {
    /// Runs the program on a device that `device` allows. Takes the bytes of each parameter, and
    /// returns the bytes of each result.
    ///
    /// A GPU runs a program whose buffers it cannot bind in parts; see `Gpu::run_program`.
    /// With [`Device::Auto`], the host takes over if no GPU can be opened or if the program exceeds
    /// the limits or the memory of the GPU. The host and a GPU write equal bytes. Each call opens a
    /// device. To run many programs, open a `Gpu` once and use its methods.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of buffers differs from the number of parameters, or if a
    /// buffer does not have the length of its tensor. Also returns an error if a GPU fails during
    /// the run, and with `Device::Gpu` if no adapter can be opened or the program exceeds its
    /// limits.
    pub fn run(&self, device: Device, parameters: &[&[u8]]) -> Result<(Vec<Vec<u8>>, Ran), Error> {
        self.check_parameters(parameters)?;
        let why = match device {
            Device::Host => None,
            #[cfg(feature = "gpu")]
            Device::Gpu => return Ok(program_on_gpu(&Gpu::open()?, self, parameters)?),
            #[cfg(feature = "gpu")]
            Device::Auto => {
                let ran =
                    Gpu::open_hardware().and_then(|gpu| program_on_gpu(&gpu, self, parameters));
                match ran {
                    Err(error) if error.is_no_device() || error.is_beyond_limits() => {
                        Some(error.to_string())
                    }
                    ran => return Ok(ran?),
                }
            }
            #[cfg(not(feature = "gpu"))]
            Device::Auto => Some("stridec was built without the feature `gpu`".to_owned()),
        };
        Ok((self.run_on_host(parameters)?, Ran::OnHost { why }))
    }
}

#[cfg(feature = "gpu")]
fn program_on_gpu(
    gpu: &Gpu,
    program: &Program,
    parameters: &[&[u8]],
) -> Result<(Vec<Vec<u8>>, Ran), GpuError> {
    let (results, parts) = gpu.run_program_counted(program, parameters)?;
    Ok((results, Ran::on(gpu, parts)))
}

/// Runs a copy on the host. If the destination has more than `slab_bytes`, it is written in slabs,
/// and `progress` is called after each with the number of bytes written so far.
fn on_host(
    operation: &Operation,
    slab_bytes: u64,
    source: &[u8],
    destination: &mut [u8],
    mut progress: impl FnMut(u64),
) -> Result<(), Error> {
    let (nest, sources) = (operation.nest(), operation.sources(source));
    let slabs: Vec<_> = slabs(nest, slab_bytes).collect();
    let (mut written, mut rest) = (0, destination);
    // If elements are smaller than a byte, a slab may start in the middle of a byte.
    let in_bytes = slabs.iter().all(|(_, bit)| bit % 8 == 0);
    if slabs.len() < 2 || !in_bytes || rest.len() as u64 != nest.dst_bytes() {
        host::run_sources(nest, &sources, rest)?;
        progress(rest.len() as u64);
        return Ok(());
    }
    for (slab, _) in &slabs {
        let bytes = usize::try_from(slab.dst_bytes()).unwrap_or(usize::MAX);
        let (run, behind) = rest.split_at_mut(bytes);
        host::run_sources(slab, &sources, run)?;
        written += slab.dst_bytes();
        progress(written);
        rest = behind;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn relayout(from: &str, to: &str) -> Operation {
        Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap()
    }

    #[test]
    fn slabs_are_the_whole() {
        for (from, to) in
            [("u8[40,30]", "u8[40,30]{0,1}"), ("u4[41,33]{1,0:E(4)}", "u4[41,33]{0,1:E(4)}")]
        {
            let operation = relayout(from, to);
            let nest = operation.nest();
            let source: Vec<u8> =
                (0..nest.src_bytes()).flat_map(|at| u8::try_from(at % 251)).collect();
            let mut expected = vec![0; usize::try_from(nest.dst_bytes()).unwrap()];
            operation.run_on_host(&source, &mut expected).unwrap();
            let (mut out, mut reports) = (vec![0; expected.len()], vec![]);
            on_host(&operation, 100, &source, &mut out, |written| reports.push(written)).unwrap();
            assert_eq!(out, expected, "{to}");
            assert!(
                reports.is_sorted() && reports.last() == Some(&nest.dst_bytes()),
                "{reports:?}"
            );
            assert!(reports.len() > 5 || to.starts_with("u4"), "{reports:?}");
        }
    }

    #[test]
    fn buffers_of_other_lengths_are_refused() {
        let operation = relayout("u8[400]", "u8[400]");
        for (source, destination) in [(399, 400), (400, 399), (400, 401)] {
            let (source, mut destination) = (vec![0; source], vec![0; destination]);
            for slab_bytes in [100, SLAB] {
                assert!(
                    on_host(&operation, slab_bytes, &source, &mut destination, |_| {}).is_err()
                );
            }
            let error = operation.run(Device::Host, &source, &mut destination, |_| {}).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn what_ran_is_said_in_words() {
        let why = Some("no GPU adapter".to_owned());
        assert_eq!(Ran::OnHost { why }.to_string(), "the host: no GPU adapter");
        assert_eq!(Ran::OnHost { why: None }.to_string(), "the host");
        #[cfg(feature = "gpu")]
        for (parts, text) in [(1, "the GPU: a, vulkan"), (3, "the GPU: a, vulkan, in 3 parts")] {
            let ran = Ran::OnGpu { name: "a".to_owned(), backend: "vulkan", parts };
            assert_eq!(ran.to_string(), text);
        }
    }
}
