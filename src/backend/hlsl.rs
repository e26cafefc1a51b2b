//! Writes HLSL, the language of Direct3D.

use naga::back::hlsl;

use super::translate::{Parsed, Written, narrow};

pub(super) fn write(parsed: &Parsed<'_>) -> Result<Written, String> {
    let target = |binding: &crate::wgsl::Binding| hlsl::BindTarget {
        space: narrow(binding.group),
        register: binding.binding,
        restrict_indexing: true,
        ..Default::default()
    };
    let options = hlsl::Options {
        shader_model: hlsl::ShaderModel::V5_1,
        binding_map: parsed.bindings(target).into_iter().collect(),
        fake_missing_bindings: false,
        zero_initialize_workgroup_memory: true,
        restrict_indexing: true,
        force_loop_bounding: false,
        ..Default::default()
    };
    let entry_point = parsed.entry_point();
    let is_kernel = entry_point.is_some();
    let pipeline = hlsl::PipelineOptions { entry_point };
    let mut code = String::new();
    let reflection = hlsl::Writer::new(&mut code, &options, &pipeline)
        .write(&parsed.module, &parsed.info, None)
        .map_err(|error| error.to_string())?;
    let entry_point = match reflection.entry_point_names.into_iter().next() {
        Some(name) => name.map_err(|error| error.to_string())?,
        None if is_kernel => return Err("no entry point".into()),
        None => String::new(),
    };
    Ok(Written { code: parsed.text(&code), entry_point, sizes: None })
}
