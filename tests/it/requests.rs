//! Random requests. Equal requests get equal answers. If `STRIDEC_REQUESTS` names a file, requests
//! and answers are written to it, so that builds for other processors can be compared with this
//! one.

use std::{env, fs};

use prost::Message as _;
use stridec::{
    proto::stridec::{
        CompileRequest, CompileResponse, Relayout, Slice, Table, Target, Tensor,
        compile_request::Operation as Kind, compile_response::Result as Answer,
    },
    service::respond,
    window,
};

use super::support::{
    hlo_cases::hlo_cases,
    random::{Random, Side, TYPES, operation, relayout, runs, side, slice},
    scope::cases,
};

/// Returns serialized modules of JAX and XLA.
fn modules() -> Vec<Vec<u8>> {
    let modules = hlo_cases().iter().map(|case| case.bytes.clone());
    modules.filter(|module| module.len() < 100_000).collect()
}

fn tensor(side: &Side) -> Tensor {
    (&side.tensor()).try_into().unwrap()
}

fn request(random: &mut Random, modules: &[Vec<u8>]) -> Vec<u8> {
    let operation = match random.below(5) {
        0 => {
            let number = usize::try_from(random.below(modules.len() as u64)).unwrap();
            Kind::HloModule(modules[number].clone())
        }
        1 => {
            let element_type = random.pick(&TYPES);
            let rank = random.below(4);
            let sizes: Vec<u64> = (0..=rank).map(|_| 1 + random.below(9)).collect();
            let (source, _) = side(random, element_type, &sizes, true);
            let window::Slice {
                window_offsets, window_sizes, window_strides, output_sizes, ..
            } = slice(random, &sizes);
            Kind::Slice(Slice {
                source: Some(tensor(&source)),
                destination: None,
                window_offsets,
                window_sizes,
                window_strides,
                output_sizes: output_sizes.unwrap_or_default(),
            })
        }
        kind => {
            let sides = match kind {
                2 => operation(random),
                3 => relayout(random),
                _ => runs(random),
            };
            let destination = Some(tensor(&sides.destination_side));
            Kind::Relayout(Relayout { source: Some(tensor(&sides.source_side)), destination })
        }
    };
    let target = random.one_in(3).then(|| Target {
        preset: random.pick(&["webgpu", "webgpu-cpu", "lavapipe"]).into(),
        ..Target::default()
    });
    let language = i32::try_from(random.below(5)).unwrap();
    let gaps = i32::try_from(random.below(2)).unwrap();
    // Some tables have the right size, of one or of two byte elements.
    let table = random.one_in(6).then(|| {
        let bytes = random.pick(&[2, 256, 512]);
        Table { entries: random.bytes(bytes), dimension: random.one_in(3).then_some(0) }
    });
    let request = CompileRequest { operation: Some(operation), target, language, gaps, table };
    let mut bytes = request.encode_to_vec();
    if random.one_in(10) {
        let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
        bytes[at] ^= 1 << random.below(8);
    }
    bytes
}

#[test]
fn the_same_request_has_the_same_answer() {
    let mut random = Random(77);
    let modules = modules();
    let mut written = Vec::new();
    let mut kinds = [0; 3];
    for _ in 0..cases(1_000) {
        let request = request(&mut random, &modules);
        let answer = respond(&request);
        assert_eq!(respond(&request), answer);
        let kind = match CompileResponse::decode(answer.as_slice()).unwrap().result.unwrap() {
            Answer::Kernel(_) => 0,
            Answer::Program(_) => 1,
            Answer::Error(_) => 2,
        };
        kinds[kind] += 1;
        for bytes in [&request, &answer] {
            written.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_le_bytes());
            written.extend_from_slice(bytes);
        }
    }
    let [kernels, programs, errors] = kinds;
    eprintln!("{kernels} kernels, {programs} programs, {errors} errors");
    assert!(kinds.iter().all(|&count| count * 50 > cases(1_000)), "{kinds:?}");
    if let Some(path) = env::var_os("STRIDEC_REQUESTS") {
        fs::write(path, written).unwrap();
    }
}
