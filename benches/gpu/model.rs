//! Compares the cost model's estimate for each candidate kernel with its measured time. Also prints
//! the time that is lost if the model does not choose the fastest one.

use std::{error::Error, fs::File};

use stridec::{
    Operation, Target, Tensor,
    gpu::{DeviceType, Gpu},
    shape::ElementType,
    window::Slice,
};

use crate::{
    Options,
    cases::{Case, eight, permutation, ttc},
    everyday::{Everyday, everyday},
    trials::{Agreement, trial},
    write_json,
};

/// Runs every candidate of every case whose name contains the text of `--only`.
pub fn measure(
    gpu: &Gpu,
    target: &Target,
    options: &Options,
    json: &mut Option<File>,
) -> Result<(), Box<dyn Error>> {
    let Options { only, repetitions, back_to_back, .. } = options;
    let mut agreement = Agreement::default();
    println!("candidate: expected cost of a word, measured ns of a word; * is the choice");
    let mut cases = cases()?;
    if gpu.device_type() != DeviceType::Cpu {
        cases.extend(ttc(include_str!("../data/ttc57.json"), ElementType::F32)?);
    }
    for Case { name, operation } in cases.into_iter().filter(|case| case.name.contains(only)) {
        let (trial, measured) = trial(gpu, &operation, target, *repetitions, *back_to_back)?;
        write_json(json, &name, &gpu.name(), &measured)?;
        println!("{name}: {:.2} of the best candidate's time", trial.regret(target));
        for (n, (candidate, time)) in trial.candidates.iter().zip(&trial.times).enumerate() {
            let mark = if n == 0 { '*' } else { ' ' };
            println!("  {mark} {:30} {time:8.3}", candidate.to_string());
        }
        agreement.add(&trial, target);
    }
    println!("{agreement}");
    Ok(())
}

/// Returns the eight cases, and transposes, copies of rows and slices of a few MiB each, with
/// elements of every width.
fn cases() -> Result<Vec<Case>, Box<dyn Error>> {
    let mut cases = eight(ElementType::F32)?;
    let permutations: [(&[u64], &[usize]); 7] = [
        (&[1024, 1024], &[1, 0]),
        (&[1000, 1032], &[1, 0]),
        (&[8, 56, 56, 32], &[0, 3, 1, 2]),
        (&[8, 32, 56, 56], &[0, 2, 3, 1]),
        (&[14, 28, 20, 28, 4], &[4, 3, 2, 1, 0]),
        (&[3; 12], &[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        (&[8, 512, 16, 12], &[0, 2, 1, 3]),
    ];
    for element_type in
        [ElementType::U8, ElementType::F16, ElementType::F32, ElementType::F64, ElementType::C128]
    {
        for (sizes, order) in permutations {
            let name = format!("{element_type} {sizes:?} by {order:?}");
            cases.push(permutation(&name, element_type, sizes, order)?);
        }
        for (window, strides) in
            [([512, 768], [1, 1]), ([1024, 1024], [2, 3]), ([1024, 1024], [1, -1])]
        {
            let slice = Slice::new([0, 0], window, strides);
            let source = Tensor::dense(element_type, [1024, 1024])?;
            let operation = Operation::slice(source, &slice, None)?;
            let name = format!("{element_type} x[{window:?} by {strides:?}]");
            cases.push(Case { name, operation });
        }
    }
    for (from, to) in [
        ("bf16[700,900]", "bf16[700,900]{1,0:T(8,128)(2,1)}"),
        ("f32[700,900]{1,0:T(8,128)}", "f32[700,900]{0,1}"),
        ("s8[700,901]{1,0:T(32,128)(4,1)}", "s8[700,901]"),
        ("f32[700,900]", "f32[700,900]{1,0:PAD(704,1024,zero)}"),
        ("s4[1024,2048]{1,0:E(4)}", "s4[1024,2048]{0,1:E(4)}"),
    ] {
        let operation = Operation::relayout(from.parse()?, to.parse()?)?;
        cases.push(Case { name: format!("{from} to {to}"), operation });
    }
    for Everyday { name, operation } in everyday()? {
        cases.push(Case { name, operation });
    }
    Ok(cases)
}
