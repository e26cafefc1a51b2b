//! [`Kernel`]: the result of a compilation. It is plain data, which any runtime can run. Its proof
//! of bounds allows a runtime to leave out run-time checks.

use std::{
    hash::{Hash, Hasher},
    ops::Deref,
    sync::{Arc, OnceLock},
};

use super::{KernelKey, Proof};
use crate::{
    nest::{CopyNest, Gaps},
    schedule::{ExtentError, RunTimeExtents, Schedule, Strategy, Target},
};

/// Everything that a runtime needs to run one operation, and the [`Proof`] that the kernel stays
/// inside its bindings.
///
/// [`Deref`] gives read access to the parts, such as `kernel.wgsl`. They cannot be changed in
/// place, because the proof does not hold for a changed kernel. [`into_parts`](Self::into_parts)
/// returns the parts without the proof.
///
/// ```compile_fail,E0594
/// # use stridec::{Operation, Target};
/// # let operation = Operation::relayout("u8[4]".parse()?, "u8[4]".parse()?)?;
/// let mut kernel = operation.compile(&Target::webgpu())?;
/// kernel.wgsl = String::new();
/// # Ok::<(), stridec::Error>(())
/// ```
///
/// ```compile_fail,E0451
/// # use stridec::{Kernel, Operation, Target, wgsl::KernelParts};
/// # let operation = Operation::relayout("u8[4]".parse()?, "u8[4]".parse()?)?;
/// let kernel = operation.compile(&Target::webgpu())?;
/// let forged = Kernel { parts: KernelParts::default(), ..kernel };
/// # Ok::<(), stridec::Error>(())
/// ```
///
/// A decoded `stridec.Kernel` is a protobuf message, which cannot be converted into a kernel,
/// because it has no proof. [`Kernel::decode`] reads a saved kernel and proves it again:
///
/// ```compile_fail,E0277
/// # fn forge(message: stridec::proto::Kernel) -> stridec::Kernel {
/// stridec::Kernel::from(message)
/// # }
/// ```
///
/// Two kernels are equal if they have the same code, dispatches, sizes and proof. Their comments
/// may differ, because these only name the tensors.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    parts: KernelParts,
    proof: Option<Proof>,
    /// The copy and the target from which stridec made the kernel, or `None` if stridec did not
    /// make it. A saved kernel is proved again from these. Comparisons ignore this field.
    origin: Option<Arc<KernelOrigin>>,
    /// The key, computed at first use. It never becomes stale, because the parts cannot change.
    key: OnceLock<KernelKey>,
}

/// The copy that a kernel makes, and the target that it was compiled for. With extents at run time,
/// it is the copy of one item.
#[derive(Debug)]
pub(crate) struct KernelOrigin {
    pub(crate) nest: CopyNest,
    pub(crate) target: Target,
}

impl Kernel {
    /// Returns a kernel that stridec did not make. It has no proof, so it runs with the run-time
    /// checks that naga adds.
    ///
    /// ```
    /// use stridec::{Kernel, Operation, Target};
    /// let operation = Operation::relayout("u8[4]".parse()?, "u8[4]".parse()?)?;
    /// let kernel = operation.compile(&Target::webgpu())?;
    /// assert!(kernel.proof().is_some());
    /// let mut parts = kernel.into_parts();
    /// parts.entry_point = "main".into();
    /// assert!(Kernel::from_parts(parts).proof().is_none());
    /// # Ok::<(), stridec::Error>(())
    /// ```
    #[must_use]
    pub fn from_parts(parts: KernelParts) -> Self {
        Self { parts, ..Self::default() }
    }

    /// Returns the kernel that `emit` made from a schedule.
    pub(super) fn proved(parts: KernelParts, proof: Option<Proof>, origin: KernelOrigin) -> Self {
        Self { parts, proof, origin: Some(origin.into()), key: OnceLock::new() }
    }

    /// Replaces the parts of the kernel and keeps its proof. Returns `None` if the new parts differ
    /// in more than comments, because the proof would not hold for them.
    pub(super) fn with_parts(self, parts: KernelParts) -> Option<Self> {
        let Self { proof, origin, .. } = &self;
        let (proof, origin) = (proof.clone(), origin.clone());
        let other = Self { parts, proof, origin, key: OnceLock::new() };
        (other == self).then_some(other)
    }

    /// Returns the copy that the kernel makes, and its target.
    pub(crate) fn origin(&self) -> Option<&KernelOrigin> {
        self.origin.as_deref()
    }

    /// Returns the parts and drops the proof, which would not hold for changed parts.
    #[must_use]
    pub fn into_parts(self) -> KernelParts {
        self.parts
    }

    /// Returns the proof of the kernel's bounds. Returns `None` for a kernel that stridec did not
    /// make, for one whose bounds could not be proved, and for one that has nothing to dispatch.
    #[must_use]
    pub fn proof(&self) -> Option<&Proof> {
        self.proof.as_ref()
    }

    /// Returns the parts that determine the kernel's pipeline, as a key for a cache of pipelines.
    /// Kernels that differ only in their comments have equal keys.
    ///
    /// ```
    /// use stridec::{Operation, Target};
    /// let kernel = |source: &str, destination: &str| {
    ///     Operation::relayout(source.parse()?, destination.parse()?)?.compile(&Target::webgpu())
    /// };
    /// let floats = kernel("f32[4,6]", "f32[4,6]{0,1}")?;
    /// let integers = kernel("s32[4,6]", "s32[4,6]{0,1}")?;
    /// assert_ne!(floats.wgsl, integers.wgsl);
    /// assert_eq!(floats.key(), integers.key());
    /// # Ok::<(), stridec::Error>(())
    /// ```
    #[must_use]
    pub fn key(&self) -> &KernelKey {
        self.key.get_or_init(|| KernelKey::new(&self.parts, self.proof.is_some()))
    }

    /// Returns the parts that matter for the equality of kernels but are not in the key.
    fn compared(&self) -> impl Eq + Hash + '_ {
        let KernelParts {
            wgsl: _,
            entry_point: _,
            workgroup_size,
            bindings: _,
            dispatches,
            copy_regions,
            strategy,
            source_bytes,
            destination_bytes,
            gaps,
            extents,
        } = &self.parts;
        let sizes = (source_bytes, destination_bytes, extents);
        (workgroup_size, dispatches, copy_regions, strategy, sizes, gaps)
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
            && self.compared() == other.compared()
            && self.proof == other.proof
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
        self.compared().hash(state);
    }
}

impl Deref for Kernel {
    type Target = KernelParts;

    fn deref(&self) -> &KernelParts {
        &self.parts
    }
}

/// The parts of a [`Kernel`].
///
/// All buffers are storage buffers of bind group 0. The sources start at binding 0; the destination
/// follows them. The sources are read-only, unless the target has
/// [`read_write_sources`](crate::schedule::Target::read_write_sources). A relayout or a slice has
/// one source. A buffer may be larger than its binding: the kernel changes only the bytes of the
/// destination, rounded up to a multiple of 4.
///
/// The default value has nothing to dispatch, and is a starting point for a kernel that is written
/// by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KernelParts {
    /// The WGSL text; empty if there is nothing to dispatch.
    pub wgsl: String,
    /// The name of the compute entry point.
    pub entry_point: String,
    /// The number of invocations of a workgroup in x, y and z.
    pub workgroup_size: [u32; 3],
    /// The buffers to bind; empty if there is nothing to dispatch.
    pub bindings: Vec<Binding>,
    /// The dispatches, in order; empty if the destination has no elements.
    pub dispatches: Vec<Dispatch>,
    /// The whole operation as buffer copies, which a runtime may run instead of the dispatches.
    /// Empty if the operation cannot be expressed as buffer copies.
    pub copy_regions: Vec<CopyRegion>,
    /// The strategy of the kernel.
    pub strategy: Strategy,
    /// The size of all sources together, in bytes.
    pub source_bytes: u64,
    /// The size of the destination, in bytes.
    pub destination_bytes: u64,
    /// The treatment of the destination's bits outside the elements. With [`Gaps::Keep`], the
    /// kernel keeps the contents that the destination has when the kernel starts.
    pub gaps: Gaps,
    /// The extents that the kernel reads from a uniform buffer, or `None` if all extents are
    /// compiled. If there are some, the sizes and dispatches of the other fields are those for the
    /// maximum extents.
    pub extents: Option<KernelExtents>,
}

/// The uniform buffer from which a kernel reads extents, and what depends on them.
///
/// The buffer has the 16 bytes of [`RunTimeExtents::uniform`]. A kernel copies the items that the
/// extents describe, and no item that is not in both bindings. An extent above its maximum counts
/// as the maximum. So no contents of the uniform buffer make a kernel leave its bindings, and the
/// contents may be written by another kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KernelExtents {
    /// The index of the bind group.
    pub group: u32,
    /// The binding number, which follows the number of the destination.
    pub binding: u32,
    /// The loops whose extents the kernel reads.
    pub loops: RunTimeExtents,
    /// The size of an item of the source, in bytes.
    pub source_item_bytes: u64,
    /// The size of an item of the destination, in bytes.
    pub destination_item_bytes: u64,
    /// The number of invocations for one item.
    pub item_invocations: u64,
    workgroup_size: u32,
    workgroups: [u32; 3],
}

impl KernelExtents {
    /// Returns the extents that the kernel of a schedule reads, or `None` if it reads none.
    pub(crate) fn of(schedule: &Schedule) -> Option<Self> {
        let nest = schedule.nest();
        Some(Self {
            group: 0,
            // A kernel has few sources, so the number fits.
            binding: u32::try_from(nest.sources().len() + 1).unwrap_or(u32::MAX),
            loops: schedule.extents()?.clone(),
            source_item_bytes: nest.src_bytes(),
            destination_item_bytes: nest.dst_bytes(),
            item_invocations: schedule.invocations(),
            workgroup_size: schedule.workgroup_size(),
            workgroups: schedule.workgroups(),
        })
    }

    /// Returns the dispatch for the given extents. It has no workgroups if an extent is 0.
    ///
    /// The dispatch for the maximum extents, [`KernelParts::dispatches`], serves any extents too,
    /// for example if only the device knows them: the other invocations return at once.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RunTimeExtents::items`].
    pub fn dispatch(&self, extents: &[u64]) -> Result<Dispatch, ExtentError> {
        let invocations = self.loops.items(extents)? * self.item_invocations;
        // The kernel computes an invocation's number from the workgroups for the maximum extents,
        // so only the last axis that has several of them can have fewer.
        let [x, y, z] = self.workgroups;
        let groups = invocations.div_ceil(self.workgroup_size.into());
        let (row, plane) = (u64::from(x), u64::from(x) * u64::from(y));
        let axes = match (y, z) {
            (1, 1) => [groups, 1, 1],
            (_, 1) => [row, groups.div_ceil(row), 1],
            _ => [row, y.into(), groups.div_ceil(plane)],
        };
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(Dispatch { workgroups: if groups == 0 { [0; 3] } else { axes.map(narrow) } })
    }

    /// Returns the sizes of the source and of the destination at the given extents, in bytes.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RunTimeExtents::items`].
    pub fn image_bytes(&self, extents: &[u64]) -> Result<[u64; 2], ExtentError> {
        let items = self.loops.items(extents)?;
        Ok([self.source_item_bytes, self.destination_item_bytes].map(|bytes| bytes * items))
    }
}

/// One storage buffer of a [`Kernel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The index of the bind group.
    pub group: u32,
    /// The binding number. Sources are numbered from 0; the destination has the last number.
    pub binding: u32,
    /// True if the kernel declares this buffer `read_write`. Only the destination is written, even
    /// if the sources are declared so.
    pub writable: bool,
    /// The least size of the binding, in bytes: the size of the tensor, rounded up to a multiple of
    /// the kernel's access size, which is 4 to 16 bytes.
    pub size_in_bytes: u64,
}

/// One dispatch of a [`Kernel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dispatch {
    /// The number of workgroups in x, y and z.
    pub workgroups: [u32; 3],
}

/// One buffer copy. Offsets and size are in bytes and multiples of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyRegion {
    /// The number of the source, which is the number of its binding.
    pub source: u32,
    /// The offset of the first byte to read.
    pub source_offset: u64,
    /// The offset of the first byte to write.
    pub destination_offset: u64,
    /// The number of bytes to copy.
    pub size: u64,
}
