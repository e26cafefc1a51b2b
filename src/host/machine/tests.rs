//! Tests every row of the table on any processor: all rows copy the same bytes, and their plans
//! equal the snapshots.

use super::*;
use crate::{
    Operation, Tensor,
    host::{
        plain,
        run::{fill, plan_with},
        simd::Simd,
    },
    nest::CopyNest,
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

/// Checks that a larger destination does not reduce the kinds of copies that are streamed.
#[test]
fn more_is_streamed_if_the_destination_is_larger() {
    for machine in &MACHINES {
        let ways = |bytes: usize| {
            let Streams { short, long, cut, shuffled, .. } = machine.streams(bytes);
            [short, long, cut, shuffled]
        };
        assert_eq!(ways(1 << 16), [false; 4], "{}", machine.name);
        assert_eq!(ways(64 << 20), [true; 4], "{}", machine.name);
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
    ("u8[600,700]", "u8[600,700]", &[(0, 600, 1), (0, 700, -1)]),
    ("f32[1000,1000]", "f32[500,1000]{0,1}", &[(0, 1000, 2), (0, 1000, -1)]),
    // Boxes of short rows, which are moved together.
    ("u8[65,5,49,5]{1,3,2,0:T(4,4)}", "u8[65,5,49,5]", &[]),
    ("u8[1,63,55,14]{3,2,1,0:T(4,1,1)}", "u8[1,63,55,14]{1,3,2,0}", &[]),
    ("f32[20,100,100]", "f32[20,99,98]", &[(0, 20, 1), (1, 99, 1), (1, 98, 1)]),
    // Rows of distant units, each repeated 17 times.
    ("u8[128,17,33] strided<[33,0,4227]>", "u8[128,17,33]", &[]),
    ("f32[1000,4] strided<[4000,1]>", "f32[1000,4]", &[]),
    ("s8[1,32,6272]", "s8[1,32,6272]{0,1,2:PAD(4,32,6272)}", &[]),
    ("u16[3,5,7000]", "u16[3,5,7000]{0,1,2:PAD(4,6,7000)}", &[]),
    ("bf16[12,13,8,384]{0,1,3,2:T(8,128)(2,1)}", "bf16[12,13,8,384]{3,1,0,2:T(8,128)(2,1)}", &[]),
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
