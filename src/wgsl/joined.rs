//! A WGSL function that returns 16 bytes of a source, which may start at any element. Kernels load
//! 16 bytes only from multiples of 16, so the function combines words of the two loads that contain
//! these bytes.

use super::writer::Writer;
use crate::shape::width;

/// Writes the function `joined` for units of `bits` bits.
pub(super) fn joined(writer: &mut Writer, bits: u32) {
    writer.comment(
        "",
        format_args!(
            "The access of 16 bytes that starts `units` of {} into `low`, and ends in `high`.",
            width(bits)
        ),
    );
    let head = "fn joined(low: vec4<u32>, high: vec4<u32>, units: u32) -> vec4<u32>";
    writer.block(format_args!("{head}"), |writer| {
        if bits == 64 {
            let both = "vec4<u32>(low.zw, high.xy)";
            return writer.line(format_args!("return select(low, {both}, units == 1u);"));
        }
        let words = if bits == 32 {
            "units".to_owned()
        } else {
            let lanes = 32 / bits;
            writer.line(format_args!("let words = units / {lanes}u;"));
            writer.line(format_args!("let shift = units % {lanes}u * {bits}u;"));
            "words".to_owned()
        };
        writer.line(format_args!("let by_two = {words} >= 2u;"));
        writer.line(format_args!("let by_one = {words} % 2u == 1u;"));
        writer.line(format_args!("let two = select(low, vec4<u32>(low.zw, high.xy), by_two);"));
        writer.line(format_args!("let next = select(high.xy, high.zw, by_two);"));
        let one = "select(two, vec4<u32>(two.yzw, next.x), by_one)";
        if bits == 32 {
            return writer.line(format_args!("return {one};"));
        }
        writer.line(format_args!("let one = {one};"));
        writer.line(format_args!("let last = select(next.x, next.y, by_one);"));
        writer.line(format_args!("let up = vec4<u32>(31u - shift);"));
        writer.line(format_args!(
            "return (one >> vec4<u32>(shift)) | ((vec4<u32>(one.yzw, last) << vec4<u32>(1u)) << up);"
        ));
    });
    writer.blank();
}
