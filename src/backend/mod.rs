//! Translates a kernel to the languages that drivers read, SPIR-V, MSL, HLSL and GLSL, with naga's
//! back ends.
//!
//! A runtime that takes WGSL does not need this module. Other runtimes translate the kernel to
//! their driver's language, bind the two buffers to [`Translated::slots`], and dispatch
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
//! The dialect of each language, and the tool besides naga that checks it in stridec's own tests:
//!
//! | | dialect | source, destination | out of bounds | checked by |
//! |---|---|---|---|---|
//! | SPIR-V | 1.3, `Shader` only (Vulkan 1.1) | bindings 0 and 1 of set 0 | the index is clamped | `spirv-val` |
//! | MSL | 2.1 | `buffer(0)`, `buffer(1)` and sizes in `buffer(2)` | the index is clamped | nothing: Apple's compiler is not available to the tests |
//! | HLSL | shader model 5.1, for DXC too | `t0` and `u1` of space 0 | Direct3D's own rule, below | `glslangValidator -D`; not DXC |
//! | GLSL | ES 3.10, which OpenGL 4.5 takes as well | bindings 0 and 1 | **nothing**: check sizes or ask for a robust context | `glslangValidator` |
//!
//! # Bounds
//!
//! Every index of a kernel lies inside its binding if the binding has at least
//! [`Binding::size_in_bytes`](crate::wgsl::Binding) bytes, so check that when you bind. By default
//! naga adds no checks. stridec makes it clamp indices in SPIR-V and MSL, like implementations of
//! WebGPU, so that a binding that is too short gives wrong elements but never a write elsewhere;
//! the clamp is one `min` for each access. An HLSL buffer is a `ByteAddressBuffer`: Direct3D itself
//! reads zero and drops writes past the end of a *descriptor*. Bound as a root descriptor it has no
//! end, and the caller must check the size. naga has no such option for buffers in GLSL.
//!
//! Divisions are guarded against zero only if a kernel has a divisor that is not constant, which
//! stridec's own kernels never have (in HLSL naga guards all divisions). Loops are bounded as in
//! the WGSL; workgroup memory is zeroed.

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
pub use translated::{Slot, Translated};
