//! Chains of movements. Short chains are never refused, and each gives the bytes of the oracle.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use stridec::{
    Kernel, Target,
    hlo::Module,
    internals::Inspect,
    program::{Origin, Program, Ways, compile_module},
};

use super::support::{
    programs::{
        chains::{self, Chain, ElementOrigin, Limits, unravel},
        generate, interpreter,
    },
    random::Random,
    scope,
};

/// The greatest number of units in a tensor that a kernel can index.
const MOST_UNITS: u64 = u32::MAX as u64 - 64;

fn compiled(name: &str, module: &Module, target: &Target) -> Program {
    let program = compile_module(module, target)
        .unwrap_or_else(|error| panic!("{name}: {error}\n{module:#?}"));
    for kernel in program.kernels() {
        assert!(!kernel.wgsl.contains("% 1u"), "{name}: a loop of one step\n{}", kernel.wgsl);
    }
    let proved = |kernel: &Kernel| kernel.dispatches.is_empty() || kernel.proof().is_some();
    assert!(program.kernels().iter().all(proved), "{name}: no proof\n{module:#?}");
    program
}

fn check_bytes(name: &str, module: &Module, random: &mut Random) {
    let program = compiled(name, module, &Target::webgpu());
    let images = generate::images(random, module);
    let expected = interpreter::run(module, &images).expect("an interpreter of all of it");
    let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    assert!(program.run_on_host(&images).unwrap() == expected, "{name}: other bytes\n{module:#?}");
}

/// Sizes without common tiles, such as the size of a vocabulary, or of patches of 7 by 7.
#[test]
fn a_transpose_and_a_reshape_are_one_kernel() {
    for (sizes, dimensions, result) in [
        ("64,448,56", "1,2,0", "64,64,392"),
        ("30522,768", "1,0", "30522,768"),
        ("5000,5000", "1,0", "1000,25000"),
        ("64,3,224,224", "2,3,0,1", "49,32,32,192"),
    ] {
        let order: Vec<usize> = dimensions.split(',').map(|n| n.parse().unwrap()).collect();
        let extents: Vec<&str> = sizes.split(',').collect();
        let moved: Vec<&str> = order.iter().map(|&dimension| extents[dimension]).collect();
        let text = format!(
            "HloModule chain
             ENTRY main {{
               p = f32[{sizes}] parameter(0)
               t = f32[{}] transpose(p), dimensions={{{dimensions}}}
               ROOT r = f32[{result}] reshape(t)
             }}",
            moved.join(",")
        );
        let module = Module::parse(&text).unwrap().with_default_layouts();
        let program = compiled(&text, &module, &Target::webgpu());
        assert_eq!(program.steps().len(), 1, "{text}");
        let elements: u64 = extents.iter().map(|size| size.parse::<u64>().unwrap()).product();
        if elements < 1 << 21 {
            check_bytes(&text, &module, &mut Random(1));
        }
    }
}

/// Returns a module that stacks all windows of `x` with the given size, innermost, as JAX's patches
/// do.
fn patches(sizes: [u64; 2], window: [u64; 2], channels: u64) -> Module {
    let [rows, columns] = [0, 1].map(|d| sizes[d] - window[d] + 1);
    let (mut slices, mut names) = (vec![], vec![]);
    for a in 0..window[0] {
        for b in 0..window[1] {
            slices.push(format!(
                " s{a}_{b} = f32[{rows},{columns},{channels}] slice(x), slice={{[{a}:{}], [{b}:{}], [0:{channels}]}}\n",
                a + rows,
                b + columns
            ));
            names.push(format!("s{a}_{b}"));
        }
    }
    let depth = channels * names.len() as u64;
    let text = format!(
        "ENTRY main {{
           x = f32[{},{},{channels}] parameter(0)
           {}
           ROOT all = f32[{rows},{columns},{depth}] concatenate({}), dimensions={{2}}
         }}",
        sizes[0],
        sizes[1],
        slices.concat(),
        names.join(", ")
    );
    Module::parse(&text).unwrap()
}

/// Patches are lowered to loops over the window, not to a comparison for each element of the
/// window.
#[test]
fn patches_are_one_case() {
    for (window, channels) in [([7, 7], 1), ([7, 7], 4), ([3, 3], 3), ([1, 5], 2), ([4, 1], 1)] {
        let module = patches([12, 11], window, channels);
        let name = format!("{window:?} {channels}");
        let program = compiled(&name, &module, &Target::webgpu());
        let [step] = program.steps() else { panic!("{name}: {:?}", program.steps()) };
        assert_eq!(step.nest().cases().len(), 1, "{name}\n{}", step.nest());
        assert!(step.nest().cases()[0].when.is_empty(), "{name}\n{}", step.nest());
        assert!(Inspect::quotients(step.nest()).is_empty(), "{name}\n{}", step.nest());
        check_bytes(&name, &module, &mut Random(3));
    }
}

#[test]
fn random_chains_are_equal_to_the_oracle() {
    (0..scope::cases(300)).into_par_iter().for_each(|seed| {
        let mut random = Random((seed << 32) + 5);
        let limits = Limits { elements: 20_000, steps: 12, only_shapes: false };
        let chain = chains::chain(&mut random, limits);
        check_bytes(&format!("seed {seed}"), &chain.module, &mut random);
    });
}

/// Chains with as many elements as 32-bit indices can count, for a target that binds any number of
/// bytes. Some elements of each chain are traced to their origin.
#[test]
fn random_chains_of_any_size_are_compiled() {
    let mut target = Target::webgpu();
    target.max_storage_buffer_binding_size = u64::MAX >> 8;
    let (several, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let count = scope::cases(600);
    (0..count).into_par_iter().for_each(|seed| {
        let mut random = Random((seed << 32) + 6);
        let only_shapes = random.one_in(2);
        let limits = Limits { elements: MOST_UNITS, steps: 12, only_shapes };
        let chain = chains::chain(&mut random, limits);
        if let Err(error) = compile_module(&chain.module, &target) {
            println!("seed {seed}: {error}");
            refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let program = compiled(&format!("seed {seed}"), &chain.module, &target);
        several.fetch_add((!program.scratch().is_empty()).into(), Ordering::Relaxed);
        follow(seed, &chain, &mut random);
    });
    let (several, refused) = (several.into_inner(), refused.into_inner());
    println!("{several} of {count} chains have scratch buffers, {refused} are refused");
    assert!(several > 0 && refused == 0, "{several} {refused}");
}

fn follow(seed: u64, chain: &Chain, random: &mut Random) {
    let ways = Ways::new(&chain.module).unwrap();
    for (result, sizes) in chain.results().enumerate() {
        for _ in 0..8 {
            let index = unravel(sizes, random.below(sizes.iter().product()));
            let way = ways.way(result, &index, 0).unwrap();
            let found = match &way.origin {
                Origin::Parameter { number, index, .. } => {
                    let sizes = &chain.parameters()[*number];
                    let number_of = sizes.iter().zip(index).fold(0, |n, (size, at)| n * size + at);
                    ElementOrigin::Parameter(*number, number_of)
                }
                Origin::Constant { .. } => ElementOrigin::Padding,
            };
            assert_eq!(found, chain.origin(result, &index), "seed {seed}: {result} at {index:?}");
        }
    }
}
