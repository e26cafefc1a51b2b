//! A tensor's memory as other systems describe it, or why they cannot; and back from byte strides.
//!
//! ```
//! use stridec::{shape::Shape, stride::{StrideDescriptor, interchange::{DlPack, memref, NumpyArray}}};
//! let shape: Shape = "bf16[2,3]{0,1:PAD(3,5,zero)}".parse()?;
//! let tensor = StrideDescriptor::try_from(&shape)?;
//! assert_eq!(memref(&tensor)?, "memref<2x3xbf16, strided<[1, 3]>>");
//! assert_eq!(NumpyArray::try_from(&tensor)?.strides, [2, 6]);
//! assert_eq!(DlPack::try_from(&tensor)?.code, 4); // kDLBfloat
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod byte_strides;
mod dlpack;
mod memref;
mod numpy;
mod pjrt;

pub use byte_strides::from_byte_strides;
use byte_strides::normalized_strides;
pub use dlpack::DlPack;
pub use memref::memref;
pub(crate) use memref::mlir_type;
pub use numpy::NumpyArray;
pub use pjrt::PjrtMemoryLayout;

use super::{StrideDescriptor, StrideError};

/// The strides of a tensor that sizes and strides can describe, in elements.
pub(crate) fn plain_strides(tensor: &StrideDescriptor) -> Result<Vec<i64>, StrideError> {
    let strides: Vec<Option<i64>> = tensor.strides().collect();
    if let Some(dimension) = strides.iter().position(Option::is_none) {
        let value = format!("a tile that takes dimension {dimension} apart");
        return Err(refusal("tiles", value, "expected one stride for each dimension"));
    }
    if tensor.prefix_bytes() != 0 {
        return Err(refusal(
            "dynamic_shape_metadata_prefix_bytes",
            format!("M({})", tensor.prefix_bytes()),
            "expected memory that starts with the data",
        ));
    }
    Ok(normalized_strides(tensor.sizes(), &strides.into_iter().flatten().collect::<Vec<_>>()))
}

/// Refuses elements that take other memory than `bits`, which is what the other system gives the type.
pub(crate) fn expect_element_bits(tensor: &StrideDescriptor, bits: u32) -> Result<(), StrideError> {
    if tensor.element_bits() == bits {
        return Ok(());
    }
    let accepted = match bits {
        8 => "expected a byte for each element",
        _ => "expected the type's own size",
    };
    Err(refusal("element_size_in_bits", format!("E({})", tensor.element_bits()), accepted))
}

/// Where the element at index 0 lies, in bytes, elements taking `bits`.
fn byte_offset(tensor: &StrideDescriptor, bits: u32) -> Result<u64, StrideError> {
    let offset = u128::from(tensor.base_offset()) * u128::from(bits);
    u64::try_from(offset / 8).ok().filter(|_| offset.is_multiple_of(8)).ok_or_else(|| {
        let value = format!("{} elements of {bits} bits", tensor.base_offset());
        refusal("offset", value, "expected a whole number of bytes below 2^64")
    })
}

fn refusal(field: &'static str, value: String, accepted: &'static str) -> StrideError {
    StrideError::Unsupported { field, value, accepted }
}
