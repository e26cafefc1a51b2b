//! Writes MSL, the language of Metal.

use naga::back::msl;

use super::{
    Slot,
    translate::{Parsed, Written, clamped, narrow},
};

pub(super) fn write(parsed: &Parsed<'_>) -> Result<Written, String> {
    let target = |binding: &crate::wgsl::Binding| msl::BindTarget {
        buffer: Some(narrow(binding.binding)),
        mutable: binding.writable,
        ..Default::default()
    };
    let sizes = narrow(u32::try_from(parsed.kernel.bindings.len()).unwrap_or(u32::MAX));
    let resources = msl::EntryPointResources {
        resources: parsed.bindings(target).into_iter().collect(),
        immediates_buffer: None,
        sizes_buffer: Some(sizes),
    };
    let entry_point = parsed.entry_point();
    let options = msl::Options {
        lang_version: (2, 1),
        per_entry_point_map: [(entry_point.1.clone(), resources)].into_iter().collect(),
        fake_missing_bindings: false,
        bounds_check_policies: clamped(),
        zero_initialize_workgroup_memory: true,
        force_loop_bounding: false,
        emit_int_div_checks: parsed.may_divide_by_zero(),
        ..Default::default()
    };
    let pipeline = msl::PipelineOptions { entry_point: Some(entry_point), ..Default::default() };
    let (code, translated) = msl::write_string(&parsed.module, &parsed.info, &options, &pipeline)
        .map_err(|error| error.to_string())?;
    let entry_point = translated
        .entry_point_names
        .into_iter()
        .next()
        .ok_or("no entry point")?
        .map_err(|error| error.to_string())?;
    let sizes = Some(Slot::Buffer { index: sizes });
    Ok(Written { code: parsed.text(&code), entry_point, sizes })
}
