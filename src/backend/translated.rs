//! [`Translated`]: a translated kernel, and the slots of its buffers.

use std::fmt;

use super::Language;

/// A kernel that is translated to another language, with the slots to which its buffers are bound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Translated {
    /// The language.
    pub language: Language,
    /// The shader: SPIR-V words in little-endian order, or UTF-8 text. Empty if the kernel has no
    /// dispatches.
    pub code: Vec<u8>,
    /// The name of the entry point, which may differ from the kernel's: MSL does not allow the name
    /// `main`.
    pub entry_point: String,
    /// The slot of each buffer in [`Kernel::bindings`](crate::Kernel), in the same order.
    pub slots: Vec<Slot>,
    /// The slot of an additional buffer, which only MSL needs because its shader clamps indices.
    /// The caller fills this buffer with one `uint32_t` for each binding, in order: the number of
    /// bytes that are bound.
    pub sizes: Option<Slot>,
    /// The slot of the uniform buffer with the extents, if the kernel reads
    /// [`extents`](crate::wgsl::KernelParts::extents) at run time.
    pub extents: Option<Slot>,
}

impl Translated {
    /// Returns the shader as text, or `None` for SPIR-V.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self.language {
            Language::Spirv => None,
            _ => str::from_utf8(&self.code).ok(),
        }
    }
}

/// The slot to which a buffer is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Slot {
    /// Vulkan: a storage buffer of a descriptor set.
    Descriptor {
        /// The descriptor set.
        set: u32,
        /// The binding in the set.
        binding: u32,
    },
    /// Metal: `[[buffer(index)]]`.
    Buffer {
        /// The index of the buffer in Metal's buffer argument table.
        index: u8,
    },
    /// Direct3D: a register, such as `t0` for a buffer that is read or `u1` for one that is
    /// written.
    Register {
        /// The class of the register: `t`, `u`, or `b` for the uniform buffer with the extents.
        class: char,
        /// The number of the register.
        register: u32,
        /// The register space.
        space: u8,
    },
    /// OpenGL: a shader storage buffer.
    ShaderStorage {
        /// The binding point.
        binding: u8,
    },
    /// OpenGL: a uniform buffer.
    Uniform {
        /// The binding point.
        binding: u8,
    },
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Descriptor { set, binding } => write!(f, "set {set}, binding {binding}"),
            Self::Buffer { index } => write!(f, "buffer({index})"),
            Self::Register { class, register, space } => {
                write!(f, "register({class}{register}, space{space})")
            }
            Self::ShaderStorage { binding } | Self::Uniform { binding } => {
                write!(f, "binding {binding}")
            }
        }
    }
}
