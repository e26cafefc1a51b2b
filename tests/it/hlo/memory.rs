//! The memory of buffers, compared with XLA's own reports and for every module.

use std::fs;

use serde_json::Value;
use stridec::{
    hlo::{Footprint, MemoryReport, Module},
    shape::Shape,
    xla::human_readable_num_bytes,
};

use super::support::hlo_cases::hlo_cases;

fn lines() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/oom_lines.jsonl");
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// XLA's lines about single allocations. If XLA printed a shape without its tiles, the test data
/// has the tiles.
#[test]
fn reports_of_xla_round_as_here() {
    let mut compared = 0;
    for line in lines().iter().filter(|line| line["kind"] == "allocation") {
        let (id, computed) = (&line["id"], &line["computed"]);
        let Some(layout) = computed["layout"].as_str() else {
            // The size of a tuple is the size of its table of addresses; its parts are separate
            // allocations.
            let shape: Shape = line["shape"].as_str().unwrap().parse().unwrap();
            let memory = Footprint::of(&shape).unwrap();
            assert_eq!(memory.unpadded_bytes, computed["parts_unpadded_bytes"]);
            assert_eq!(memory.bytes, computed["parts_padded_bytes"]);
            compared += 1;
            continue;
        };
        let report =
            MemoryReport::of_text(&format!("  1. Size: ?\n     Shape: {layout}\n")).unwrap();
        let memory = report.instructions[0].memory.unwrap();
        assert_eq!(memory.unpadded_bytes, computed["unpadded_bytes"], "{id}");
        assert_eq!(memory.bytes, computed["padded_bytes"], "{id}");
        assert_eq!(memory.padding_bytes(), computed["extra_bytes"], "{id}");
        let factor = format!("{:.1}x", memory.expansion());
        for (name, given) in [
            ("unpadded_text", human_readable_num_bytes(memory.unpadded_bytes)),
            ("padded_text", human_readable_num_bytes(memory.bytes)),
            ("extra_text", human_readable_num_bytes(memory.padding_bytes())),
            ("expansion_text", factor),
        ] {
            // The texts are compared with the lines that XLA printed. Decimal units are from
            // another system.
            for said in [&line[name], &computed[name]] {
                if let Some(said) = said.as_str().filter(|_| line["units"].is_null()) {
                    assert_eq!(given, said, "{id} {name}");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 90);
}

/// Old versions of XLA print no tiles. The sizes reveal the tiles, in each of the two lines that
/// have only sizes.
#[test]
fn tiles_that_are_not_printed() {
    let mut found = 0;
    for line in lines().iter().filter(|line| line["assumed_tiles"].is_string()) {
        let (id, shape) = (&line["id"], line["shape"].as_str().unwrap());
        for (name, before, after) in [
            ("padded_text", "Size", ""),
            ("extra_text", "Extra memory due to padding", " (8.0x expansion)"),
        ] {
            let Some(said) = line[name].as_str() else { continue };
            let said = format!("{before}: {said}{after}\n");
            let lines = if before == "Size" {
                format!("  1. {said}     Shape: {shape}\n")
            } else {
                format!("     Shape: {shape}\n     Unpadded size: 1.0K\n     {said}")
            };
            let report = MemoryReport::of_text(&lines).unwrap();
            assert_eq!(report.total_bytes, line["computed"]["padded_bytes"], "{id} {name}");
            // A shape without padding has its printed size.
            let is_tiled = report.instructions[0].shape.to_string().contains("T(8,128)");
            assert_eq!(is_tiled, line["computed"]["extra_bytes"] != 0, "{id} {name}");
            found += 1;
        }
    }
    assert_eq!(found, 6);
    // A size that fits no tiling changes nothing, and neither do tiles that are printed.
    for (size, shape) in [
        ("9.00G", "f32[128,6]{1,0}"),
        ("64.0K", "f32[128,6]{1,0:T(4,4)}"),
        ("4.0K", "(f32[128,6]{1,0})"),
    ] {
        let report =
            MemoryReport::of_text(&format!("  1. Size: {size}\n     Shape: {shape}\n")).unwrap();
        assert_eq!(report.instructions[0].shape.to_string(), shape);
    }
    let total =
        MemoryReport::of_text("HLO temp 10.96G (1.2% utilization)").unwrap_err().to_string();
    assert!(total.contains("got the total of such a report"), "{total}");
}

/// XLA's line about all temporaries. One report has the two arrays of the sum.
#[test]
fn sums_of_a_report_round_as_here() {
    let report = MemoryReport::of_text(
        "Allocations:\n  1. Size: 8.77G\n     Shape: f32[1,2176,1056,8]{3,2,1,0:T(8,128)}\n
         Allocation type: HLO temp\n  2. Size: 2.19G\n     Shape: f32[8,2176,1056,1]{1,3,2,0:T(8,128)}\n",
    )
    .unwrap();
    let unpadded: u64 =
        report.instructions.iter().map(|it| it.memory.unwrap().unpadded_bytes).sum();
    println!(
        "{} {}",
        human_readable_num_bytes(unpadded),
        human_readable_num_bytes(report.total_bytes)
    );
    let total = lines().into_iter().find(|line| line["id"] == "oom/035").unwrap();
    assert_eq!(human_readable_num_bytes(unpadded), total["unpadded_text"]);
    for line in lines().iter().filter(|line| line["kind"] == "total") {
        let (Some(unpadded), Some(padded)) =
            (line["unpadded_text"].as_str(), line["padded_text"].as_str())
        else {
            continue;
        };
        // The texts are the printed forms of these sizes.
        for text in [unpadded, padded] {
            let (number, unit) = text.split_at(text.len() - 1);
            let scale = 1_u64 << (10 * ("KMGT".find(unit).unwrap() + 1));
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let bytes = (number.parse::<f64>().unwrap() * scale as f64).round() as u64;
            assert_eq!(human_readable_num_bytes(bytes), text);
        }
    }
}

#[test]
fn protos_and_texts_of_modules_take_the_same() {
    for case in hlo_cases().iter().filter(|case| !case.is_invalid()) {
        let module = Module::decode(&case.bytes).unwrap();
        let proto = MemoryReport::of_proto(&case.bytes).unwrap();
        let text = MemoryReport::of_text(&module.to_string()).unwrap();
        // A module does not keep all facts by which results share buffers, so its text may count
        // more bytes than the proto.
        let encoded = MemoryReport::of_proto(&module.encode()).unwrap();
        assert_eq!(encoded.total_bytes, text.total_bytes, "{}", case.id);
        assert!(proto.total_bytes <= text.total_bytes, "{}", case.id);
        assert_eq!(proto.parameters_bytes, text.parameters_bytes, "{}", case.id);
        assert_eq!(proto.results_bytes, text.results_bytes, "{}", case.id);
        assert_eq!(proto.instructions.len(), module.instructions().count(), "{}", case.id);
        let size = |shape: &Shape| Footprint::of(shape).unwrap().bytes;
        let parameters: u64 = module.parameters().iter().map(size).sum();
        assert_eq!(
            (proto.parameters_bytes, proto.results_bytes),
            (parameters, size(module.result()))
        );
    }
}

#[test]
fn what_has_no_buffer_of_its_own() {
    let report = MemoryReport::of_text(
        "f { p = f32[8] parameter(0) ROOT n = f32[8] negate(p) }
         g { p = f32[8] parameter(0) m = f32[8] negate(p) ROOT n = f32[8] abs(m) }
         h { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
         ENTRY main {
           x = f32[8] parameter(0)
           y = f32[8] fusion(x), kind=kLoop, calls=%f
           z = f32[8] call(y), to_apply=g
           i = f32[] constant(0)
           r = f32[] reduce(z, i), dimensions={0}, to_apply=h
           b = f32[2,4] bitcast(z)
           ROOT t = (f32[8], f32[2,4], f32[]) tuple(z, b, r)
         }",
    )
    .unwrap();
    let mut owners: Vec<&str> =
        report.instructions.iter().filter(|it| it.has_buffer).map(|it| it.name.as_ref()).collect();
    owners.sort_unstable();
    // `m` is an instruction of `g`, and the root of `g` is the result of `z`.
    assert_eq!(owners, ["i", "m", "r", "x", "y", "z"]);
    assert_eq!((report.total_bytes, report.parameters_bytes, report.results_bytes), (136, 32, 68));
    // The sum of `y`, `m` and `i`. The result has `z` twice.
    assert_eq!(report.temporaries_bytes, 68);
}

#[test]
fn dumps_that_are_not_read_are_named() {
    for (text, expected) in [
        (
            "Memory Space: default (color=0)\nTotal bytes: 4\n",
            "got a memory-usage report; the dump of the module",
        ),
        ("Total bytes used: 16420 (16.0KiB)\n", "got a memory-usage report"),
        ("BufferAssignment:\nallocation 0: size 4\n", "got a buffer assignment"),
        (
            "\nHloLiveRange (max 5):\n",
            "line 2, column 1: expected HLO text, or XLA's report that memory ran out, got live ranges",
        ),
    ] {
        let error = MemoryReport::of_text(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn reports_name_what_they_allocate() {
    let report = MemoryReport::of_text(
        "Total hbm usage >= 16.26G:\n    arguments 512.0K\n\n  Largest program allocations in hbm:\n\n  1. Size: 16.00G\n     \
         Operator: op_name=\"jit(f): Size: 1\"\n     Shape: s32[2048,1,128,128,4]{4,3,2,0,1:T(8,128)}\n     Unpadded size: \
         512.00M\n     Extra memory due to padding: 15.50G (32.0x expansion)\n     XLA label: %copy.3 = s32[2048] copy(x)\n     \
         Allocation type: HLO temp\n     ==========================\n\n  2. Size: 1.0K\n     Shape: f32[256]{0}\n     \
         Allocation type: entry parameter\n",
    )
    .unwrap();
    let named: Vec<(&str, u64)> =
        report.instructions.iter().map(|it| (it.name.as_ref(), it.memory.unwrap().bytes)).collect();
    assert_eq!(named, [("copy.3", 1 << 34), ("", 1024)]);
    assert_eq!(report.parameters_bytes, 1024);
    let error = MemoryReport::of_text("1. Size: 1\nShape: f32[2\n").unwrap_err();
    assert_eq!(error.to_string(), "line 2, column 13: expected `,` or `]`, got the end");
}

/// Returns a field of a message.
fn field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = varint(u64::from(number << 3) + 2);
    out.extend(varint(bytes.len() as u64));
    out.extend_from_slice(bytes);
    out
}

fn number(number: u32, value: u64) -> Vec<u8> {
    [varint(u64::from(number << 3)), varint(value)].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = vec![];
    while value > 0x7f {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
    out
}

/// A module of 100 MB: instructions with the metadata that JAX writes, and some large constants.
/// The time is printed; a build without optimisation takes several times longer.
#[test]
fn a_hundred_megabytes() {
    let layout = field(5, &[field(1, &[1, 0]), field(6, &field(1, &[8, 128, 1]))].concat());
    let shape = |rows: u64| {
        let sizes = [varint(rows), varint(3)].concat();
        [number(2, 11), field(3, &sizes), layout.clone()].concat()
    };
    let metadata = [
        field(1, b"transpose"),
        field(
            2,
            b"jit(step)/jit(main)/transformer/layer_17/attention/transpose[permutation=(1, 0)]",
        ),
        field(3, b"/home/someone/project/model/attention.py"),
    ];
    let metadata = field(7, &metadata.concat());
    let mut entry = [field(1, b"main"), number(5, 1), number(6, 0)].concat();
    let mut count = 0;
    while entry.len() < 100 << 20 {
        let name = format!("transpose.{count}");
        let is_constant = count % 20_000 == 1;
        let opcode = if is_constant { "constant" } else { "copy" };
        let mut instruction = [
            field(1, name.as_bytes()),
            field(2, opcode.as_bytes()),
            field(3, &shape(1 + count % 5000)),
            metadata.clone(),
            number(35, count),
            field(36, &varint(count.saturating_sub(1))),
        ]
        .concat();
        if is_constant {
            instruction.extend(field(8, &field(8, &vec![0; 1 << 20])));
        }
        entry.extend(field(2, &instruction));
        count += 1;
    }
    let module = [field(1, b"large"), field(3, &entry), number(6, 1)].concat();
    let start = std::time::Instant::now();
    let report = MemoryReport::of_proto(&module).unwrap();
    let took = start.elapsed();
    println!("{} MB, {count} instructions: {took:?}", module.len() / 1_000_000);
    assert_eq!(report.instructions.len() as u64, count);
    assert_eq!(report.instructions[0].memory.unwrap().bytes, 5000 * 128 * 4);
}
