//! The kernels of programs: modules that JAX and XLA wrote, step by step.

use stridec::{
    Target,
    hlo::Module,
    host,
    internals::Inspect,
    program::{BufferId, compile_module},
};

use super::{check::check, support::hlo_cases::hlo_cases};

/// The largest result, in bytes, whose kernel is judged: every invocation of it is interpreted.
const MOST_BYTES: u64 = 4096;

#[test]
fn kernels_of_programs_keep_their_proofs() {
    let (mut judged, mut several, mut looked_up, mut tight) = (0, 0, 0, 0);
    for case in hlo_cases() {
        let module = Module::decode(&case.bytes).ok().filter(|_| case.is_ok());
        let target = Target::webgpu();
        let Some(program) = module.and_then(|module| compile_module(&module, &target).ok()) else {
            continue;
        };
        let inputs = case.inputs();
        let mut scratch: Vec<Vec<u8>> = vec![vec![]; program.scratch().len()];
        for (step, kernel) in program.steps().iter().zip(program.kernels()) {
            let images: Vec<&[u8]> = step
                .sources()
                .iter()
                .map(|&source| match source {
                    BufferId::Parameter(number) => &inputs[number][..],
                    BufferId::Constant(number) => &program.constants()[number],
                    BufferId::Scratch(number) => &scratch[number],
                    BufferId::Result(_) => panic!("a result is read"),
                })
                .collect();
            let mut expected = vec![0; usize::try_from(step.nest().dst_bytes()).unwrap()];
            host::run_sources(step.nest(), &images, &mut expected).unwrap();
            if !kernel.dispatches.is_empty() && expected.len() as u64 <= MOST_BYTES {
                let proof = kernel.proof().expect("a kernel comes with its proof");
                match check(kernel, proof, &target, &images, &expected) {
                    Ok(seen) => tight += u32::from(seen.is_tight),
                    Err(fault) => panic!("{}: {fault}\n{}", case.id, kernel.wgsl),
                }
                judged += 1;
                several += u32::from(images.len() > 1);
                looked_up += u32::from(!step.nest().lookups().is_empty());
            }
            if let BufferId::Scratch(number) = step.destination() {
                scratch[number] = expected;
            }
        }
    }
    println!(
        "{judged} kernels, {several} of several sources, {looked_up} with lookups; {tight} exact"
    );
    assert!(judged > 800 && several > 200 && looked_up > 150, "{judged} {several} {looked_up}");
}
