//! `--cases by-hand`: kernels that are written by hand for single cases, compared with the kernels
//! that stridec compiles.
//!
//! Each file of `by_hand/` begins with its case and its workgroups. The case is one of the eight
//! cases, an everyday case, arguments such as `relayout --from f32[512,512] --to {0,1}`, or a
//! program of `benches/data/programs.jsonl`, such as `program f32 concatenate 4, columns`. The
//! parameters of a program are the first bindings:
//!
//! ```text
//! // case: 4096x4096 transposed
//! // workgroups: 1024 1 1
//! ```

use std::{collections::BTreeMap, error::Error, fs, fs::File, path::Path, time::Instant};

use stridec::{
    Kernel, Target,
    gpu::{Buffer, Gpu},
    program::Program,
    shape::ElementType,
};

use crate::{
    Options,
    bare::{Bare, submit},
    cases::eight,
    everyday::{everyday, operation},
    measure::{Implementation, identity, in_turns},
    programs::{images, programs},
    write_json,
};

/// The folder with the kernels of this repository.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gpu/by_hand");

/// A kernel that is written by hand: its name, its text and its workgroups.
struct ByHand {
    name: String,
    wgsl: String,
    workgroups: [u32; 3],
}

/// Runs the kernels of a folder for cases whose names contain the text of `--only`. The kernels of
/// a case take turns.
pub fn measure(
    gpu: &Gpu,
    options: &Options,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let Options { kernels, only, repetitions, back_to_back, .. } = options;
    let target = gpu.limits().target(gpu.name());
    for (name, kernels) in read(kernels.as_deref().unwrap_or(FOLDER).as_ref())? {
        if !name.contains(only) {
            continue;
        }
        let Case { images, expected, ours } = Case::new(&name, &target)?;
        println!("{name}");
        let times = if matches!(ours, Ours::Kernel(_)) { *back_to_back } else { 1 };
        let moved = expected.len() as u64;
        let identity = identity(moved)?.compile(&target)?;
        // Some kernels bind words after the end of a tensor, and the identity kernel needs room
        // too.
        let upload = |image: &Vec<u8>| {
            let more = expected.len().saturating_sub(image.len()) + 64;
            gpu.upload(&[&image[..], &vec![0; more]].concat())
        };
        let sources = images.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        let sources: Vec<&Buffer> = sources.iter().collect();
        let destination = gpu.allocate(moved + 64)?;
        let blank = gpu.upload(&vec![0xa5; expected.len() + 64])?;
        let timed = |run: &dyn Fn() -> Result<(), stridec::gpu::GpuError>| {
            let start = Instant::now();
            run()?;
            Ok(start.elapsed() / times)
        };
        let mut implementations: Vec<Implementation<'_>> = vec![
            (
                "identity".into(),
                Box::new(|| {
                    timed(&|| gpu.dispatch_repeated(&identity, sources[0], &destination, times))
                }),
            ),
            (
                "stridec".into(),
                Box::new(|| {
                    timed(&|| match &ours {
                        Ours::Kernel(kernel) => {
                            gpu.dispatch_repeated(kernel, sources[0], &destination, times)
                        }
                        Ours::Program(program) => {
                            gpu.dispatch_program(program, &sources, &[&destination])
                        }
                    })
                }),
            ),
        ];
        for ByHand { name, wgsl, workgroups } in kernels {
            let bound = [&sources[..], &[&destination]].concat();
            let bare = Bare::unchecked(gpu, &wgsl, workgroups, &bound);
            gpu.copy(&blank, &destination, moved, 1)?;
            submit(gpu, |encoder| bare.encode(encoder, 1))?;
            let mut out = vec![0; expected.len()];
            gpu.download(&destination, &mut out)?;
            if let Some(at) = (0..out.len()).find(|&at| out[at] != expected[at]) {
                return Err(format!("{name}: byte {at} differs from the host's").into());
            }
            let run = move || Ok(submit(gpu, |encoder| bare.encode(encoder, times))? / times);
            implementations.push((name, Box::new(run)));
        }
        let measured = in_turns(2 * moved, *repetitions, implementations)?;
        for one in &measured {
            let (rate, share) = (one.rate(), one.rate() / measured[0].rate());
            println!(
                "  {:44} {rate:8.2} GB/s {share:8.3} of the identity kernel",
                one.implementation
            );
        }
        write_json(json, &name, &gpu.name(), &measured)?;
    }
    Ok(())
}

/// A case: the bytes of its sources, the expected result, and the kernels that stridec runs.
struct Case {
    images: Vec<Vec<u8>>,
    expected: Vec<u8>,
    ours: Ours,
}

#[allow(clippy::large_enum_variant)] // few values are alive at a time
enum Ours {
    Kernel(Kernel),
    Program(Program),
}

impl Case {
    fn new(name: &str, target: &Target) -> Result<Self, Box<dyn Error>> {
        if let Some(name) = name.strip_prefix("program ") {
            let program = programs(target, name)?.pop().ok_or("no such program")?.1;
            let images = images(&program);
            let given: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
            let expected = program.run_on_host(&given)?.pop().ok_or("expected a result")?;
            return Ok(Self { images, expected, ours: Ours::Program(program) });
        }
        let eight = eight(ElementType::F32)?.into_iter().map(|case| (case.name, case.operation));
        let everyday = everyday()?.into_iter().map(|case| (case.name, case.operation));
        let operation = match eight.chain(everyday).find(|case| case.0 == name) {
            Some((_, operation)) => operation,
            None => operation(&name.split(' ').collect::<Vec<_>>())
                .map_err(|error| format!("{name}: {error}"))?,
        };
        let image = pattern(operation.source_descriptor().image_bytes());
        let mut expected =
            vec![0; usize::try_from(operation.destination_descriptor().image_bytes())?];
        operation.run_on_host(&image, &mut expected)?;
        let ours = Ours::Kernel(operation.compile(target)?);
        Ok(Self { images: vec![image], expected, ours })
    }
}

/// Returns the kernels of a folder, by the names of their cases.
fn read(folder: &Path) -> Result<BTreeMap<String, Vec<ByHand>>, Box<dyn Error>> {
    let mut all: BTreeMap<String, Vec<ByHand>> = BTreeMap::new();
    let mut files = fs::read_dir(folder)?
        .map(|file| Ok(file?.path()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|of| of == "wgsl")) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let wgsl = fs::read_to_string(file)?;
        let field = |label: &str| {
            let line = wgsl.lines().find_map(|line| line.strip_prefix(label));
            line.map(|text| text.trim().to_owned())
                .ok_or_else(|| format!("{name}: expected {label}"))
        };
        let case = field("// case:")?;
        let counts: Vec<u32> =
            field("// workgroups:")?.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let workgroups =
            counts.try_into().map_err(|_| format!("{name}: expected three workgroups"))?;
        all.entry(case).or_default().push(ByHand { name, wgsl, workgroups });
    }
    Ok(all)
}

/// Returns bytes without a pattern that repeats after a few bytes.
fn pattern(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).to_le_bytes()[0]).collect()
}
