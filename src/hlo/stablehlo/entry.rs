//! Finds the entry function of a module, which is usually `main`, and the layouts of the program's
//! buffers. A type in StableHLO has no layout, so the layouts are in attributes.

use super::{
    attribute::integer,
    cursor::{TextRange, decoded, find_entry},
    parse::MlirParser,
    syntax::MlirFunction,
};
use crate::{
    hlo::{BufferDonor, HloError, InputOutputAlias, alias::DonatedBuffers, text::cursor::Cursor},
    shape::{ElementType, Layout, MAX_RANK, Shape, ShapeError, TileDimension},
};

type Result<T> = std::result::Result<T, HloError>;

/// Returns the index of the entry function: `main` if there is one, and otherwise the only public
/// function.
pub(super) fn entry_function(
    parser: &MlirParser<'_>,
    functions: &[MlirFunction<'_>],
) -> Result<usize> {
    if let Some(main) = functions.iter().position(|function| function.name == "main") {
        return Ok(main);
    }
    let mut public = functions.iter().enumerate().filter(|(_, function)| !function.is_private);
    match (public.next(), public.next()) {
        (Some((only, _)), None) => Ok(only),
        (None, _) => Err(parser.cursor.unexpected("a function `@main`")),
        (Some(_), Some((_, second))) => {
            let reason = "expected a function `@main`, got several functions of other names";
            Err(parser.cursor.error(second.start, reason))
        }
    }
}

/// Returns the shapes of the program's buffers, which are the parameters and the result of the
/// entry function. Their layouts are in the attribute `mhlo.layout_mode` of arguments and results,
/// or in attributes that XLA adds to the module.
pub(super) fn buffers(
    parser: &MlirParser<'_>,
    function: &MlirFunction<'_>,
) -> Result<(Vec<Shape>, Shape)> {
    let layouts = |kind| module_layouts(parser, function.start, kind);
    let (mut of_parameters, mut of_results) = (layouts("parameter")?, layouts("result")?);
    let arguments = function.body.iter().flat_map(|body| &body.arguments);
    let parameters = arguments.zip(&function.arguments).map(|(&argument, dictionary)| {
        buffer(parser, parser.value_type(argument), dictionary.as_ref(), &mut of_parameters)
    });
    let parameters = parameters.collect::<Result<Vec<Shape>>>()?;
    let results = function.results.iter();
    let mut results = results
        .map(|(number, dictionary)| buffer(parser, *number, dictionary.as_ref(), &mut of_results))
        .collect::<Result<Vec<Shape>>>()?;
    let result = match results.len() {
        1 => results.remove(0),
        _ => Shape::tuple(results)
            .map_err(|error| parser.cursor.error(function.start, error.to_string()))?,
    };
    Ok((parameters, result))
}

/// Returns the buffers of arguments that results may reuse. Such an argument has the attribute
/// `tf.aliasing_output`, with the index of the result that reuses the buffer, or
/// `jax.buffer_donor`, which leaves the choice of the result open.
pub(super) fn donated_buffers(
    parser: &MlirParser<'_>,
    function: &MlirFunction<'_>,
) -> Result<DonatedBuffers> {
    let mut donated = DonatedBuffers::default();
    for (number, dictionary) in function.arguments.iter().enumerate() {
        let Some(dictionary) = dictionary else { continue };
        let entry = |name: &str| find_entry(&parser.cursor, dictionary, name);
        if let Some(range) = entry("tf.aliasing_output") {
            let result = parser.integer(range)?;
            let result = usize::try_from(result).unwrap_or(usize::MAX);
            // A single result is not in a tuple, so its path is empty.
            let is_single = function.results.len() == 1 && result == 0;
            donated.aliases.push(InputOutputAlias {
                output_index: if is_single { Vec::new() } else { vec![result] },
                parameter_number: number,
                ..InputOutputAlias::default()
            });
        }
        let donates = entry("jax.buffer_donor");
        if donates.is_some_and(|range| parser.cursor.text(range).trim() == "true") {
            let donor = BufferDonor { parameter_number: number, ..BufferDonor::default() };
            donated.donors.push(donor);
        }
    }
    Ok(donated)
}

/// The layouts of the arrays in all parameters or in all results that are not used yet, in order.
/// It is empty if the module gives none.
type ModuleLayouts = std::vec::IntoIter<Layout>;

/// Parses the layouts and the tiles that XLA adds to the module as attributes, such as
/// `mhlo.xla_entry_computation_parameter_layouts = [dense<[0, 1]> : tensor<2xindex>]`. `kind` is
/// `parameter` or `result`.
fn module_layouts(parser: &MlirParser<'_>, start: usize, kind: &str) -> Result<ModuleLayouts> {
    let dictionaries = &parser.dictionaries;
    let attribute = |names: &[&str]| {
        let names = names.iter().map(|name| format!("mhlo.xla_entry_computation_{kind}_{name}"));
        let mut ranges = names.flat_map(|name| {
            let found = |range| find_entry(&parser.cursor, range, &name);
            dictionaries.iter().filter_map(found).collect::<Vec<TextRange>>()
        });
        ranges.next().map(|range| IndexTree::read(&mut parser.cursor.part(range), 0)).transpose()
    };
    let Some(orders) = attribute(&["layouts", "layout"])? else {
        return Ok(ModuleLayouts::default());
    };
    let tiles = attribute(&["tiles"])?.map(IndexTree::lists).unwrap_or_default();
    let mut tiles = tiles.into_iter();
    let mut layouts = Vec::new();
    for order in orders.leaves() {
        let wrong = || parser.cursor.error(start, "expected dimensions in the module's layouts");
        let order = order.into_iter().map(|dimension| usize::try_from(dimension).ok());
        let order = order.collect::<Option<Vec<usize>>>().ok_or_else(wrong)?;
        let mut layout = Layout::new(order);
        for tile in tiles.next().unwrap_or_default() {
            layout = layout.tiled(tile.into_iter().map(|extent| match u64::try_from(extent) {
                Ok(extent) => TileDimension::Size(extent),
                Err(_) => TileDimension::Combine,
            }));
        }
        layouts.push(layout);
    }
    Ok(layouts.into_iter())
}

/// The value of an attribute for layouts or tiles: a list of integers, or a list of such trees. The
/// outer lists follow the nesting of tuples. Arrays are in order, so only the innermost lists
/// matter.
enum IndexTree {
    Numbers(Vec<i64>),
    List(Vec<IndexTree>),
}

impl IndexTree {
    /// Parses a tree. `depth` is the number of lists around it.
    fn read(cursor: &mut Cursor<'_>, depth: usize) -> Result<Self> {
        let start = cursor.start()?;
        if cursor.eat("[") {
            if depth == MAX_RANK {
                return Err(cursor.error(start, "expected fewer lists inside one another"));
            }
            let mut parts = Vec::new();
            cursor.list("]", |cursor| {
                parts.push(Self::read(cursor, depth + 1)?);
                Ok(())
            })?;
            return Ok(Self::List(parts));
        }
        if !cursor.eat_keyword("dense") {
            return Err(cursor.unexpected("`dense`"));
        }
        cursor.expect("<")?;
        let mut numbers = Vec::new();
        let is_repeated = !cursor.sees("[") && !cursor.sees(">");
        if cursor.eat("[") {
            cursor.list("]", |cursor| {
                numbers.push(integer(cursor)?);
                Ok(())
            })?;
        } else if is_repeated {
            numbers.push(integer(cursor)?);
        }
        cursor.expect(">")?;
        cursor.expect(":")?;
        let kind = cursor.type_text()?;
        if is_repeated {
            let digits = cursor.text(kind).trim_start_matches("tensor<").split('x').next();
            let count = digits.and_then(|digits| digits.parse::<usize>().ok());
            let count = count.filter(|&count| count <= MAX_RANK);
            let count =
                count.ok_or_else(|| cursor.error(start, "expected a number for each dimension"))?;
            numbers.resize(count, numbers[0]);
        }
        Ok(Self::Numbers(numbers))
    }

    /// Returns the integers of each innermost list, in order.
    fn leaves(self) -> Vec<Vec<i64>> {
        match self {
            Self::Numbers(numbers) => vec![numbers],
            Self::List(parts) => parts.into_iter().flat_map(Self::leaves).collect(),
        }
    }

    /// Returns each list of innermost lists, in order. An innermost list is one tile, so such a
    /// list has the tiles of one array. It may be empty.
    fn lists(self) -> Vec<Vec<Vec<i64>>> {
        match self {
            Self::Numbers(numbers) => vec![vec![numbers]],
            Self::List(parts) if parts.iter().all(|part| matches!(part, Self::Numbers(_))) => {
                vec![parts.into_iter().flat_map(Self::leaves).collect()]
            }
            Self::List(parts) => parts.into_iter().flat_map(Self::lists).collect(),
        }
    }
}

/// Returns the shape of a buffer. Its layout is the one in `dictionary`, or else the next one in
/// `layouts`. `number` is the index of its type.
fn buffer(
    parser: &MlirParser<'_>,
    number: usize,
    dictionary: Option<&TextRange>,
    layouts: &mut ModuleLayouts,
) -> Result<Shape> {
    let shape = parser.types.shape(number);
    let start = parser.cursor.position();
    let shape = with_layouts(shape, layouts).map_err(|error| {
        parser.cursor.error(dictionary.map_or(start, |it| it.start), error.to_string())
    })?;
    let mode = dictionary
        .and_then(|dictionary| find_entry(&parser.cursor, dictionary, "mhlo.layout_mode"));
    let Some(range) = mode else { return Ok(shape) };
    let layout = decoded(parser.cursor.text(range.clone()));
    if layout == "default" || layout == "auto" {
        return Ok(shape);
    }
    format!("{}{layout}", shape.without_layout()).parse().map_err(
        |error: crate::shape::ParseError| {
            let reason = format!("expected a layout such as `{{0,1}}`: {}", error.reason());
            parser.cursor.error(range.start, reason)
        },
    )
}

/// Gives each array in a shape the next layout of `layouts`, or no layout if none are left.
fn with_layouts(
    shape: &Shape,
    layouts: &mut ModuleLayouts,
) -> std::result::Result<Shape, ShapeError> {
    if shape.is_array() {
        let dimensions = shape.dimensions().iter().copied();
        return Shape::array(shape.element_type(), dimensions, layouts.next());
    }
    if shape.element_type() != ElementType::Tuple {
        return Ok(shape.clone());
    }
    let parts = shape.tuple_shapes().iter().map(|part| with_layouts(part, layouts));
    Shape::tuple(parts.collect::<std::result::Result<Vec<Shape>, ShapeError>>()?)
}
