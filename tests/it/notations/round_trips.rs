//! Random layouts are written in every notation that can express them, and read again. Every index
//! keeps its offset.
//!
//! `STRIDEC_CASES=100000 cargo test --release --test it round_trips` runs more cases than the
//! default.

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
    // The systems for inference have names for only a few layouts.
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
        // Every random XLA layout has a text of today's XLA, and a text of JAX if there is no
        // prefix.
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
