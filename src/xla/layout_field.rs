//! Comparison of layouts that ignores some of their fields, as XLA's `Layout::Equal` can.

use crate::shape::{Format, Layout, Sparse};

/// A field that a comparison of layouts can ignore, like an option of XLA's `Layout::Equal`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LayoutField {
    /// The tiles, `T(…)`.
    Tiles,
    /// The alignment of the tail, `L(n)`.
    TailPadding,
    /// The element size, `E(n)`.
    ElementSize,
    /// The types of sparse indices and pointers, `#(…)` and `*(…)`.
    IndexTypes,
    /// The memory space, `S(n)`.
    MemorySpace,
    /// The splits between memories, `SC(…)`.
    SplitConfigs,
    /// The physical shape, `P(…)`, and all other sparse fields, including the level types.
    PhysicalShape,
    /// The metadata prefix, `M(n)`.
    Prefix,
    /// The padded dimensions and the padding value, `PAD(…)`.
    Padding,
    /// The storage format, dense or sparse.
    Format,
}

impl LayoutField {
    /// All fields except the order of the dimensions, like XLA's `MinorToMajorOnly`.
    pub const ALL: [Self; 10] = [
        Self::Tiles,
        Self::TailPadding,
        Self::ElementSize,
        Self::IndexTypes,
        Self::MemorySpace,
        Self::SplitConfigs,
        Self::PhysicalShape,
        Self::Prefix,
        Self::Padding,
        Self::Format,
    ];

    /// Resets the field to its default.
    fn clear(self, layout: &mut Layout) {
        match self {
            Self::Tiles => layout.tiles.clear(),
            Self::TailPadding => layout.tail_padding_alignment_in_elements = 1,
            Self::ElementSize => layout.element_size_in_bits = 0,
            Self::IndexTypes => {
                if let Some(sparse) = &mut layout.sparse {
                    (sparse.index_primitive_type, sparse.pointer_primitive_type) = (None, None);
                }
                layout.sparse = layout.sparse.take().filter(|sparse| **sparse != Sparse::default());
            }
            Self::MemorySpace => layout.memory_space = 0,
            Self::SplitConfigs => layout.split_configs.clear(),
            Self::PhysicalShape => layout.sparse = None,
            Self::Prefix => layout.dynamic_shape_metadata_prefix_bytes = 0,
            Self::Padding => {
                layout.padded_dimensions.clear();
                (layout.padding_value, layout.padding_number) = (None, None);
            }
            Self::Format => layout.format = Format::Unspecified,
        }
    }
}

/// Returns the layout with the given fields reset to their defaults.
pub(crate) fn without_fields(layout: &Layout, fields: &[LayoutField]) -> Layout {
    let mut layout = layout.clone();
    for field in fields {
        field.clear(&mut layout);
    }
    layout
}

/// Returns true if two layouts are equal apart from the fields in `ignoring`, like XLA's
/// `Layout::Equal`.
///
/// ```
/// use stridec::xla::layout_util::{LayoutField, equal};
/// let (a, b) = ("{1,0:T(8,128)S(1)}".parse()?, "{1,0:T(8,128)}".parse()?);
/// assert!(!equal(&a, &b, &[]));
/// assert!(equal(&a, &b, &[LayoutField::MemorySpace]));
/// # Ok::<(), stridec::shape::ParseError>(())
/// ```
#[must_use]
pub fn equal(a: &Layout, b: &Layout, ignoring: &[LayoutField]) -> bool {
    without_fields(a, ignoring) == without_fields(b, ignoring)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(text: &str) -> Layout {
        text.parse().unwrap()
    }

    #[test]
    fn comparisons_leave_fields_out() {
        let full = layout("{0,1,2:T(42,44)L(2)E(32)S(1)SC(0:2)M(8)}");
        let plain = layout("{0,1,2}");
        assert!(!equal(&full, &plain, &LayoutField::ALL[1..]));
        assert!(equal(&full, &plain, &LayoutField::ALL));
        assert!(!equal(&full, &layout("{1,0,2}"), &LayoutField::ALL));
    }

    #[test]
    fn each_field_is_left_out_alone() {
        for (field, text) in LayoutField::ALL.into_iter().zip([
            "{0:T(4)}",
            "{0:L(2)}",
            "{0:E(32)}",
            "{0:#(u8)*(u16)}",
            "{0:S(1)}",
            "{0:SC(0:2)}",
            "{0:P(f32[2]{0})}",
            "{0:M(8)}",
            "{0:PAD(9,one)}",
        ]) {
            let others: Vec<_> = LayoutField::ALL.into_iter().filter(|&f| f != field).collect();
            let (given, plain) = (layout(text), layout("{0}"));
            assert!(equal(&given, &plain, &[field]), "{text}");
            assert_eq!(equal(&given, &plain, &others), field == LayoutField::IndexTypes, "{text}");
        }
        let sparse = Layout { format: Format::Sparse, ..layout("{0}") };
        assert!(equal(&sparse, &layout("{0}"), &[LayoutField::Format]));
        assert!(!equal(&sparse, &layout("{0}"), &LayoutField::ALL[..9]));
    }
}
