//! Operations, which copy elements from one [`Tensor`] to another. They are the entry point of the
//! compiler.
//!
//! An [`Operation`] is built from values or from protos, which specify the memory of both tensors,
//! and the source element for each destination element. When it is built, it is lowered to a
//! [nest](crate::nest) of loops, so that errors are reported early. Afterwards it can be compiled
//! to a kernel for a target, run on the CPU, or printed stage by stage.

mod at_run_time;
mod buffer_tensor_desc;
mod compilation;
mod operation;
mod proto;
mod stages;
mod table;
mod tensor;

pub use at_run_time::AtRunTime;
pub use compilation::Compilation;
pub use operation::Operation;
pub use table::Table;

pub use crate::{error::RequestError, notation::Tensor};
