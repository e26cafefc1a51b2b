//! [`translate()`], and the code that all languages share: naga's module of a kernel, and the
//! policies of naga's writers.

use naga::{
    BinaryOperator, Expression, Literal, Module, ShaderStage,
    proc::{BoundsCheckPolicies, BoundsCheckPolicy},
    valid::ModuleInfo,
};

use super::{BackendError, Language, Slot, Translated, glsl, hlsl, msl, spirv};
use crate::wgsl::{self, Binding, Kernel};

/// The text of a kernel, or of functions for other kernels, with the module that naga parsed from
/// it.
pub(super) struct Parsed<'a> {
    /// The WGSL text. The comment at its head becomes the head of the translation.
    text: &'a str,
    pub(super) bindings: &'a [Binding],
    /// The name of the kernel's entry point, or `None` for functions.
    entry_point: Option<&'a str>,
    pub(super) module: Module,
    pub(super) info: ModuleInfo,
}

/// The output of one of naga's writers. `sizes` is the slot of a buffer with the sizes of all
/// bindings, which only MSL needs.
pub(super) struct Written {
    pub(super) code: Vec<u8>,
    pub(super) entry_point: String,
    pub(super) sizes: Option<Slot>,
}

/// Translates a kernel. The [module documentation](super) describes the choices for each language.
///
/// Equal kernels give equal bytes on every machine. A translation that is text starts with the
/// comment at the head of the kernel's text.
///
/// # Errors
///
/// Returns an error if the kernel's text is not valid, or if naga cannot write the kernel. Neither
/// happens for a kernel that stridec compiled.
pub fn translate(kernel: &Kernel, language: Language) -> Result<Translated, BackendError> {
    let slots = kernel.bindings.iter().map(|binding| slot(binding, language)).collect();
    if kernel.dispatches.is_empty() {
        let entry_point = kernel.entry_point.clone();
        let (sizes, extents) = (None, None);
        return Ok(Translated { language, code: vec![], entry_point, slots, sizes, extents });
    }
    let (module, info) = wgsl::check(&kernel.wgsl)?;
    let (text, entry_point) = (&kernel.wgsl, Some(kernel.entry_point.as_str()));
    let uniform = kernel.extents.as_ref().map(|extents| Binding {
        group: extents.group,
        binding: extents.binding,
        writable: false,
        size_in_bytes: 16,
    });
    let bindings: Vec<Binding> = kernel.bindings.iter().copied().chain(uniform).collect();
    let parsed = Parsed { text, bindings: &bindings, entry_point, module, info };
    let Written { code, entry_point, sizes } = parsed.write(language)?;
    let extents = uniform.map(|binding| uniform_slot(&binding, language));
    Ok(Translated { language, code, entry_point, slots, sizes, extents })
}

/// Translates functions that other kernels call. `text` has the functions alone, and `declared` has
/// them after declarations of the buffers in `bindings`.
///
/// # Errors
///
/// Returns an error if naga cannot write functions without an entry point in this language.
#[cfg(feature = "accessors")]
pub(crate) fn translate_functions(
    text: &str,
    declared: &str,
    bindings: &[Binding],
    language: Language,
) -> Result<Vec<u8>, BackendError> {
    if language == Language::Glsl {
        return Err(BackendError::Functions { language });
    }
    let (module, info) = wgsl::check(declared)?;
    let parsed = Parsed { text, bindings, entry_point: None, module, info };
    Ok(parsed.write(language)?.code)
}

/// Returns the slot at which `language` binds a buffer. The slot has the same numbers as the group
/// and the binding in the WGSL.
fn slot(binding: &Binding, language: Language) -> Slot {
    let Binding { group, binding: number, writable, .. } = *binding;
    match language {
        Language::Spirv => Slot::Descriptor { set: group, binding: number },
        Language::Msl => Slot::Buffer { index: narrow(number) },
        Language::Hlsl => Slot::Register {
            class: if writable { 'u' } else { 't' },
            register: number,
            space: narrow(group),
        },
        Language::Glsl => Slot::ShaderStorage { binding: narrow(number) },
    }
}

/// Returns the slot at which `language` binds the uniform buffer with the extents.
fn uniform_slot(binding: &Binding, language: Language) -> Slot {
    match slot(binding, language) {
        Slot::Register { register, space, .. } => Slot::Register { class: 'b', register, space },
        Slot::ShaderStorage { binding } => Slot::Uniform { binding },
        slot => slot,
    }
}

/// Returns the number of a group or a binding as a byte. Kernels of stridec have at most 8 bindings
/// in one group, so the numbers fit.
pub(super) fn narrow(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

impl Parsed<'_> {
    fn write(&self, language: Language) -> Result<Written, BackendError> {
        let written = match language {
            Language::Spirv => spirv::write(self),
            Language::Msl => msl::write(self),
            Language::Hlsl => hlsl::write(self),
            Language::Glsl => glsl::write(self),
        };
        written.map_err(|message| BackendError::Write { language, message })
    }

    /// Adds the comment at the head of the kernel's text to a translation, because naga drops
    /// comments. In all these languages, `//` starts a comment.
    pub(super) fn text(&self, code: &str) -> Vec<u8> {
        // A `#version` directive must remain on the first line.
        let (first, rest) = match code.split_inclusive('\n').next() {
            Some(line) if line.starts_with("#version") => code.split_at(line.len()),
            _ => ("", code),
        };
        let header = self.text.lines().take_while(|line| line.starts_with("//"));
        let header: String = header.flat_map(|line| [line, "\n"]).collect();
        let end = if code.ends_with('\n') { "" } else { "\n" };
        [first, &header, rest, end].concat().into_bytes()
    }

    /// Returns the stage and the name of the kernel's entry point, or `None` for functions.
    pub(super) fn entry_point(&self) -> Option<(ShaderStage, String)> {
        Some((ShaderStage::Compute, self.entry_point?.to_owned()))
    }

    /// Returns the entries of a writer's binding map: the WGSL group and binding number of each
    /// binding, with the result of `target` for the binding.
    pub(super) fn bindings<T>(
        &self,
        target: impl Fn(&Binding) -> T,
    ) -> Vec<(naga::ResourceBinding, T)> {
        let number = |binding: &Binding| naga::ResourceBinding {
            group: binding.group,
            binding: binding.binding,
        };
        self.bindings.iter().map(|binding| (number(binding), target(binding))).collect()
    }

    /// Returns true if a division of the kernel may have the divisor zero, because the divisor is
    /// not a constant greater than 0.
    pub(super) fn may_divide_by_zero(&self) -> bool {
        let bodies = self.module.entry_points.iter().map(|entry| &entry.function);
        let functions = self.module.functions.iter().map(|(_, function)| function);
        bodies.chain(functions).any(|function| {
            function.expressions.iter().any(|(_, expression)| match *expression {
                Expression::Binary {
                    op: BinaryOperator::Divide | BinaryOperator::Modulo,
                    right,
                    ..
                } => !matches!(
                    function.expressions[right],
                    Expression::Literal(Literal::U32(1..) | Literal::I32(1..))
                ),
                _ => false,
            })
        })
    }
}

/// Returns the policies that make naga clamp every index into the buffer or array that it accesses.
pub(super) fn clamped() -> BoundsCheckPolicies {
    BoundsCheckPolicies {
        index: BoundsCheckPolicy::Restrict,
        buffer: BoundsCheckPolicy::Restrict,
        image_load: BoundsCheckPolicy::Restrict,
        binding_array: BoundsCheckPolicy::Restrict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{request::Operation, schedule::Target};

    fn transpose() -> Kernel {
        let (source, destination) =
            ("f32[64,8]".parse().unwrap(), "f32[64,8]{0,1}".parse().unwrap());
        Operation::relayout(source, destination).unwrap().compile(&Target::webgpu()).unwrap()
    }

    #[test]
    fn each_language_binds_where_it_says() {
        let text = |language| {
            let shader = translate(&transpose(), language).unwrap();
            let text = shader.text().unwrap().to_owned();
            let header = text.trim_start_matches("#version 310 es\n");
            assert!(header.starts_with("// relayout f32[64,8]"), "{text}");
            (shader, text)
        };
        let (shader, msl) = text(Language::Msl);
        assert_eq!(shader.slots, [Slot::Buffer { index: 0 }, Slot::Buffer { index: 1 }]);
        assert_eq!(shader.sizes, Some(Slot::Buffer { index: 2 }));
        assert!(msl.contains("_buffer_sizes [[buffer(2)]]"), "{msl}");
        assert!(msl.contains(&format!("void {}(", shader.entry_point)), "{msl}");
        assert!(!msl.contains("naga_div"), "{msl}");
        let (shader, hlsl) = text(Language::Hlsl);
        for slot in shader.slots {
            let number = slot.to_string().replace(", space0", "");
            assert!(hlsl.contains(&number), "{number}: {hlsl}");
        }
        let (_, glsl) = text(Language::Glsl);
        for binding in 0..2 {
            assert!(glsl.contains(&format!("binding = {binding}) ")), "{glsl}");
        }
    }

    #[test]
    fn extents_at_run_time_have_a_slot() {
        let [source, destination] =
            ["f32[9,8,4]", "f32[9,8,4]{1,2,0}"].map(|text| text.parse().unwrap());
        let operation = Operation::relayout(source, destination).unwrap();
        let kernel = operation.at_run_time(&[0]).unwrap().compile(&Target::webgpu()).unwrap();
        for (language, slot) in [
            (Language::Spirv, "set 0, binding 2"),
            (Language::Msl, "buffer(2)"),
            (Language::Hlsl, "register(b2, space0)"),
            (Language::Glsl, "binding 2"),
        ] {
            let shader = translate(&kernel, language).unwrap();
            assert_eq!(shader.extents.unwrap().to_string(), slot);
            assert_eq!(shader.slots.len(), 2);
            match (language, shader.text()) {
                (Language::Msl, Some(text)) => {
                    assert!(text.contains("[[buffer(2)]]"), "{text}");
                    assert_eq!(shader.sizes, Some(Slot::Buffer { index: 3 }));
                }
                (Language::Hlsl, Some(text)) => assert!(text.contains("register(b2)"), "{text}"),
                _ => {}
            }
            assert_eq!(translate(&transpose(), language).unwrap().extents, None);
        }
    }

    #[test]
    fn spirv_is_words_of_version_1_3() {
        let shader = translate(&transpose(), Language::Spirv).unwrap();
        assert_eq!(shader.code[..8], [0x03, 0x02, 0x23, 0x07, 0x00, 0x03, 0x01, 0x00]);
        assert_eq!(shader.code.len() % 4, 0);
        assert_eq!(shader.text(), None);
    }

    #[test]
    fn a_division_by_what_may_be_zero_is_guarded() {
        let mut parts = transpose().into_parts();
        parts.wgsl = "@group(0) @binding(0) var<storage, read> source: array<u32>;
            @group(0) @binding(1) var<storage, read_write> destination: array<u32>;
            @compute @workgroup_size(1) fn main() { destination[0] = 7u / source[0]; }"
            .into();
        let shader = translate(&Kernel::from_parts(parts), Language::Msl).unwrap();
        assert!(shader.text().unwrap().contains("naga_div"));
    }

    #[test]
    fn nothing_to_dispatch_is_nothing_to_translate() {
        let shape: crate::Tensor = "f32[0,3]".parse().unwrap();
        let kernel = Operation::relayout(shape.clone(), shape).unwrap();
        let kernel = kernel.compile(&Target::webgpu()).unwrap();
        for language in Language::ALL {
            assert_eq!(translate(&kernel, language).unwrap().code, [0; 0]);
        }
    }
}
