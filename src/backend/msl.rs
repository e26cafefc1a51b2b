//! Writes MSL, the language of Metal.

use naga::{back::msl, proc::BoundsCheckPolicies};

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
    let sizes = narrow(u32::try_from(parsed.bindings.len()).unwrap_or(u32::MAX));
    let resources = msl::EntryPointResources {
        resources: parsed.bindings(target).into_iter().collect(),
        immediates_buffer: None,
        sizes_buffer: Some(sizes),
    };
    let entry_point = parsed.entry_point();
    let is_kernel = entry_point.is_some();
    let of_kernel = entry_point.iter().map(|(_, name)| (name.clone(), resources.clone()));
    let options = msl::Options {
        lang_version: (2, 1),
        per_entry_point_map: of_kernel.collect(),
        fake_missing_bindings: false,
        // Functions get no checks, because a check would need the sizes of the buffers as another
        // argument.
        bounds_check_policies: if is_kernel { clamped() } else { BoundsCheckPolicies::default() },
        zero_initialize_workgroup_memory: true,
        force_loop_bounding: false,
        emit_int_div_checks: parsed.may_divide_by_zero(),
        ..Default::default()
    };
    let pipeline = msl::PipelineOptions { entry_point, ..Default::default() };
    let (code, translated) = msl::write_string(&parsed.module, &parsed.info, &options, &pipeline)
        .map_err(|error| error.to_string())?;
    let entry_point = match translated.entry_point_names.into_iter().next() {
        Some(name) => name.map_err(|error| error.to_string())?,
        None if is_kernel => return Err("no entry point".into()),
        None => String::new(),
    };
    let sizes = Some(Slot::Buffer { index: sizes });
    Ok(Written { code: parsed.text(&code), entry_point, sizes })
}
