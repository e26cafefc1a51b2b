//! Kernels and programs that are saved and read again. Every one that lowering makes is proved
//! again, a changed one is refused, and one that was forged never leaves its buffers.

use prost::Message;
use stridec::{
    Error, Kernel, Operation, Target,
    hlo::Module,
    internals::Inspect,
    nest::{CopyNest, Gaps, NestError},
    program::{BufferId, Program, ProgramStep, compile_in_place, compile_module},
    proto::stridec as proto,
    service::SavedError,
};

use super::support::{
    hlo_cases::{donated_cases, hlo_cases, scatter_rows_cases, stablehlo_cases},
    programs::generate,
    random::{self, Random},
    scope::cases,
};

fn operation(source: &str, destination: &str) -> Operation {
    Operation::relayout(source.parse().unwrap(), destination.parse().unwrap()).unwrap()
}

/// Returns a program of several kernels, with a scratch buffer, a gather, constants and an alias.
fn program() -> Program {
    let module = Module::parse(
        "HloModule step, input_output_alias={ {0}: (0, {}, may-alias) }
         ENTRY e {
           cache = u8[6,4] parameter(0)
           row = u8[1,4] parameter(1)
           at = s32[] parameter(2)
           zero = s32[] constant(0)
           table = u8[12] constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
           rows = s32[3,1] constant({{2}, {0}, {1}})
           new = u8[6,4] dynamic-update-slice(cache, row, at, zero)
           folded = u8[3,4] reshape(table)
           taken = u8[3,4] gather(folded, rows), offset_dims={1}, collapsed_slice_dims={0},
             start_index_map={0}, index_vector_dim=1, slice_sizes={1,4}
           turned = u8[4,3] transpose(taken), dimensions={1,0}
           ROOT all = (u8[6,4], u8[4,3]) tuple(new, turned)
         }",
    );
    compile_in_place(&module.unwrap(), &Target::webgpu()).unwrap()
}

/// Checks that a program is read as it was saved. Returns false if it cannot be saved, because its
/// bounds cannot be proved from its loops alone.
fn is_saved(program: &Program, name: &str) -> bool {
    let bytes = match program.encode() {
        Ok(bytes) => bytes,
        Err(Error::Located { error, .. }) => {
            assert!(matches!(*error, Error::Nest(NestError::Unproved { .. })), "{name}: {error}");
            return false;
        }
        Err(error) => panic!("{name}: {error}"),
    };
    let read = Program::decode(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(&read, program, "{name}");
    for (read, kernel) in read.kernels().iter().zip(program.kernels()) {
        assert_eq!((&read.wgsl, read.proof()), (&kernel.wgsl, kernel.proof()), "{name}");
    }
    true
}

#[test]
fn each_kernel_of_an_operation_is_proved_again() {
    let mut random = Random(61);
    let targets = [Target::webgpu(), Target::webgpu_cpu()];
    for number in 0..cases(400) {
        let random::Operation { source, destination, window, .. } = random::operation(&mut random);
        let Ok(nest) = stridec::nest::lower(&source, &destination, &window) else { continue };
        let target = random.pick(&[0, 1]);
        let Ok(schedule) = stridec::schedule::schedule(nest, &targets[target]) else { continue };
        let header = [("number", number.to_string())];
        let kernel = stridec::wgsl::emit(&schedule, &targets[target], &header);
        let bytes = kernel.encode().unwrap_or_else(|error| panic!("{error}\n{}", kernel.wgsl));
        let read = Kernel::decode(&bytes).unwrap();
        assert_eq!((&read, &read.wgsl), (&kernel, &kernel.wgsl));
    }
}

#[test]
fn each_program_is_proved_again() {
    let all = hlo_cases().iter().chain(stablehlo_cases()).chain(scatter_rows_cases());
    let (mut read, mut refused) = (0, 0);
    let mut check = |program: &Program, name: &str| {
        let count = if is_saved(program, name) { &mut read } else { &mut refused };
        *count += 1;
    };
    for case in all.chain(donated_cases()).filter(|case| case.is_ok()) {
        let Ok(module) = case.module() else { continue };
        let Ok(program) = compile_in_place(&module, &Target::webgpu()) else { continue };
        check(&program, &case.id);
    }
    for seed in 0..cases(1_000) {
        let module = generate::module(&mut Random(seed << 32));
        if let Ok(program) = compile_module(&module, &Target::webgpu()) {
            check(&program, &format!("program {seed}"));
        }
    }
    println!("{read} read again, {refused} refused");
    assert!(read > 1_000 && refused * 200 < read, "{read} read again, {refused} refused");
}

#[test]
fn a_program_of_every_part_is_read_as_it_was() {
    let program = program();
    assert_eq!((program.aliases().len(), program.constants().len()), (1, 2));
    assert!(is_saved(&program, "all parts"));
    let cache: Vec<u8> = (0..24).collect();
    let images: [&[u8]; 3] = [&cache, b"wxyz", &4_i32.to_le_bytes()];
    let read = Program::decode(&program.encode().unwrap()).unwrap();
    assert_eq!(read.run_on_host(&images).unwrap(), program.run_on_host(&images).unwrap());
}

/// Each byte of a few saved messages, with each of its bits flipped in turn.
#[test]
fn a_changed_byte_is_refused() {
    let kernel = operation("f32[6,5]", "f32[6,5]{0,1}").compile(&Target::webgpu()).unwrap();
    check_flips(&kernel.encode().unwrap(), |bytes| {
        Kernel::decode(bytes).map(|read| read == kernel)
    });
    let small = Module::parse(
        "ENTRY e { p = u8[3,2] parameter(0)\n ROOT r = u8[3,2] reverse(p), dimensions={0} }",
    );
    let small = compile_module(&small.unwrap(), &Target::webgpu()).unwrap();
    for program in [small, program()] {
        let bytes = program.encode().unwrap();
        check_flips(&bytes, |bytes| Program::decode(bytes).map(|read| read == program));
    }
}

fn check_flips(bytes: &[u8], read: impl Fn(&[u8]) -> Result<bool, Error>) {
    assert!(read(bytes).unwrap());
    let mut changed = bytes.to_vec();
    for place in 0..bytes.len() {
        for bit in 0..8 {
            changed[place] ^= 1 << bit;
            // A change that the message does not show, as in an unknown field, changes nothing.
            assert!(!matches!(read(&changed), Ok(false)), "bit {bit} of byte {place}");
            changed[place] ^= 1 << bit;
        }
        assert!(read(&bytes[..place]).is_err() || place == bytes.len(), "{place} bytes");
    }
}

/// Returns a message with the checksum that it should have, as an attacker would.
fn with_checksum(mut message: proto::Program) -> Vec<u8> {
    message.checksum = 0;
    let next = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    message.checksum = message.encode_to_vec().iter().fold(0xcbf2_9ce4_8422_2325, next);
    message.encode_to_vec()
}

fn saved(program: &Program) -> proto::Program {
    proto::Program::decode(program.encode().unwrap().as_slice()).unwrap()
}

#[test]
fn forged_parts_are_refused() {
    type Change = fn(&mut proto::Program);
    let changes: [(&str, Change, &str); 12] = [
        (
            "code",
            |of| of.kernels[0].wgsl = of.kernels[0].wgsl.replace(" = ", " = 1u + "),
            "different code",
        ),
        ("dispatches", |of| of.kernels[0].dispatches[0].workgroups[0] += 1, "different code"),
        ("sizes", |of| of.kernels[0].bindings[0].size_in_bytes -= 4, "different code"),
        ("a proof", |of| of.kernels[0].proof = None, "kernels as `encode` describes them"),
        (
            "an image",
            |of| of.parameters[0].size_in_bytes += 4,
            "kernels as `encode` describes them",
        ),
        (
            "a shape",
            |of| of.parameters[1].shape.as_mut().unwrap().dimensions[0] = 5,
            "expected sources that exist",
        ),
        ("a constant", |of| of.constants[0].truncate(4), "expected sources that exist"),
        ("a source", |of| of.steps[0].sources[0].number = 9, "expected sources that exist"),
        ("no step", |of| of.steps.clear(), "a step for each kernel"),
        ("no nest", |of| of.steps[0].nest = None, "steps[0].nest: expected a nest"),
        ("an alias", |of| of.aliases[0].parameter = 1, "aliases[0]"),
        (
            "a form",
            |of| {
                let nest = of.steps[1].nest.as_mut().unwrap();
                let at = nest.cases[0].at.as_mut().unwrap();
                at.constant += 1000;
            },
            "steps[1].nest: expected reads inside their source",
        ),
    ];
    for (name, change, expected) in changes {
        let mut message = saved(&program());
        change(&mut message);
        let error = Program::decode(&with_checksum(message)).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    let error = Program::decode(&saved(&program()).encode_to_vec()[2..]).unwrap_err();
    assert!(!error.to_string().is_empty());
    let mut message = saved(&program());
    message.kernels[0].wgsl.insert_str(0, "// a comment\n");
    assert!(Program::decode(&with_checksum(message)).is_ok(), "comments are no code");
}

/// Returns a program that reads a parameter backwards, and then updates a row of it in place.
fn in_place() -> Program {
    let module = Module::parse(
        "HloModule step, input_output_alias={ {0}: (0, {}, may-alias) }
         ENTRY e {
           cache = u8[8,4] parameter(0)
           other = u8[8,4] parameter(1)
           row = u8[1,4] parameter(2)
           at = s32[] parameter(3)
           zero = s32[] constant(0)
           new = u8[8,4] dynamic-update-slice(cache, row, at, zero)
           back = u8[8,4] reverse(cache), dimensions={0}
           ROOT all = (u8[8,4], u8[8,4]) tuple(new, back)
         }",
    );
    compile_in_place(&module.unwrap(), &Target::webgpu()).unwrap()
}

/// Every kernel of these programs is the kernel of its nest, but the steps do not fit their
/// buffers.
#[test]
fn forged_buffers_are_refused() {
    use stridec::proto::stridec::{ProgramAlias, ProgramBuffer, program_buffer::Kind};
    type Change = fn(&mut proto::Program);
    const fn buffer(kind: Kind, number: u32) -> ProgramBuffer {
        ProgramBuffer { kind: kind as i32, number }
    }
    let program = in_place();
    let order: Vec<_> = program.steps().iter().map(ProgramStep::destination).collect();
    assert_eq!(order, [BufferId::Result(1), BufferId::Result(0)]);
    let changes: [(&str, Change, &str); 9] = [
        (
            "an update before the parameter is read",
            |of| {
                of.steps.swap(0, 1);
                of.kernels.swap(0, 1);
            },
            "steps[1]: expected sources that no step overwrites",
        ),
        (
            "a step that writes the buffer that it reads",
            |of| of.aliases[0].result = 1,
            "steps[0]: expected sources that no step overwrites",
        ),
        (
            "a result in two parameters",
            |of| of.aliases.push(ProgramAlias { result: 0, parameter: 1, refusal: 0 }),
            "aliases[1]: expected a result and a parameter of one size, each of them once",
        ),
        (
            "two results in one parameter",
            |of| of.aliases.push(ProgramAlias { result: 1, parameter: 0, refusal: 0 }),
            "aliases[1]: expected a result and a parameter of one size, each of them once",
        ),
        (
            "a parameter as a destination",
            |of| of.steps[0].destination = Some(buffer(Kind::Parameter, 1)),
            "steps[0]: expected a result or a scratch buffer",
        ),
        (
            "a result as a source",
            |of| of.steps[0].sources[0] = buffer(Kind::Result, 0),
            "steps[0]: expected sources that exist",
        ),
        (
            "a scratch buffer that no step writes",
            |of| {
                of.scratch.push(of.parameters[0].clone());
                of.steps[0].sources[0] = buffer(Kind::Scratch, 0);
            },
            "steps[0]: expected scratch buffers that an earlier step writes",
        ),
        (
            "a result that no step writes",
            |of| of.results.push(of.results[1].clone()),
            "results[2]: expected a result that a step writes",
        ),
        (
            "a source that the nest does not have",
            |of| of.steps[0].sources.push(buffer(Kind::Parameter, 1)),
            "steps[0]: expected a buffer for each source of the nest",
        ),
    ];
    for (name, change, expected) in changes {
        let mut message = saved(&program);
        change(&mut message);
        let error = Program::decode(&with_checksum(message)).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

/// A kernel that stridec did not compile has no proof, so it is not saved.
#[test]
fn what_has_no_proof_is_not_saved() {
    let kernel = operation("u8[4]", "u8[4]").compile(&Target::webgpu()).unwrap();
    let error = Kernel::from_parts(kernel.into_parts()).encode().unwrap_err();
    assert!(matches!(error, Error::Saved(SavedError::Unproved { .. })), "{error}");
    let module = Module::parse(
        "ENTRY e { p = u8[3] parameter(0)\n ROOT r = u8[3] reverse(p), dimensions={0} }",
    );
    let error = Program::lower(&module.unwrap()).unwrap().encode().unwrap_err();
    assert!(matches!(error, Error::Saved(SavedError::Unproved { .. })), "{error}");
    let message = proto::Kernel::default().encode_to_vec();
    let error = Kernel::decode(&message).unwrap_err();
    assert_eq!(error.field().unwrap().to_string(), "checksum");
}

/// Returns a number below `end`.
fn number(random: &mut Random, end: usize) -> usize {
    usize::try_from(random.below(end as u64)).unwrap()
}

/// Changes messages at random, with correct checksums. If one is accepted, every iteration is
/// checked to read and write inside its buffers.
#[test]
fn what_was_forged_at_random_stays_inside_its_buffers() {
    let mut random = Random(67);
    let (mut accepted, mut refused) = (0, 0);
    let mut programs = vec![program()];
    while programs.len() < 40 {
        programs.extend(compile_module(&generate::module(&mut random), &Target::webgpu()));
    }
    programs.retain(|program| program.encode().is_ok());
    let messages: Vec<proto::Program> = programs.iter().map(saved).collect();
    let rounds = cases(12_000);
    for _ in 0..rounds {
        let mut message = messages[number(&mut random, messages.len())].clone();
        if message.steps.is_empty() {
            continue;
        }
        let step = number(&mut random, message.steps.len());
        let Some(nest) = message.steps[step].nest.take() else { continue };
        let mut bytes = nest.encode_to_vec();
        for _ in 0..=random.below(2) {
            let place = number(&mut random, bytes.len());
            bytes[place] ^= 1 << random.below(8);
        }
        let Ok(nest) = proto::CopyNest::decode(bytes.as_slice()) else { continue };
        message.steps[step].nest = Some(nest);
        match Program::decode(&with_checksum(message)) {
            Ok(program) => {
                accepted += 1;
                program.steps().iter().for_each(|step| assert_inside(step.nest()));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > rounds / 120, "{accepted} accepted, {refused} refused");
}

/// Checks that each iteration reads inside its source if every lookup is 0.
fn assert_inside(nest: &CopyNest) {
    for position in 0..nest.positions().min(20_000) {
        if let stridec::nest::PositionValue::Unit { source, unit } = nest.read(position) {
            assert!(unit < nest.sources()[source].units(), "position {position}\n{nest}");
        }
    }
    // A nest that keeps the rest of the destination, such as a scatter, may visit less of it.
    let visits = nest.positions() + nest.dst_base().unsigned_abs();
    assert!(nest.gaps() == Gaps::Keep || visits >= nest.dst_units(), "{nest:#?}");
}
