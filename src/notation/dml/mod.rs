//! DirectML's description of a tensor in a buffer, with all rules in the documentation of
//! `DML_BUFFER_TENSOR_DESC`.
//!
//! ```
//! use stridec::{notation::dml::{BufferTensorDesc, TensorDataType}, stride::StrideDescriptor};
//! // Rows of 3 padded to 5: A B C x x D E F.
//! let rows = BufferTensorDesc::new(TensorDataType::Float32, &[2, 3], Some(&[5, 1]))?;
//! assert_eq!(rows.total_tensor_size_in_bytes(), 32);
//! assert!(rows.is_padded());
//! assert_eq!(StrideDescriptor::try_from(&rows)?.offset(&[1, 2])?, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod convert;
mod data_type;
mod desc;
mod error;
mod letters;
mod properties;
mod size;
mod text;

pub use data_type::TensorDataType;
pub use desc::BufferTensorDesc;
pub use error::DmlError;
pub use letters::minor_to_major_from_letters;
pub use size::calc_buffer_tensor_size;
pub(super) use text::{read, write};

/// The maximum number of dimensions of a tensor, which is DirectML's
/// `DML_TENSOR_DIMENSION_COUNT_MAX1`.
pub(crate) const MAX_DIMENSION_COUNT: usize = 8;
