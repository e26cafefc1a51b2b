//! Random programs, and an interpreter of HLO that computes their expected results.

use std::{collections::BTreeMap, sync::Mutex};

use rayon::prelude::*;
use stridec::{Error, ErrorKind, program::Program};

use super::random::Random;

pub mod chains;
pub mod generate;
pub mod interpreter;

/// Runs `count` random programs, and compares their results with the interpreter's, byte for byte.
/// A program may also be refused with an error of the kind `Unsupported`. Prints the number of
/// programs by outcome.
///
/// # Panics
///
/// Panics if a program has other results or another error, or if more than a fifth are refused.
pub fn check_random_programs(
    count: u64,
    run: impl Fn(&Program, &[&[u8]]) -> Result<Vec<Vec<u8>>, Error> + Sync,
) {
    let outcomes = Mutex::new(BTreeMap::<String, u64>::new());
    (0..count).into_par_iter().for_each(|seed| {
        let mut random = Random((seed << 32) + 7);
        let module = generate::module(&mut random);
        let images = generate::images(&mut random, &module);
        let expected = interpreter::run(&module, &images).expect("an interpreter of all of it");
        let images: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
        let outcome = match Program::lower(&module)
            .map_err(Error::from)
            .and_then(|program| run(&program, &images))
        {
            Ok(out) => {
                assert!(out == expected, "{seed}: other bytes\n{module}");
                "exact".to_owned()
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{seed}: {error}");
                let reason = error.to_string();
                let reason = reason.split_once("`: ").map_or(reason.as_str(), |(_, reason)| reason);
                format!("refused: {reason}")
            }
        };
        *outcomes.lock().unwrap().entry(outcome).or_default() += 1;
    });
    let outcomes = outcomes.into_inner().unwrap();
    for (outcome, count) in &outcomes {
        println!("{count} {outcome}");
    }
    assert!(outcomes["exact"] * 5 >= count * 4);
}
