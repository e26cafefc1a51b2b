//! The kernels of programs, for modules that JAX and XLA wrote.

use naga::front::wgsl;
use stridec::{
    Target,
    hlo::Module,
    host,
    internals::Inspect,
    nest::{CopyNest, Gaps},
    program::{BufferId, Program, ProgramStep, compile_in_place, compile_module},
};

use super::{
    check::{KeptImage, check, check_onto},
    interpret::{Buffer, Interpreter, Place},
    support::hlo_cases::{donated_cases, hlo_cases, scatter_rows_cases},
};

/// The size of the largest result whose kernel is checked, in bytes. Every invocation is
/// interpreted.
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
            let images = sources(&program, step, &inputs, &scratch);
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

/// Returns the bytes of the buffers that a step of a program reads.
fn sources<'a>(
    program: &'a Program,
    step: &ProgramStep,
    inputs: &'a [Vec<u8>],
    scratch: &'a [Vec<u8>],
) -> Vec<&'a [u8]> {
    let image = |&source: &BufferId| match source {
        BufferId::Parameter(number) => &inputs[number][..],
        BufferId::Constant(number) => &program.constants()[number],
        BufferId::Scratch(number) => &scratch[number],
        BufferId::Result(_) => panic!("a result is read"),
    };
    step.sources().iter().map(image).collect()
}

/// Runs a nest on a destination of zeros. Returns the destination, and a mask of the bits that were
/// written, which are the ones that do not depend on the earlier contents.
fn written(nest: &CopyNest, images: &[&[u8]]) -> [Vec<u8>; 2] {
    let length = usize::try_from(nest.dst_bytes()).unwrap();
    let [zeros, ones] = [0, 0xff].map(|byte| {
        let mut image = vec![byte; length];
        host::run_sources(nest, images, &mut image).unwrap();
        image
    });
    let elements = zeros.iter().zip(&ones).map(|(zero, one)| !(zero ^ one)).collect();
    [zeros, elements]
}

/// Kernels that run in place write what the host writes and keep every other bit, and the words of
/// a table are the last window at each place, zero where no window is.
#[test]
fn kernels_in_place_and_of_tables_keep_every_other_bit() {
    let (mut in_place, mut tables) = (0, 0);
    let target = Target::webgpu();
    for case in donated_cases().iter().chain(scatter_rows_cases()) {
        let program = compile_in_place(&case.module().unwrap(), &target).unwrap();
        let inputs = case.inputs();
        let mut scratch: Vec<Vec<u8>> = vec![vec![]; program.scratch().len()];
        for (step, kernel) in program.steps().iter().zip(program.kernels()) {
            let images = sources(&program, step, &inputs, &scratch);
            let [image, mut elements] = written(step.nest(), &images);
            let keeps = step.nest().gaps() == Gaps::Keep;
            if let (BufferId::Scratch(_), true) = (step.destination(), keeps) {
                // Nothing is marked with 0.
                elements = image
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .flat_map(|of| match of {
                        [0, 0, 0, 0] => [0; 4],
                        _ => [0xff; 4],
                    })
                    .collect();
            }
            let kept = KeptImage { before: &vec![0; image.len()], elements: &elements };
            if keeps && !kernel.dispatches.is_empty() && image.len() as u64 <= MOST_BYTES {
                let proof = kernel.proof().expect("a kernel comes with its proof");
                let fault = check_onto(kernel, proof, &target, &images, Some(&kept), &image);
                if let Err(fault) = fault {
                    panic!("{}: {fault}\n{}", case.id, kernel.wgsl);
                }
                match step.destination() {
                    BufferId::Scratch(_) => tables += 1,
                    _ => in_place += 1,
                }
            }
            if let BufferId::Scratch(number) = step.destination() {
                scratch[number] = image;
            }
        }
    }
    println!("{in_place} in place, {tables} tables");
    assert!(in_place > 80 && tables > 40, "{in_place} {tables}");
}

/// The computation of an offset wraps around and back. Only some workgroups are checked.
#[test]
fn addresses_that_wrap_are_right() {
    let module = Module::parse(
        "HloModule wraps
         ENTRY main {
           p = f32[64,448,56] parameter(0)
           t = f32[448,56,64] transpose(p), dimensions={1,2,0}
           ROOT r = f32[64,64,392] reshape(t)
         }",
    );
    let program =
        compile_module(&module.unwrap().with_default_layouts(), &Target::webgpu()).unwrap();
    let [kernel] = program.kernels() else { panic!("one kernel") };
    let words: Vec<u32> = (0..64 * 448 * 56).collect();
    let image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let expected = program.run_on_host(&[&image]).unwrap().remove(0);
    let text = wgsl::parse_str(&kernel.wgsl).unwrap();
    let entry = &text.entry_points[0].function;
    let buffers = vec![Buffer::new(words.clone()), Buffer::new(vec![0; words.len()])];
    let mut interpreter = Interpreter::new(&text, entry, buffers, ());
    let (size, groups) = (kernel.workgroup_size, kernel.dispatches[0].workgroups);
    assert_eq!((size[1], size[2], groups[1], groups[2]), (1, 1, 1, 1));
    for group in (0..groups[0]).step_by(37).chain([groups[0] - 1]) {
        for lane in 0..size[0] {
            let place = Place { group: [group, 0, 0], local: [lane, 0, 0], size, groups };
            interpreter.invoke(&place).unwrap_or_else(|fault| panic!("{fault}\n{}", kernel.wgsl));
        }
    }
    let written = &interpreter.buffers[1];
    let (expected, _) = expected.as_chunks();
    let mut judged = 0;
    for (word, &bytes) in expected.iter().enumerate().filter(|&(word, _)| written.writes[word] > 0)
    {
        assert_eq!(written.words[word], u32::from_le_bytes(bytes), "word {word}");
        judged += 1;
    }
    assert!(judged > 10_000, "{judged}");
}
