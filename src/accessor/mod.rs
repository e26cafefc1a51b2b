//! Accessors: layouts and programs as WGSL functions, for kernels that others write.
//!
//! A kernel that reads a tensor in some layout needs no relayout before it: an [`Accessor`] of the
//! layout gives it the offset and the bits of any element. An accessor of a program's result reads
//! the parameters of the program instead, so that transposes, reshapes and slices become part of
//! the kernel.
//!
//! ```
//! use stridec::accessor::{Access, Accessor};
//! let layout = "bf16[16,256]{1,0:T(8,128)(2,1)}".parse()?;
//! let accessor = Accessor::of_layout("x", &layout, Access::Read)?;
//! let kernel = accessor.wgsl().to_owned() + "
//!     @group(0) @binding(0) var<storage, read> x: array<u32>;
//!     @group(0) @binding(1) var<storage, read_write> column: array<f32, 16>;
//!     @compute @workgroup_size(16) fn main(@builtin(local_invocation_index) row: u32) {
//!         column[row] = bitcast<f32>(x_bits(row, 3u) << 16u);
//!     }";
//! stridec::wgsl::validate(&kernel)?;
//! assert_eq!(accessor.buffers()[0].size_in_bytes, 8192);
//! # Ok::<(), stridec::Error>(())
//! ```
//!
//! The text has no entry point and declares no bindings. For a name `x`, its functions are:
//!
//! - `x_offset(d0: u32, …) -> u32`, of layouts only, returns the offset of an element in memory,
//!   in elements, as [`StrideDescriptor::offset`](crate::stride::StrideDescriptor::offset) counts
//!   them.
//! - `x_bits(d0: u32, …)` returns the bits that the element has in memory: a `u32` for up to 32
//!   bits, with the other bits 0; `vec2<u32>` or `vec4<u32>` for 64 and 128 bits, the low word
//!   first.
//! - `x_store(d0: u32, …, bits)` replaces the bits of the element, if they are whole words.
//!
//! A type whose layout gives it more bits than it needs, such as `s4` in bytes, has the bits of its
//! place: 8 of them. Parts of a program's result that are constant, such as the padding of `pad`,
//! give the constant.
//!
//! # Bounds
//!
//! The bounds of a kernel's reads are proved when it is compiled, and so are those of an accessor,
//! by the same proof: for coordinates below the extents of the array, every access lies inside a
//! binding of at least [`AccessorBuffer::size_in_bytes`] bytes. The functions do not check the
//! coordinates. Past the extents, an element may be any other element of the array, padding, or a
//! word past the binding, which WebGPU keeps inside the buffer and other interfaces may not.

#[allow(clippy::module_inception)]
mod accessor;
mod error;

pub use accessor::{Access, Accessor, AccessorBuffer};
pub use error::AccessorError;
