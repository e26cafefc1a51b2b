//! `--cases masks`: masks, triangles, columns by index and tables, in the forms that JAX has for
//! `where`, `tril`, `x[:, idx]`, `take_along_axis` and a table look-up. They are compared with a
//! copy of the same number of bytes.

use std::error::Error;

use rayon::ThreadPoolBuilder;
use stridec::{hlo::Module, program::Program};

use super::{
    programs::beside_memcpy,
    timing::{Report, option},
};

/// The name of each function, and the body of its entry computation.
const FUNCTIONS: [(&str, &str); 8] = [
    (
        "where(mask, x, 0)",
        "m = pred[2048,2048] parameter(0)
         x = f32[2048,2048] parameter(1)
         z = f32[] constant(0)
         zs = f32[2048,2048] broadcast(z), dimensions={}
         ROOT r = f32[2048,2048] select(m, x, zs)",
    ),
    (
        "where(tril, x, -inf)",
        "x = f32[8,1024,1024] parameter(0)
         i = s32[8,1024,1024] iota(), iota_dimension=1
         j = s32[8,1024,1024] iota(), iota_dimension=2
         m = pred[8,1024,1024] compare(i, j), direction=GE
         z = f32[] constant(-inf)
         zs = f32[8,1024,1024] broadcast(z), dimensions={}
         ROOT r = f32[8,1024,1024] select(m, x, zs)",
    ),
    (
        "tril(x)",
        "x = f32[2048,2048] parameter(0)
         i = s32[2048,2048] iota(), iota_dimension=0
         j = s32[2048,2048] iota(), iota_dimension=1
         m = pred[2048,2048] compare(i, j), direction=GE
         z = f32[] constant(0)
         zs = f32[2048,2048] broadcast(z), dimensions={}
         ROOT r = f32[2048,2048] select(m, x, zs)",
    ),
    (
        "x[:, idx]",
        "x = f32[4096,1000] parameter(0)
         ids = s32[1000] parameter(1)
         v = s32[1000,1] reshape(ids)
         ROOT r = f32[4096,1000] gather(x, v), offset_dims={0}, collapsed_slice_dims={1},
             start_index_map={1}, index_vector_dim=1, slice_sizes={4096,1}",
    ),
    (
        "x[:, order of 8]",
        "x = s8[4096,512,8] parameter(0)
         ids = s32[8] constant({0, 4, 1, 5, 2, 6, 3, 7})
         v = s32[8,1] reshape(ids)
         ROOT r = s8[4096,512,8] gather(x, v), offset_dims={0,1}, collapsed_slice_dims={2},
             start_index_map={2}, index_vector_dim=1, slice_sizes={4096,512,1}",
    ),
    (
        "take_along_axis",
        "x = f32[1024,1024] parameter(0)
         ids = s32[1024,1024] parameter(1)
         v = s32[1024,1024,1] reshape(ids)
         ROOT r = f32[1024,1024] gather(x, v), offset_dims={}, collapsed_slice_dims={1},
             start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0},
             index_vector_dim=2, slice_sizes={1,1}",
    ),
    (
        "table[x], u8",
        "t = u8[256] parameter(0)
         x = u8[4194304] parameter(1)
         ids = s32[4194304] convert(x)
         v = s32[4194304,1] reshape(ids)
         ROOT r = u8[4194304] gather(t, v), offset_dims={}, collapsed_slice_dims={0},
             start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
    ),
    (
        "x[:, permutation], constant",
        "x = f32[65536,16] parameter(0)
         ids = s32[16] constant({3, 1, 4, 15, 9, 2, 6, 5, 8, 7, 0, 10, 14, 13, 12, 11})
         v = s32[16,1] reshape(ids)
         ROOT r = f32[65536,16] gather(x, v), offset_dims={0}, collapsed_slice_dims={1},
             start_index_map={1}, index_vector_dim=1, slice_sizes={65536,1}",
    ),
];

/// Times every function on one thread. Masks and indices are random.
pub fn measure(repetitions: usize) -> Result<(), Box<dyn Error>> {
    let only = option("--only").unwrap_or_default();
    let mut report = Report::new("host");
    let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
    for (name, body) in FUNCTIONS.iter().filter(|(name, _)| name.contains(&only)) {
        let module = Module::parse(&format!("HloModule m\n\nENTRY e {{\n{body}\n}}\n"))?;
        let program = Program::lower(&module)?;
        let mut rng = fastrand::Rng::with_seed(1);
        let parameters: Vec<Vec<u8>> = program
            .parameters()
            .iter()
            .map(|buffer| match buffer.shape().to_string() {
                of if of.starts_with("pred") => (0..buffer.bytes()).map(|_| rng.u8(..2)).collect(),
                of if of.starts_with("s32") => {
                    (0..buffer.bytes() / 4).flat_map(|_| rng.u32(..1000).to_le_bytes()).collect()
                }
                _ => (0..buffer.bytes()).map(|_| rng.u8(..)).collect(),
            })
            .collect();
        let parameters: Vec<&[u8]> = parameters.iter().map(Vec::as_slice).collect();
        let timings = pool.install(|| beside_memcpy(&program, &parameters, repetitions));
        report.add(name, &timings);
        println!("{:60.2} of memcpy", timings[1].best_ms / timings[0].best_ms);
    }
    Ok(())
}
