//! Kernels in which each invocation moves a block of elements through registers: copies, rows and
//! transposes.
//!
//! For example, in a transpose of `f32`, a block has 4 rows and 4 columns. The code of a kernel has
//! four parts. It computes the position of the block from the index of the invocation, loads the
//! block, combines the loaded values into 32-bit words of the destination, and stores these words.
//! A *unit* is one element, or a part of one if elements are split, and a *run* is contiguous
//! units.

use super::{
    conversion::{self, conversion},
    form::{AxisNames, DigitWriter},
    gather::{axis_remark, filling, guards, unit_function, word_function},
    joined::joined,
    loaded_block::LoadedBlock,
    words::{literal, repeated, sign_extended, type_name},
    writer::Writer,
};
use crate::{
    nest::{Affine, CopyNest, Guard, Value, signed},
    schedule::{AdapterKind, Block, BlockAxis, BlockDigit, RowAlignment, Run, Seam, VECTOR_LANES},
    shape::{Count, width},
};

/// Writes a kernel in which each invocation moves one [`Block`] in registers.
#[inline(never)] // WebAssembly compiles a function at its first call
pub(super) fn block(writer: &mut Writer, block: &Block, kind: AdapterKind) {
    let (nest, tiled) = (block.nest(), block.tiled());
    let store_bits = block.store() * u64::from(nest.dst_bits());
    let names = AxisNames::of_block(block);
    // A function `blank` that fills a block is written only if no store depends on a condition
    // `whole…`, because these conditions are local variables of the entry point.
    let has_conditions =
        block.axes().iter().any(BlockAxis::is_ragged) || block.runs().iter().any(|run| run.is_cut);
    let varies = block.moves_unit_by_unit();
    let has_blanks = !tiled.reading_guards().iter().all(|guard| block.varies(guard));
    if let Some(of) = nest.conversion() {
        conversion(writer, of, (nest.src_bits(), nest.dst_bits()));
    }
    if varies || block.seam().is_some() {
        let element_words = block.load() * u64::from(nest.src_bits()) / 32;
        unit_function(writer, nest, u32::try_from(element_words).unwrap_or(1), block.store());
        writer.blank();
        word_function(writer, nest);
    }
    if varies {
        unit_by_unit(writer, block);
        writer.blank();
    } else if !has_conditions && has_blanks {
        writer.comment("", format_args!("Writes one value to every place of a block."));
        let head = format!("fn blank(write: u32, value: {})", type_name(store_bits));
        writer.block(format_args!("{head}"), |writer| {
            stores(writer, block, |_, _| Stored::parts(vec!["value".to_owned()]));
        });
        writer.blank();
    }
    let is_extended =
        nest.conversion().is_none() && nest.sign_extend() && nest.dst_bits() > nest.src_bits();
    if is_extended {
        sign_function(writer, nest);
    }
    if block.is_shifted() && block.load() * u64::from(nest.src_bits()) > 32 {
        joined(writer, nest.src_bits());
    }
    introduce(writer, block, &names);
    if block.rounds() > 1 {
        writer.comment(
            "",
            format_args!(
                "It moves {} of them, every {VECTOR_LANES}th, and its neighbours those between.",
                block.rounds()
            ),
        );
    }
    rounds(writer, block, |writer, leave| {
        seams_after_blocks(writer, block, leave);
        positions(writer, block, &names);
        write_place(writer, block, &names);
        whole_conditions(writer, block, &names);
        let first = |guard: &Guard| {
            let extent = guard.extent - block.inside(&guard.of).1.unsigned_abs();
            let asks = varies || !block.varies(guard);
            asks.then(|| Guard { of: block.at_first(&guard.of), extent })
        };
        guards(writer, tiled, &names, first, |writer, bits| {
            let bits = bits.unwrap_or_default(); // blocks are of nests that fill their gaps
            let value = literal(store_bits, repeated(bits, nest.dst_bits(), store_bits));
            if varies {
                writer.line(format_args!("unit_by_unit(write);"));
            } else if has_conditions {
                writer.comment("", format_args!("{}", filling(bits)));
                stores(writer, block, |_, _| Stored::parts(vec![value.clone()]));
            } else {
                let remark = filling(bits);
                writer.noted(format_args!("blank(write, {value});"), format_args!("{remark}"));
            }
            writer.line(format_args!("{leave}"));
        });
        let packing = LoadedBlock::new(block, kind);
        packing.loads(writer, &names);
        let (asked, refused) = block.word_guards().unwrap_or_default();
        let runs = block.runs();
        for (number, guard) in asked.iter().enumerate() {
            writer.noted(
                format_args!("let place{number} = {};", names.form(&block.at_first(&guard.of))),
                format_args!("{} from {} on", filling(refused), guard.extent),
            );
        }
        stores(writer, block, |run, access| {
            let guarded = |words| selected(block, &asked, refused, &runs[run], access, words);
            if let Some(of) = nest.conversion() {
                let function = conversion::name_of(of, (nest.src_bits(), nest.dst_bits()));
                return Stored::parts(guarded(packing.converted(run, access, &function)));
            }
            match packing.inserted(run, access) {
                _ if is_extended => {
                    let words = packing.stored(run, access).into_iter();
                    Stored::parts(guarded(words.map(|word| format!("signed({word})")).collect()))
                }
                Some(parts) if asked.is_empty() => {
                    Stored { function: Some("insertBits"), parts: parts.to_vec() }
                }
                _ => Stored::parts(guarded(packing.stored(run, access))),
            }
        });
    });
}

/// Writes the function `signed`, which sign-extends all elements of a word at once.
fn sign_function(writer: &mut Writer, nest: &CopyNest) {
    let (bits, to_bits) = (nest.src_bits(), nest.dst_bits());
    writer.comment(
        "",
        format_args!("Repeats the sign of each unit: of {bits} bits in a place of {to_bits}."),
    );
    writer.block(format_args!("fn signed(word: u32) -> u32"), |writer| {
        writer.line(format_args!("return {};", sign_extended("word", bits, to_bits)));
    });
    writer.blank();
}

/// Wraps the parts of one stored value in `select`, so that the store writes the bits `refused` in
/// place of units for which a guard fails. Returns `parts` unchanged if there are no guards.
fn selected(
    block: &Block,
    guards: &[&Guard],
    refused: u128,
    run: &Run,
    access: u64,
    parts: Vec<String>,
) -> Vec<String> {
    if guards.is_empty() {
        return parts;
    }
    let bits = block.nest().dst_bits();
    let units = usize::try_from(block.store()).unwrap_or(1) / parts.len();
    let part_bits = u64::from(bits) * units as u64;
    let fill = literal(part_bits, repeated(refused, bits, part_bits));
    // The conditions for each unit of the access; the unit is copied if all of its conditions hold.
    let mut asked: Vec<Vec<String>> = vec![vec![]; units * parts.len()];
    for (number, guard) in guards.iter().enumerate() {
        for (asked, step) in asked.iter_mut().zip(block.steps_in(&guard.of, run, access)) {
            asked.push(format!("place{number} < {}u", guard.extent - step.unsigned_abs()));
        }
    }
    let select = |(part, asked): (String, &[Vec<String>])| {
        let holds: Vec<String> = asked.iter().map(|all| all.join(" && ")).collect();
        if bits < 32 || holds.iter().all(|one| *one == holds[0]) {
            return format!("select({fill}, {part}, {})", holds[0]);
        }
        let words = bits as usize / 32;
        let each: Vec<&str> =
            holds.iter().flat_map(|one| std::iter::repeat_n(one.as_str(), words)).collect();
        format!("select({fill}, {part}, vec{}<bool>({}))", each.len(), each.join(", "))
    };
    parts.into_iter().zip(asked.chunks(units)).map(select).collect()
}

/// Writes the entry point. `body` writes the code for one block. Its second argument is the
/// statement that ends the work on a block: `return;`, or `continue;` if an invocation moves
/// several blocks in a loop.
fn rounds(writer: &mut Writer, block: &Block, body: impl FnOnce(&mut Writer, &str)) {
    let (count, rounds) = (block.invocations().0, block.rounds());
    if rounds == 1 {
        return super::emit::main(writer, "block", count, |writer| body(writer, "return;"));
    }
    let (stride, all) = (VECTOR_LANES, block.numbers());
    let group = stride * rounds;
    super::emit::main(writer, "run", count, |writer| {
        writer
            .line(format_args!("let first_block = run / {stride}u * {group}u + run % {stride}u;"));
        let end = format!("first_block + {group}u");
        let end = if all.is_multiple_of(group) { end } else { format!("min({end}, {all}u)") };
        let head = format!("for (var block = first_block; block < {end}; block += {stride}u)");
        writer.block(format_args!("{head}"), |writer| body(writer, "continue;"));
        let Some(seam) = block.seam() else { return };
        let head = match seam.rows {
            1 => "if run == 0u".to_owned(),
            rows => format!("for (var row = run; row < {rows}u; row += {count}u)"),
        };
        writer.block(format_args!("{head}"), |writer| {
            seam_of_row(writer, block, &seam, None);
        });
    });
}

/// Writes the function `unit_by_unit`, which computes each unit of a block on its own. Kernels call
/// it for blocks in which some units are copied and others are padding or gaps.
fn unit_by_unit(writer: &mut Writer, block: &Block) {
    writer
        .comment("", format_args!("Moves a block some of whose units read nothing, unit by unit."));
    writer.block(format_args!("fn unit_by_unit(write: u32)"), |writer| {
        let run = block.outermost_of_run();
        let mut loops: Vec<(String, u64, u64)> = block.axes()[..run]
            .iter()
            .enumerate()
            .map(|(axis, block_axis)| {
                (format!("a{axis}"), block_axis.steps, block_axis.dst_stride / block.store())
            })
            .collect();
        loops.push(("access".to_owned(), block.rows() / block.store(), 1));
        loops.retain(|one| one.1 > 1);
        let place: Vec<String> = loops
            .iter()
            .map(|(name, _, step)| match step {
                1 => name.clone(),
                _ => format!("{name} * {step}u"),
            })
            .collect();
        nested(writer, &loops, &|writer| {
            let place = [&["write".to_owned()], &place[..]].concat().join(" + ");
            writer.line(format_args!("let place = {place};"));
            access_unit_by_unit(writer, block.nest().dst_bits(), block.store(), "place");
        });
    });
}

/// Writes a store of `units` units that are computed separately, by calls of the kernel's function
/// `word`, or of `unit` if a unit fills at least a word.
pub(super) fn access_unit_by_unit(writer: &mut Writer, bits: u32, units: u64, place: &str) {
    let bits = u64::from(bits);
    let (calls, name) = if bits < 32 { (units * bits / 32, "word") } else { (units, "unit") };
    let parts: Vec<String> = (0..calls)
        .map(|n| match (calls, n) {
            (1, _) => format!("{name}({place})"),
            (_, 0) => format!("{name}({place} * {calls}u)"),
            _ => format!("{name}({place} * {calls}u + {n}u)"),
        })
        .collect();
    if let [one] = &parts[..] {
        let destination = writer.destination();
        writer.line(format_args!("{destination}[{place}] = {one};"));
    } else {
        let destination = writer.destination();
        let head = format!("{destination}[{place}] = {}(", type_name(units * bits));
        writer.list(&head, &parts, ");");
    }
}

/// Writes `body` inside nested loops, the outermost first. An entry of `loops` has the name of the
/// counter, the number of iterations and a number that is ignored here.
fn nested(writer: &mut Writer, loops: &[(String, u64, u64)], body: &dyn Fn(&mut Writer)) {
    let [(name, count, _), inner @ ..] = loops else { return body(writer) };
    writer.block(format_args!("for (var {name} = 0u; {name} < {count}u; {name}++)"), |writer| {
        nested(writer, inner, body);
    });
}

/// Writes the code for the words between two rows, the seams, if each invocation moves one block.
/// Seams then have invocations of their own, whose indices follow the indices of the blocks.
/// `leave` is the statement that ends an invocation. If each invocation moves several blocks,
/// [`rounds`] writes the code for seams instead.
fn seams_after_blocks(writer: &mut Writer, block: &Block, leave: &str) {
    let Some(seam) = block.seam().filter(|_| block.rounds() == 1) else { return };
    let blocks = block.numbers();
    writer.block(format_args!("if block >= {blocks}u"), |writer| {
        seam_of_row(writer, block, &seam, Some(&format!("block - {blocks}u")));
        writer.line(format_args!("{leave}"));
    });
}

/// Writes the code for one seam: the words of the destination after the last block of a row and
/// before the first block of the next row. `row` is the expression for the index of the row, or
/// `None` if the kernel already has a variable `row`.
fn seam_of_row(writer: &mut Writer, block: &Block, seam: &Seam, row: Option<&str>) {
    writer.comment(
        "",
        format_args!(
            "A seam: the words between the blocks of one row of the destination and those of the next."
        ),
    );
    let Seam { rows, extent, step, words, covered, end } = *seam;
    let by = |factor: u64| if factor == 1 { String::new() } else { format!(" * {factor}u") };
    let start = |row: &str| match step {
        1 => format!("{row} * {}u", extent * words),
        _ => format!("({row} * {extent}u + {}u) / {step}u{}", step - 1, by(words)),
    };
    if rows == 1 {
        writer.line(format_args!("let first = {}u;", seam.after_blocks(0)));
        writer.line(format_args!("let end = {end}u;"));
    } else {
        if let Some(row) = row {
            writer.line(format_args!("let row = {row};"));
        }
        match covered {
            Some(covered) => {
                writer.line(format_args!("let first = {} + {covered}u;", start("row")));
            }
            None => writer
                .line(format_args!("let first = (row + 1u) * {extent}u / {step}u{};", by(words))),
        }
        let next = start("(row + 1u)");
        if (rows * extent).div_ceil(step) * words == end {
            writer.line(format_args!("let end = {next};"));
        } else {
            writer.line(format_args!("let end = min({next}, {end}u);"));
        }
    }
    writer.block(format_args!("for (var at = first; at < end; at++)"), |writer| {
        access_unit_by_unit(writer, block.nest().dst_bits(), block.store(), "at");
    });
}

/// Writes the comment above the entry point, which describes the work of one invocation.
fn introduce(writer: &mut Writer, block: &Block, names: &AxisNames) {
    let (nest, rows, columns) = (block.nest(), block.rows(), block.width());
    let unit = width(nest.dst_bits());
    let units = |n: u64| Count(n, "unit");
    let inner = block.axes()[block.axes().len() - 1];
    let is_row = inner.steps == rows * columns;
    if is_row {
        let walk = match inner.src_stride {
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
    let offsets = block.offsets();
    let runs = crate::schedule::runs(&offsets, 1);
    let length = offsets.len() as u64 / runs.len() as u64;
    let from = if runs.len() as u64 * length == offsets.len() as u64 {
        format!("{} of {}", Count(runs.len() as u64, "run"), units(length))
    } else {
        units(offsets.len() as u64).to_string()
    };
    writer.comment(
        "",
        format_args!(
            "An invocation moves a block: {from} in the source, which become {} of {} in the destination. \
             Steps count units of {unit}.{}",
            Count(columns, "run"),
            units(rows),
            counters(block, names),
        ),
    );
    let digits = block.digits();
    if let Some(patch) = digits.iter().position(|lane| lane.step > 1) {
        let along =
            |digit: &BlockDigit| format!("{} along {}", digit.extent, names.axis(digit.axis));
        let patch: Vec<String> = digits[..patch].iter().map(along).collect();
        let patch = patch.join(", then ");
        writer
            .comment("", format_args!("Consecutive invocations move patches of blocks: {patch}."));
    }
}

/// Returns the part of the kernel's comment that explains names such as `a1_by4`, or an empty
/// string if there are no such names.
fn counters(block: &Block, names: &AxisNames) -> String {
    let several =
        block.axes().iter().filter(|block_axis| block_axis.steps > 1 && block_axis.count() > 1);
    let counters = several.map(|block_axis| {
        let name = names.axis(block_axis.number);
        let of = name.split_once('_').map_or(name, |(of, _)| of);
        format!(" `{name}` counts {of} in steps of {}.", block_axis.steps)
    });
    counters.collect()
}

/// Returns the remark that says in what a variable counts: accesses of `units` units each.
pub(super) fn counted_in(units: u64) -> String {
    if units == 1 { "in units".to_owned() } else { format!("in accesses of {units} units") }
}

/// Writes a variable for each axis that is divided into several blocks: the number of the
/// invocation's block along the axis.
fn positions(writer: &mut Writer, block: &Block, names: &AxisNames) {
    let digits = block.digits();
    let texts = DigitWriter::new("block").all(writer, digits.iter().map(|digit| digit.extent));
    let parts: Vec<(usize, String)> = digits
        .iter()
        .zip(texts)
        .map(|(digit, text)| (digit.axis, DigitWriter::times(text, digit.step)))
        .collect();
    for block_axis in block.axes().iter().filter(|block_axis| block_axis.count() > 1) {
        let sum: Vec<&str> = parts
            .iter()
            .filter(|part| part.0 == block_axis.number)
            .map(|part| part.1.as_str())
            .collect();
        let sum = sum.join(" + ");
        let axis = crate::nest::CopyAxis {
            extent: block_axis.count(),
            src_stride: block_axis.src_stride * signed(block_axis.steps),
            dst_stride: block_axis.dst_stride * block_axis.steps,
        };
        writer.noted(
            format_args!("let {} = {sum};", names.axis(block_axis.number)),
            format_args!("{}", axis_remark(&axis)),
        );
    }
    let past = |block_axis: &BlockAxis| {
        format!("{} >= {}u", names.axis(block_axis.number), block_axis.count())
    };
    let past: Vec<String> = block.overrun_axes().map(past).collect();
    if !past.is_empty() {
        writer.block(format_args!("if {}", past.join(" || ")), |writer| {
            writer.noted(format_args!("return;"), format_args!("the patch passes an end"));
        });
    }
}

/// Writes the variable `write`, the index in the destination array of the block's first store.
fn write_place(writer: &mut Writer, block: &Block, names: &AxisNames) {
    let sum = |unit: u64, sides: &[BlockAxis]| {
        sides.iter().filter(|block_axis| block_axis.count() > 1).fold(
            Affine::default(),
            |sum, block_axis| {
                let weight = signed(block_axis.dst_stride * block_axis.steps / unit);
                sum.plus(weight, &Affine::value(Value::Axis(block_axis.number)))
            },
        )
    };
    let remark = counted_in(block.store());
    if block.row_alignment() != RowAlignment::Computed {
        let write = sum(block.store(), block.axes());
        return writer
            .noted(format_args!("let write = {};", names.form(&write)), format_args!("{remark}"));
    }
    let outermost = block.outermost_of_run();
    let (unit, whole) = (block.axes()[outermost].dst_stride, block.steps_per_access());
    // `lead` is the number of steps from the start of a row to the first boundary of an access. It
    // is the negative of the row's offset in steps, modulo the number of steps in an access.
    let row = sum(unit, &block.axes()[..outermost]);
    let lead = row.terms().iter().fold(Affine::default(), |lead, &(axis, weight)| {
        lead.plus((-weight).rem_euclid(signed(whole)), &Affine::value(axis))
    });
    writer.noted(
        format_args!("let lead = ({}) % {whole}u;", names.form(&lead)),
        format_args!("steps of a{outermost} before the row's first whole word"),
    );
    let lead = if unit == 1 { "lead".to_owned() } else { format!("lead * {unit}u") };
    let write = sum(1, block.axes());
    writer.noted(
        format_args!("let write = ({} + {lead}) / {}u;", names.form(&write), block.store()),
        format_args!("{remark}"),
    );
}

/// Writes a variable such as `whole0` for each axis along which the last block leaves out stores,
/// because the axis ends inside the block. The variable is false in that block, and the stores that
/// it leaves out depend on the variable.
fn whole_conditions(writer: &mut Writer, block: &Block, names: &AxisNames) {
    if block.runs().iter().any(|run| run.is_cut) {
        let axis = block.outermost_of_run();
        let block_axis = block.axes()[axis];
        writer.noted(
            format_args!(
                "let whole{axis} = {} < {}u;",
                names.axis(block_axis.number),
                block_axis.count() - 1
            ),
            format_args!("the last block has no whole access of some rows"),
        );
    }
    for (axis, block_axis) in
        block.axes().iter().enumerate().filter(|(_, block_axis)| block_axis.is_ragged())
    {
        let whole = block_axis.covered / block_axis.steps;
        writer.noted(
            format_args!("let whole{axis} = {} < {whole}u;", names.axis(block_axis.number)),
            format_args!(
                "the last block has {} of {} steps of a{axis}",
                block_axis.covered % block_axis.steps,
                block_axis.steps
            ),
        );
    }
}

/// The value that a store writes: a single expression, or a call with several expressions as its
/// arguments.
struct Stored {
    /// The function to call, or `None` for the constructor of the stored type.
    function: Option<&'static str>,
    parts: Vec<String>,
}

impl Stored {
    fn parts(parts: Vec<String>) -> Self {
        Self { function: None, parts }
    }
}

/// Writes the stores of a block.
///
/// Stores that every block makes are written first. The last block along an axis may leave out some
/// stores, so these are written inside an `if` on the variables of [`whole_conditions`], one `if`
/// for all stores with the same condition.
fn stores(writer: &mut Writer, block: &Block, value: impl Fn(usize, u64) -> Stored) {
    let kind = type_name(block.store() * u64::from(block.nest().dst_bits()));
    let outermost = block.outermost_of_run();
    let unit = block.axes()[outermost].dst_stride;
    let runs = block.runs();
    let accesses = 0..block.rows() / block.store();
    let all = runs.iter().enumerate().flat_map(|(number, run)| {
        accesses.clone().map(move |access| {
            let last = (access * block.store() + block.store() - 1) / unit;
            let at = |axis| if axis == outermost { last } else { run.steps[axis] };
            let sides = block.axes()[..=outermost].iter().enumerate();
            let asks = sides.filter(|(axis, block_axis)| {
                block_axis.is_ragged() && at(*axis) >= block_axis.covered % block_axis.steps
            });
            let cut = run.is_cut.then_some(outermost);
            let asks = asks.map(|(axis, _)| axis).chain(cut);
            let whole: Vec<String> = asks.map(|axis| format!("whole{axis}")).collect();
            (whole, number, access)
        })
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by(|a, b| (a.0.len(), &a.0).cmp(&(b.0.len(), &b.0)));
    for alike in all.chunk_by(|a, b| a.0 == b.0) {
        let stores = |writer: &mut Writer| {
            for &(_, number, access) in alike {
                let place = with_offset("write", signed(runs[number].place + access));
                let head = format!("{}[{place}] = ", writer.destination());
                let Stored { function, parts } = value(number, access);
                match &parts[..] {
                    [one] => writer.line(format_args!("{head}{one};")),
                    parts => {
                        let function = function.unwrap_or(kind);
                        writer.list(&format!("{head}{function}("), parts, ");");
                    }
                }
            }
        };
        match &alike[0].0[..] {
            [] => stores(writer),
            whole => writer.block(format_args!("if {}", whole.join(" && ")), stores),
        }
    }
}

/// Returns `base + offset`.
pub(super) fn with_offset(base: &str, offset: i64) -> String {
    match offset {
        0 => base.to_owned(),
        1.. => format!("{base} + {offset}u"),
        _ => format!("{base} - {}u", offset.unsigned_abs()),
    }
}
