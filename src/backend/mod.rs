//! Translates a kernel to the languages that drivers accept, SPIR-V, MSL, HLSL and GLSL, with
//! naga's back ends.
//!
//! A runtime that accepts WGSL does not need this module. Other runtimes translate the kernel to
//! the language of their driver, bind its buffers to [`Translated::slots`], and run
//! [`Kernel::dispatches`](crate::Kernel).
//!
//! ```
//! use stridec::{Operation, Target, backend::{Language, Slot, translate}};
//! let (source, destination) = ("f32[64,8]".parse()?, "f32[64,8]{0,1}".parse()?);
//! let kernel = Operation::relayout(source, destination)?.compile(&Target::webgpu())?;
//! let shader = translate(&kernel, Language::Hlsl)?;
//! assert!(shader.text().is_some_and(|text| text.contains("ByteAddressBuffer source")));
//! assert_eq!(shader.slots[0], Slot::Register { class: 't', register: 0, space: 0 });
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This table shows the dialect of each language. Its last column is the tool, apart from naga, by
//! which stridec's tests check the output:
//!
//! | | dialect | source, destination | out of bounds | checked by |
//! |---|---|---|---|---|
//! | SPIR-V | 1.3, `Shader` only (Vulkan 1.1) | bindings 0 and 1 of set 0 | the index is clamped | `spirv-val` |
//! | MSL | 2.1 | `buffer(0)`, `buffer(1)` and sizes in `buffer(2)` | the index is clamped | nothing: Apple's compiler is not available to the tests |
//! | HLSL | shader model 5.1, also for DXC | `t0` and `u1` of space 0 | Direct3D's rule, see below | `glslangValidator -D`; not DXC |
//! | GLSL | ES 3.10, also valid for OpenGL 4.5 | bindings 0 and 1 | **nothing**: check sizes or use a robust context | `glslangValidator` |
//!
//! # Bounds
//!
//! Every index of a kernel lies inside its binding if the binding has at least
//! [`Binding::size_in_bytes`](crate::wgsl::Binding) bytes. Check this size when you bind a buffer,
//! because naga adds no checks by default.
//!
//! - In SPIR-V and MSL, stridec makes naga clamp indices, as implementations of WebGPU do. A
//!   binding that is too short then gives wrong elements, but no write ends up elsewhere in memory.
//!   The clamp is one `min` for each access.
//! - In HLSL, a buffer is a `ByteAddressBuffer`. Past the end of a *descriptor*, Direct3D itself
//!   reads zero and drops writes. A buffer that is bound as a root descriptor has no end, so the
//!   caller must check its size.
//! - In GLSL, naga has no option to clamp indices into buffers.
//!
//! Divisions are guarded against zero only if a kernel has a divisor that is not constant, and no
//! kernel of stridec has such a divisor. In HLSL, naga guards all divisions anyway. Loops are
//! bounded as in the WGSL, and workgroup memory is zeroed.

mod error;
mod glsl;
mod hlsl;
mod language;
mod msl;
mod spirv;
mod translate;
mod translated;

pub use error::BackendError;
pub use language::Language;
pub use translate::translate;
#[cfg(feature = "accessors")]
pub(crate) use translate::translate_functions;
pub use translated::{Slot, Translated};
