//! Writes SPIR-V, for Vulkan.

use naga::back::spv;

use super::translate::{Parsed, Written, clamped};

pub(super) fn write(parsed: &Parsed<'_>) -> Result<Written, String> {
    let target = |binding: &crate::wgsl::Binding| spv::BindingInfo {
        descriptor_set: binding.group,
        binding: binding.binding,
        binding_array_size: None,
    };
    let pipeline = parsed
        .entry_point()
        .map(|(shader_stage, entry_point)| spv::PipelineOptions { shader_stage, entry_point });
    // Functions are exported under their debug names, so these names must be written.
    let flags =
        if pipeline.is_some() { spv::WriterFlags::empty() } else { spv::WriterFlags::DEBUG };
    let options = spv::Options {
        lang_version: (1, 3),
        // The flags are set here because naga's default flags depend on debug assertions.
        flags,
        fake_missing_bindings: false,
        binding_map: parsed.bindings(target).into_iter().collect(),
        capabilities: Some([spv::Capability::Shader].into_iter().collect()),
        bounds_check_policies: clamped(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
        force_loop_bounding: false,
        emit_int_div_checks: parsed.may_divide_by_zero(),
        ..Default::default()
    };
    let mut words = spv::write_vec(&parsed.module, &parsed.info, &options, pipeline.as_ref())
        .map_err(|error| error.to_string())?;
    sort_local_variables(&mut words);
    let entry_point = if let Some(pipeline) = pipeline {
        pipeline.entry_point
    } else {
        words = with_exports(&words);
        String::new()
    };
    let code = words.into_iter().flat_map(u32::to_le_bytes).collect();
    Ok(Written { code, entry_point, sizes: None })
}

/// Exports every function of a module under its name, so that a linker of SPIR-V can use the module
/// as a library.
fn with_exports(words: &[u32]) -> Vec<u32> {
    const OP_NAME: u32 = 5;
    const OP_FUNCTION: u32 = 54;
    const OP_DECORATE: u32 = 71;
    const LINKAGE_ATTRIBUTES: u32 = 41;
    const EXPORT: u32 = 0;
    let mut functions = Vec::new();
    let mut names = Vec::new();
    let mut end_of_names = HEADER_WORDS;
    for (at, opcode, instruction) in instructions(words) {
        match (opcode, instruction) {
            (OP_NAME, [_, id, name @ ..]) => {
                names.push((*id, name));
                end_of_names = at + instruction.len();
            }
            (OP_FUNCTION, [_, _, id, ..]) => functions.push(*id),
            _ => {}
        }
    }
    let (head, rest) = words.split_at(end_of_names);
    let mut exported = head.to_vec();
    // Decorations come after the debug names of functions and of members, so the new decorations
    // must too.
    let is_decoration = |&(_, opcode, _): &(usize, u32, &[u32])| opcode != OP_MEMBER_NAME;
    let skipped = instructions(words).find(|of| of.0 >= end_of_names && is_decoration(of));
    let skipped = skipped.map_or(0, |(at, ..)| at - end_of_names);
    exported.extend(&rest[..skipped]);
    for (id, name) in names.into_iter().filter(|(id, _)| functions.contains(id)) {
        let length = u32::try_from(name.len() + 4).unwrap_or(u32::MAX);
        exported.extend([length << 16 | OP_DECORATE, id, LINKAGE_ATTRIBUTES]);
        exported.extend(name);
        exported.push(EXPORT);
    }
    exported.extend(&rest[skipped..]);
    exported
}

const HEADER_WORDS: usize = 5;
const OP_MEMBER_NAME: u32 = 6;

/// Returns the instructions of a module, each with the index of its first word and its opcode.
fn instructions(words: &[u32]) -> impl Iterator<Item = (usize, u32, &[u32])> {
    let mut at = HEADER_WORDS;
    std::iter::from_fn(move || {
        let first = *words.get(at)?;
        let (place, length) = (at, (first >> 16).max(1) as usize);
        at += length;
        Some((place, first & 0xffff, &words[place..words.len().min(at)]))
    })
}

/// Sorts the variables of each function by number, so that equal kernels give equal bytes. naga
/// declares them in the order of a hash table, and the hashes depend on the width of `usize`.
fn sort_local_variables(words: &mut [u32]) {
    const OP_VARIABLE: u32 = 0x3b;
    const STORAGE_CLASS_FUNCTION: u32 = 7;
    let mut variables: Vec<Vec<u32>> = Vec::new();
    let (mut first, mut at) = (0, HEADER_WORDS);
    while at < words.len() {
        let (opcode, length) = (words[at] & 0xffff, (words[at] >> 16).max(1) as usize);
        let instruction = &words[at..words.len().min(at + length)];
        // The words of a variable are its opcode, type, number and storage class, possibly followed
        // by an initial value.
        if opcode == OP_VARIABLE && instruction.get(3) == Some(&STORAGE_CLASS_FUNCTION) {
            if variables.is_empty() {
                first = at;
            }
            variables.push(instruction.to_vec());
        } else if !variables.is_empty() {
            variables.sort_by_key(|variable| variable[2]);
            words[first..at].copy_from_slice(&variables.concat());
            variables.clear();
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_a_function_are_in_order() {
        let variable = |number, class| [4 << 16 | 0x3b, 1, number, class];
        let header = [0x0723_0203, 0x0001_0300, 0, 9, 0];
        let label = [2 << 16 | 0xf8, 8];
        let initialised = [5 << 16 | 0x3b, 1, 3, 7, 2];
        let mut words = [&header[..], &variable(9, 12), &variable(7, 12), &label].concat();
        let mut sorted = words.clone();
        words.extend([&variable(6, 7)[..], &initialised, &variable(4, 7), &label].concat());
        sorted.extend([&initialised[..], &variable(4, 7), &variable(6, 7), &label].concat());
        sort_local_variables(&mut words);
        assert_eq!(words, sorted);
    }
}
