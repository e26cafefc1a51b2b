//! The function that a module runs, and the layouts of its buffers.

use super::{
    cursor::{Place, decoded, find_entry},
    parse::MlirParser,
    syntax::MlirFunction,
};
use crate::{hlo::HloError, shape::Shape};

type Result<T> = std::result::Result<T, HloError>;

/// Returns the place of the function that runs: `main`, or the only one that is not private.
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

/// Returns the shapes of the buffers that the entry function reads and writes, with the layouts of
/// `mhlo.layout_mode`.
pub(super) fn buffers(
    parser: &MlirParser<'_>,
    function: &MlirFunction<'_>,
) -> Result<(Vec<Shape>, Shape)> {
    let arguments = function.body.iter().flat_map(|body| &body.arguments);
    let parameters = arguments.zip(&function.arguments).map(|(&argument, dictionary)| {
        buffer(parser, parser.value_type(argument), dictionary.as_ref())
    });
    let parameters = parameters.collect::<Result<Vec<Shape>>>()?;
    let results = function.results.iter();
    let mut results = results
        .map(|(number, dictionary)| buffer(parser, *number, dictionary.as_ref()))
        .collect::<Result<Vec<Shape>>>()?;
    let result = match results.len() {
        1 => results.remove(0),
        _ => Shape::tuple(results)
            .map_err(|error| parser.cursor.error(function.start, error.to_string()))?,
    };
    Ok((parameters, result))
}

fn buffer(parser: &MlirParser<'_>, number: usize, dictionary: Option<&Place>) -> Result<Shape> {
    let shape = parser.types.shape(number);
    let mode = dictionary
        .and_then(|dictionary| find_entry(&parser.cursor, dictionary, "mhlo.layout_mode"));
    let Some(place) = mode else { return Ok(shape.clone()) };
    let layout = decoded(parser.cursor.text(place.clone()));
    if layout == "default" || layout == "auto" {
        return Ok(shape.clone());
    }
    format!("{}{layout}", shape.without_layout()).parse().map_err(
        |error: crate::shape::ParseError| {
            let reason = format!("expected a layout such as `{{0,1}}`: {}", error.reason());
            parser.cursor.error(place.start, reason)
        },
    )
}
