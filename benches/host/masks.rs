//! `--cases masks`: masks, triangles, columns by index and tables, as JAX writes `where`, `tril`,
//! `x[:, idx]`, `take_along_axis` and a table look-up. They are compared with a copy of the same
//! number of bytes and with JAX.

use std::error::Error;

use super::{image, programs::measure_modules};

/// Times every module of `benches/data/masks.jsonl` on one thread. Masks and indices are random.
pub fn measure(repetitions: usize) -> Result<(), Box<dyn Error>> {
    let mut rng = fastrand::Rng::with_seed(1);
    let parameter = |buffer: &stridec::program::ArrayBuffer| match buffer.shape().to_string() {
        of if of.starts_with("pred") => (0..buffer.bytes()).map(|_| rng.u8(..2)).collect(),
        of if of.starts_with("s32") => {
            (0..buffer.bytes() / 4).flat_map(|_| rng.u32(..1000).to_le_bytes()).collect()
        }
        _ => image(buffer.bytes()),
    };
    measure_modules(include_str!("../data/masks.jsonl"), parameter, repetitions)
}
