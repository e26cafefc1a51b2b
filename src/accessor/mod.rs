//! Accessors: WGSL functions that access a layout or a program's result, for kernels that others
//! write.
//!
//! A kernel that reads a tensor in some layout needs no relayout before it, because an [`Accessor`]
//! of the layout returns the offset and the bits of any element. An accessor of a program's result
//! computes its elements from the parameters of the program, so that transposes, reshapes and
//! slices become part of the kernel.
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
//! - `x_offset(d0: u32, …) -> u32` returns the offset of an element in memory, counted in elements
//!   as by [`StrideDescriptor::offset`](crate::stride::StrideDescriptor::offset). Only layouts have
//!   this function.
//! - `x_bits(d0: u32, …)` returns the bits that the element has in memory. The type is `u32` for up
//!   to 32 bits, whose upper bits are 0. It is `vec2<u32>` for 64 bits and `vec4<u32>` for 128
//!   bits, with the low word first.
//! - `x_store(d0: u32, …, bits)` replaces the bits of an element. Only elements of whole words have
//!   this function.
//!
//! If a layout gives an element more bits than its type needs, such as 8 bits for an `s4`, `x_bits`
//! returns all of these bits. If a part of a program's result is constant, such as the padding of
//! `pad`, `x_bits` returns the constant there.
//!
//! # Bounds
//!
//! The bounds of an accessor are proved in the same way as the bounds of a kernel. For coordinates
//! below the extents of the array, every access lies inside a binding of at least
//! [`AccessorBuffer::size_in_bytes`] bytes. The functions do not check the coordinates. Past the
//! extents, a function may access another element of the array, padding, or a word past the
//! binding. WebGPU keeps such an access inside the buffer, and other interfaces may not.

#[allow(clippy::module_inception)]
mod accessor;
mod error;

pub use accessor::{Access, Accessor, AccessorBuffer};
pub use error::AccessorError;
