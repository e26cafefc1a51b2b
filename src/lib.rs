//! A compiler for tensor layout changes. It reads XLA shapes with their layouts and writes one
//! specialised WGSL kernel for each relayout or slice, validated by naga.
//!
//! ```
//! use stridec::{Operation, Target};
//!
//! fn main() -> Result<(), stridec::Error> {
//!     let nchw = "f32[8,64,112,112]{3,2,1,0}".parse()?;
//!     let nhwc = "f32[8,64,112,112]{1,3,2,0}".parse()?;
//!     let kernel = Operation::relayout(nchw, nhwc)?.compile(&Target::webgpu())?;
//!     println!("{}", kernel.wgsl);
//!     println!("dispatch {:?} workgroups", kernel.dispatches[0].workgroups);
//!     Ok(())
//! }
//! ```
//!
//! A [`Kernel`] is plain data: the shader, its bindings and its dispatches. Compiling needs no
//! device, and the same operation and [`Target`] give the same kernel on every machine.
//!
//! | you have | start with |
//! |---|---|
//! | `xla.Shape` messages, in any language | [`guide::protos`] |
//! | a compiler | [`guide::compilers`] |
//! | an HLO module | [`guide::programs`] |
//! | a tensor in shards on many devices | [`guide::sharding`] |
//! | a layout in the notation of another system | [`guide::notations`] |
#![cfg_attr(feature = "gpu", doc = "| a wgpu device | [`guide::runtimes`] |")]
//! | a changed kernel to review | [`guide::snapshots`] |
//! | a name from XLA or DirectML, or a word of stridec's own | [`guide::names`] |
//!
//! # From a shape to a kernel
//!
//! **Shapes.** These bytes are an `xla.Shape` of TensorFlow 1.x: two rows of three, in column-major
//! order, padded to 3 by 5 with zeros. A [`shape::Shape`] is always valid, and prints in XLA's
//! notation.
//!
//! ```
//! use stridec::shape::Shape;
//! let bytes = [0x10, 0x0b, 0x1a, 2, 2, 3, 0x2a, 10, 0x0a, 2, 0, 1, 0x12, 2, 3, 5, 0x18, 1];
//! let shape = Shape::decode(&bytes)?;
//! assert_eq!(shape.to_string(), "f32[2,3]{0,1:PAD(3,5,zero)}");
//! # Ok::<(), stridec::Error>(())
//! ```
//!
//! **Strides.** A [`stride::StrideDescriptor`] maps an index to the offset of its element, and
//! back:
//!
//! ```
//! use stridec::{shape::Shape, stride::StrideDescriptor};
//! let shape: Shape = "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?;
//! let padded = StrideDescriptor::try_from(&shape)?;
//! assert_eq!(padded.strides().collect::<Vec<_>>(), [Some(1), Some(3)]);
//! assert_eq!((padded.elements(), padded.physical_elements(), padded.image_bytes()), (6, 15, 60));
//! assert_eq!(padded.offset(&[1, 2])?, 7); // 1·1 + 2·3
//! assert_eq!(padded.index(8)?, None); // padding
//! # Ok::<(), stridec::Error>(())
//! ```
//!
//! `stridec explain` draws it:
//!
//! <div>
#![doc = include_str!("../docs/padded.svg")]
//! </div>
//!
//! **Loop nest.** An [`Operation`] has a source and a destination. Its [`nest::CopyNest`] visits
//! the destination's memory in order of address, and gives the source of each element that is
//! written there:
//!
//! ```
//! use stridec::Operation;
//! let (dense, padded) = ("f32[2,3]".parse()?, "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?);
//! let operation = Operation::relayout(dense, padded)?;
//! let axes = operation.nest().axes();
//! let steps: Vec<_> = axes.map(|axis| (axis.extent, axis.src_stride)).collect();
//! assert_eq!(steps, [(5, 1), (3, 3)]);
//! assert_eq!(operation.nest().cases()[0].when.len(), 2); // past 3 columns or 2 rows is padding
//! # Ok::<(), stridec::Error>(())
//! ```
//!
//! **Schedule and kernel.** [`Operation::schedule`] chooses a strategy for a target, and
//! [`Operation::compile`] writes the kernel. [`Operation::stages`] returns all stages as text, for
//! a snapshot:
//!
//! ```
//! # use stridec::{Operation, Target};
//! # let operation = Operation::relayout("f32[2,3]".parse()?, "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?)?;
//! let kernel = operation.compile(&Target::webgpu())?;
//! assert_eq!(kernel.strategy.name(), "gather");
//! assert_eq!(kernel.bindings[1].size_in_bytes, 60);
//! let stages = operation.stages(&Target::webgpu())?;
//! assert!(stages.contains("a1: 3 steps, source +3, destination +1"));
//! # Ok::<(), stridec::Error>(())
//! ```
//!
//! **Running.** The feature `gpu` runs kernels through wgpu. The CPU can run the same nest, and
//! produces the same bytes:
//!
//! ```
//! # use stridec::Operation;
//! # let operation = Operation::relayout("f32[2,3]".parse()?, "f32[2,3]{0,1:PAD(3,5,zero)}".parse()?)?;
//! let image: Vec<u8> = [1, 2, 3, 4, 5, 6].map(|n| f32::to_le_bytes(n as f32)).concat();
//! let mut padded = [0; 60];
//! operation.run_on_host(&image, &mut padded)?;
//! let expected = [1, 4, 0, 2, 5, 0, 3, 6, 0, 0, 0, 0, 0, 0, 0];
//! assert_eq!(padded[..], expected.map(|n| f32::to_le_bytes(n as f32)).concat());
//! # Ok::<(), stridec::Error>(())
//! ```
//!
//! [`Operation::slice`] copies a window with a stride in each dimension, like DirectML's SLICE1:
//!
//! ```
//! use stridec::{Operation, window::Slice};
//! let every_second_row_backwards = Slice::new([0, 0], [4, 4], [-2, 1]);
//! let operation = Operation::slice("u8[4,4]".parse()?, &every_second_row_backwards, None)?;
//! let mut rows = [0; 8];
//! operation.run_on_host(&std::array::from_fn::<u8, 16, _>(|n| n as u8), &mut rows)?;
//! assert_eq!(rows, [12, 13, 14, 15, 4, 5, 6, 7]);
//! # Ok::<(), stridec::Error>(())
//! ```
//!
//! # Modules
//!
//! | module | contains |
//! |---|---|
//! | [`shape`] | element types, shapes, layouts, their notation and protos |
//! | [`stride`] | shapes lowered to strides, tiles included |
//! | [`notation`] | the layouts of other systems, as data and as text |
//! | [`window`] | the map from destination indices to source indices: identity, slices |
//! | [`nest`] | the loop nest of an operation, and its passes |
//! | [`schedule`] | the choice of a strategy for a target |
//! | [`wgsl`] | the generator of kernels, and naga's validation |
//! | [`program`] | compiles HLO modules that move data to kernels |
//! | [`hlo`] | programs: XLA's HLO modules |
//! | [`host`] | runs a nest on the CPU |
//! | [`reshard`] | the messages between devices that change one sharding into another |
//! | [`sharding`] | the division of arrays among devices |
//! | [`xla`] | XLA's utilities for layouts, shapes and indices |
//! | [`request`] | operations, from tensors or protos |
//! | [`service`] | answers serialized requests: one, or a stream of them |
//! | [`run`] | runs an operation on a GPU or on the host |
#![cfg_attr(feature = "gpu", doc = "| [`gpu`] | runs kernels through wgpu |")]
#![cfg_attr(feature = "mpi", doc = "| [`mpi`] | reshards over MPI |")]
#![cfg_attr(
    feature = "accessors",
    doc = "| [`accessor`] | layouts and programs as functions for kernels of others |"
)]
#![cfg_attr(feature = "backends", doc = "| [`backend`] | SPIR-V, MSL, HLSL and GLSL |")]
#![cfg_attr(feature = "explain", doc = "| [`explain`] | drawings |")]
//!
//! The Cargo feature `gpu`, which runs kernels through wgpu, is on by default. Without it the crate
//! is the compiler and the CPU runner, and does not need wgpu. [`guide::compilers`] lists the other
//! features, and [`guide::stability`] says what stays compatible between versions. The command line
//! is the package `stridec-cli`.

#[cfg(feature = "accessors")]
pub mod accessor;
#[cfg(feature = "backends")]
pub mod backend;
#[cfg(feature = "capi")]
pub mod capi;
mod error;
mod error_kind;
#[cfg(feature = "explain")]
pub mod explain;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod hlo;
pub mod host;
#[doc(hidden)]
pub mod internals;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod nest;
pub mod notation;
pub mod program;
pub mod proto;
pub mod request;
pub mod reshard;
pub mod run;
pub mod schedule;
pub mod service;
pub mod shape;
pub mod sharding;
pub mod stride;
mod text;
mod trace;
pub mod wgsl;
pub mod window;
pub mod xla;

pub use error::Error;
pub use error_kind::ErrorKind;
pub use request::{Operation, Tensor};
pub use schedule::{Estimate, Target};
pub use wgsl::Kernel;

// The name that code shared with tests and benches has for this crate.
#[cfg(test)]
extern crate self as stridec;
// For cargo-mutants, which builds once for every change: the tests of `tests/it` in one program
// with those of `src`.
#[cfg(test)] // on a line of its own, so that cargo-mutants finds it
#[cfg(one_program)]
#[path = "../tests/it/main.rs"]
mod it;
