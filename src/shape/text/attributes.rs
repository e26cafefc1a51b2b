//! The parser for layouts, such as `{1,0:T(8,128)(2,1)E(4)}`.

use smallvec::SmallVec;

use super::{
    ParseError,
    array::{element_type, shape},
    lexer::Token,
    parser::{FieldPlaces, Result, ShapeParser},
};
use crate::shape::{
    DimLevelType, ElementType, FieldPath, Format, Layout, PaddingValue, Sparse, SplitConfig, Tile,
    TileDimension,
};

/// The attributes in the order that XLA requires, followed by `PAD`, which is stridec's own.
const ORDER: [&str; 11] = ["D", "T", "L", "#", "*", "E", "S", "SC", "P", "M", "PAD"];

/// Parses the layout of an array. `rank` is the rank of the array, or `None` if it is not known.
/// Returns `None` for `{no layout}`.
pub(super) fn layout(
    parser: &mut ShapeParser<'_>,
    rank: Option<usize>,
    places: &mut FieldPlaces,
) -> Result<Option<Layout>> {
    let start = parser.place().start;
    let mut layout = Layout::new([]);
    if parser.token() == Token::Word("dense") {
        parser.advance()?;
        layout.format = Format::Dense;
    }
    parser.expect("{")?;
    if parser.token() == Token::Word("no") {
        parser.advance()?;
        parser.expect_word("layout")?;
        parser.expect("}")?;
        return Ok(None);
    }
    minor_to_major(parser, rank, &mut layout, places)?;
    if parser.eat(":")? {
        attributes(parser, &mut layout, places)?;
    }
    parser.expect("}")?;
    places.add(FieldPath::new("layout"), parser.since(start));
    Ok(Some(layout))
}

/// Returns the path of a field of the layout.
fn layout_field(name: &'static str) -> FieldPath {
    FieldPath::new("layout").field(name)
}

/// Parses the dimension numbers of a layout, and stops before `:` or `}`.
fn minor_to_major(
    parser: &mut ShapeParser<'_>,
    rank: Option<usize>,
    layout: &mut Layout,
    places: &mut FieldPlaces,
) -> Result<()> {
    let field = layout_field("minor_to_major");
    let start = parser.place().start;
    let greatest = rank.and_then(|rank| i64::try_from(rank).ok()).map_or(i64::MAX, |rank| rank - 1);
    while let Token::Number(_) = parser.token() {
        let field = || field.clone().index(layout.minor_to_major.len());
        let (number, place) = parser.natural(field, 0, greatest)?;
        places.add(field(), place);
        layout.minor_to_major.push(usize::try_from(number).unwrap_or(usize::MAX));
        match parser.token() {
            Token::Sign(":" | "}") => break,
            _ if parser.eat(",")? => {}
            _ => return Err(parser.unexpected("`,`, `:` or `}`")),
        }
        let Token::Number(_) = parser.token() else {
            return Err(parser.unexpected("a dimension number"));
        };
    }
    if let (true, Token::Word(_)) = (layout.minor_to_major.is_empty(), parser.token()) {
        return Err(parser.unexpected("a dimension number, `:` or `}`"));
    }
    places.add(field, parser.since(start));
    Ok(())
}

fn attributes(
    parser: &mut ShapeParser<'_>,
    layout: &mut Layout,
    places: &mut FieldPlaces,
) -> Result<()> {
    let mut next = 0;
    loop {
        let (Token::Word(name) | Token::Sign(name @ ("#" | "*"))) = parser.token() else {
            return Ok(());
        };
        let known = ORDER.iter().position(|&known| known == name);
        let accepted = "an attribute (D T L # * E S SC P M PAD, in this order)";
        let position = known.ok_or_else(|| parser.unexpected(accepted))?;
        if position < next {
            let last = ORDER[next - 1];
            let reason = format!(
                "expected attributes in the order D T L # * E S SC P M PAD, each once, got `{name}` after `{last}`"
            );
            return Err(ParseError::new(parser.place(), reason));
        }
        next = position + 1;
        parser.advance()?;
        match name {
            "D" => levels(parser, sparse(layout), places)?,
            "T" => tiles(parser, layout, places)?,
            "SC" => split_configs(parser, layout, places)?,
            "PAD" => padding(parser, layout, places)?,
            "P" => physical_shape(parser, sparse(layout))?,
            "#" => {
                let kind = unsigned_type(parser, "index_primitive_type", places)?;
                sparse(layout).index_primitive_type = Some(kind);
            }
            "*" => {
                let kind = unsigned_type(parser, "pointer_primitive_type", places)?;
                sparse(layout).pointer_primitive_type = Some(kind);
            }
            "S" => {
                parser.expect("(")?;
                layout.memory_space = parser.number()?.0;
                parser.expect(")")?;
            }
            "L" => {
                layout.tail_padding_alignment_in_elements =
                    count(parser, "tail_padding_alignment_in_elements", 1)?;
            }
            "E" => layout.element_size_in_bits = count(parser, "element_size_in_bits", 0)?,
            _ => {
                layout.dynamic_shape_metadata_prefix_bytes =
                    count(parser, "dynamic_shape_metadata_prefix_bytes", 0)?;
            }
        }
    }
}

fn sparse(layout: &mut Layout) -> &mut Sparse {
    layout.sparse.get_or_insert_default()
}

/// Parses a number in parentheses, such as `(4)`.
fn count(parser: &mut ShapeParser<'_>, name: &'static str, least: i64) -> Result<u64> {
    parser.expect("(")?;
    let (number, _) = parser.natural(|| layout_field(name), least, i64::MAX)?;
    parser.expect(")")?;
    Ok(number)
}

/// Parses the type of sparse indices or pointers, such as `(u32)`.
fn unsigned_type(
    parser: &mut ShapeParser<'_>,
    name: &'static str,
    places: &mut FieldPlaces,
) -> Result<ElementType> {
    parser.expect("(")?;
    let start = parser.place().start;
    let kind = element_type(parser)?;
    places.add(layout_field(name), parser.since(start));
    parser.expect(")")?;
    Ok(kind)
}

/// Parses the level type of each dimension, such as `(C+,D,S~)`.
fn levels(
    parser: &mut ShapeParser<'_>,
    sparse: &mut Sparse,
    places: &mut FieldPlaces,
) -> Result<()> {
    let start = parser.expect("(")?.start;
    parser.list(")", |parser, i| {
        let start = parser.place().start;
        let level = match parser.token() {
            Token::Word(letter) => DimLevelType::ALL.into_iter().find(|l| l.letter() == letter),
            _ => None,
        };
        let level = level.ok_or_else(|| parser.unexpected("a level (D, C, S or H)"))?;
        parser.advance()?;
        sparse.dim_level_types.push(level);
        sparse.dim_unique.push(!parser.eat("+")?);
        sparse.dim_ordered.push(!parser.eat("~")?);
        for name in ["dim_level_types", "dim_unique", "dim_ordered"] {
            places.add(layout_field(name).index(i), parser.since(start));
        }
        Ok(())
    })?;
    places.add(layout_field("dim_level_types"), parser.since(start));
    Ok(())
}

/// Parses one or more tiles, such as `(8,128)(2,1)`.
fn tiles(
    parser: &mut ShapeParser<'_>,
    layout: &mut Layout,
    places: &mut FieldPlaces,
) -> Result<()> {
    loop {
        let field = layout_field("tiles").index(layout.tiles.len());
        let tile = tile(parser, &field, places)?;
        // XLA writes `T()` for scalars. A tile without extents has no effect, so it is dropped.
        if !tile.dimensions.is_empty() {
            layout.tiles.push(tile);
        }
        if parser.token() != Token::Sign("(") {
            return Ok(());
        }
    }
}

/// Parses a tile, such as `(8,*,128)`. `field` is the path of the tile, for errors.
pub(super) fn tile(
    parser: &mut ShapeParser<'_>,
    field: &FieldPath,
    places: &mut FieldPlaces,
) -> Result<Tile> {
    let start = parser.expect("(")?.start;
    let mut tile = Tile { dimensions: SmallVec::new() };
    parser.list(")", |parser, i| {
        let field = || field.clone().field("dimensions").index(i);
        let start = parser.place().start;
        tile.dimensions.push(if parser.eat("*")? {
            TileDimension::Combine
        } else if let Token::Number(_) = parser.token() {
            TileDimension::Size(parser.natural(field, 1, i64::MAX)?.0)
        } else {
            return Err(parser.unexpected("a tile size or `*`"));
        });
        places.add(field(), parser.since(start));
        Ok(())
    })?;
    places.add(field.clone(), parser.since(start));
    Ok(tile)
}

/// Parses one or more split dimensions, such as `(0:10)(1:4,5)`.
fn split_configs(
    parser: &mut ShapeParser<'_>,
    layout: &mut Layout,
    places: &mut FieldPlaces,
) -> Result<()> {
    loop {
        let config = layout_field("split_configs").index(layout.split_configs.len());
        parser.expect("(")?;
        let field = || config.clone().field("dimension");
        let (dimension, place) = parser.natural(field, 0, i64::MAX)?;
        places.add(field(), place);
        parser.expect(":")?;
        let mut split_indices = Vec::new();
        parser.list(")", |parser, i| {
            let field = || config.clone().field("split_indices").index(i);
            let (index, place) = parser.natural(field, 0, i64::MAX)?;
            places.add(field(), place);
            split_indices.push(index);
            Ok(())
        })?;
        layout.split_configs.push(SplitConfig { dimension, split_indices });
        if parser.token() != Token::Sign("(") {
            return Ok(());
        }
    }
}

/// Parses a physical shape, such as `(s32[10,20]{1,0})`.
fn physical_shape(parser: &mut ShapeParser<'_>, sparse: &mut Sparse) -> Result<()> {
    parser.expect("(")?;
    parser.depth += 1;
    sparse.physical_shape = Some(shape(parser)?);
    parser.depth -= 1;
    parser.expect(")").map(drop)
}

/// Parses the padded dimensions and the padding value, such as `(3,5,zero)`.
fn padding(
    parser: &mut ShapeParser<'_>,
    layout: &mut Layout,
    places: &mut FieldPlaces,
) -> Result<()> {
    let list = layout_field("padded_dimensions");
    let start = parser.expect("(")?.start;
    parser.list(")", |parser, i| {
        let is_last = layout.padding_value.is_some() || layout.padding_number.is_some();
        if let Token::Number(_) = parser.token()
            && !is_last
        {
            let field = || list.clone().index(i);
            let (extent, place) = parser.natural(field, 0, i64::MAX)?;
            places.add(field(), place);
            layout.padded_dimensions.push(extent);
            return Ok(());
        }
        if let Token::Word("value") = parser.token()
            && !is_last
        {
            parser.advance()?;
            parser.expect("(")?;
            let (number, place) = parser.number()?;
            places.add(layout_field("padding_number"), place);
            layout.padding_number = Some(number);
            return parser.expect(")").map(drop);
        }
        let value = match parser.token() {
            Token::Word(name) if !is_last => PaddingValue::from_name(name),
            _ => None,
        };
        let accepted = if is_last {
            "`)`"
        } else {
            "a physical extent, or last zero, one, lowest, highest or unknown, or value(n)"
        };
        layout.padding_value = Some(value.ok_or_else(|| parser.unexpected(accepted))?);
        parser.advance().map(drop)
    })?;
    places.add(list, parser.since(start));
    if !layout.has_padding() {
        let reason = "expected physical extents, zero, one, lowest, highest or unknown, or \
                      value(n), got no padding";
        return Err(ParseError::new(parser.since(start), reason));
    }
    Ok(())
}
