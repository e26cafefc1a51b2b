use super::Proof;

/// What a runtime needs to run one operation: plain data.
///
/// Two storage buffers, the source read-only at binding 0 and the destination at binding 1 of group 0. A buffer may be
/// larger than its binding asks for; what lies past the destination's image, rounded up to 4 bytes, stays untouched.
///
/// The default has nothing to dispatch; a kernel written by hand starts from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Kernel {
    /// The shader; empty where there is nothing to dispatch.
    pub wgsl: String,
    /// The compute entry point.
    pub entry_point: String,
    /// Invocations of a workgroup: x, y, z.
    pub workgroup_size: [u32; 3],
    /// The buffers to bind; empty where there is nothing to dispatch.
    pub bindings: Vec<Binding>,
    /// What to dispatch, in order; empty where no element moves.
    pub dispatches: Vec<Dispatch>,
    /// The whole operation as buffer copies, where it is one; a runtime may run these instead of the dispatches.
    pub copy_regions: Vec<CopyRegion>,
    /// The strategy: `copy`, `rows`, `transpose`, `gather`, or `empty`.
    pub strategy: String,
    /// Bytes of the source's image.
    pub source_bytes: u64,
    /// Bytes of the destination's image.
    pub destination_bytes: u64,
    /// What lowering has shown of the kernel's accesses; `None` for a kernel that stridec did not make.
    pub proof: Option<Proof>,
}

/// One storage buffer of a [`Kernel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// The bind group.
    pub group: u32,
    /// The binding number: 0 for the source, 1 for the destination.
    pub binding: u32,
    /// Whether the kernel writes it.
    pub writable: bool,
    /// The least bytes to bind, a multiple of 4 and at least 4.
    pub size_in_bytes: u64,
}

/// One dispatch of a [`Kernel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dispatch {
    /// Workgroups: x, y, z.
    pub workgroups: [u32; 3],
}

/// One buffer copy, in bytes; all three are multiples of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyRegion {
    /// Where to read.
    pub source_offset: u64,
    /// Where to write.
    pub destination_offset: u64,
    /// Bytes to copy.
    pub size: u64,
}
