//! [`Kernel`]: the result of a compilation, as plain data with its proof.

use std::ops::Deref;

use super::Proof;
use crate::schedule::Strategy;

/// Everything that a runtime needs to run one operation, and the [`Proof`] that it stays in its
/// bindings.
///
/// [`Deref`] gives read access to the parts, such as `kernel.wgsl`. They cannot be changed in
/// place, since the proof would not hold for a changed kernel. [`into_parts`](Self::into_parts)
/// takes them out and drops the proof.
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
/// A decoded `stridec.Kernel` is a message and not a kernel; one built from it by hand has no
/// proof:
///
/// ```compile_fail,E0277
/// # fn forge(message: stridec::proto::Kernel) -> stridec::Kernel {
/// stridec::Kernel::from(message)
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    parts: KernelParts,
    proof: Option<Proof>,
}

impl Kernel {
    /// Returns a kernel that stridec did not make: it has no proof, and runs with the run-time
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
        Self { parts, proof: None }
    }

    /// Returns the kernel that lowering made of these parts.
    pub(super) fn proved(parts: KernelParts, proof: Option<Proof>) -> Self {
        Self { parts, proof }
    }

    /// Returns the parts, to change or take apart.
    #[must_use]
    pub fn into_parts(self) -> KernelParts {
        self.parts
    }

    /// The proof of the kernel's accesses; `None` for a kernel that stridec did not make, and for
    /// one that has nothing to dispatch.
    #[must_use]
    pub fn proof(&self) -> Option<&Proof> {
        self.proof.as_ref()
    }
}

impl Deref for Kernel {
    type Target = KernelParts;

    fn deref(&self) -> &KernelParts {
        &self.parts
    }
}

/// The parts of a [`Kernel`]: plain data.
///
/// Storage buffers of group 0: the sources, read-only, from binding 0 on, and the destination after
/// them. A relayout or a slice has one source. A buffer may be larger than its binding; bytes past
/// the destination's image, rounded up to 4 bytes, stay unchanged.
///
/// The default has nothing to dispatch; a kernel written by hand starts from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct KernelParts {
    /// The shader; empty if there is nothing to dispatch.
    pub wgsl: String,
    /// The compute entry point.
    pub entry_point: String,
    /// The invocations of a workgroup: x, y, z.
    pub workgroup_size: [u32; 3],
    /// The buffers to bind; empty if there is nothing to dispatch.
    pub bindings: Vec<Binding>,
    /// The dispatches, in order; empty if no element moves.
    pub dispatches: Vec<Dispatch>,
    /// The whole operation as buffer copies, if possible; a runtime may run these instead of the
    /// dispatches.
    pub copy_regions: Vec<CopyRegion>,
    /// The kind of kernel.
    pub strategy: Strategy,
    /// The bytes of the source's image, or of all sources together.
    pub source_bytes: u64,
    /// The bytes of the destination's image.
    pub destination_bytes: u64,
}

/// One storage buffer of a [`Kernel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The bind group.
    pub group: u32,
    /// The binding number: 0 for the first source, and the last one for the destination.
    pub binding: u32,
    /// True if the kernel writes it.
    pub writable: bool,
    /// The least bytes to bind: the image's, rounded up to the kernel's accesses, which have 4 to
    /// 16 bytes.
    pub size_in_bytes: u64,
}

/// One dispatch of a [`Kernel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dispatch {
    /// The workgroups: x, y, z.
    pub workgroups: [u32; 3],
}

/// One buffer copy, in bytes; all three are multiples of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyRegion {
    /// The first byte to read.
    pub source_offset: u64,
    /// The first byte to write.
    pub destination_offset: u64,
    /// The bytes to copy.
    pub size: u64,
}
