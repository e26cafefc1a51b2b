//! `--cases by-hand`: kernels written by hand for single cases, beside the one that stridec compiles.
//!
//! Each file of `by_hand/` begins with the case that it is for, and with its workgroups. A case is one of the eight or of the
//! everyday ones, or arguments such as `relayout --from f32[512,512] --to {0,1}`:
//!
//! ```text
//! // case: 4096x4096 transposed
//! // workgroups: 1024 1 1
//! ```

use std::{collections::BTreeMap, error::Error, fs, fs::File, path::Path, time::Instant};

use stridec::{Operation, gpu::Gpu, shape::ElementType};

use crate::{
    bare::{Bare, submit},
    cases::eight,
    everyday::{everyday, operation},
    measure::{Implementation, identity, in_turns},
    write_json,
};

/// The kernels of this repository.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gpu/by_hand");

/// A kernel written by hand: its name, its text and what to dispatch.
struct ByHand {
    name: String,
    wgsl: String,
    workgroups: [u32; 3],
}

/// Runs the kernels of a folder whose case's name contains `only`, those of one case in turns.
pub fn measure(
    gpu: &Gpu,
    folder: &str,
    repetitions: usize,
    only: &str,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let mut operations: BTreeMap<String, Operation> = BTreeMap::new();
    operations.extend(eight(ElementType::F32)?.into_iter().map(|case| (case.name, case.operation)));
    operations.extend(everyday()?.into_iter().map(|case| (case.name, case.operation)));
    for (case, kernels) in read(folder.as_ref())? {
        if !case.contains(only) {
            continue;
        }
        let operation = match operations.remove(&case) {
            Some(operation) => operation,
            None => operation(&case.split(' ').collect::<Vec<_>>())
                .map_err(|error| format!("{case}: {error}"))?,
        };
        let moved = operation.destination().image_bytes();
        println!("{case}");
        let target = gpu.limits().target(gpu.name());
        let (ours, identity) = (operation.compile(&target)?, identity(moved)?.compile(&target)?);
        let image = pattern(operation.source().image_bytes());
        let mut expected = vec![0; usize::try_from(moved)?];
        operation.run_on_host(&image, &mut expected)?;
        // Room for the words past the end that some kernels bind.
        let source = gpu.upload(
            &[&image[..], &vec![0; expected.len().saturating_sub(image.len()) + 64]].concat(),
        )?;
        let destination = gpu.allocate(moved + 64)?;
        let blank = gpu.upload(&vec![0xa5; expected.len() + 64])?;
        let timed = |run: &dyn Fn() -> Result<(), stridec::gpu::GpuError>| {
            let start = Instant::now();
            run()?;
            Ok(start.elapsed())
        };
        let mut implementations: Vec<Implementation<'_>> = vec![
            (
                "identity".into(),
                Box::new(|| timed(&|| gpu.dispatch(&identity, &source, &destination))),
            ),
            ("stridec".into(), Box::new(|| timed(&|| gpu.dispatch(&ours, &source, &destination)))),
        ];
        for ByHand { name, wgsl, workgroups } in kernels {
            let bare = Bare::unchecked(gpu, &wgsl, workgroups, [&source, &destination]);
            gpu.copy(&blank, &destination, moved, 1)?;
            submit(gpu, |encoder| bare.encode(encoder))?;
            let mut out = vec![0; expected.len()];
            gpu.download(&destination, &mut out)?;
            if let Some(at) = (0..out.len()).find(|&at| out[at] != expected[at]) {
                return Err(format!("{name}: byte {at} differs from the host's").into());
            }
            let run = move || submit(gpu, |encoder| bare.encode(encoder));
            implementations.push((name, Box::new(run)));
        }
        let measured = in_turns(2 * moved, repetitions, implementations)?;
        for one in &measured {
            let (rate, share) = (one.rate(), one.rate() / measured[0].rate());
            println!(
                "  {:44} {rate:8.2} GB/s {share:8.3} of the identity kernel",
                one.implementation
            );
        }
        write_json(json, &case, &gpu.name(), &measured)?;
    }
    Ok(())
}

/// The kernels of a folder, by the names of their cases.
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

/// Bytes without a pattern of a few.
fn pattern(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).to_le_bytes()[0]).collect()
}
