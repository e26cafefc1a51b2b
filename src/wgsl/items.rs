//! Kernels with extents at run time: the part of the code that finds the item of an invocation.
//!
//! An *item* is the part of a tensor at one index of the outermost loops, some of whose extents the
//! kernel reads from a uniform buffer. The sources and the destination are arrays of items. The
//! rest of the code copies one item, as a kernel whose extents are all compiled would, but names it
//! `source[item]` instead of `source`.

use super::{kernel::KernelExtents, writer::Writer};
use crate::schedule::{OuterLoop, RunTimeExtents};

/// Returns the type of the elements of a buffer whose accesses have the type `access`, of
/// `access_bits` bits. If the buffer has items of `item` bytes, it is an array of arrays.
pub(super) fn item_array(access: &str, access_bits: u64, item: Option<u64>) -> String {
    match item {
        None => access.to_owned(),
        Some(bytes) => format!("array<{access}, {}>", bytes / (access_bits / 8).max(4)),
    }
}

/// Returns the name of a component of the uniform.
fn component(argument: usize) -> char {
    ['x', 'y', 'z', 'w'][argument]
}

/// Writes the declarations of the uniform and of the numbers of the invocation's item. The numbers
/// are private variables, because functions of the kernel use them.
pub(super) fn declare_items(writer: &mut Writer, extents: &KernelExtents) {
    let KernelExtents { group, binding, loops, .. } = extents;
    let arguments: Vec<String> = loops
        .arguments()
        .enumerate()
        .map(|(argument, (dimension, most))| {
            format!("{}: the extent of d{dimension}, at most {most}", component(argument))
        })
        .collect();
    writer.noted(
        format_args!("@group({group}) @binding({binding}) var<uniform> extents: vec4<u32>;"),
        format_args!("{}", arguments.join("; ")),
    );
    writer.blank();
    let order = if loops.keeps_order() { "both sides" } else { "the destination" };
    writer.noted(
        format_args!("var<private> item: u32;"),
        format_args!("the item of {order} that the invocation copies"),
    );
    if !loops.keeps_order() {
        writer.noted(
            format_args!("var<private> source_item: u32;"),
            format_args!("the same item in the source"),
        );
    }
}

/// Returns the expression for the extent of a loop.
fn extent(one: &OuterLoop) -> String {
    match one.argument {
        Some(_) => format!("extent{}", one.dimension),
        None => format!("{}u", one.most),
    }
}

/// Writes the code that finds the item of an invocation, and the number of the invocation among the
/// `count` for that item. `number` is the name of the latter. An invocation without an item
/// returns.
pub(super) fn step_of_items(writer: &mut Writer, number: &str, count: u64) {
    let Some(extents) = writer.extents().cloned() else { return };
    for (argument, (dimension, most)) in extents.arguments().enumerate() {
        writer.line(format_args!(
            "let extent{dimension} = min(extents.{}, {most}u);",
            component(argument)
        ));
    }
    let items: Vec<String> = extents.loops().iter().map(extent).collect();
    writer.line(format_args!("let items = {};", items.join(" * ")));
    match count {
        1 => writer.line(format_args!("item = number;")),
        _ => writer.line(format_args!("item = number / {count}u;")),
    }
    let ends = format!(
        "item >= items || items > arrayLength(&{}) || items > arrayLength(&destination)",
        writer.source_variable(0)
    );
    writer.block(format_args!("if {ends}"), |writer| writer.line(format_args!("return;")));
    if !extents.keeps_order() {
        order_of_source(writer, &extents);
    }
    match count {
        1 => writer.line(format_args!("let {number} = 0u;")),
        _ => writer.line(format_args!("let {number} = number - item * {count}u;")),
    }
}

/// Writes the code that computes the number of an item in the source from its number in the
/// destination.
fn order_of_source(writer: &mut Writer, extents: &RunTimeExtents) {
    let mut rest = "item".to_owned();
    for (number, one) in extents.loops().iter().enumerate().rev() {
        let (index, extent) = (format!("index{}", one.dimension), extent(one));
        if number == 0 {
            writer.line(format_args!("let {index} = {rest};"));
        } else {
            let outer = format!("outer{number}");
            writer.line(format_args!("let {outer} = {rest} / {extent};"));
            writer.line(format_args!("let {index} = {rest} - {outer} * {extent};"));
            rest = outer;
        }
    }
    let mut place = String::new();
    for &number in extents.source_order() {
        let one = &extents.loops()[number];
        let index = format!("index{}", one.dimension);
        place = match place.as_str() {
            "" => index,
            outer if outer.contains(' ') => format!("({outer}) * {} + {index}", extent(one)),
            outer => format!("{outer} * {} + {index}", extent(one)),
        };
    }
    writer.line(format_args!("source_item = {place};"));
}
