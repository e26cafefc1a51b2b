//! Writes GLSL, the language of OpenGL.

use naga::back::glsl;

use super::translate::{Parsed, Written, clamped, narrow};

pub(super) fn write(parsed: &Parsed<'_>) -> Result<Written, String> {
    let target = |binding: &crate::wgsl::Binding| narrow(binding.binding);
    let options = glsl::Options {
        version: glsl::Version::new_gles(310),
        writer_flags: glsl::WriterFlags::empty(),
        binding_map: parsed.bindings(target).into_iter().collect(),
        zero_initialize_workgroup_memory: true,
    };
    let (shader_stage, entry_point) = parsed.entry_point().ok_or("no entry point")?;
    let pipeline = glsl::PipelineOptions { shader_stage, entry_point, multiview: None };
    let mut code = String::new();
    glsl::Writer::new(&mut code, &parsed.module, &parsed.info, &options, &pipeline, clamped())
        .and_then(|mut writer| writer.write())
        .map_err(|error| error.to_string())?;
    // A GLSL shader has one entry point, which is always named `main`.
    Ok(Written { code: parsed.text(&code), entry_point: "main".into(), sizes: None })
}
