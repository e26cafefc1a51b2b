//! Kernels for destinations whose gaps are kept. Each word is written at most once, and only if it
//! holds an element. Every other bit of the binding stays unchanged.

use rayon::prelude::*;
use stridec::{Operation, Target, internals::keep_gaps, nest, schedule::schedule, wgsl};

use super::{
    check::{KeptImage, check_onto},
    support::{
        oracle,
        random::{self, Random},
        scope::cases,
    },
    targets,
};

/// Checks the kernel of a nest that keeps gaps. Returns false if the kernel has nothing to
/// dispatch.
fn judge(
    random: &mut Random,
    target: &Target,
    nest: nest::CopyNest,
    write: impl Fn(&[u8], &mut [u8]),
) -> bool {
    let bytes = [nest.sources()[0].bytes(), nest.dst_bytes()];
    let text = nest.to_string();
    let Ok(schedule) = schedule(nest, target) else { return false };
    let kernel = wgsl::emit(&schedule, target, &[]);
    let image = random.bytes(bytes[0]);
    let before = random.bytes(bytes[1]);
    let mut expected = before.clone();
    write(&image, &mut expected);
    // To find the bits that belong to elements, run the nest with all bits of the source set and a
    // destination of zeros.
    let mut elements = vec![0; before.len()];
    write(&vec![0xff; image.len()], &mut elements);
    if kernel.dispatches.is_empty() {
        assert!(elements.iter().all(|byte| *byte == 0), "{text}");
        return false;
    }
    let kept = KeptImage { before: &before, elements: &elements };
    let proof = kernel.proof().expect("a kernel comes with its proof");
    if let Err(fault) = check_onto(&kernel, proof, target, &[&image], Some(&kept), &expected) {
        panic!("{fault}\n{text}\n{}", kernel.wgsl);
    }
    true
}

#[test]
fn random_kernels_keep_every_other_bit() {
    let cases = cases(1_200);
    let run = (0..cases)
        .into_par_iter()
        .filter(|&seed| {
            let mut random = Random((seed << 32) + 38);
            let makes = [random::operation, random::relayout, random::runs, random::padded_tiles];
            let make = makes[usize::try_from(seed % 4).unwrap()];
            let random::Operation { source, destination, window, .. } = make(&mut random);
            let Ok(nest) = nest::lower(&source, &destination, &window) else { return false };
            let target = random.pick(&[0, 1, 2]);
            judge(&mut random, &targets()[target], keep_gaps(nest), |image, out| {
                oracle::keep(&source, &destination, &window, image, out);
            })
        })
        .count() as u64;
    assert!(run >= cases / 10 * 8, "{run} of {cases}");
}

/// Checks updates, which write several runs of words in loops.
#[test]
fn kernels_of_updates_write_their_window_alone() {
    let mut random = Random(39);
    for (from, to, start) in [
        ("f32[1,3,1,8]", "f32[2,3,16,8]", &[1, 0, 5, 0][..]),
        ("bf16[2,3,1,8]", "bf16[2,3,16,8]", &[0, 0, 7, 0]),
        ("bf16[2,3,1,7]", "bf16[2,3,16,7]", &[0, 0, 7, 0]),
        ("u8[5,3]", "u8[9,12]", &[2, 5]),
        ("u8[5,3]", "u8[9,13]", &[2, 5]),
        ("s4[5,3]{1,0:E(4)}", "s4[9,16]{1,0:E(4)}", &[4, 7]),
        ("f64[5,3]", "f64[9,16]{0,1:T(2,4)}", &[4, 7]),
        ("c128[2,2]", "c128[3,5]{1,0:PAD(4,7)}", &[0, 2]),
        ("u8[]", "u8[]", &[]),
    ] {
        let [from, to] = [from, to].map(|text| text.parse().unwrap());
        let operation = Operation::update(from, to, start).unwrap();
        for target in targets() {
            let ran = judge(&mut random, &target, operation.nest().clone(), |image, out| {
                oracle::update(
                    operation.source_descriptor(),
                    operation.destination_descriptor(),
                    start,
                    image,
                    out,
                );
            });
            assert!(ran, "{}", operation.title());
        }
    }
}
