//! [`emit`]: turns a schedule into a kernel, with its WGSL text and its proof.

use super::{
    Binding, CopyRegion, Dispatch, Kernel, KernelParts, Proof, WgslError,
    block::block,
    gather::gather,
    items::{declare_items, item_array, step_of_items},
    kernel::{KernelExtents, KernelOrigin},
    segments::segments,
    validate,
    whole_rows::whole_rows,
    words::type_name,
    writer::Writer,
};
use crate::{
    nest::Source,
    schedule::{Block, Schedule, Strategy, Target},
};

/// The name of every kernel's entry point.
const ENTRY_POINT: &str = "main";

/// Writes the kernel that executes a schedule.
///
/// Each entry of `header` becomes a comment at the top of the kernel. An entry consists of a label
/// and a text, which may have several lines.
#[must_use]
pub fn emit(schedule: &Schedule, target: &Target, header: &[(&str, String)]) -> Kernel {
    let nest = schedule.nest();
    let mut kernel = KernelParts {
        entry_point: ENTRY_POINT.into(),
        workgroup_size: [schedule.workgroup_size(), 1, 1],
        strategy: schedule.strategy(),
        source_bytes: nest.sources().iter().map(Source::bytes).sum(),
        destination_bytes: nest.dst_bytes(),
        gaps: nest.gaps(),
        ..KernelParts::default()
    };
    let origin = KernelOrigin { nest: nest.clone(), target: target.clone() };
    if schedule.strategy() == Strategy::Empty {
        return Kernel::proved(kernel, None, origin);
    }
    let (load_bits, store_bits) = match schedule.block() {
        Some(block) => {
            (block.load() * u64::from(nest.src_bits()), block.store() * u64::from(nest.dst_bits()))
        }
        None if schedule.segments().is_some() => (128, 128),
        None => (nest.src_bits().into(), nest.dst_bits().into()),
    };
    // Lookups load their sources in words of 32 bits, whatever the width of the elements that the
    // nest copies.
    let loads = |number: usize| {
        if nest.loaded_bits(number).is_some() { 32 } else { load_bits }
    };
    let sources = nest.sources().iter().enumerate();
    let images =
        sources.map(|(number, source)| (source.bytes(), loads(number), target.read_write_sources));
    let images = images.chain([(nest.dst_bytes(), store_bits, true)]);
    kernel.bindings = (0..)
        .zip(images)
        .map(|(binding, (bytes, access_bits, writable))| Binding {
            group: 0,
            binding,
            writable,
            size_in_bytes: match schedule.block() {
                Some(_) => bytes.max(1).next_multiple_of((access_bits / 8).max(4)),
                None => bytes.next_multiple_of(4).max(access_bits.div_ceil(32) * 4),
            },
        })
        .collect();
    kernel.dispatches = vec![Dispatch { workgroups: schedule.workgroups() }];
    let proof = Proof::new(schedule, &kernel.bindings);
    let mut items = vec![None; kernel.bindings.len()];
    kernel.extents = KernelExtents::of(schedule);
    if let Some(extents) = schedule.extents() {
        // The first source and the destination have an image for each item. A table has not.
        for number in [0, nest.sources().len()] {
            items[number] = Some(kernel.bindings[number].size_in_bytes);
            kernel.bindings[number].size_in_bytes *= extents.most_items();
        }
        kernel.source_bytes += nest.src_bytes() * (extents.most_items() - 1);
        kernel.destination_bytes *= extents.most_items();
    }
    let mut writer = Writer::new(schedule);
    for (label, text) in header {
        writer.comment(&column(label), format_args!("{text}"));
    }
    writer.comment(&column("schedule"), format_args!("{schedule}"));
    match &proof {
        Some(proof) => writer.comment(&column("proof"), format_args!("{proof}")),
        None => writer.comment(&column("proof"), format_args!("none")),
    }
    let access = if target.read_write_sources { "read_write" } else { "read" };
    for (number, &item) in items.iter().enumerate().take(nest.sources().len()) {
        let name = writer.source_variable(number).to_owned();
        writer.line(format_args!(
            "@group(0) @binding({number}) var<storage, {access}> {name}: array<{}>;",
            item_array(type_name(loads(number)), loads(number), item)
        ));
    }
    let number = nest.sources().len();
    let element = match nest.marks() {
        Some(_) => "atomic<u32>",
        None => type_name(store_bits),
    };
    writer.line(format_args!(
        "@group(0) @binding({number}) var<storage, read_write> destination: array<{}>;",
        item_array(element, store_bits, items[number])
    ));
    if let Some(extents) = &kernel.extents {
        declare_items(&mut writer, extents);
    }
    writer.blank();
    match (schedule.block(), schedule.segments(), schedule.rows()) {
        (Some(of), ..) => block(&mut writer, of, target.kind),
        (None, Some(of), _) => segments(&mut writer, of),
        (None, None, Some(of)) => whole_rows(&mut writer, of),
        (None, None, None) => gather(&mut writer, nest),
    }
    kernel.wgsl = writer.finish();
    if let (Strategy::Copy, Some(block), None) =
        (schedule.strategy(), schedule.block(), schedule.extents())
    {
        kernel.copy_regions = copy_region(block).into_iter().collect();
    }
    Kernel::proved(kernel, proof, origin)
}

/// Returns the kernel with the given parts, together with the proof that [`emit`] makes for the
/// schedule. This is sound because the code of `parts` must equal the code that [`emit`] writes,
/// except for comments.
///
/// # Errors
///
/// Returns [`WgslError::Changed`] if the code or another part differs from the result of [`emit`],
/// or if the kernel has no proof. Returns the errors of [`validate`](super::validate) if naga
/// rejects the text.
pub(crate) fn proved_again(
    parts: KernelParts,
    schedule: &Schedule,
    target: &Target,
) -> Result<Kernel, WgslError> {
    let kernel = emit(schedule, target, &[]).with_parts(parts).ok_or(WgslError::Changed)?;
    if !kernel.dispatches.is_empty() {
        kernel.proof().ok_or(WgslError::Changed)?;
        validate(&kernel.wgsl)?;
    }
    Ok(kernel)
}

/// Returns a header label, padded to the width of the label column. Returns an empty string for an
/// empty label.
fn column(label: &str) -> String {
    if label.is_empty() { String::new() } else { format!("{label:<13}") }
}

/// Describes a copy as one region of the source and destination buffers, so that a runtime can copy
/// it without a kernel. Returns `None` if the region does not start and end at multiples of 4
/// bytes, as buffer copies require.
fn copy_region(block: &Block) -> Option<CopyRegion> {
    let nest = block.nest();
    let bits = nest.src().offset().unsigned_abs() * u64::from(nest.src_bits());
    (bits.is_multiple_of(32) && nest.dst_bytes().is_multiple_of(4)).then_some(CopyRegion {
        // A copy has one source.
        source: 0,
        source_offset: bits / 8,
        destination_offset: 0,
        size: nest.dst_bytes(),
    })
}

/// Writes the entry point around the code of `body`. That code can use a variable with the name
/// `number`, the index of the invocation. Invocations whose index is `count` or more return before
/// it.
pub(super) fn main(writer: &mut Writer, number: &str, count: u64, body: impl FnOnce(&mut Writer)) {
    let [size, x, y, z] = writer.grid();
    writer.line(format_args!("@compute @workgroup_size({size})"));
    writer.block(
        format_args!("fn {ENTRY_POINT}(@builtin(global_invocation_id) id: vec3<u32>)"),
        |writer| {
            let (row, plane) =
                (u64::from(x) * u64::from(size), u64::from(x) * u64::from(size) * u64::from(y));
            // With extents at run time, this is the number among the invocations of all items.
            let all = if writer.extents().is_some() { "number" } else { number };
            match (y, z) {
                (1, 1) => writer.line(format_args!("let {all} = id.x;")),
                (_, 1) => writer.line(format_args!("let {all} = id.x + id.y * {row}u;")),
                _ => {
                    let sum = format!("id.x + id.y * {row}u + id.z * {plane}u");
                    writer.line(format_args!("let {all} = {sum};"));
                }
            }
            if writer.extents().is_some() {
                step_of_items(writer, number, count);
            } else if count < u64::from(size) * u64::from(x) * u64::from(y) * u64::from(z) {
                writer.block(format_args!("if {number} >= {count}u"), |writer| {
                    writer.line(format_args!("return;"));
                });
            }
            body(writer);
        },
    );
}
