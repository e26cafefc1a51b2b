//! Tests every row of the table on any processor: all rows copy the same bytes, and their plans
//! equal the snapshots.

#[path = "../../../benches/support/sweep.rs"]
#[allow(unreachable_pub, unused_imports)] // a file of several crates
mod sweep;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{
    Operation, Tensor,
    hlo::Module,
    host::{
        chosen, gathered, kept, looked_up, plain,
        run::{fill, plan_with, run_sources},
        simd::Simd,
        step::CopyStep,
    },
    nest::{CopyNest, Gaps},
    program::{Program, ProgramStep},
    request::Table,
    window::Slice,
};

#[test]
fn sizes_are_read_as_linux_writes_them() {
    assert_eq!(bytes("32768K\n"), Some(32 << 20));
    assert_eq!(bytes("0K"), None);
    assert_eq!(bytes(""), None);
    assert!(Machine::here().cache_bytes >= 1 << 16);
}

#[test]
fn this_processor_has_a_row() {
    let here = Machine::here();
    let rows = MACHINES.iter().filter(|row| row.name == here.name);
    assert_eq!(rows.count(), 1, "{}", here.name);
}

#[test]
fn families_are_read_from_signatures() {
    let signatures = [0x0008_06f8, 0x00a2_0f10, 0x00b0_0f21, 0x00c0_06f2];
    assert_eq!(signatures.map(family_in), [6, 25, 26, 6]);
}

/// Checks that a larger destination does not reduce the kinds of copies that are streamed.
#[test]
fn more_is_streamed_if_the_destination_is_larger() {
    for machine in &MACHINES {
        let ways = |bytes: usize| {
            let Streams { short, long, cut, .. } = machine.streams(bytes);
            [short, long, cut]
        };
        assert_eq!(ways(1 << 16), [false; 3], "{}", machine.name);
        assert_eq!(ways(64 << 20), [true; 3], "{}", machine.name);
        for bytes in (1..128).map(|n| n << 19) {
            let (smaller, larger) = (ways(bytes), ways(bytes + (1 << 19)));
            assert!(smaller.iter().zip(larger).all(|(&was, is)| is || !was), "{bytes}");
        }
    }
}

/// A copy as text: the source, the destination, and the window of a slice as (offset, size, stride)
/// of each dimension.
type TestCopy = (&'static str, &'static str, &'static [(u64, u64, i64)]);

/// Copies that together use every mover on some processor.
const COPIES: &[TestCopy] = &[
    ("f32[300,200]", "f32[300,200]{0,1}", &[]),
    ("f32[1024,1025]", "f32[1024,1025]{0,1}", &[]),
    ("f32[2048,2048]", "f32[2048,2048]{0,1}", &[]),
    ("bf16[1024,1025]", "bf16[1024,1025]{0,1}", &[]),
    ("bf16[4096,2048]", "bf16[4096,2048]{0,1}", &[]),
    ("u8[2049,2048]", "u8[2049,2048]{0,1}", &[]),
    ("f64[1024,1024]", "f64[1024,1024]{0,1}", &[]),
    ("c128[512,511]", "c128[512,511]{0,1}", &[]),
    ("f32[8,64,56,56]", "f32[8,64,56,56]{1,3,2,0}", &[]),
    ("f16[16,512,14,14]", "f16[16,512,14,14]{1,3,2,0}", &[]),
    ("f32[8,3,224,224]", "f32[8,3,224,224]{1,3,2,0}", &[]),
    ("u8[720,1280,3]", "u8[720,1280,3]{1,0,2}", &[]),
    ("u8[720,1280,3]", "u8[720,1280,3]{2,0,1}", &[]),
    ("bf16[64,12,512,64]", "bf16[64,12,512,64]{3,1,2,0}", &[]),
    ("f32[256,500,33]", "f32[256,500,33]{2,0,1}", &[]),
    ("u8[64,64,5000]", "u8[64,64,5000]{2,0,1}", &[]),
    ("bf16[2000,1500]", "bf16[2000,1500]{1,0:T(8,128)(2,1)}", &[]),
    ("bf16[2000,1500]{1,0:T(8,128)(2,1)}", "bf16[2000,1500]{0,1}", &[]),
    ("f32[500,700]{1,0:T(8,128)}", "f32[500,700]", &[]),
    ("s8[1000,1100]", "s8[1000,1100]{0,1:T(4,16)}", &[]),
    ("u8[300,301,3]", "u8[300,301,3]{2,1,0:PAD(300,301,4)}", &[]),
    ("f32[32,35,35,20]", "f32[32,35,35,20]{3,2,1,0:PAD(32,37,37,20)}", &[]),
    ("s4[1000,1001]{1,0:E(4)}", "s4[1000,1001]{0,1:E(4)}", &[]),
    ("u2[800003]{0:E(2)}", "u2[800003]{0:E(2)}", &[]),
    ("u4[256,1024]{1,0:E(4)}", "u4[256,1024]{1,0}", &[]),
    ("u4[600001]", "u4[600001]{0:E(4)}", &[]),
    ("u8[600,700]", "u8[600,700]", &[(0, 600, 1), (0, 700, -1)]),
    ("f32[1000,1000]", "f32[500,1000]{0,1}", &[(0, 1000, 2), (0, 1000, -1)]),
    // Units whose bytes change their order, in matrices that are transposed.
    ("u8[300,200,2,2]", "u8[300,200,2,2]{2,3,0,1}", &[]),
    ("u8[300,200,2,4]", "u8[300,200,2,4]{2,3,0,1}", &[]),
    ("u16[100,300,4]", "u16[100,300,4]{2,0,1}", &[(0, 100, 1), (0, 300, 1), (0, 4, -1)]),
    // Boxes of short rows. Those of the second copy are moved by a transpose and short blocks.
    ("u8[65,5,49,5]{1,3,2,0:T(4,4)}", "u8[65,5,49,5]", &[]),
    ("u8[1,63,55,14]{3,2,1,0:T(4,1,1)}", "u8[1,63,55,14]{1,3,2,0}", &[]),
    ("f32[20,100,100]", "f32[20,99,98]", &[(0, 20, 1), (1, 99, 1), (1, 98, 1)]),
    // Parts of lines that are hundreds of bytes apart.
    ("u8[20000,8]{1,0:T(32,128)(4,1)}", "u8[20000,8]", &[]),
    // Units for which few bytes of each line are read, in lines that are pages apart.
    ("u8[65,96,2,8]{2,0,1,3:T(32,128)(4,1)}", "u8[65,96,2,8]", &[]),
    ("s8[64,197,12]{2,0,1:T(32,128)(4,1)}", "s8[64,197,12]{1,2,0:T(6,6)}", &[]),
    ("s8[60,4,2,65]{2,3,1,0:T(32,128)(4,1)}", "s8[60,4,2,65]", &[]),
    // Boxes of which most are transposed, although a pattern is faster.
    ("u16[301,69,11]{0,2,1:T(8,128)(2,1)}", "u16[301,69,11]", &[]),
    // A period of many positions and two boxes.
    ("u8[577,10,2,128]{0,1,2,3:T(32,128)(4,1)}", "u8[577,10,2,128]{2,3,1,0:T(4,4)}", &[]),
    // Rows of distant units, each repeated 17 times.
    ("u8[128,17,33] strided<[33,0,4227]>", "u8[128,17,33]", &[]),
    ("f32[1000,4] strided<[4000,1]>", "f32[1000,4]", &[]),
    ("s8[1,32,6272]", "s8[1,32,6272]{0,1,2:PAD(4,32,6272)}", &[]),
    ("u16[3,5,7000]", "u16[3,5,7000]{0,1,2:PAD(4,6,7000)}", &[]),
    ("bf16[12,13,8,384]{0,1,3,2:T(8,128)(2,1)}", "bf16[12,13,8,384]{3,1,0,2:T(8,128)(2,1)}", &[]),
    // Rows that are mirrored, in the opposite order.
    ("u8[300,5000]", "u8[300,5000]", &[(0, 300, -1), (0, 5000, -1)]),
    // Rows of 16-byte units that are mirrored.
    ("c128[900,700]", "c128[900,700]", &[(0, 900, 1), (0, 700, -1)]),
];

fn nest((from, to, window): TestCopy) -> CopyNest {
    let [from, to] = [from, to].map(|text| text.parse::<Tensor>().expect("a tensor"));
    let operation = if window.is_empty() {
        Operation::relayout(from, to)
    } else {
        let offsets: Vec<u64> = window.iter().map(|of| of.0).collect();
        let sizes: Vec<u64> = window.iter().map(|of| of.1).collect();
        let strides: Vec<i64> = window.iter().map(|of| of.2).collect();
        Operation::slice(from, &Slice::new(offsets, sizes, strides), Some(to))
    };
    operation.expect("a copy").nest().clone()
}

/// Compares copies with the reference copy, position by position. The copies run with the
/// preferences and the last-level cache of every row, and also with caches so small that every copy
/// is streamed.
#[test]
fn every_row_copies_the_same_bytes() {
    let small = MACHINES.map(|row| &*Box::leak(Box::new(Machine { cache_bytes: 1 << 15, ..row })));
    for &copy in COPIES {
        let nest = nest(copy);
        let length = nest.sources()[0].bytes() as usize;
        let source: Vec<u8> = (0..length).map(|n| (n * 167 + (n >> 7)) as u8).collect();
        let mut expected = vec![0; nest.dst_bytes() as usize];
        plain::fill(&nest, &[&source], &mut expected);
        for machine in MACHINES.iter().chain(small) {
            let mut out = vec![0xa5; expected.len()];
            fill(machine, &nest, &[&source], &mut out);
            assert!(out == expected, "{copy:?} on {}, {}", machine.name, machine.cache_bytes);
        }
    }
}

/// Compares the plans of the copies, on one thread and on two, with snapshots, to show changes of
/// numbers and orders that leave all bytes unchanged. With the widest registers there is a snapshot
/// for every row of the table. With narrower registers there is one only for the row of processors
/// that were not measured.
#[test]
fn plans_are_those_of_the_snapshots() {
    let other = &MACHINES[3];
    let sets: Vec<Simd> = Simd::all(other).collect();
    let narrow = std::iter::once((None, "no_registers"));
    for (simd, name) in narrow.chain(sets.iter().map(|&simd| (Some(simd), simd.name()))) {
        let is_widest = name == "avx512_vbmi";
        let rows = if is_widest { &MACHINES[..] } else { &MACHINES[3..] };
        let mut text = String::new();
        for &copy in COPIES {
            let (from, to, window) = copy;
            text += &format!("{from} to {to} {window:?}\n").replace(" []", "");
            for threads in [1, 2] {
                let plan = |machine: &'static Machine| {
                    let simd = simd.map(|simd| simd.with(machine));
                    plan_with(machine, simd, &nest(copy), threads)
                };
                let mut plans: Vec<(Vec<&str>, String)> = Vec::new();
                for machine in rows {
                    let plan = plan(machine);
                    match plans.iter_mut().find(|(_, other)| *other == plan) {
                        Some((names, _)) => names.push(machine.name),
                        None => plans.push((vec![machine.name], plan)),
                    }
                }
                for (names, plan) in plans {
                    let names = names.join("; ");
                    let plan = plan.replace('\n', "\n    ");
                    let title = if threads == 1 { "1 thread" } else { "2 threads" };
                    text += &["  ", title, ", ", &names, "\n    ", plan.trim_end(), "\n"].concat();
                }
            }
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../../snapshots/host");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, text));
    }
}

/// The number of random operations of which some are in a snapshot, and the least number of
/// operations with each kind of step that are.
const SWEPT: usize = 1200;
const OF_EACH_KIND: usize = 16;

/// The longest text of a plan in these snapshots, in bytes.
const PLAN_BYTES: usize = 400;

/// A processor, as the number of its row, the size of its last-level cache in MiB, its instruction
/// set, and the number of threads.
type Host = (usize, usize, &'static str, usize);

/// The processors of these snapshots. Each copy has a plan of the first one, and of one of the
/// others in turn. Most copies exceed the thresholds of the small caches. The number of the others
/// and the number of families of random operations have no common divisor.
const HOSTS: [Host; 11] = [
    (3, 2, "avx512_vbmi", 2),
    (0, 32, "avx512_vbmi", 1),
    (1, 2, "avx512_vbmi", 1),
    (2, 2, "avx2", 2),
    (3, 32, "avx512_vbmi", 3),
    (0, 4, "avx512_vbmi", 2),
    (3, 2, "ssse3", 1),
    (2, 4, "avx512_vbmi", 1),
    (0, 2, "avx2", 1),
    (3, 4, "none", 2),
    (1, 32, "avx2", 4),
];

/// Compares the plans of copies with a snapshot: one line for a plan of the first processor, and
/// one for another if its plan is different. A line that changes is a copy that moves its bytes in
/// another way, which tests of the bytes do not notice. Copies are left out if the snapshot has
/// `of_each_kind` of every kind of their steps. Without the widest registers, nothing is compared.
fn check_plans<'a>(
    snapshot: &str,
    of_each_kind: usize,
    copies: impl Iterator<Item = (String, Vec<&'a CopyNest>)>,
) {
    let sets: Vec<Simd> = Simd::all(&MACHINES[3]).collect();
    if sets.iter().all(|simd| simd.name() != "avx512_vbmi") {
        eprintln!("skipped: the snapshot {snapshot} needs avx512_vbmi");
        return;
    }
    let (mut lines, mut kinds) = (Vec::new(), BTreeMap::new());
    for (number, (name, nests)) in copies.enumerate() {
        let plans = [0, 1 + number % (HOSTS.len() - 1)].map(|host| {
            let (row, cache, set, threads) = HOSTS[host];
            let machine = Machine { cache_bytes: cache << 20, ..MACHINES[row] };
            let machine: &Machine = Box::leak(Box::new(machine));
            let simd = sets.iter().find(|simd| simd.name() == set).map(|simd| simd.with(machine));
            let plan = |nest: &&CopyNest| plan_with(machine, simd, nest, threads);
            let plan = nests.iter().map(plan).collect::<String>();
            let plan = plan.lines().map(str::trim).collect::<Vec<_>>().join("; ");
            let plan = plan.replace("share:;", "share:");
            (format!("{}, {cache} MiB, {set}, {threads}", machine.name), plan)
        });
        let steps = plans.iter().flat_map(|(_, plan)| plan.split("; "));
        let of_steps: BTreeSet<String> = steps.filter_map(kind).collect();
        let is_known = of_steps.iter().all(|kind| kinds.get(kind) >= Some(&of_each_kind));
        if !of_steps.is_empty() && is_known {
            continue;
        }
        for kind in of_steps {
            *kinds.entry(kind).or_default() += 1;
        }
        lines.push(name);
        let plans = &plans[..if plans[0].1 == plans[1].1 { 1 } else { 2 }];
        for (host, plan) in plans {
            let (start, rest) = match plan.get(..PLAN_BYTES) {
                Some(start) => (start, format!("… of {} bytes", plan.len())),
                None => (&plan[..], String::new()),
            };
            lines.push(format!("  {host}: {start}{rest}"));
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots/host");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(snapshot, lines.join("\n")));
}

/// Returns the first words of a step, which name its mover, and whether it is streamed. Returns
/// `None` for a share, which is no step.
fn kind(step: &str) -> Option<String> {
    let streamed = if step.contains(", streamed") { " streamed" } else { "" };
    let (start, rest) = step.split_once(": ").unwrap_or((step, step));
    let mover = if start.starts_with("a share") { rest } else { start };
    let name = mover.split(' ').take(2).collect::<Vec<_>>().join(" ");
    (!name.starts_with('(')).then(|| name + streamed)
}

/// Relayouts whose strips depend on the slices of the destination or on its pages.
const STRIPS: [(&str, &str); 3] = [
    ("c128[32,262,13,3]{2,1,0,3}", "c128[32,262,13,3]{0,1,2,3}"),
    ("s32[12,12,31,12,4]", "s32[12,12,31,12,4]{0,3,1,2,4}"),
    ("c128[5488,127] strided<[1,5491]>", "c128[5488,127]"),
];

#[test]
fn random_operations_have_the_plans_of_the_snapshot() {
    let strips = STRIPS.map(|(from, to)| (format!("{from} to {to}"), nest((from, to, &[]))));
    let strips = strips.iter().map(|(name, nest)| (name.clone(), vec![nest]));
    let cases = sweep::cases(2, SWEPT);
    let copies = cases.iter().map(|sweep::Case { name, what }| {
        let nests = match what {
            sweep::What::Operation(operation) => vec![operation.nest()],
            sweep::What::Program(program) => {
                program.steps().iter().map(ProgramStep::nest).collect()
            }
        };
        (name.clone(), nests)
    });
    let copies = strips.chain(copies);
    check_plans("random_operations", OF_EACH_KIND, copies);
}

/// Small copies are kept, and tell a plausible size of their memory.
#[test]
fn steps_of_small_copies_are_kept() {
    let swept = sweep::cases(3, 500).into_iter().filter_map(|case| match case.what {
        sweep::What::Operation(operation) => Some(operation.nest().clone()),
        sweep::What::Program(program) => program.steps().first().map(|step| step.nest().clone()),
    });
    let converted = converted_and_looked_up().into_iter().map(|copy| copy.1);
    let (mut kept, mut lost) = (0, 0);
    for nest in swept.chain(converted).filter(|nest| {
        nest.dst_bytes() < 1 << 18 && nest.lookups().is_empty() && nest.gaps() == Gaps::Fill
    }) {
        let images: Vec<Vec<u8>> =
            nest.sources().iter().map(|of| vec![0; of.bytes() as usize]).collect();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        run_sources(&nest, &images, &mut vec![0; nest.dst_bytes() as usize]).expect("a run");
        let Some(copy) = kept::steps(Machine::here(), &nest) else {
            lost += 1;
            continue;
        };
        kept += 1;
        for step in copy.iter() {
            let of_plan = step.plan().map_or(0, |(_, bytes)| bytes);
            let bytes = step.bytes() - size_of::<CopyStep>() + of_plan;
            match step {
                CopyStep::Runs { .. } | CopyStep::Again { .. } | CopyStep::Fill { .. } => {
                    assert_eq!(bytes, 0);
                }
                _ => assert!((200..1 << 18).contains(&bytes), "{bytes} {step}"),
            }
        }
    }
    assert!(kept > 100 && lost < 5, "{kept} {lost}");
}

/// Relayouts that convert their elements.
const CONVERTED: &[(&str, &str)] = &[
    ("f32[70001]", "bf16[70001]"),
    ("f32[2000,3000]", "bf16[2000,3000]"),
    ("f32[300,700]", "bf16[300,700]{0,1}"),
    ("f32[1000,300]", "bf16[1000,300]{1,0:T(8,128)(2,1)}"),
    ("f32[8,64,56,56]", "f16[8,64,56,56]{1,3,2,0}"),
    ("bf16[3000,700]{0,1}", "f32[3000,700]"),
    ("u8[8,224,224,3]", "f32[8,224,224,3]{2,1,3,0}"),
    ("f64[1000,3,7]", "f32[1000,3,7]{0,2,1}"),
    ("s4[1000,1001]{1,0:E(4)}", "bf16[1000,1001]"),
    ("s4[1000,1001]{1,0:E(4)}", "bf16[1000,1001]{0,1}"),
    ("u2[1000,64]{1,0:E(2)}", "f32[1000,64]{0,1}"),
    ("f32[17,5,3]", "s8[17,5,3]{0,1,2}"),
];

/// Relayouts through a table, or through a table for each index of a dimension.
const LOOKED_UP: &[(&str, &str, Option<usize>)] = &[
    ("u8[3,300,400,3]", "f16[3,300,400,3]{2,1,3,0}", Some(3)),
    ("u8[3,300,400,3]", "f32[3,300,400,3]", None),
    ("u8[400,3,1000]", "bf16[400,3,1000]{0,2,1}", Some(0)),
    ("u4[1000,1200]{1,0:E(4)}", "bf16[1000,1200]{0,1}", None),
    ("pred[1000,1200]", "f64[1000,1200]{0,1}", Some(1)),
    ("u8[600,1000,7,7]", "f16[600,1000,7,7]", Some(1)),
    ("u8[40,5000]", "f16[40,5000]", Some(1)),
    ("u8[20,300,1,3]", "f16[20,300,1,3]", Some(1)),
    ("u8[2,8,8,16]", "f16[2,8,8,16]", Some(1)),
    ("u8[2,8,16,16]", "f16[2,8,16,16]", Some(1)),
];

/// Gathers, as the shapes of the operand, of the indices and of the result, and the attributes.
const GATHERS: &[[&str; 4]] = &[
    ["f32[5000,64]", "s32[300,1]", "f32[300,64]", "offset_dims={1}, slice_sizes={1,64}"],
    ["f32[5000,64]", "u64[300,1]", "f32[300,64]", "offset_dims={1}, slice_sizes={1,64}"],
    ["f32[500000,8000]", "s32[300,1]", "f32[300,8000]", "offset_dims={1}, slice_sizes={1,8000}"],
    ["bf16[1000000]", "s32[90000,1]", "bf16[90000]", "offset_dims={}, slice_sizes={1}"],
    ["u8[1000000]", "s64[90000,1]", "u8[90000]", "offset_dims={}, slice_sizes={1}"],
    ["f32[64,5000]", "s32[300,1]", "f32[64,300]", "offset_dims={0}, slice_sizes={64,1}"],
    ["f32[3,5000]", "s32[300,1]", "f32[3,300]", "offset_dims={0}, slice_sizes={3,1}"],
    ["f32[4,5000]", "s32[65537,1]", "f32[4,65537]", "offset_dims={0}, slice_sizes={4,1}"],
    ["f32[4,5000]", "s32[65536,1]", "f32[4,65536]", "offset_dims={0}, slice_sizes={4,1}"],
    [
        "f32[5000,64]{1,0:T(8,128)}",
        "s32[300,1]",
        "f32[300,64]",
        "offset_dims={1}, slice_sizes={1,64}",
    ],
    [
        "f32[64,5000]{1,0:T(8,128)}",
        "s32[300,1]",
        "f32[64,300]",
        "offset_dims={0}, slice_sizes={64,1}",
    ],
    ["u4[5000,64]", "s32[300,1]", "u4[300,64]", "offset_dims={1}, slice_sizes={1,64}"],
];

/// Choices by predicates that are loaded: the shape of the result, and the instructions.
const CHOICES: [[&str; 2]; 8] = [
    [
        "f32[300,500]",
        "m = pred[300,500] parameter(0)
         x = f32[300,500] parameter(1)
         z = f32[] constant(0)
         y = f32[300,500] broadcast(z), dimensions={}
         ROOT r = f32[300,500] select(m, x, y)",
    ],
    [
        "bf16[300,500]",
        "m = pred[300,500] parameter(0)
         x = bf16[300,500] parameter(1)
         y = bf16[300,500] parameter(2)
         ROOT r = bf16[300,500] select(m, x, y)",
    ],
    [
        "f32[300,500]",
        "b = pred[500,300] parameter(0)
         m = pred[300,500] transpose(b), dimensions={1,0}
         x = f32[300,500] parameter(1)
         y = f32[300,500] reverse(x), dimensions={1}
         ROOT r = f32[300,500] select(m, x, y)",
    ],
    // One predicate for each row, and one for each column.
    [
        "f32[300,500]",
        "b = pred[300] parameter(0)
         m = pred[300,500] broadcast(b), dimensions={0}
         x = f32[300,500] parameter(1)
         y = f32[300,500] parameter(2)
         ROOT r = f32[300,500] select(m, x, y)",
    ],
    [
        "f32[300,500]",
        "b = pred[500] parameter(0)
         m = pred[300,500] broadcast(b), dimensions={1}
         x = f32[300,500] parameter(1)
         y = f32[300,500] parameter(2)
         ROOT r = f32[300,500] select(m, x, y)",
    ],
    // A predicate that is negated, and tested on one side of a diagonal only.
    [
        "f64[300,500]",
        "m = pred[300,500] parameter(0)
         n = pred[300,500] not(m)
         i = s32[300,500] iota(), iota_dimension=0
         j = s32[300,500] iota(), iota_dimension=1
         t = pred[300,500] compare(i, j), direction=GE
         p = pred[300,500] and(t, n)
         x = f64[300,500] parameter(1)
         y = f64[300,500] parameter(2)
         ROOT r = f64[300,500] select(p, x, y)",
    ],
    [
        "u8[300,500]",
        "m = pred[300,500] parameter(0)
         n = pred[300,500] parameter(1)
         x = u8[300,500] parameter(2)
         y = u8[300,500] parameter(3)
         z = u8[300,500] parameter(4)
         s = u8[300,500] select(n, y, z)
         ROOT r = u8[300,500] select(m, x, s)",
    ],
    // A predicate of more than one byte.
    [
        "f32[300,500]",
        "i = s32[300,500] parameter(0)
         c = s32[] constant(5)
         k = s32[300,500] broadcast(c), dimensions={}
         m = pred[300,500] compare(i, k), direction=EQ
         x = f32[300,500] parameter(1)
         y = f32[300,500] parameter(2)
         ROOT r = f32[300,500] select(m, x, y)",
    ],
];

/// Compares the plans of copies that convert or look up their elements with a snapshot.
#[test]
fn conversions_and_lookups_have_the_plans_of_the_snapshot() {
    let copies = converted_and_looked_up();
    let copies = copies.iter().map(|(name, nest)| (name.clone(), vec![nest]));
    check_plans("conversions_and_lookups", usize::MAX, copies);
}

/// A nest of lookups is filled in the way that its plan names, if that is one of its own.
#[test]
fn lookups_are_filled_as_planned() {
    let is_small = |nest: &CopyNest| nest.sources().iter().all(|of| of.bytes() < 1 << 25);
    let lookups = converted_and_looked_up().into_iter().map(|copy| copy.1);
    for nest in lookups.filter(|nest| !nest.lookups().is_empty() && is_small(nest)) {
        let images: Vec<Vec<u8>> =
            nest.sources().iter().map(|of| vec![0; of.bytes() as usize]).collect();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let mut out = vec![0; nest.dst_bytes() as usize];
        let plan = plan_with(&MACHINES[3], None, &nest, 1);
        let filled = looked_up::fill(&nest, &images, &mut out);
        assert_eq!(filled, plan.starts_with("elements looked up"), "{plan}");
        let filled = chosen::fill(&nest, &images, &mut out);
        assert_eq!(filled, plan.starts_with("units of"), "{plan}");
        let filled = gathered::fill(&nest, &images, &mut out);
        assert!(filled || !plan.starts_with("rows of"), "{plan}");
    }
}

/// Returns the nests of [`CONVERTED`], [`LOOKED_UP`], [`GATHERS`] and [`CHOICES`] with their names.
fn converted_and_looked_up() -> Vec<(String, CopyNest)> {
    let mut copies: Vec<(String, CopyNest)> = Vec::new();
    let relayout = |from: &str, to: &str| {
        let [source, destination] = [from, to].map(|text| text.parse::<Tensor>().expect("a shape"));
        Operation::relayout(source, destination).expect("a relayout")
    };
    for (from, to) in CONVERTED {
        let operation = relayout(from, to);
        copies.push((operation.title().to_owned(), operation.nest().clone()));
    }
    for &(from, to, dimension) in LOOKED_UP {
        let extents = from.split(['[', ']']).nth(1).expect("extents").split(',');
        let extents: Vec<usize> = extents.map(|of| of.parse().expect("an extent")).collect();
        let codes = match &from[..2] {
            "u4" => 16,
            "pr" => 2,
            _ => 256,
        };
        let bytes = match &to[..3] {
            "f64" => 8,
            "f32" => 4,
            _ => 2,
        };
        let entries = vec![0; dimension.map_or(1, |of| extents[of]) * codes * bytes];
        let table = Table::new(entries, dimension);
        let operation = relayout(from, to).with_table(table).expect("a table");
        copies.push((operation.title().to_owned(), operation.nest().clone()));
    }
    for gather in GATHERS {
        let [operand, indices, result, _] = gather;
        for nest in nests_of_gather(gather) {
            copies.push((format!("{operand} gather {indices} to {result}"), nest));
        }
    }
    for (number, [result, instructions]) in CHOICES.into_iter().enumerate() {
        let text = format!("HloModule m\n\nENTRY e {{\n{instructions}\n}}\n");
        let module = Module::parse(&text).expect("a module").with_default_layouts();
        let program = Program::lower(&module).expect("a program");
        for step in program.steps() {
            copies.push((format!("{result} chosen by predicates, {number}"), step.nest().clone()));
        }
    }
    copies
}

/// Returns the nests of a gather that is written as in [`GATHERS`].
fn nests_of_gather([operand, indices, result, attributes]: &[&str; 4]) -> Vec<CopyNest> {
    let axis = usize::from(attributes.contains("{0}, "));
    let text = format!(
        "HloModule m\n\nENTRY e {{\n  x = {operand} parameter(0)\n  ids = {indices} parameter(1)\n  \
         ROOT r = {result} gather(x, ids), collapsed_slice_dims={{{axis}}}, \
         start_index_map={{{axis}}}, index_vector_dim=1, {attributes}\n}}\n"
    );
    let module = Module::parse(&text).expect("a module").with_default_layouts();
    let program = Program::lower(&module).expect("a program");
    program.steps().iter().map(|step| step.nest().clone()).collect()
}

/// Gathers of 30 rows or columns out of 50, between tiles that do not divide each other, so that
/// both lookups and quotients vary in a box.
const TILED_GATHERS: &[[&str; 4]] = &[
    [
        "u8[50,64]{1,0:T(6,10)}",
        "s32[30,1]",
        "u8[30,64]{1,0:T(4,8)}",
        "offset_dims={1}, slice_sizes={1,64}",
    ],
    [
        "u16[64,50]{1,0:T(8,12)}",
        "s32[30,1]",
        "u16[64,30]{1,0:T(6,10)}",
        "offset_dims={0}, slice_sizes={64,1}",
    ],
    ["u8[50,64]{0,1:T(6,10)}", "s32[30,1]", "u8[30,64]", "offset_dims={1}, slice_sizes={1,64}"],
    ["u8[64,50]", "s32[30,1]", "u8[64,30]{1,0:T(3,5)}", "offset_dims={0}, slice_sizes={64,1}"],
];

/// Gathers that are filled box by box, instead of by their own movers, have the bytes of the
/// reference copy.
#[test]
fn gathers_are_divided_into_boxes() {
    for gather in TILED_GATHERS {
        for nest in nests_of_gather(gather) {
            let images: Vec<Vec<u8>> = nest
                .sources()
                .iter()
                .map(|of| match of.bytes() {
                    120 => (0..30).flat_map(|n: i32| (n * 7 % 60 - 4).to_le_bytes()).collect(),
                    bytes => (0..bytes as usize).map(|n| (n * 167 + (n >> 7)) as u8).collect(),
                })
                .collect();
            let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
            let mut expected = vec![0; nest.dst_bytes() as usize];
            plain::fill(&nest, &images, &mut expected);
            let mut out = vec![0xa5; expected.len()];
            fill(&MACHINES[3], &nest, &images, &mut out);
            assert!(out == expected, "{gather:?}");
        }
    }
}
