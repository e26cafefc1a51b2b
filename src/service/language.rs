//! The shading language in which a request expects its kernel, and the translation to that
//! language.

use crate::{proto::stridec as proto, request::RequestError, wgsl::Kernel};

/// Returns the shading language whose number in the proto is `given`. Returns an error if there is
/// no such language, or if this build cannot translate to it.
pub(super) fn language(given: i32) -> Result<proto::Language, RequestError> {
    let language =
        proto::Language::try_from(given).map_err(|_| RequestError::Language { given })?;
    if language != proto::Language::Wgsl && !cfg!(feature = "backends") {
        return Err(RequestError::NoBackends { language: language.as_str_name() });
    }
    Ok(language)
}

/// Converts a kernel to its proto. Without the feature `backends` no translation is needed, because
/// [`language`] accepts only WGSL.
#[cfg(not(feature = "backends"))]
#[expect(clippy::unnecessary_wraps)] // with the feature, a translation may fail
pub(super) fn answer(
    kernel: &Kernel,
    _: proto::Language,
) -> Result<proto::Kernel, crate::error::Error> {
    Ok(kernel.into())
}

#[cfg(feature = "backends")]
pub(super) use translated::answer;

#[cfg(feature = "backends")]
mod translated {
    use super::{Kernel, proto};
    use crate::{
        backend::{Language, Slot, Translated, translate},
        error::Error,
    };

    /// Converts a kernel to its proto. The proto includes a translation if `language` is not WGSL.
    pub(in super::super) fn answer(
        kernel: &Kernel,
        language: proto::Language,
    ) -> Result<proto::Kernel, Error> {
        match language.translation() {
            None => Ok(kernel.into()),
            Some(language) => Ok((kernel, &translate(kernel, language)?).into()),
        }
    }

    impl proto::Language {
        /// Returns the language to which kernels have to be translated, or `None` for WGSL.
        #[must_use]
        pub fn translation(self) -> Option<Language> {
            match self {
                Self::Wgsl => None,
                Self::Spirv => Some(Language::Spirv),
                Self::Msl => Some(Language::Msl),
                Self::Hlsl => Some(Language::Hlsl),
                Self::Glsl => Some(Language::Glsl),
            }
        }
    }

    impl From<Language> for proto::Language {
        fn from(language: Language) -> Self {
            match language {
                Language::Spirv => Self::Spirv,
                Language::Msl => Self::Msl,
                Language::Hlsl => Self::Hlsl,
                Language::Glsl => Self::Glsl,
            }
        }
    }

    impl From<(&Kernel, &Translated)> for proto::Kernel {
        /// Converts a kernel and its translation to a proto. Each binding of the proto gets its
        /// slot in the translation.
        fn from((kernel, translated): (&Kernel, &Translated)) -> Self {
            let mut proto = Self::from(kernel);
            for (binding, &slot) in proto.bindings.iter_mut().zip(&translated.slots) {
                binding.slot = Some(slot.into());
            }
            proto.translation = Some(proto::Translation {
                language: proto::Language::from(translated.language).into(),
                code: translated.code.clone(),
                entry_point: translated.entry_point.clone(),
                sizes: translated.sizes.map(proto::Slot::from),
                extents: translated.extents.map(proto::Slot::from),
            });
            proto
        }
    }

    impl From<Slot> for proto::Slot {
        fn from(slot: Slot) -> Self {
            let (space, index, register_class) = match slot {
                Slot::Descriptor { set, binding } => (set, binding, String::new()),
                Slot::Buffer { index } => (0, index.into(), String::new()),
                Slot::Register { class, register, space } => (space.into(), register, class.into()),
                Slot::ShaderStorage { binding } | Slot::Uniform { binding } => {
                    (0, binding.into(), String::new())
                }
            };
            Self { space, index, register_class }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    #[cfg(feature = "backends")]
    use crate::{request::Operation, schedule::Target};

    #[test]
    fn a_number_that_is_no_language_is_refused() {
        assert_eq!(language(0), Ok(proto::Language::Wgsl));
        let error = Error::from(language(9).unwrap_err());
        assert_eq!(error.kind(), crate::ErrorKind::Invalid);
        assert_eq!(
            error.to_string(),
            "language: expected a number of stridec.Language, 0 to 4, got 9"
        );
    }

    #[cfg(not(feature = "backends"))]
    #[test]
    fn without_backends_there_is_wgsl_alone() {
        let error = Error::from(language(1).unwrap_err());
        assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
        assert!(error.to_string().starts_with("language: SPIRV needs"), "{error}");
    }

    #[cfg(feature = "backends")]
    #[test]
    fn each_language_comes_with_its_slots() {
        let (source, destination) =
            ("f32[64,8]".parse().unwrap(), "f32[64,8]{0,1}".parse().unwrap());
        let operation = Operation::relayout(source, destination).unwrap();
        let kernel = operation.compile(&Target::webgpu()).unwrap();
        let plain = proto::Kernel::from(&kernel);
        assert_eq!(answer(&kernel, proto::Language::Wgsl), Ok(plain.clone()));
        for (language, starts, slots) in [
            (proto::Language::Spirv, "\u{3}\u{2}#\u{7}", [(0, 0, ""), (0, 1, "")]),
            (proto::Language::Msl, "// relayout", [(0, 0, ""), (0, 1, "")]),
            (proto::Language::Hlsl, "// relayout", [(0, 0, "t"), (0, 1, "u")]),
            (proto::Language::Glsl, "#version 310 es", [(0, 0, ""), (0, 1, "")]),
        ] {
            let mut given = answer(&kernel, language).unwrap();
            let translation = given.translation.take().unwrap();
            assert_eq!(translation.language(), language);
            assert!(translation.code.starts_with(starts.as_bytes()), "{language:?}");
            assert_eq!(translation.sizes.is_some(), language == proto::Language::Msl);
            let bound: Vec<_> = given.bindings.iter().map(|b| b.slot.clone().unwrap()).collect();
            let bound: Vec<_> =
                bound.iter().map(|s| (s.space, s.index, s.register_class.as_str())).collect();
            assert_eq!(bound, slots, "{language:?}");
            given.bindings.iter_mut().for_each(|binding| binding.slot = None);
            assert_eq!(given, plain);
        }
    }

    #[cfg(feature = "backends")]
    #[test]
    fn nothing_to_move_is_an_empty_kernel_in_every_language() {
        let empty: crate::Tensor = "f32[0,3]".parse().unwrap();
        let operation = Operation::relayout(empty.clone(), empty).unwrap();
        let kernel = operation.compile(&Target::webgpu()).unwrap();
        let given = answer(&kernel, proto::Language::Spirv).unwrap();
        assert_eq!((given.strategy.as_str(), given.dispatches.len()), ("empty", 0));
        assert_eq!(given.translation.unwrap().code, [0; 0]);
    }
}
