//! SPIR-V, for Vulkan.

use naga::back::spv;

use super::translate::{Parsed, Written, clamped};

pub(super) fn write(parsed: &Parsed<'_>) -> Result<Written, String> {
    let target = |binding: &crate::wgsl::Binding| spv::BindingInfo {
        descriptor_set: binding.group,
        binding: binding.binding,
        binding_array_size: None,
    };
    let (shader_stage, entry_point) = parsed.entry_point();
    let options = spv::Options {
        lang_version: (1, 3),
        // Not the default, which differs between builds with and without debug assertions.
        flags: spv::WriterFlags::empty(),
        fake_missing_bindings: false,
        binding_map: parsed.bindings(target).into_iter().collect(),
        capabilities: Some([spv::Capability::Shader].into_iter().collect()),
        bounds_check_policies: clamped(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
        force_loop_bounding: false,
        emit_int_div_checks: parsed.may_divide_by_zero(),
        ..Default::default()
    };
    let pipeline = spv::PipelineOptions { shader_stage, entry_point: entry_point.clone() };
    let words = spv::write_vec(&parsed.module, &parsed.info, &options, Some(&pipeline))
        .map_err(|error| error.to_string())?;
    let code = words.into_iter().flat_map(u32::to_le_bytes).collect();
    Ok(Written { code, entry_point, sizes: None })
}
