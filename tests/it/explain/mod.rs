//! Pictures. Their numbers are compared with the descriptor, and snapshots record their looks.

mod geometry;
mod looks;
mod program;
mod reshard;

use stridec::{Operation, explain::Picture, stride::StrideDescriptor};

use super::support;

/// Layouts of ranks 0 to 5: dense, padded, tiled, strided, with elements below a byte, with a tail,
/// without elements, small and large.
const LAYOUTS: [&str; 22] = [
    "f32[]",
    "f32[1]",
    "f32[7]",
    "f32[100000]",
    "f32[2,3]",
    "f32[2,3]{0,1:PAD(3,5,zero)}",
    "f32[64,256]{0,1}",
    "f32[3,5]{1,0:T(2,2)}",
    "bf16[16,256]{1,0:T(8,128)(2,1)}",
    "s8[100,1000]{1,0:T(8,128)(4,1)}",
    "f32[10]{0:T(4)}",
    "f32[4,300]{1,0:T(128)}",
    "s4[3,5]{1,0:E(4)}",
    "pred[3,11]{0,1:E(1)}",
    "f32[2,3,4]{0,2,1}",
    "f32[8,64,112,112]{1,3,2,0}",
    "f32[2,3,4,5,6]{0,2,4,1,3}",
    "f32[0,4]",
    "f32[3]{0:L(8)}",
    "f32[1,3,224,224] strided<[153228,51076,226,1], offset: 227>",
    "f32[4,6] strided<[0,1]>",
    "f32[4,6] strided<[-6,1], offset: 18>",
];

/// Lowers a layout in notation.
fn lower(notation: &str) -> StrideDescriptor {
    notation.parse::<stridec::Tensor>().unwrap().descriptor().clone()
}

/// Lowers a relayout and draws it.
fn relayout<T>(from: &str, to: &str, draw: impl FnOnce(&Picture<'_>) -> T) -> T {
    let operation = Operation::relayout(from.parse().unwrap(), to.parse().unwrap()).unwrap();
    operation.draw(draw)
}
