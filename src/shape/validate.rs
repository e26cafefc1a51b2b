//! The rules for every [`Shape`](super::Shape). Its constructors check them.
//!
//! The rules come from XLA's `ValidateShape` and `ValidateLayoutForShape`, and from TensorFlow 1.x
//! for padding. In addition, values that would abort XLA are rejected, such as `L(0)` and
//! `T(2,-2)`. Index types, level types and physical shapes are accepted, although today's XLA has
//! no sparse arrays.

use super::{
    DimLevelType, Dimension, ElementType, FieldPath, Format, Layout, MAX_RANK, MAX_TILES,
    ShapeError, Sparse, SplitConfig, Tile, TileDimension,
};

type Result = std::result::Result<(), ShapeError>;

/// Checks that each extent, and the size of all elements in bytes, fits an int64.
pub(super) fn array(element_type: ElementType, dimensions: &[Dimension]) -> Result {
    let Some(bits) = element_type.storage_bits() else {
        return Err(ShapeError::NoElements { field: FieldPath::new("element_type"), element_type });
    };
    let field = FieldPath::new("dimensions");
    extents(&field, dimensions.iter().map(|dimension| dimension.bound()))?;
    let bounds: Option<Vec<u64>> = dimensions.iter().map(|dimension| dimension.bound()).collect();
    if let Some(bounds) = bounds
        && !bounds.contains(&0)
    {
        let bytes = bounds.iter().try_fold(u64::from(bits / 8), |size, &n| size.checked_mul(n));
        if bytes.is_none_or(|bytes| i64::try_from(bytes).is_err()) {
            return Err(ShapeError::Size { field });
        }
    }
    Ok(())
}

/// Checks that there are at most [`MAX_RANK`] extents, and that each fits an int64.
pub(super) fn extents(
    field: &FieldPath,
    extents: impl ExactSizeIterator<Item = Option<u64>>,
) -> Result {
    if extents.len() > MAX_RANK {
        let (field, given) = (field.clone(), extents.len());
        return Err(ShapeError::TooMany { field, what: "dimensions", given, limit: MAX_RANK });
    }
    extents.enumerate().try_for_each(|(i, extent)| {
        int64(|| field.clone().index(i), extent.unwrap_or(0), 0, i64::MAX)
    })
}

/// Checks that the layout is suitable for the rank and the extents of the array.
///
/// If `dimensions` is empty, the extents are unknown and are not checked.
pub(super) fn layout(layout: &Layout, rank: usize, dimensions: &[Dimension]) -> Result {
    minor_to_major(layout, rank)?;
    padded_dimensions(layout, rank, dimensions)?;
    tiles(&layout.tiles)?;
    int64(|| layout_field("element_size_in_bits"), layout.element_size_in_bits, 0, i64::MAX)?;
    let alignment = layout.tail_padding_alignment_in_elements;
    int64(|| layout_field("tail_padding_alignment_in_elements"), alignment, 1, i64::MAX)?;
    let prefix = layout.dynamic_shape_metadata_prefix_bytes;
    int64(|| layout_field("dynamic_shape_metadata_prefix_bytes"), prefix, 0, i64::MAX)?;
    split_configs(layout, rank, dimensions)?;
    layout.sparse.as_ref().map_or(Ok(()), |fields| sparse(fields, rank))
}

/// Returns the path of a field of the layout.
fn layout_field(name: &'static str) -> FieldPath {
    FieldPath::new("layout").field(name)
}

pub(super) fn int64(
    field: impl FnOnce() -> FieldPath,
    given: u64,
    least: i64,
    greatest: i64,
) -> Result {
    match i64::try_from(given) {
        Ok(n) if (least..=greatest).contains(&n) => Ok(()),
        _ => Err(ShapeError::Range { field: field(), given: given.into(), least, greatest }),
    }
}

/// Checks that `index` is in range and that it is not marked in `seen` yet, and then marks it.
fn dimension(field: impl FnOnce() -> FieldPath, index: u64, seen: &mut [bool]) -> Result {
    let Some(seen) = usize::try_from(index).ok().and_then(|index| seen.get_mut(index)) else {
        let greatest = i64::try_from(seen.len()).unwrap_or(i64::MAX) - 1;
        return Err(ShapeError::Range { field: field(), given: index.into(), least: 0, greatest });
    };
    if std::mem::replace(seen, true) {
        return Err(ShapeError::Duplicate { field: field(), given: index });
    }
    Ok(())
}

/// Checks that `minor_to_major` lists each dimension once. For the sparse arrays of TensorFlow 1.x,
/// the list may also be empty.
fn minor_to_major(layout: &Layout, rank: usize) -> Result {
    let order = &layout.minor_to_major;
    if order.is_empty() && layout.format == Format::Sparse {
        return Ok(());
    }
    let field = || layout_field("minor_to_major");
    if order.len() != rank {
        let accepted = "one for each dimension";
        return Err(ShapeError::Count { field: field(), given: order.len(), rank, accepted });
    }
    let mut seen = [false; MAX_RANK];
    order.iter().enumerate().try_for_each(|(i, &number)| {
        dimension(|| field().index(i), number as u64, &mut seen[..rank])
    })
}

/// Checks that the extent of each dimension in memory is at least the logical extent.
fn padded_dimensions(layout: &Layout, rank: usize, dimensions: &[Dimension]) -> Result {
    let list = || layout_field("padded_dimensions");
    let padded = &layout.padded_dimensions;
    one_each_or_none(list, padded.len(), rank)?;
    for (dimension, &given) in padded.iter().enumerate() {
        let field = || list().index(dimension);
        int64(field, given, 0, i64::MAX)?;
        let Some(extent) = dimensions.get(dimension) else { continue };
        let Some(extent) = extent.bound() else {
            return Err(ShapeError::PaddedUnbounded { field: field(), dimension });
        };
        if given < extent {
            return Err(ShapeError::BelowExtent { field: field(), given, dimension, extent });
        }
    }
    Ok(())
}

fn one_each_or_none(field: impl FnOnce() -> FieldPath, given: usize, rank: usize) -> Result {
    if given == 0 || given == rank {
        return Ok(());
    }
    let accepted = "one for each dimension, or none";
    Err(ShapeError::Count { field: field(), given, rank, accepted })
}

fn tiles(tiles: &[Tile]) -> Result {
    let (field, given) = (layout_field("tiles"), tiles.len());
    if given > MAX_TILES {
        return Err(ShapeError::TooMany { field, what: "tiles", given, limit: MAX_TILES });
    }
    tiles.iter().enumerate().try_for_each(|(i, tile)| self::tile(&field.clone().index(i), tile))
}

/// Checks that a tile has at least one extent, that each extent is `*` or at least 1, and that the
/// last extent is not `*`.
pub(super) fn tile(field: &FieldPath, tile: &Tile) -> Result {
    let (field, given) = (field.clone(), tile.dimensions.len());
    if given == 0 {
        return Err(ShapeError::EmptyTile { field });
    }
    let field = field.field("dimensions");
    if given > MAX_RANK {
        return Err(ShapeError::TooMany { field, what: "extents", given, limit: MAX_RANK });
    }
    for (i, extent) in tile.dimensions.iter().enumerate() {
        match *extent {
            TileDimension::Size(size) => {
                int64(|| field.clone().index(i), size, 1, i64::MAX)?;
            }
            TileDimension::Combine if i + 1 == given => {
                return Err(ShapeError::TrailingCombine { field: field.index(i) });
            }
            TileDimension::Combine => {}
        }
    }
    Ok(())
}

/// Checks that each physical dimension is split by at most one entry, and that its split indices
/// ascend and are inside its extent.
fn split_configs(layout: &Layout, rank: usize, dimensions: &[Dimension]) -> Result {
    let mut seen = [false; MAX_RANK];
    for (i, SplitConfig { dimension: number, split_indices }) in
        layout.split_configs.iter().enumerate()
    {
        let config = || layout_field("split_configs").index(i);
        dimension(|| config().field("dimension"), *number, &mut seen[..rank])?;
        let logical =
            layout.minor_to_major.iter().rev().nth(usize::try_from(*number).unwrap_or(rank));
        let greatest = logical
            .and_then(|&logical| dimensions.get(logical)?.bound())
            .and_then(|extent| i64::try_from(extent).ok())
            .map_or(i64::MAX, |extent| extent - 1);
        let mut previous = None;
        for (j, &given) in split_indices.iter().enumerate() {
            let field = || config().field("split_indices").index(j);
            int64(field, given, 0, greatest)?;
            if let Some(previous) = previous.filter(|&previous| previous >= given) {
                return Err(ShapeError::NotAscending { field: field(), given, previous });
            }
            previous = Some(given);
        }
    }
    Ok(())
}

fn sparse(sparse: &Sparse, rank: usize) -> Result {
    int64(|| layout_field("max_sparse_elements"), sparse.max_sparse_elements, 0, i64::MAX)?;
    one_each_or_none(|| layout_field("dim_level_types"), sparse.dim_level_types.len(), rank)?;
    for (name, flags) in [("dim_unique", &sparse.dim_unique), ("dim_ordered", &sparse.dim_ordered)]
    {
        one_each_or_none(|| layout_field(name), flags.len(), rank)?;
        for (i, flag) in flags.iter().enumerate() {
            let level = sparse.dim_level_types.get(i).copied().unwrap_or(DimLevelType::Dense);
            if level == DimLevelType::Dense && !flag {
                return Err(ShapeError::DenseLevel { field: layout_field(name).index(i) });
            }
        }
    }
    for (name, element_type) in [
        ("index_primitive_type", sparse.index_primitive_type),
        ("pointer_primitive_type", sparse.pointer_primitive_type),
    ] {
        if let Some(element_type) = element_type.filter(|kind| !kind.is_unsigned_integer()) {
            return Err(ShapeError::IndexType { field: layout_field(name), element_type });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn refusal(
        dimensions: &[u64],
        layout: Layout,
        change: impl FnOnce(&mut Layout),
    ) -> Option<String> {
        let mut layout = layout;
        change(&mut layout);
        let shape = Shape::new(ElementType::F32, dimensions.iter().copied(), layout);
        shape.err().map(|error| error.to_string())
    }

    /// Checks that the error message `refusal` contains `expected`. Both are `None` for a shape
    /// that the validator of XLA or TensorFlow accepts.
    fn check(refusal: Option<String>, expected: Option<&str>) {
        match (refusal, expected) {
            (None, None) => {}
            (Some(given), Some(expected)) => assert!(given.contains(expected), "{given}"),
            (given, expected) => panic!("{given:?} in place of {expected:?}"),
        }
    }

    #[test]
    fn minor_to_major_is_a_permutation() {
        for (order, says) in [
            (vec![0, 1], None),
            (vec![0, 1, 2], Some("layout.minor_to_major: expected 2 entries")),
            (vec![0], Some("layout.minor_to_major: expected 2 entries")),
            (vec![0, 2], Some("layout.minor_to_major[1]: expected 0 to 1, got 2")),
            (vec![1, 1], Some("layout.minor_to_major[1]: expected each dimension once, got 1")),
        ] {
            check(refusal(&[2, 3], Layout::new(order), |_| ()), says);
        }
        check(refusal(&[], Layout::new([]), |_| ()), None);
        let sparse = refusal(&[2, 3], Layout::new([]), |layout| layout.format = Format::Sparse);
        check(sparse, None);
    }

    #[test]
    fn padded_dimensions_cover_the_extents() {
        for (padded, says) in [
            (vec![2, 3], None),
            (vec![3, 5], None),
            (
                vec![1, 5],
                Some("padded_dimensions[0]: expected at least 2, the extent of dimension 0, got 1"),
            ),
            (
                vec![2, 2],
                Some("padded_dimensions[1]: expected at least 3, the extent of dimension 1, got 2"),
            ),
            (vec![4], Some("padded_dimensions: expected 2 entries")),
            (
                vec![2, 1 << 63],
                Some("padded_dimensions[1]: expected 0 to 2^63-1, got 9223372036854775808"),
            ),
        ] {
            check(refusal(&[2, 3], Layout::new([1, 0]).padded(padded, None), |_| ()), says);
        }
        let dimensions = [Dimension::AtMost(2), Dimension::Unbounded];
        let layout = |padded: [u64; 2]| Layout::new([1, 0]).padded(padded, None);
        let array = |padded| Shape::array(ElementType::F32, dimensions, layout(padded));
        assert_eq!(
            array([2, 3]).unwrap_err().to_string(),
            "layout.padded_dimensions[1]: padding needs an extent; expected `n` or `<=n` in dimension 1, got `?`"
        );
        assert!(matches!(array([1, 3]).unwrap_err(), ShapeError::BelowExtent { given: 1, .. }));
    }

    #[test]
    fn tiles_have_extents_of_at_least_1() {
        use TileDimension::{Combine, Size};
        for (tile, says) in [
            (vec![Size(2), Size(2), Size(2)], None),
            (vec![Combine, Combine, Size(4)], None),
            (vec![], Some("layout.tiles[1]: expected a tile of at least one extent")),
            (
                vec![Size(2), Size(0)],
                Some("layout.tiles[1].dimensions[1]: expected 1 to 2^63-1, got 0"),
            ),
            (
                vec![Size(2), Combine],
                Some("layout.tiles[1].dimensions[1]: expected a size of at least 1, got `*`"),
            ),
            (
                vec![Size(1); 65],
                Some("layout.tiles[1].dimensions: expected at most 64 extents, got 65"),
            ),
        ] {
            check(refusal(&[8], Layout::new([0]).tiled([Size(8)]).tiled(tile), |_| ()), says);
        }
        check(refusal(&[], Layout::new([]).tiled([Size(128)]), |_| ()), None);
        let padded_too = Layout::new([0]).tiled([Size(4)]).padded([12], None);
        check(refusal(&[8], padded_too, |_| ()), None);
    }

    #[test]
    fn numbers_fit_an_int64() {
        let big = 1 << 63;
        for (change, says) in [
            (
                (|layout| layout.tail_padding_alignment_in_elements = 0) as fn(&mut Layout),
                Some("layout.tail_padding_alignment_in_elements: expected 1 to 2^63-1, got 0"),
            ),
            (|layout| layout.element_size_in_bits = 42, None),
            (|layout| layout.memory_space = -1, None),
            (
                |layout| layout.element_size_in_bits = 1 << 63,
                Some("layout.element_size_in_bits: expected 0 to 2^63-1, got 9223372036854775808"),
            ),
            (
                |layout| layout.dynamic_shape_metadata_prefix_bytes = u64::MAX,
                Some(
                    "layout.dynamic_shape_metadata_prefix_bytes: expected 0 to 2^63-1, got 18446744073709551615",
                ),
            ),
        ] {
            check(refusal(&[2], Layout::new([0]), change), says);
        }
        check(
            refusal(&[2, big], Layout::new([1, 0]), |_| ()),
            Some("dimensions[1]: expected 0 to 2^63-1, got 9223372036854775808"),
        );
    }

    #[test]
    fn all_the_bytes_can_be_counted() {
        let array = |kind, dimensions: &[u64]| Shape::new(kind, dimensions.iter().copied(), None);
        let size =
            |shape: std::result::Result<Shape, _>| matches!(shape, Err(ShapeError::Size { .. }));
        assert!(size(array(ElementType::U8, &[1 << 62, 4])));
        assert!(size(array(ElementType::F64, &[1 << 61])));
        assert!(size(array(ElementType::F64, &[1 << 60])));
        assert!(array(ElementType::F32, &[1 << 60]).is_ok());
        assert!(array(ElementType::F64, &[1 << 62, 1 << 62, 0]).is_ok());
        let unknown = [Dimension::Unbounded, Dimension::Fixed(1 << 62), Dimension::Fixed(1 << 62)];
        assert!(Shape::array(ElementType::F32, unknown, None).is_ok());
    }

    #[test]
    fn splits_are_inside_their_physical_dimension() {
        // Physical dimension 0 is the most major one. In this layout it is logical dimension 2,
        // whose extent is 10.
        for (configs, says) in [
            (vec![(0, vec![9]), (2, vec![0, 3])], None),
            (vec![(3, vec![1])], Some("split_configs[0].dimension: expected 0 to 2, got 3")),
            (
                vec![(0, vec![1]), (0, vec![2])],
                Some("split_configs[1].dimension: expected each dimension once, got 0"),
            ),
            (
                vec![(0, vec![2, 2])],
                Some("split_configs[0].split_indices[1]: expected an index greater than 2"),
            ),
            (
                vec![(0, vec![10])],
                Some("split_configs[0].split_indices[0]: expected 0 to 9, got 10"),
            ),
        ] {
            let configs = configs.into_iter();
            let configs: Vec<_> = configs
                .map(|(dimension, split_indices)| SplitConfig { dimension, split_indices })
                .collect();
            let refusal = refusal(&[4, 6, 10], Layout::new([0, 1, 2]), |layout| {
                layout.split_configs = configs;
            });
            check(refusal, says);
        }
    }

    #[test]
    fn sparse_fields_are_one_per_dimension() {
        use DimLevelType::{Compressed, Dense};
        for (sparse, says) in [
            (Sparse { dim_level_types: vec![Dense, Compressed], ..Sparse::default() }, None),
            (
                Sparse { dim_level_types: vec![Dense], ..Sparse::default() },
                Some("layout.dim_level_types: expected 2 entries"),
            ),
            (
                Sparse { dim_ordered: vec![true; 3], ..Sparse::default() },
                Some("layout.dim_ordered: expected 2 entries"),
            ),
            (
                Sparse {
                    dim_level_types: vec![Compressed, Dense],
                    dim_unique: vec![false, false],
                    ..Sparse::default()
                },
                Some("layout.dim_unique[1]: expected true, as a dense level"),
            ),
            (
                Sparse { index_primitive_type: Some(ElementType::S32), ..Sparse::default() },
                Some(
                    "layout.index_primitive_type: expected an unsigned integer, u1 to u64, got s32",
                ),
            ),
            (
                Sparse { pointer_primitive_type: Some(ElementType::Tuple), ..Sparse::default() },
                Some(
                    "layout.pointer_primitive_type: expected an unsigned integer, u1 to u64, got tuple",
                ),
            ),
        ] {
            let sparse = Some(Box::new(sparse));
            check(refusal(&[2, 3], Layout::new([1, 0]), |layout| layout.sparse = sparse), says);
        }
    }
}
