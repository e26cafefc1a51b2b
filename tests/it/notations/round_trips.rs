//! Random layouts, written in every notation that can express them and read again: every index
//! keeps its offset.
//!
//! `STRIDEC_CASES=100000 cargo test --release --test it round_trips` runs more than the default.

use std::collections::BTreeMap;

use stridec::{
    notation::{Kind, read},
    request::Tensor,
};

use super::{
    support::{
        random::{Random, relayout},
        scope::cases,
    },
    table,
};

#[test]
fn the_same_offset_for_every_index() {
    let mut random = Random(19);
    let mut written = BTreeMap::<&str, u32>::new();
    let cases = cases(2_000);
    let mut without_prefix = 0;
    for _ in 0..cases {
        let tensor: Tensor = relayout(&mut random).source_side.tensor();
        let array = &tensor;
        let offsets = table(array.descriptor());
        without_prefix += u64::from(array.descriptor().prefix_bytes() == 0);
        for kind in Kind::ALL {
            let Ok(text) = array.write(kind) else { continue };
            let argument = format!("{kind}:{text}");
            let again =
                read(&argument).unwrap_or_else(|error| panic!("{tensor}: {argument}: {error}"));
            assert_eq!(
                again.descriptor().element_type(),
                array.descriptor().element_type(),
                "{argument}"
            );
            assert_eq!(
                again.descriptor().sizes(),
                array.descriptor().sizes(),
                "{tensor}: {argument}"
            );
            assert!(table(again.descriptor()) == offsets, "{tensor}: {argument}");
            *written.entry(kind.name()).or_default() += 1;
        }
    }
    println!("{written:?} of {cases}");
    // The names in systems for inference exist for few layouts only.
    for kind in Kind::ALL {
        let few = matches!(
            kind,
            Kind::OnnxRuntime
                | Kind::TensorRt
                | Kind::Cudnn
                | Kind::CublasLt
                | Kind::OpenVino
                | Kind::Ttnn
                | Kind::Ggml
                | Kind::OneDnn
                | Kind::Triton
        );
        // A random XLA layout has a modern text, and JAX's if nothing precedes the data.
        let least = match kind {
            Kind::Xla => cases,
            Kind::Jax => without_prefix,
            _ if few => 1,
            _ => cases / 20,
        };
        let least = u32::try_from(least).unwrap();
        let count = written.get(kind.name()).copied().unwrap_or(0);
        assert!(count >= least || kind == Kind::OnnxRuntime, "{kind}: {written:?}");
    }
}
