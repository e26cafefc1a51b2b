//! Checks every candidate for copies from several places: stacks, concatenations, rolls,
//! neighbouring windows, updates and padding.

use std::collections::BTreeMap;

use rayon::prelude::*;
use stridec::{
    Kernel,
    hlo::Module,
    host,
    program::{BufferId, Program},
    schedule::candidates,
    wgsl,
};

use super::{check::check, support::random::Random, support::scope::cases, targets};

/// Returns a module of one of six kinds, with random sizes.
fn module(random: &mut Random) -> String {
    let element_type = random.pick(&["u8", "s4", "pred", "bf16", "f32", "f64", "c128"]);
    let (rows, row) = (1 + random.below(6), random.pick(&[1, 3, 4, 8, 16, 21, 32, 48, 64, 100]));
    let count = 2 + random.below(3);
    let parameter = |number: u64, sizes: &str| {
        format!("  p{number} = {element_type}[{sizes}] parameter({number})\n")
    };
    let names =
        |letter: char| (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(", ");
    let mut lines: Vec<String> = Vec::new();
    match random.below(6) {
        0 => {
            // A row consists of rows of different lengths.
            let mut sum = 0;
            for number in 0..count {
                let of = row + random.below(4) * random.below(8);
                lines.push(parameter(number, &format!("{rows},{of}")));
                sum += of;
            }
            lines.push(format!(
                "  ROOT c = {element_type}[{rows},{sum}] concatenate({}), dimensions={{1}}\n",
                names('p')
            ));
        }
        1 => {
            (0..count).for_each(|number| lines.push(parameter(number, &format!("{rows},{row}"))));
            lines.push(format!(
                "  ROOT c = {element_type}[{},{row}] concatenate({}), dimensions={{0}}\n",
                rows * count,
                names('p')
            ));
        }
        2 => {
            for number in 0..count {
                lines.push(parameter(number, &format!("{rows},{row}")));
                lines.push(format!(
                    "  r{number} = {element_type}[{rows},{row},1] reshape(p{number})\n"
                ));
            }
            lines.push(format!(
                "  ROOT c = {element_type}[{rows},{row},{count}] concatenate({}), dimensions={{2}}\n",
                names('r')
            ));
        }
        3 => {
            let by = random.below(row);
            lines.push(parameter(0, &format!("{rows},{row}")));
            lines.push(format!(
                "  a = {element_type}[{rows},{by}] slice(p0), slice={{[0:{rows}], [{}:{row}]}}\n",
                row - by
            ));
            lines.push(format!(
                "  b = {element_type}[{rows},{}] slice(p0), slice={{[0:{rows}], [0:{}]}}\n",
                row - by,
                row - by
            ));
            lines.push(format!(
                "  ROOT c = {element_type}[{rows},{row}] concatenate(a, b), dimensions={{1}}\n"
            ));
        }
        4 => {
            let width = row + count;
            lines.push(parameter(0, &format!("{rows},{width}")));
            for number in 0..count {
                let slice = format!("{{[0:{rows}], [{number}:{}]}}", number + row);
                lines.push(format!(
                    "  s{number} = {element_type}[{rows},{row}] slice(p0), slice={slice}\n"
                ));
                lines.push(format!(
                    "  r{number} = {element_type}[{rows},1,{row}] reshape(s{number})\n"
                ));
            }
            lines.push(format!(
                "  ROOT c = {element_type}[{rows},{count},{row}] concatenate({}), dimensions={{1}}\n",
                names('r')
            ));
        }
        _ => {
            let (tall, wide) = (1 + random.below(rows), 1 + random.below(row));
            let (down, along) = (random.below(rows - tall + 1), random.below(row - wide + 1));
            lines.push(parameter(0, &format!("{rows},{row}")));
            lines.push(parameter(1, &format!("{tall},{wide}")));
            lines.push(format!("  d = s32[] constant({down})\n  a = s32[] constant({along})\n"));
            lines.push(format!(
                "  ROOT c = {element_type}[{rows},{row}] dynamic-update-slice(p0, p1, d, a)\n"
            ));
        }
    }
    format!("HloModule m\n\nENTRY e {{\n{}}}\n", lines.concat())
}

/// Checks every candidate of a module for every target. Returns the number of candidates of each
/// kind.
fn judge(random: &mut Random, text: &str) -> BTreeMap<String, u32> {
    let mut judged = BTreeMap::new();
    let module = Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let program = Program::lower(&module.with_default_layouts()).unwrap();
    for step in program.steps() {
        let nest = step.nest();
        let bytes = |source: &BufferId| match source {
            BufferId::Constant(number) => program.constants()[*number].clone(),
            _ => random.bytes(program.bytes_of(*source)),
        };
        let images: Vec<Vec<u8>> = step.sources().iter().map(bytes).collect();
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let mut expected = vec![0; usize::try_from(nest.dst_bytes()).unwrap()];
        host::run_sources(nest, &images, &mut expected).unwrap();
        for target in targets() {
            for candidate in candidates(nest.clone(), &target) {
                let name = format!("{}: {}", candidate.strategy(), candidate.reason());
                let Ok(schedule) = candidate.schedule(&target) else { continue };
                let kernel: Kernel = wgsl::emit(&schedule, &target, &[]);
                let Some(proof) = kernel.proof() else { continue };
                if let Err(fault) = check(&kernel, proof, &target, &images, &expected) {
                    panic!("{fault}\n{text}\n{}", kernel.wgsl);
                }
                *judged.entry(name).or_default() += 1;
            }
        }
    }
    judged
}

#[test]
fn every_candidate_of_several_cases_keeps_its_proof() {
    let cases = cases(400);
    let judged: Vec<BTreeMap<String, u32>> = (0..cases)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random((seed << 32) + 17);
            let text = module(&mut random);
            judge(&mut random, &text)
        })
        .collect();
    let mut sum: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in judged.into_iter().flatten() {
        *sum.entry(name).or_default() += u64::from(count);
    }
    println!("{sum:#?}");
    for name in ["transpose: several sources take turns", "rows: each case reads a part of a row"] {
        assert!(sum.get(name).is_some_and(|&count| count > cases / 4), "{name}: {sum:?}");
    }
}
