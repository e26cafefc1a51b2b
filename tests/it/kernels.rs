//! naga accepts every kernel.

use stridec::{
    Kernel, Operation, Tensor,
    internals::{coalesce, refine, split, unproved_nest, widen},
    nest::{self, Affine, Case, CaseValue, Guard, Value},
    schedule::{Strategy, Target, candidates, schedule},
    shape::ElementType,
    wgsl,
};

use super::support::{
    oracle,
    random::{self, Random},
    scope::cases,
};

/// If `STRIDEC_WGSL` names a folder, the kernels are written to it for other validators.
#[test]
fn random_kernels_are_valid() {
    let folder = std::env::var_os("STRIDEC_WGSL").map(std::path::PathBuf::from);
    if let Some(folder) = &folder {
        std::fs::create_dir_all(folder).unwrap();
    }
    let mut random = Random(2);
    let mut count = std::collections::BTreeMap::new();
    for case in 0..cases(3_000) {
        let operation = match case % 3 {
            0 => random::relayout(&mut random),
            1 => random::runs(&mut random),
            _ => random::operation(&mut random),
        };
        let Ok(nest) = nest::lower(&operation.source, &operation.destination, &operation.window)
        else {
            continue;
        };
        for target in [Target::webgpu(), Target::webgpu_cpu()] {
            let schedule = schedule(nest.clone(), &target)
                .unwrap_or_else(|e| panic!("{e} {operation:#?}\n{nest}"));
            let kernel = wgsl::emit(&schedule, &target, &[]);
            *count.entry(kernel.strategy).or_insert(0) += 1;
            if kernel.dispatches.is_empty() {
                continue;
            }
            if let Err(error) = wgsl::validate(&kernel.wgsl) {
                panic!("{case}: {error}\n{}\n{nest}", kernel.wgsl);
            }
            if let Some(folder) = &folder {
                let name = format!("{case}-{}.wgsl", target.name);
                std::fs::write(folder.join(name), &kernel.wgsl).unwrap();
            }
        }
    }
    eprintln!("{count:?}");
}

/// The copy regions are the whole operation, because a runtime may run them instead of the
/// dispatches.
#[test]
fn copy_regions_are_the_whole_operation() {
    let (mut random, cases) = (Random(5), cases(20_000));
    let mut count = 0;
    for _ in 0..cases {
        let operation = random::operation(&mut random);
        let (from, to) = (&operation.source, &operation.destination);
        let Ok(nest) = nest::lower(from, to, &operation.window) else { continue };
        let target = Target::webgpu();
        let schedule = schedule(nest, &target).unwrap();
        if schedule.strategy() != Strategy::Copy {
            continue;
        }
        let kernel = wgsl::emit(&schedule, &target, &[]);
        let [region] = kernel.copy_regions[..] else { continue };
        for number in [region.source_offset, region.destination_offset, region.size] {
            assert!(number.is_multiple_of(4), "{region:?}");
        }
        let image = random.bytes(kernel.source_bytes);
        let mut out = vec![0xa5; usize::try_from(kernel.destination_bytes).unwrap()];
        let range = |start: u64| {
            usize::try_from(start).unwrap()..usize::try_from(start + region.size).unwrap()
        };
        out[range(region.destination_offset)].copy_from_slice(&image[range(region.source_offset)]);
        let expected =
            oracle::run(from, to, &operation.window, &image, operation.destination_shape());
        assert!(out == expected, "{operation:#?}\n{region:?}");
        count += 1;
    }
    assert!(count > cases / 200, "{count}");
}

#[test]
fn copy_regions_start_at_the_offset() {
    for (from, to, expected) in [
        ("f32[3] strided<[1], offset: 3>", "f32[3]", Some((12, 12))),
        ("u8[8] strided<[1], offset: 20>", "u8[8]", Some((20, 8))),
        ("u8[8] strided<[1], offset: 21>", "u8[8]", None),
        ("u8[7] strided<[1], offset: 20>", "u8[7]", None),
        ("s4[8]{0:E(4)}", "s4[8]{0:E(4)}", Some((0, 4))),
    ] {
        let [from, to] = [from, to].map(|text| text.parse::<Tensor>().unwrap());
        let operation = Operation::relayout(from, to).unwrap();
        let kernel = operation.compile_unvalidated(&Target::webgpu()).unwrap();
        let region = kernel.copy_regions.first().map(|region| (region.source_offset, region.size));
        assert_eq!(region, expected, "{}", kernel.wgsl);
    }
}

/// A target with `read_write_sources` changes only the access mode of the sources.
#[test]
fn sources_are_declared_read_write_if_the_target_says_so() {
    let mut random = Random(31);
    let mut read_write = Target::webgpu();
    read_write.read_write_sources = true;
    let mut count = 0;
    for _ in 0..cases(200) {
        let operation = random::operation(&mut random);
        let Ok(nest) = nest::lower(&operation.source, &operation.destination, &operation.window)
        else {
            continue;
        };
        let emit = |target| wgsl::emit(&schedule(nest.clone(), target).unwrap(), target, &[]);
        let (kernel, pooled) = (emit(&Target::webgpu()), emit(&read_write));
        let declared = |kernel: &Kernel| kernel.wgsl.matches("var<storage, read_write>").count();
        assert_eq!(
            pooled.wgsl.replace("read_write>", "read>"),
            kernel.wgsl.replace("read_write>", "read>")
        );
        assert_eq!(declared(&pooled), pooled.bindings.len());
        assert_eq!(pooled.proof(), kernel.proof());
        assert!(pooled.bindings.iter().all(|binding| binding.writable));
        assert_eq!(pooled.dispatches, kernel.dispatches);
        if pooled.dispatches.is_empty() {
            continue;
        }
        assert_eq!(declared(&kernel), 1);
        assert_ne!(pooled.key(), kernel.key());
        assert_ne!(pooled, kernel);
        wgsl::validate(&pooled.wgsl).unwrap();
        count += 1;
    }
    assert!(count * 4 > cases(200), "{count}");
}

/// The tiles end inside a wide unit, a group of elements that is copied as one. The last unit is
/// not read, so no bound may include it.
#[test]
fn partial_tiles_are_proved() {
    for size in 1..200 {
        for tile in 1..20 {
            let side: Tensor = format!("s8[{size}]{{0:T({tile})}}").parse().unwrap();
            let dense = Tensor::dense(ElementType::S8, [size]).unwrap();
            let operation = Operation::relayout(side, dense).unwrap();
            let kernel = operation.compile_unvalidated(&Target::webgpu()).unwrap();
            assert!(kernel.proof().is_some());
        }
    }
}

/// A kernel that was changed is a different kernel, and has no proof.
#[test]
fn a_changed_kernel_has_no_proof() {
    let [from, to] = ["u8[8,4]", "u8[8,4]{0,1}"].map(|text| text.parse::<Tensor>().unwrap());
    let operation = Operation::relayout(from, to).unwrap();
    let kernel = operation.compile_unvalidated(&Target::webgpu()).unwrap();
    assert!(kernel.proof().is_some());
    let again = Kernel::from_parts(kernel.into_parts());
    assert!(again.proof().is_none());
}

/// A nest that reads 4 MiB past its source. Only tests can build it, and its kernels have no proof.
#[test]
fn a_nest_made_by_hand_has_no_proof() {
    let far = Affine::constant(1 << 20).plus(1, &Affine::value(Value::Axis(0)));
    for forged in [
        vec![Case { when: Vec::new(), take: CaseValue::Read { source: 0, at: far.clone() } }],
        vec![Case {
            when: vec![Guard { of: Affine::constant(0), extent: 1 }],
            take: CaseValue::Read { source: 0, at: far },
        }],
    ] {
        let nest = unproved_nest(&[64], [], forged, 0, 64, 32);
        for target in [Target::webgpu(), Target::webgpu_cpu()] {
            for candidate in candidates(widen(coalesce(refine(nest.clone()))), &target) {
                let schedule = candidate.schedule(&target).unwrap();
                let kernel = wgsl::emit(&schedule, &target, &[]);
                assert!(!kernel.dispatches.is_empty());
                assert!(kernel.proof().is_none(), "{}", kernel.wgsl);
            }
        }
        for part in split(&nest, 64, |part| schedule(part.clone(), &Target::webgpu())) {
            let (_, schedule) = part.unwrap();
            assert!(wgsl::emit(&schedule, &Target::webgpu(), &[]).proof().is_none());
        }
    }
}

/// The text of a header stays a comment, whatever its characters.
#[test]
fn a_header_cannot_leave_its_comment() {
    let side: Tensor = "u8[8,4]".parse().unwrap();
    let operation = Operation::relayout(side.clone(), side).unwrap();
    let schedule = operation.schedule(&Target::webgpu()).unwrap();
    let code = |kernel: &Kernel| -> Vec<String> {
        let lines = kernel.wgsl.lines().filter(|line| !line.starts_with("//"));
        lines.map(str::to_owned).collect()
    };
    let plain = code(&wgsl::emit(&schedule, &Target::webgpu(), &[]));
    for end in ["\n", "\r", "\r\n", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
        let text = format!("a{end}const forged = 1;{end}b");
        let kernel = wgsl::emit(&schedule, &Target::webgpu(), &[("", text)]);
        assert_eq!(code(&kernel), plain, "{end:?}");
        let module = naga::front::wgsl::parse_str(&kernel.wgsl).unwrap();
        assert!(module.constants.is_empty(), "{end:?}");
    }
}
