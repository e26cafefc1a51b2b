//! Describes the buffers of parameters that the results of a module may reuse. XLA calls this
//! donation: the caller gives up a buffer, so that a result needs no memory of its own. There are
//! two forms. An *alias* names the array in the result that reuses the buffer, and a *donor* leaves
//! the choice of the array open.

use std::collections::HashSet;

use super::HloError;
use crate::{
    proto::hlo as proto,
    shape::{ElementType, FieldPath, Shape},
    stride::size,
};

/// An array in the result that reuses the buffer of an array in a parameter, as in XLA's
/// `HloInputOutputAliasProto`.
///
/// Each array is given by its path through nested tuples: the index of the element to enter in each
/// tuple, outermost first. The path is empty if the value is an array itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InputOutputAlias {
    /// The path to the array in the result.
    pub output_index: Vec<usize>,
    /// The index of the parameter.
    pub parameter_number: usize,
    /// The path to the array in the parameter.
    pub parameter_index: Vec<usize>,
    /// True if both arrays must share one buffer. If false, the result may also get a separate
    /// buffer.
    pub must_alias: bool,
}

/// An array in a parameter whose buffer any array in the result may reuse, as in XLA's
/// `HloBufferDonorProto`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct BufferDonor {
    /// The index of the parameter.
    pub parameter_number: usize,
    /// The path to the array in the parameter, as in [`InputOutputAlias`].
    pub parameter_index: Vec<usize>,
}

/// All buffers of parameters that the caller of a program allows results to reuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DonatedBuffers {
    pub(super) aliases: Vec<InputOutputAlias>,
    pub(super) donors: Vec<BufferDonor>,
}

impl DonatedBuffers {
    /// Checks the aliases and donors by the rules of XLA's `HloInputOutputAliasConfig::Verify` and
    /// `HloBufferDonorConfig::Verify`:
    ///
    /// - every path leads to an array, and not to a tuple, in a parameter or in the result of the
    ///   entry computation;
    /// - no array in the result has two aliases, and no buffer has two aliases, or an alias and a
    ///   donor;
    /// - both arrays of an alias have the same size.
    pub(super) fn check(&self, parameters: &[Shape], result: &Shape) -> Result<(), HloError> {
        let of_parameter = |number: usize, index: &[usize]| {
            parameters.get(number).and_then(|parameter| array_at(parameter, index))
        };
        let wrong = |list: &'static str, number: usize, field: &'static str, given, accepted| {
            let field = FieldPath::new(list).field("entries").index(number).field(field);
            Err(HloError::Field { field, given, accepted })
        };
        let (mut outputs, mut inputs) = (HashSet::new(), HashSet::new());
        let accepted_input = "a parameter and the path of an array in it, each once";
        let input = |number: usize, index: &[usize]| format!("{number}, {}", path(index));
        for (number, alias) in self.aliases.iter().enumerate() {
            let list = "input_output_alias";
            let output = path(&alias.output_index);
            let Some(taken) = array_at(result, &alias.output_index) else {
                let accepted = "the path of an array of the result";
                return wrong(list, number, "output_shape_index", output, accepted);
            };
            if !outputs.insert(&alias.output_index) {
                let accepted = "each part of the result once";
                return wrong(list, number, "output_shape_index", output, accepted);
            }
            let at = (alias.parameter_number, &alias.parameter_index[..]);
            let Some(given) = of_parameter(at.0, at.1).filter(|_| inputs.insert(at)) else {
                return wrong(list, number, "parameter_number", input(at.0, at.1), accepted_input);
            };
            // Compare the sizes only if both are known. The size of an array with an unknown
            // extent, or with a layout that strides cannot describe, is not known.
            if let (Ok(have), Ok(need)) = (size::array_size(given), size::array_size(taken))
                && have != need
            {
                let given = format!(
                    "{given} of {have} bytes, at {} of the parameters, for {taken} of {need} bytes, at {output} of the result",
                    input(at.0, at.1)
                );
                return wrong(list, number, "parameter_number", given, "parts of the same size");
            }
        }
        for (number, donor) in self.donors.iter().enumerate() {
            let at = (donor.parameter_number, &donor.parameter_index[..]);
            if of_parameter(at.0, at.1).is_none() || inputs.contains(&at) {
                let given = input(at.0, at.1);
                let accepted = "a parameter and the path of an array in it that no alias gives";
                return wrong("buffer_donor", number, "parameter_number", given, accepted);
            }
        }
        Ok(())
    }
}

/// Returns the array to which a path leads. Returns `None` if it leads to a tuple, or to no value.
fn array_at<'a>(shape: &'a Shape, path: &[usize]) -> Option<&'a Shape> {
    let part = path.iter().try_fold(shape, |shape, &part| {
        let is_tuple = shape.element_type() == ElementType::Tuple;
        shape.tuple_shapes().get(part).filter(|_| is_tuple)
    });
    part.filter(|part| part.is_array())
}

/// Formats a path as XLA does, such as `{0, 1}`.
pub(super) fn path(path: &[usize]) -> String {
    let parts: Vec<String> = path.iter().map(usize::to_string).collect();
    format!("{{{}}}", parts.join(", "))
}

/// Converts a path from the type that messages use. A negative entry becomes `usize::MAX`, an index
/// that no tuple has, so that [`DonatedBuffers::check`] reports it.
fn indices(path: Vec<i64>) -> Vec<usize> {
    path.into_iter().map(index).collect()
}

/// Converts an index from the type that messages use. A negative number becomes `usize::MAX`, which
/// is out of range in every list.
fn index(number: i64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Converts a path to the type that messages use.
fn numbers(path: &[usize]) -> Vec<i64> {
    path.iter().map(|&part| i64::try_from(part).unwrap_or(i64::MAX)).collect()
}

impl From<proto::hlo_input_output_alias_proto::AliasEntryProto> for InputOutputAlias {
    fn from(entry: proto::hlo_input_output_alias_proto::AliasEntryProto) -> Self {
        Self {
            output_index: indices(entry.output_shape_index),
            parameter_number: index(entry.parameter_number),
            parameter_index: indices(entry.parameter_shape_index),
            must_alias: entry.kind == MUST_ALIAS,
        }
    }
}

impl From<&InputOutputAlias> for proto::hlo_input_output_alias_proto::AliasEntryProto {
    fn from(alias: &InputOutputAlias) -> Self {
        Self {
            output_shape_index: numbers(&alias.output_index),
            parameter_number: i64::try_from(alias.parameter_number).unwrap_or(i64::MAX),
            parameter_shape_index: numbers(&alias.parameter_index),
            kind: if alias.must_alias { MUST_ALIAS } else { MAY_ALIAS },
        }
    }
}

/// The values of XLA's enum `HloInputOutputAliasProto.Kind`.
const MAY_ALIAS: i32 = 1;
const MUST_ALIAS: i32 = 2;

impl From<proto::hlo_buffer_donor_proto::BufferDonorEntryProto> for BufferDonor {
    fn from(entry: proto::hlo_buffer_donor_proto::BufferDonorEntryProto) -> Self {
        Self {
            parameter_number: index(entry.parameter_number),
            parameter_index: indices(entry.parameter_shape_index),
        }
    }
}

impl From<&BufferDonor> for proto::hlo_buffer_donor_proto::BufferDonorEntryProto {
    fn from(donor: &BufferDonor) -> Self {
        Self {
            parameter_number: i64::try_from(donor.parameter_number).unwrap_or(i64::MAX),
            parameter_shape_index: numbers(&donor.parameter_index),
        }
    }
}

impl From<&DonatedBuffers> for Option<proto::HloInputOutputAliasProto> {
    fn from(donated: &DonatedBuffers) -> Self {
        let entries: Vec<_> = donated.aliases.iter().map(Into::into).collect();
        (!entries.is_empty()).then_some(proto::HloInputOutputAliasProto { entries })
    }
}

impl From<&DonatedBuffers> for Option<proto::HloBufferDonorProto> {
    fn from(donated: &DonatedBuffers) -> Self {
        let entries: Vec<_> = donated.donors.iter().map(Into::into).collect();
        (!entries.is_empty()).then_some(proto::HloBufferDonorProto { entries })
    }
}
