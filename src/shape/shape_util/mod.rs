//! What can be asked of a shape, and made of one: XLA's `ShapeUtil`, as far as it needs no addresses.
//!
//! What changes the dimensions of an array keeps its layout in step: an element keeps its neighbours in memory wherever
//! they still exist. Dimension numbers may be negative: they count from the end. Byte sizes and strides are in
//! [`stride::size_util`](crate::stride::size_util), bitcasts in [`nest`](crate::nest).

mod change;
mod dimensions;
mod query;

pub(super) use change::with_layouts;
pub use change::{change_element_type, device_shape_to_host_shape};
pub(crate) use dimensions::signed;
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
