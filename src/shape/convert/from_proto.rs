//! Converts protos that any version of XLA or TensorFlow wrote. Every field is checked.

use super::UNBOUNDED;
use crate::{
    proto::xla,
    shape::{
        DimLevelType, Dimension, ElementType, FieldPath, Format, Layout, MAX_DEPTH, PaddingValue,
        Shape, ShapeError, Sparse, SplitConfig, Tile, TileDimension,
    },
};

type Result<T> = std::result::Result<T, ShapeError>;

impl TryFrom<&xla::Shape> for Shape {
    type Error = ShapeError;

    fn try_from(proto: &xla::Shape) -> Result<Self> {
        shape(proto, 1)
    }
}

impl TryFrom<xla::Shape> for Shape {
    type Error = ShapeError;

    fn try_from(proto: xla::Shape) -> Result<Self> {
        Self::try_from(&proto)
    }
}

fn shape(proto: &xla::Shape, depth: usize) -> Result<Shape> {
    let field = FieldPath::new("element_type");
    let element_type = primitive_type(field, proto.element_type)?;
    let parts = FieldPath::new("tuple_shapes");
    if depth > MAX_DEPTH {
        let what = "shapes inside one another";
        return Err(ShapeError::TooMany { field: parts, what, given: depth, limit: MAX_DEPTH });
    }
    let misplaced = |field| Err(ShapeError::Misplaced { field, element_type });
    if element_type.bits().is_some() {
        if !proto.tuple_shapes.is_empty() {
            return misplaced(parts);
        }
        let dimensions = dimensions(proto)?;
        let field = FieldPath::new("layout");
        let layout = match proto.layout.as_deref() {
            // An empty layout message means that the shape has no layout. For a scalar, it is a
            // layout, because the layout of a scalar has no fields.
            Some(layout) if *layout != xla::Layout::default() || dimensions.is_empty() => {
                Some(self::layout(layout, depth).map_err(|error| error.below(&field))?)
            }
            _ => None,
        };
        return Shape::array(element_type, dimensions, layout);
    }
    for (name, given) in [
        ("dimensions", !proto.dimensions.is_empty()),
        ("is_dynamic_dimension", !proto.is_dynamic_dimension.is_empty()),
        ("layout", proto.layout.is_some()),
    ] {
        if given {
            return misplaced(FieldPath::new(name));
        }
    }
    match element_type {
        ElementType::Tuple => Shape::tuple(tuple_shapes(proto, depth)?),
        ElementType::Buffer => match <[Shape; 1]>::try_from(tuple_shapes(proto, depth)?) {
            Ok([content]) => Shape::buffer(content),
            Err(shapes) => {
                let given = format!("a count of {}", shapes.len());
                Err(ShapeError::BufferContent { field: parts, given })
            }
        },
        _ if !proto.tuple_shapes.is_empty() => misplaced(parts),
        ElementType::Token => Ok(Shape::token()),
        _ => Ok(Shape::opaque()),
    }
}

fn tuple_shapes(proto: &xla::Shape, depth: usize) -> Result<Vec<Shape>> {
    let field = |i| FieldPath::new("tuple_shapes").index(i);
    let convert = |(i, part)| shape(part, depth + 1).map_err(|error| error.below(&field(i)));
    proto.tuple_shapes.iter().enumerate().map(convert).collect()
}

fn primitive_type(field: FieldPath, given: i32) -> Result<ElementType> {
    let accepted = "xla.PrimitiveType, 1 to 36";
    let unknown = || ShapeError::UnknownEnum { field, given, accepted };
    ElementType::from_number(given).ok_or_else(unknown)
}

fn dimensions(proto: &xla::Shape) -> Result<Vec<Dimension>> {
    let (rank, dynamic) = (proto.dimensions.len(), &proto.is_dynamic_dimension);
    if !dynamic.is_empty() && dynamic.len() != rank {
        return Err(ShapeError::Count {
            field: FieldPath::new("is_dynamic_dimension"),
            given: dynamic.len(),
            rank,
            accepted: "one for each dimension, or none",
        });
    }
    let convert = |(dimension, &given): (usize, &i64)| {
        let field = || FieldPath::new("dimensions").index(dimension);
        match (given, dynamic.get(dimension).copied().unwrap_or(false)) {
            (UNBOUNDED, true) => Ok(Dimension::Unbounded),
            (UNBOUNDED, false) => {
                Err(ShapeError::StaticUnbounded { field: field(), given, dimension })
            }
            (_, true) => natural(field, given, 0).map(Dimension::AtMost),
            (_, false) => natural(field, given, 0).map(Dimension::Fixed),
        }
    };
    proto.dimensions.iter().enumerate().map(convert).collect()
}

fn natural(field: impl FnOnce() -> FieldPath, given: i64, least: i64) -> Result<u64> {
    u64::try_from(given).map_err(|_| ShapeError::Range {
        field: field(),
        given: given.into(),
        least,
        greatest: i64::MAX,
    })
}

fn naturals(name: &'static str, given: &[i64]) -> Result<Vec<u64>> {
    let field = |i| FieldPath::new(name).index(i);
    given.iter().enumerate().map(|(i, &n)| natural(|| field(i), n, 0)).collect()
}

/// Converts a number of an enum to its value. `all` lists the values, which have the numbers 0, 1,
/// 2, and so on.
fn enumerator<T: Copy>(
    field: impl FnOnce() -> FieldPath,
    given: i32,
    all: &[T],
    accepted: &'static str,
) -> Result<T> {
    let known = usize::try_from(given).ok().and_then(|number| all.get(number).copied());
    known.ok_or_else(|| ShapeError::UnknownEnum { field: field(), given, accepted })
}

fn layout(proto: &xla::Layout, depth: usize) -> Result<Layout> {
    let field = FieldPath::new;
    let order = naturals("minor_to_major", &proto.minor_to_major)?;
    let order = order.into_iter().map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let accepted = "xla.PaddingValue, 0 to 5";
    let padding_value =
        |given| enumerator(|| field("padding_value"), given, &PaddingValue::ALL, accepted);
    let accepted = "xla.Format, 0 to 2";
    let formats = [Format::Unspecified, Format::Dense, Format::Sparse];
    let alignment = natural(
        || field("tail_padding_alignment_in_elements"),
        proto.tail_padding_alignment_in_elements,
        1,
    )?;
    let size = |name, given| natural(|| field(name), given, 0);
    Ok(Layout {
        padded_dimensions: naturals("padded_dimensions", &proto.padded_dimensions)?.into(),
        padding_value: proto.padding_value.map(padding_value).transpose()?,
        padding_number: proto.padding_number,
        // XLA gives a scalar a tile without extents. It has no effect, so it is dropped.
        tiles: (proto.tiles.iter().enumerate())
            .filter(|(_, tile)| !tile.dimensions.is_empty())
            .map(tile)
            .collect::<Result<_>>()?,
        element_size_in_bits: size("element_size_in_bits", proto.element_size_in_bits)?,
        // Writers before 2024 did not set this field. Then it is 0, which also means no padding at
        // the end.
        tail_padding_alignment_in_elements: alignment.max(1),
        dynamic_shape_metadata_prefix_bytes: size(
            "dynamic_shape_metadata_prefix_bytes",
            proto.dynamic_shape_metadata_prefix_bytes,
        )?,
        memory_space: proto.memory_space,
        split_configs: split_configs(&proto.split_configs)?,
        format: enumerator(|| field("format"), proto.format, &formats, accepted)?,
        sparse: sparse(proto, depth)?.map(Box::new),
        ..Layout::new(order)
    })
}

fn tile((i, proto): (usize, &xla::Tile)) -> Result<Tile> {
    let field = || FieldPath::new("tiles").index(i).field("dimensions");
    let extents = proto.dimensions.iter().enumerate().map(|(j, &extent)| match extent {
        UNBOUNDED => Ok(TileDimension::Combine),
        _ => natural(|| field().index(j), extent, 1).map(TileDimension::Size),
    });
    Ok(Tile { dimensions: extents.collect::<Result<_>>()? })
}

fn split_configs(protos: &[xla::SplitConfig]) -> Result<Vec<SplitConfig>> {
    let convert = |(i, proto): (usize, &xla::SplitConfig)| {
        let config = FieldPath::new("split_configs").index(i);
        let split_indices = naturals("split_indices", &proto.split_indices);
        Ok(SplitConfig {
            dimension: natural(|| config.clone().field("dimension"), proto.dimension, 0)?,
            split_indices: split_indices.map_err(|error| error.below(&config))?,
        })
    };
    protos.iter().enumerate().map(convert).collect()
}

fn sparse(proto: &xla::Layout, depth: usize) -> Result<Option<Sparse>> {
    let field = FieldPath::new;
    let accepted = "xla.DimLevelType, 0 to 3";
    let level = |(i, &given): (usize, &i32)| {
        enumerator(|| field("dim_level_types").index(i), given, &DimLevelType::ALL, accepted)
    };
    let index_type = |name, given| match given {
        0 => Ok(None),
        _ => primitive_type(field(name), given).map(Some),
    };
    let physical_shape = |physical: &xla::Shape| {
        shape(physical, depth + 2).map_err(|error| error.below(&field("physical_shape")))
    };
    let elements = proto.max_sparse_elements;
    let sparse = Sparse {
        max_sparse_elements: natural(|| field("max_sparse_elements"), elements, 0)?,
        dim_level_types: proto
            .dim_level_types
            .iter()
            .enumerate()
            .map(level)
            .collect::<Result<_>>()?,
        dim_unique: proto.dim_unique.clone(),
        dim_ordered: proto.dim_ordered.clone(),
        index_primitive_type: index_type("index_primitive_type", proto.index_primitive_type)?,
        pointer_primitive_type: index_type("pointer_primitive_type", proto.pointer_primitive_type)?,
        physical_shape: proto.physical_shape.as_deref().map(physical_shape).transpose()?,
    };
    Ok((sparse != Sparse::default()).then_some(sparse))
}
