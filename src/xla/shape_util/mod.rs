//! Queries and changes of shapes, like XLA's `ShapeUtil`.
//!
//! Functions that change the dimensions of an array also adapt its layout, so that the remaining
//! elements keep their order in memory. Negative dimension numbers count from the end.

mod bitcast;
mod change;
mod dimensions;
mod query;
mod reshape;
mod same_memory;
mod size;

pub use bitcast::{
    BitcastDecomposition, align_layouts, decompose_bitcast, deduce_transpose_dimensions,
    is_contiguous, is_reshape_or_transpose_bitcast, reshape_is_bitcast, transpose_is_bitcast,
};
pub(super) use change::with_layouts;
pub use change::{change_element_type, device_shape_to_host_shape};
pub use dimensions::{
    append_minor_dimension, delete_dimensions, drop_degenerate_dimensions,
    insert_dimensions_at_index, make_shape_with_descending_layout_and_same_physical_layout,
    move_dim_to_major, permute_dimensions, permute_dimensions_ignoring_layout,
    prepend_major_dimension,
};
pub use query::{
    bounds, compatible, elements_in, equal, equal_ignoring, has_degenerate_dimensions,
    is_effectively_most_major_dimension, is_zero_element_array, last_dim_is_minor_most,
    packed_bits, same_dimensions, true_rank,
};
pub use reshape::{
    common_factors, dimensions_unmodified_by_reshape, inserted_or_deleted_1_sized_dimensions,
    normalized_transpose,
};
use same_memory::same_memory;
pub use size::{
    array_data_size, array_size, byte_size_of, byte_strides, byte_strides_is_major_to_minor,
};
