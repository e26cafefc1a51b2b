//! The kernels that move a block in each invocation, in registers: copies, rows and transposes.

use super::{
    emit::main,
    form::{Names, Place},
    gather::{filling, guards, steps},
    words::{components, lane, literal, repeated, type_name},
    writer::Writer,
};
use crate::{
    nest::{Affine, Count, Value, width},
    schedule::{AdapterKind, Block, Lane},
};

/// Writes a kernel that moves one [`Block`] in each invocation, in registers.
pub(super) fn block(writer: &mut Writer, block: &Block, kind: AdapterKind) {
    let nest = block.nest();
    let store_bits = block.store() * u64::from(nest.dst_bits());
    let write = Affine::default();
    let names = Names::of_block(block);
    let stores = stores(block);
    if !nest.reading_guards().is_empty() {
        writer.comment("", format_args!("Writes one value to every place of a block."));
        let head = format!("fn blank(write: u32, value: {})", type_name(store_bits));
        writer.block(format_args!("{head}"), |writer| {
            for store in &stores {
                writer.line(format_args!("destination[{}] = value;", at("write", store.offset)));
            }
        });
        writer.blank();
    }
    introduce(writer, block, &names, kind);
    main(writer, "block", block.count(), |writer| {
        positions(writer, block, &names, kind);
        let write = write_form(block, write);
        writer.noted(
            format_args!("let write = {};", names.form(&write)),
            format_args!("{}", counted_in(block.store())),
        );
        guards(writer, nest, &names, |writer, bits| {
            let value = literal(store_bits, repeated(bits, nest.dst_bits(), store_bits));
            writer.noted(format_args!("blank(write, {value});"), format_args!("{}", filling(bits)));
            writer.line(format_args!("return;"));
        });
        if block.is_word_aligned() {
            aligned_loads(writer, block, &names);
        } else {
            shifted_loads(writer, block, &names);
        }
        for Store { offset, parts } in &stores {
            let place = format!("destination[{}] = ", at("write", *offset));
            match &parts[..] {
                [one] => writer.line(format_args!("{place}{one};")),
                _ => writer.list(&format!("{place}{}(", type_name(store_bits)), parts, ");"),
            }
        }
    });
}

/// Says what an invocation does, in the words that the code below uses.
fn introduce(writer: &mut Writer, block: &Block, names: &Names, kind: AdapterKind) {
    let (nest, rows, columns) = (block.nest(), block.rows(), block.width());
    let unit = width(nest.dst_bits());
    let units = |n: u64| Count(n, "unit");
    if block.src_axis().is_none() {
        let walk = match nest.src().weight(Value::Axis(block.dst_axis())) {
            1 => "that both sides share".to_owned(),
            _ if rows == 1 => "as it lies in the destination".to_owned(),
            stride => format!("of the destination, {stride:+} apart in the source"),
        };
        return writer.comment(
            "",
            format_args!(
                "An invocation moves a block: a run of {} {walk}. Steps count units of {unit}.{}",
                units(rows),
                counters(block, names)
            ),
        );
    }
    writer.comment(
        "",
        format_args!(
            "An invocation moves a block: {} of {} in the source, which become {} of {} in the destination. \
             Steps count units of {unit}.{}",
            Count(rows, "run"),
            units(columns),
            Count(columns, "run"),
            units(rows),
            counters(block, names),
        ),
    );
    let lanes = block.lanes(kind);
    if let Some(patch) = lanes.iter().position(|lane| lane.step > 1) {
        let along = |lane: &Lane| format!("{} along {}", lane.extent, names.axis(lane.axis));
        let patch: Vec<String> = lanes[..patch].iter().map(along).collect();
        let patch = patch.join(", then ");
        writer
            .comment("", format_args!("Consecutive invocations move patches of blocks: {patch}."));
    }
}

/// Says what the names of axes count that a block takes several steps of.
fn counters(block: &Block, names: &Names) -> String {
    let steps = |axis: usize| block.step_of(axis) > 1 && block.nest().extents()[axis] > 1;
    let counters = block.outer().filter(|&axis| steps(axis)).map(|axis| {
        let (name, step) = (names.axis(axis), block.step_of(axis));
        let of = name.split_once('_').map_or(name, |(of, _)| of);
        format!(" `{name}` counts {of} in steps of {step}.")
    });
    counters.collect()
}

/// What `read` or `write` counts, in a remark.
fn counted_in(units: u64) -> String {
    if units == 1 { "in units".to_owned() } else { format!("in accesses of {units} units") }
}

/// Writes the position along each axis that numbers the blocks.
fn positions(writer: &mut Writer, block: &Block, names: &Names, kind: AdapterKind) {
    let lanes = block.lanes(kind);
    let mut below = 1;
    let mut parts: Vec<(usize, String)> = Vec::new();
    for (number, Lane { axis, extent, step }) in lanes.iter().enumerate() {
        let extent_shown = (number + 1 < lanes.len()).then_some(*extent);
        let place = Place { number: "block", below, extent: extent_shown };
        parts.push((
            *axis,
            if *step == 1 { place.to_string() } else { format!("{place} * {step}u") },
        ));
        below *= extent;
    }
    let axes: Vec<_> = block.nest().axes().collect();
    for axis in block.outer().filter(|&axis| block.nest().extents()[axis] > 1) {
        let sum: Vec<&str> =
            parts.iter().filter(|part| part.0 == axis).map(|part| part.1.as_str()).collect();
        let sum = sum.join(" + ");
        writer.noted(
            format_args!("let {} = {sum};", names.axis(axis)),
            format_args!("{}", steps(&axes[axis])),
        );
    }
}

/// Where the block's first unit goes, in accesses of the destination.
fn write_form(block: &Block, write: Affine) -> Affine {
    let axes: Vec<_> = block.nest().axes().collect();
    block.outer().filter(|&axis| block.nest().extents()[axis] > 1).fold(write, |write, axis| {
        let stride = axes[axis].dst_stride / block.store();
        write.plus(stride.cast_signed(), &Affine::value(Value::Axis(axis)))
    })
}

/// Writes the loads of a block whose source runs start at whole words.
fn aligned_loads(writer: &mut Writer, block: &Block, names: &Names) {
    let unit = block.load().cast_signed();
    let read = block.src().divide(unit, |_| (0, 0)).unwrap_or_default();
    writer.noted(
        format_args!("let read = {};", names.form(&read)),
        format_args!("{}", counted_in(block.load())),
    );
    let step = block.load_step() / unit;
    let down = block.nest().src().weight(Value::Axis(block.dst_axis())) / unit;
    for row in 0..block.source_runs() {
        for access in 0..block.loads_of_run() {
            let offset = if block.src_axis().is_some() { row.cast_signed() * down } else { 0 };
            writer.line(format_args!(
                "let {} = source[{}];",
                loaded(block, row, access),
                at("read", offset + access.cast_signed() * step),
            ));
        }
    }
}

/// Writes the loads of a row whose source starts inside a word: one word more, all of them shifted into place.
fn shifted_loads(writer: &mut Writer, block: &Block, names: &Names) {
    let bits = block.nest().src_bits();
    let lanes = 32 / bits;
    let words = block.loads_of_run();
    let last = block.nest().src_bytes().div_ceil(4) - 1;
    writer.noted(
        format_args!("let read = {};", names.form(&block.src())),
        format_args!("{}", counted_in(1)),
    );
    writer.noted(
        format_args!("let first = read / {lanes}u;"),
        format_args!("the word where the run starts"),
    );
    writer.noted(
        format_args!("let shift = read % {lanes}u * {bits}u;"),
        format_args!("and the bit in it: each word is put together from two"),
    );
    for word in 0..words {
        writer.line(format_args!("let word{word} = source[{}];", at("first", word.cast_signed())));
    }
    writer.line(format_args!("let word{words} = source[min(first + {words}u, {last}u)];"));
    for word in 0..words {
        writer.line(format_args!(
            "let {} = (word{word} >> shift) | ((word{} << 1u) << (31u - shift));",
            loaded(block, 0, word),
            word + 1,
        ));
    }
}

/// One access of the destination.
struct Store {
    /// Where, in accesses from the block's first.
    offset: i64,
    /// What, over the loaded values: parts of one access.
    parts: Vec<String>,
}

/// The stores of a block: each run of the destination, access by access.
fn stores(block: &Block) -> Vec<Store> {
    let axes: Vec<_> = block.nest().axes().collect();
    let across = block.src_axis().map_or(0, |axis| axes[axis].dst_stride / block.store());
    let bits = u64::from(block.nest().dst_bits());
    let mut stores = Vec::new();
    for column in 0..block.width() {
        for access in 0..block.rows() / block.store() {
            let units: Vec<(u64, u64)> = (0..block.store())
                .map(|unit| access * block.store() + unit)
                .map(|row| if block.src_axis().is_some() { (row, column) } else { (0, row) })
                .collect();
            let parts =
                if bits >= 32 { whole_units(block, &units) } else { packed_words(block, &units) };
            stores.push(Store { offset: (column * across + access).cast_signed(), parts });
        }
    }
    stores
}

/// Units of whole words, each a part of a loaded value; neighbours of one value stay together.
fn whole_units(block: &Block, units: &[(u64, u64)]) -> Vec<String> {
    let words = u64::from(block.nest().src_bits()) / 32;
    let whole: Vec<(u64, u64)> =
        (0..block.loaded_units()).map(|unit| (units[0].0, units[0].1 + unit)).collect();
    if units == whole && units[0].1.is_multiple_of(block.loaded_units()) {
        return vec![loaded(block, units[0].0, units[0].1 / block.loaded_units())];
    }
    units
        .iter()
        .map(|&(row, column)| {
            let value = loaded(block, row, column / block.loaded_units());
            components(
                &value,
                block.loaded_units() * words,
                column % block.loaded_units() * words,
                words,
            )
        })
        .collect()
}

/// Words that gather units below a word, one lane each.
fn packed_words(block: &Block, units: &[(u64, u64)]) -> Vec<String> {
    let bits = block.nest().src_bits();
    let lanes = u64::from(32 / bits);
    let words = block.loaded_units() / lanes;
    units
        .chunks(usize::try_from(lanes).unwrap_or(1))
        .map(|units| {
            let word = |&(row, column): &(u64, u64)| {
                let value = loaded(block, row, column / block.loaded_units());
                components(&value, words.max(1), column % block.loaded_units() / lanes, 1)
            };
            if units.iter().all(|unit| word(unit) == word(&units[0]))
                && units[0].1.is_multiple_of(lanes)
            {
                return word(&units[0]);
            }
            let parts: Vec<String> = units
                .iter()
                .zip(0..)
                .map(|(unit, to)| {
                    lane(&word(unit), bits, u32::try_from(unit.1 % lanes).unwrap_or(0), to)
                })
                .collect();
            parts.join(" | ")
        })
        .collect()
}

/// The name of a loaded value.
fn loaded(block: &Block, row: u64, access: u64) -> String {
    if block.loads_of_run() == 1 {
        format!("row{row}")
    } else if block.src_axis().is_none() {
        format!("part{access}")
    } else {
        format!("row{row}_{access}")
    }
}

/// `base + offset`.
fn at(base: &str, offset: i64) -> String {
    match offset {
        0 => base.to_owned(),
        1.. => format!("{base} + {offset}u"),
        _ => format!("{base} - {}u", offset.unsigned_abs()),
    }
}
