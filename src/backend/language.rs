//! [`Language`]: the shading languages into which kernels can be translated.

use std::{fmt, str::FromStr};

use super::BackendError;

/// A shading language into which a kernel can be translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// SPIR-V 1.3, for Vulkan 1.1, as words in little-endian order.
    Spirv,
    /// MSL 2.1, the language of Metal.
    Msl,
    /// HLSL of shader model 5.1, the language of Direct3D.
    Hlsl,
    /// GLSL ES 3.10, the language of OpenGL.
    Glsl,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 4] = [Self::Spirv, Self::Msl, Self::Hlsl, Self::Glsl];

    /// Returns the name in lower case: `spirv`, `msl`, `hlsl` or `glsl`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spirv => "spirv",
            Self::Msl => "msl",
            Self::Hlsl => "hlsl",
            Self::Glsl => "glsl",
        }
    }

    /// Returns the usual file extension: `spv`, `metal`, `hlsl` or `comp`.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Spirv => "spv",
            Self::Msl => "metal",
            Self::Hlsl => "hlsl",
            Self::Glsl => "comp",
        }
    }

    /// Returns the names of all languages, for messages.
    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = BackendError;

    fn from_str(text: &str) -> Result<Self, BackendError> {
        let unknown = || BackendError::Unknown { given: text.to_owned() };
        Self::ALL.into_iter().find(|language| language.name() == text).ok_or_else(unknown)
    }
}
