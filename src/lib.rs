//! stridec compiles tensor layout changes: XLA `Shape`/`Layout` protos in, one specialised and validated WGSL kernel
//! out.
//!
//! An embedder compiles a relayout and prints its WGSL:
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
//! A [`Kernel`] is plain data: the text, what to bind, what to dispatch. No device is opened to make it, and the same
//! operation and [`Target`] give the same kernel on every machine. Where there is no GPU, the host runs the same loop
//! nest:
//!
//! ```
//! use stridec::{Operation, Tensor, shape::Shape, window::Slice};
//!
//! // A serialized xla.Shape, as TensorFlow 1.x wrote it: f32[2,3]{0,1}, padded to 3 by 5 with zeros.
//! let bytes = [0x10, 0x0b, 0x1a, 2, 2, 3, 0x2a, 10, 0x0a, 2, 0, 1, 0x12, 2, 3, 5, 0x18, 1];
//! let padded = Tensor::from(Shape::decode(&bytes)?);
//! let second_row = Slice::new([1, 0], [1, 3], [1, 1]);
//! let operation = Operation::slice(padded, &second_row, None)?;
//! let image: Vec<u8> = (0..15).flat_map(|n| f32::to_le_bytes(n as f32)).collect();
//! let mut row = [0; 12];
//! operation.run_on_host(&image, &mut row)?;
//! assert_eq!(row[..], [1.0, 4.0, 7.0].map(f32::to_le_bytes).concat());
//! # Ok::<(), stridec::Error>(())
//! ```
//!
//! | room | holds |
//! |---|---|
//! | [`shape`] | element types, shapes, layouts, their notation and protos |
//! | [`stride`] | lowered arrays: sizes, strides, and the steps that tiles take; DirectML's descriptors |
//! | [`window`] | which element goes where, logically: identity, slices |
//! | [`nest`] | the loop nest of an operation, and the passes over it |
//! | [`schedule`] | the choice of a kernel for a target |
//! | [`wgsl`] | the text, and naga's validation |
//! | [`host`] | runs a nest on the CPU |
//! | [`request`] | operations, from tensors or protos |
//!
//! Cargo features: `gpu` runs kernels through wgpu, `cli` is the command line; both are on by default. Without them the
//! crate is the compiler alone, and needs neither wgpu nor clap.

#[cfg(feature = "backends")]
pub mod backend;
#[cfg(feature = "capi")]
pub mod capi;
mod error;
#[cfg(feature = "explain")]
pub mod explain;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod host;
pub mod nest;
pub mod proto;
pub mod request;
pub mod schedule;
pub mod shape;
pub mod stride;
mod trace;
pub mod wgsl;
pub mod window;

pub use error::{Error, ErrorKind};
pub use request::{Operation, Tensor};
pub use schedule::Target;
pub use wgsl::Kernel;
