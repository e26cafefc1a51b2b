//! Parses the attributes of instructions that affect data movement, such as `dimensions={1,0}`, and
//! skips all others. The values are stored in a message as XLA's protos have them, and are not
//! checked here, because the reader of protos needs the same checks.

use super::{cursor::Cursor, source};
use crate::{
    hlo::{BufferDonor, HloError, InputOutputAlias},
    proto::hlo::{
        HloInstructionProto, OutputOperandAliasing, PaddingConfig,
        hlo_instruction_proto::SliceDimensions, padding_config::PaddingConfigDimension,
    },
};

type Result<T> = std::result::Result<T, HloError>;

/// Parses the value of the attribute `name` and stores it in `proto`, the fields of the
/// instruction. `value` is the text of the value, and `cursor` is at its beginning. An attribute
/// that stridec does not need is skipped.
pub(super) fn read(
    name: &str,
    value: &str,
    cursor: &mut Cursor<'_>,
    proto: &mut HloInstructionProto,
) -> Result<()> {
    match (proto.opcode.as_str(), name) {
        (_, "metadata") => proto.metadata = Some(source::metadata(value)),
        (
            "transpose" | "broadcast" | "reverse" | "concatenate" | "reduce" | "sort"
            | "get-dimension-size" | "set-dimension-size",
            "dimensions",
        ) => proto.dimensions = numbers(cursor)?,
        ("sort", "is_stable") => proto.is_stable = value == "true",
        ("iota", "iota_dimension") => proto.dimensions = vec![cursor.number("a dimension")?],
        ("slice", "slice") => proto.slice_dimensions = slice(cursor)?,
        ("pad", "padding") => proto.padding_config = Some(padding(value, cursor)?),
        ("dynamic-slice", "dynamic_slice_sizes") => proto.dynamic_slice_sizes = numbers(cursor)?,
        ("get-tuple-element", "index") => proto.tuple_index = cursor.number("a part's number")?,
        ("fusion", "kind") => value.clone_into(&mut proto.fusion_kind),
        ("compare", "direction") => value.clone_into(&mut proto.comparison_direction),
        ("compare", "type") => value.clone_into(&mut proto.comparison_type),
        ("custom-call", "custom_call_target") => {
            value.trim_matches('"').clone_into(&mut proto.custom_call_target);
        }
        (_, "output_to_operand_aliasing") => {
            proto.output_operand_aliasing = output_operand_aliasing(cursor)?;
        }
        ("gather", _) => gather(name, cursor, proto)?,
        ("scatter", _) => scatter(name, cursor, proto)?,
        _ => {}
    }
    Ok(())
}

/// Parses the list of arrays in a result that share buffers with arrays in operands, such as
/// `{{0}: (1, {})}`, which says that element 0 of the result shares the buffer of operand 1.
fn output_operand_aliasing(cursor: &mut Cursor<'_>) -> Result<Vec<OutputOperandAliasing>> {
    let mut parts = Vec::new();
    list(cursor, |cursor| {
        let output_shape_index = numbers(cursor)?;
        cursor.expect(":")?;
        cursor.expect("(")?;
        let operand_index = cursor.number("the number of an operand")?;
        cursor.expect(",")?;
        let operand_shape_index = numbers(cursor)?;
        cursor.expect(")")?;
        parts.push(OutputOperandAliasing {
            output_shape_index,
            operand_index,
            operand_shape_index,
        });
        Ok(())
    })?;
    Ok(parts)
}

/// Parses the list of arrays in a module's result that reuse buffers of parameters, such as
/// `{{}: (0, {}, may-alias)}`, which says that the whole result may reuse the buffer of parameter
/// 0.
pub(super) fn input_output_alias(cursor: &mut Cursor<'_>) -> Result<Vec<InputOutputAlias>> {
    let mut parts = Vec::new();
    list(cursor, |cursor| {
        let output_index = path(cursor)?;
        cursor.expect(":")?;
        let (parameter_number, parameter_index, must_alias) = part_of_parameter(cursor)?;
        parts.push(InputOutputAlias {
            output_index,
            parameter_number,
            parameter_index,
            must_alias,
        });
        Ok(())
    })?;
    Ok(parts)
}

/// Parses the list of arrays in parameters whose buffers any result may reuse, such as
/// `{(0, {}), (1, {2})}`, which names parameter 0 and element 2 of parameter 1.
pub(super) fn buffer_donor(cursor: &mut Cursor<'_>) -> Result<Vec<BufferDonor>> {
    let mut parts = Vec::new();
    list(cursor, |cursor| {
        let (parameter_number, parameter_index, _) = part_of_parameter(cursor)?;
        parts.push(BufferDonor { parameter_number, parameter_index });
        Ok(())
    })?;
    Ok(parts)
}

/// Parses a reference to an array in a parameter, such as `(0, {1}, must-alias)`. Returns the index
/// of the parameter, the path to the array inside it, and true if the reference ends with
/// `must-alias`.
fn part_of_parameter(cursor: &mut Cursor<'_>) -> Result<(usize, Vec<usize>, bool)> {
    cursor.expect("(")?;
    let parameter = cursor.number("the number of a parameter")?;
    cursor.expect(",")?;
    let index = path(cursor)?;
    let kind = if cursor.eat(",") {
        cursor.expect_word("`may-alias` or `must-alias`")? == "must-alias"
    } else {
        false
    };
    cursor.expect(")")?;
    Ok((usize::try_from(parameter).unwrap_or(usize::MAX), index, kind))
}

/// Parses a path through nested tuples, such as `{0,1}`. A negative entry becomes `usize::MAX`, an
/// index that no tuple has, so that the check of the whole module reports it.
fn path(cursor: &mut Cursor<'_>) -> Result<Vec<usize>> {
    let numbers = numbers(cursor)?.into_iter();
    Ok(numbers.map(|number| usize::try_from(number).unwrap_or(usize::MAX)).collect())
}

/// Parses a list of numbers in braces, such as `{0,1}`.
pub(super) fn numbers(cursor: &mut Cursor<'_>) -> Result<Vec<i64>> {
    let mut numbers = Vec::new();
    list(cursor, |cursor| {
        numbers.push(cursor.number("a number")?);
        Ok(())
    })?;
    Ok(numbers)
}

/// Parses a list in braces, whose items are separated by commas. `item` parses one item.
fn list<'a>(
    cursor: &mut Cursor<'a>,
    mut item: impl FnMut(&mut Cursor<'a>) -> Result<()>,
) -> Result<()> {
    cursor.expect("{")?;
    let mut first = true;
    while !cursor.eat("}") {
        if !std::mem::take(&mut first) {
            cursor.expect(",")?;
        }
        item(cursor)?;
    }
    Ok(())
}

/// Parses the ranges of a slice, such as `{[0:4:2], [1:3]}`: the start, the limit and the stride of
/// each dimension. A stride that is omitted is 1.
fn slice(cursor: &mut Cursor<'_>) -> Result<Vec<SliceDimensions>> {
    let mut dimensions = Vec::new();
    list(cursor, |cursor| {
        cursor.expect("[")?;
        let start = cursor.number("the first index")?;
        cursor.expect(":")?;
        let limit = cursor.number("the index past the last")?;
        let stride = if cursor.eat(":") { cursor.number("a stride")? } else { 1 };
        cursor.expect("]")?;
        dimensions.push(SliceDimensions { start, limit, stride });
        Ok(())
    })?;
    Ok(dimensions)
}

/// Parses the padding of each dimension, such as `0_1x-2_3_1`: the low, high and interior padding.
/// An interior padding that is omitted is 0.
pub(super) fn padding(value: &str, cursor: &Cursor<'_>) -> Result<PaddingConfig> {
    let mut dimensions = Vec::new();
    for dimension in value.split('x').filter(|_| !value.is_empty()) {
        let numbers: Option<Vec<i64>> =
            dimension.split('_').map(|number| number.parse().ok()).collect();
        let (low, high, interior) = match numbers.as_deref() {
            Some(&[low, high]) => (low, high, 0),
            Some(&[low, high, interior]) => (low, high, interior),
            _ => {
                let reason = "expected `low_high` or `low_high_interior` for each dimension, with `x` between them";
                return Err(cursor.error(cursor.position(), reason));
            }
        };
        dimensions.push(PaddingConfigDimension {
            edge_padding_low: low,
            edge_padding_high: high,
            interior_padding: interior,
        });
    }
    Ok(PaddingConfig { dimensions })
}

/// Parses the value of the attribute `name` of a gather and stores it in `proto`.
fn gather(name: &str, cursor: &mut Cursor<'_>, proto: &mut HloInstructionProto) -> Result<()> {
    let dimension_numbers = proto.gather_dimension_numbers.get_or_insert_default();
    match name {
        "offset_dims" => dimension_numbers.offset_dims = numbers(cursor)?,
        "collapsed_slice_dims" => dimension_numbers.collapsed_slice_dims = numbers(cursor)?,
        "start_index_map" => dimension_numbers.start_index_map = numbers(cursor)?,
        "index_vector_dim" => dimension_numbers.index_vector_dim = cursor.number("a dimension")?,
        "operand_batching_dims" => dimension_numbers.operand_batching_dims = numbers(cursor)?,
        "start_indices_batching_dims" => {
            dimension_numbers.start_indices_batching_dims = numbers(cursor)?;
        }
        "slice_sizes" => proto.gather_slice_sizes = numbers(cursor)?,
        _ => {}
    }
    Ok(())
}

/// Parses the value of the attribute `name` of a scatter and stores it in `proto`.
fn scatter(name: &str, cursor: &mut Cursor<'_>, proto: &mut HloInstructionProto) -> Result<()> {
    let dimension_numbers = proto.scatter_dimension_numbers.get_or_insert_default();
    match name {
        "update_window_dims" => dimension_numbers.update_window_dims = numbers(cursor)?,
        "inserted_window_dims" => dimension_numbers.inserted_window_dims = numbers(cursor)?,
        "scatter_dims_to_operand_dims" => {
            dimension_numbers.scatter_dims_to_operand_dims = numbers(cursor)?;
        }
        "index_vector_dim" => dimension_numbers.index_vector_dim = cursor.number("a dimension")?,
        "input_batching_dims" => dimension_numbers.input_batching_dims = numbers(cursor)?,
        "scatter_indices_batching_dims" => {
            dimension_numbers.scatter_indices_batching_dims = numbers(cursor)?;
        }
        _ => {}
    }
    Ok(())
}
