//! The extension module of the Python package `stridec`. It applies the library's shapes,
//! operations, programs and reports to the arrays of `numpy`, JAX and `PyTorch`.
//!
//! Each class has a file. Only `array/` has `unsafe` code: it reads and writes the C structures of
//! numpy's array interface and of DLPack.

use pyo3::prelude::*;

mod array;
mod command;
mod device;
mod errors;
mod exit;
mod kernel;
mod layout;
mod library;
mod logical;
mod module;
mod numbers;
mod operation;
mod picture;
mod placements;
mod program;
mod recent;
mod report;
mod reshard;
mod shape;
mod sharding;
mod target;
mod torch;

/// Compiles tensor layout changes and runs them on arrays.
#[pymodule]
mod _stridec {
    #[pymodule_export]
    use super::{
        array::Array,
        command::main,
        errors::{DeviceError, InvalidInput, Unsupported},
        kernel::Kernel,
        operation::{Operation, compile, relayout, slice},
        program::Program,
        report::{Difference, MemoryReport, diff, memory},
        reshard::{RankPlan, ReshardPlan, Transfer, reshard},
        shape::Shape,
        sharding::Sharding,
        target::{Target, adapters},
    };
    use pyo3::prelude::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::device::loaded();
        super::exit::watch(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
