//! Estimates of the traffic and the time of operations and programs.

use std::collections::BTreeSet;

use stridec::{
    Estimate, Operation, Target,
    hlo::Module,
    nest,
    program::{Program, compile_in_place, compile_module},
    schedule::estimate,
};

use super::support::{
    hlo_cases::hlo_cases,
    oracle::each_index,
    random::{self, Random},
    scope::cases,
};

fn relayout(from: &str, to: &str, target: &Target) -> Estimate {
    let operation = Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap();
    operation.estimate(target).unwrap()
}

#[test]
fn bitcasts_take_nothing() {
    for (from, to) in [
        ("f32[8,64,1,1]{3,2,1,0}", "f32[8,64,1,1]{1,3,2,0}"),
        ("bf16[16,256]{1,0:T(8,128)(2,1)}", "bf16[16,256]{1,0:T(8,128)(2,1)}"),
        // The padding of partial tiles is not compared.
        ("f32[10,100]{1,0:T(8,128)}", "f32[10,100]{1,0:T(8,128)}"),
        ("u8[3,1,5]{2,1,0}", "u8[3,1,5]{2,0,1}"),
    ] {
        assert_eq!(relayout(from, to, &Target::webgpu()), Estimate::default(), "{from} {to}");
    }
    for (from, to) in [
        ("f32[8,64]{1,0}", "f32[8,64]{0,1}"),
        ("u8[8,64]{1,0}", "u8[8,64]{1,0:PAD(8,65,zero)}"),
        ("u8[5]", "s16[5]"),
    ] {
        assert!(relayout(from, to, &Target::webgpu()).nanoseconds > 0.0, "{from} {to}");
    }
}

/// A bitcast has a kernel, which copies, if it is compiled nevertheless.
#[test]
fn the_schedule_of_a_bitcast_has_a_time() {
    let operation = Operation::relayout("f32[64]".parse().unwrap(), "f32[64]".parse().unwrap());
    let target = Target::webgpu();
    let of_kernel = operation.unwrap().schedule(&target).unwrap().estimate(&target);
    assert_eq!((of_kernel.bytes_read, of_kernel.bytes_written), (256, 256));
    assert!(of_kernel.nanoseconds >= f64::from(target.model.dispatch_nanoseconds));
}

#[test]
fn a_program_takes_the_sum_of_its_steps() {
    for target in Target::presets() {
        for case in hlo_cases().iter().filter(|case| case.is_ok()) {
            let lowered = case.lower().unwrap();
            let Ok(program) = lowered.clone().compiled(&target) else { continue };
            let of = |program: &Program| program.estimate(&target).unwrap();
            let steps = program.steps().iter();
            let sum = steps.map(|step| estimate(step.nest(), &target).unwrap()).sum();
            assert_eq!(of(&program), sum);
            // A program that was only lowered has the estimate of the compiled one.
            assert_eq!(of(&lowered), sum);
            assert!(sum.nanoseconds.is_finite());
        }
    }
}

/// In a program a bitcast is zero too, and a transpose is what it is as an operation.
#[test]
fn programs_and_operations_are_comparable() {
    let target = Target::webgpu();
    let program = |layout: &str| {
        let text = format!(
            "HloModule m, entry_computation_layout={{(f32[64,32]{{1,0}})->f32[32,64]{layout}}}
            ENTRY e {{
                p = f32[64,32] parameter(0)
                ROOT t = f32[32,64] transpose(p), dimensions={{1,0}}
            }}"
        );
        let module = Module::parse(&text).unwrap();
        compile_module(&module, &target).unwrap().estimate(&target).unwrap()
    };
    assert_eq!(program("{0,1}"), Estimate::default());
    assert_eq!(program("{1,0}"), relayout("f32[64,32]", "f32[64,32]{0,1}", &target));
}

/// A step of a decoder writes one row, whatever the size of the cache.
#[test]
fn updates_in_place_move_the_row_alone() {
    let target = Target::webgpu();
    let step = |rows: u64| {
        let text = format!(
            "HloModule step, input_output_alias={{ {{}}: (0, {{}}, may-alias) }}
            ENTRY e {{
                cache = f32[{rows},1024] parameter(0)
                row = f32[1,1024] parameter(1)
                at = s32[] parameter(2)
                zero = s32[] constant(0)
                ROOT next = f32[{rows},1024] dynamic-update-slice(cache, row, at, zero)
            }}"
        );
        let program = compile_in_place(&Module::parse(&text).unwrap(), &target).unwrap();
        program.estimate(&target).unwrap()
    };
    let estimate = step(64);
    assert_eq!((estimate.bytes_read, estimate.bytes_written), (4096 + 4, 4096));
    assert_eq!(step(8192), estimate);
}

#[test]
fn layouts_are_comparable_and_larger_copies_cost_more() {
    for target in Target::presets() {
        for (from, to) in [
            ("f32[12,41]", "f32[12,41]{1,0:T(8,128)}"),
            ("f32[12,41]{0,1}", "f32[12,41]{1,0:T(8,128)}"),
        ] {
            let small = relayout(from, to, &target);
            assert_eq!((small.bytes_read, small.bytes_written), (12 * 41 * 4, 16 * 128 * 4));
            let grown = |text: &str| text.replace("12,41", "1200,4100");
            let large = relayout(&grown(from), &grown(to), &target);
            assert!(large.nanoseconds > small.nanoseconds, "{} {from} {to}", target.name);
        }
        for to in ["{0,1}", "{1,0:T(8,128)}", "{0,1:T(8,128)}", "{1,0:PAD(8192,8200,zero)}"] {
            let of = |size: u64| {
                let from = format!("f32[{size},{size}]");
                let to = to.replace("8192,8200", &format!("{size},{}", size + 8));
                relayout(&from, &format!("{from}{to}"), &target).nanoseconds
            };
            let sizes: Vec<f64> = (8..12).map(|log| of(1 << log)).collect();
            assert!(sizes.is_sorted(), "{} {to}: {sizes:?}", target.name);
        }
    }
}

/// The bytes that are read are those of the elements that the window selects, or more if guards
/// depend on several axes.
#[test]
fn random_operations_move_at_least_their_elements() {
    let (mut exact, mut all) = (0, 0);
    for case in 0..cases(1_000) {
        let random = &mut Random((case << 8) + 61);
        let makes = [random::operation, random::relayout, random::runs, random::padded_tiles];
        let operation = makes[usize::try_from(case % 4).unwrap()](random);
        let random::Operation { source, destination, window, .. } = &operation;
        let Ok(nest) = nest::lower(source, destination, window) else { continue };
        let target = Target::webgpu();
        let estimate = stridec::schedule::schedule(nest, &target).unwrap().estimate(&target);
        let mut places = BTreeSet::new();
        each_index(destination.sizes(), |index| {
            places.insert(source.offset(&window.source_index(index).unwrap()).unwrap());
        });
        let least = (places.len() as u64 * u64::from(source.element_bits())).div_ceil(8);
        let read = estimate.bytes_read;
        let most = source.image_bytes() - source.prefix_bytes();
        assert!(least <= read && read <= most, "{case}: {least} {read} {most}\n{operation:#?}");
        assert_eq!(estimate.bytes_written, destination.image_bytes(), "{case}\n{operation:#?}");
        exact += u64::from(least == read);
        all += 1;
    }
    assert!(exact * 4 >= all * 3, "{exact} of {all} are exact");
}
