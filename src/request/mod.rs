//! Operations between two [`Tensor`]s: the entry point of the compiler.
//!
//! An [`Operation`] is built from values or from protos, which say where the elements of both
//! tensors lie and which element becomes which. It is lowered at once to a [nest](crate::nest), so
//! that errors are reported before anything else is done. From there it is compiled to a kernel for
//! a target, run on the CPU, or printed stage by stage.

mod buffer_tensor_desc;
mod compilation;
mod operation;
mod proto;
mod stages;
mod table;
mod tensor;

pub use compilation::Compilation;
pub use operation::Operation;
pub use table::Table;

pub use crate::{error::RequestError, notation::Tensor};
