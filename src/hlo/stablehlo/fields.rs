//! Converts the attributes of an operation to the fields of an `xla.HloInstructionProto`, as XLA's
//! converter from StableHLO does. `hlo::attributes` checks the fields later.

use super::{parse::MlirParser, syntax::MlirOperation};
use crate::{
    hlo::HloError,
    proto::hlo::{
        GatherDimensionNumbers, HloInstructionProto, PaddingConfig, ScatterDimensionNumbers,
        hlo_instruction_proto::SliceDimensions, padding_config::PaddingConfigDimension,
    },
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

/// The operations of Shardy that return their operand. They only say how the operand is distributed
/// over devices, so they become custom calls that return their operand.
const SHARDY_IDENTITIES: [&str; 9] = [
    "sdy.sharding_constraint",
    "sdy.reshard",
    "sdy.all_gather",
    "sdy.all_slice",
    "sdy.all_to_all",
    "sdy.collective_permute",
    "sdy.propagation_barrier",
    "sdy.data_flow_edge",
    "sdy.func_data_flow_edge",
];

/// Returns the name of the opcode that XLA's converter gives an operation. If XLA has no such
/// opcode, returns the operation's own name, in which `-` replaces `_` if the dialect is StableHLO.
pub(super) fn hlo_opcode(operation: &MlirOperation<'_>) -> String {
    let name = match operation.stablehlo_name() {
        None => match operation.name {
            "call" | "func.call" | "sdy.named_computation" => "call",
            "chlo.constant" | "sdy.constant" => "constant",
            name if SHARDY_IDENTITIES.contains(&name) => "custom-call",
            name => name,
        },
        Some("broadcast_in_dim" | "dynamic_broadcast_in_dim") => "broadcast",
        Some("dynamic_reshape") => "reshape",
        Some("dynamic_iota") => "iota",
        Some("case" | "if") => "conditional",
        Some("composite") => "call",
        Some("create_token") => "after-all",
        Some("cross-replica-sum") => "all-reduce",
        Some("dot_general") => "dot",
        Some("optimization_barrier") => "opt-barrier",
        Some(name) => return name.replace('_', "-"),
    };
    name.to_owned()
}

impl<'a> MlirParser<'a> {
    /// Converts the attributes of an operation to fields of an instruction. `opcode` is the result
    /// of [`hlo_opcode`].
    pub(super) fn hlo_fields(
        &mut self,
        operation: &MlirOperation<'a>,
        opcode: &str,
    ) -> Result<HloInstructionProto> {
        let mut proto =
            HloInstructionProto { opcode: opcode.to_owned(), ..HloInstructionProto::default() };
        let name = operation.stablehlo_name();
        match name.unwrap_or(operation.name) {
            "broadcast_in_dim" | "dynamic_broadcast_in_dim" => {
                proto.dimensions = self.list_of(operation, "broadcast_dimensions", "dims")?;
            }
            "transpose" => proto.dimensions = self.list_of(operation, "permutation", "dims")?,
            "reverse" => proto.dimensions = self.list_of(operation, "dimensions", "dims")?,
            "reduce" | "map" => {
                proto.dimensions = self.list_of(operation, "dimensions", "dimensions")?;
            }
            "concatenate" | "get_dimension_size" | "set_dimension_size" => {
                proto.dimensions = vec![self.number_of(operation, "dimension")?];
            }
            "sort" => {
                // A negative dimension counts from the end. The default is -1, which is the last
                // dimension.
                let dimension = self.attribute(operation, "dimension", &[]);
                let dimension = dimension.map(|range| self.integer(range)).transpose()?;
                let dimension = dimension.unwrap_or(-1);
                let first = operation.operands.first();
                let rank =
                    first.map_or(0, |&value| self.types.shape(self.value_type(value)).rank());
                let rank = i64::try_from(rank).unwrap_or(0);
                proto.dimensions = vec![if dimension < 0 { dimension + rank } else { dimension }];
                let is_stable = self.attribute(operation, "is_stable", &[]);
                proto.is_stable = is_stable.is_some_and(|range| self.cursor.text(range) == "true");
            }
            "iota" | "dynamic_iota" => {
                proto.dimensions = vec![self.number_of(operation, "iota_dimension")?];
            }
            "slice" => proto.slice_dimensions = self.slice_ranges(operation)?,
            "pad" => proto.padding_config = Some(self.padding(operation)?),
            "dynamic_slice" => {
                proto.dynamic_slice_sizes = self.list_of(operation, "slice_sizes", "sizes")?;
            }
            "gather" => {
                proto.gather_dimension_numbers = Some(self.gather_numbers(operation)?);
                proto.gather_slice_sizes = self.list_of(operation, "slice_sizes", "sizes")?;
            }
            "scatter" => proto.scatter_dimension_numbers = Some(self.scatter_numbers(operation)?),
            "get_tuple_element" => {
                proto.tuple_index = match self.attribute(operation, "ranges", &["ranges"]) {
                    Some(range) => match self.integers(range.clone())?.as_slice() {
                        &[index] => index,
                        _ => return Err(self.cursor.error(range.start, "expected one number")),
                    },
                    None => self.number_of(operation, "index")?,
                };
            }
            "compare" => {
                let range = self.required(operation, "comparison_direction", &["first"])?;
                self.enum_case(range).clone_into(&mut proto.comparison_direction);
                if let Some(range) = self.attribute(operation, "compare_type", &["second"]) {
                    let start = range.start;
                    let kind = self.enum_case(range);
                    if !["FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", "NOTYPE"].contains(&kind) {
                        let accepted = "expected FLOAT, TOTALORDER, SIGNED, UNSIGNED or NOTYPE";
                        let reason = format!("{accepted}, got `{}`", excerpt(kind, 40));
                        return Err(self.cursor.error(start, reason));
                    }
                    kind.clone_into(&mut proto.comparison_type);
                }
            }
            "custom_call" => {
                let symbol = self.attribute(operation, "symbol", &["symbol"]);
                proto.custom_call_target = if let Some(range) = symbol {
                    self.symbol_name(range)?
                } else {
                    let range = self.required(operation, "call_target_name", &[])?;
                    self.decoded_string(range)?
                };
            }
            _ if opcode == "custom-call" => "Sharding".clone_into(&mut proto.custom_call_target),
            _ => {}
        }
        Ok(proto)
    }

    /// Returns the names of the functions that an operation calls, without the `@`.
    pub(super) fn called_functions(&self, operation: &MlirOperation<'a>) -> Result<Vec<String>> {
        Ok(match operation.stablehlo_name().unwrap_or(operation.name) {
            "call" | "func.call" => {
                vec![self.symbol_name(self.required(operation, "callee", &["symbol"])?)?]
            }
            "composite" => {
                vec![self.symbol_name(self.required(operation, "decomposition", &[])?)?]
            }
            "custom_call" => match self.attribute(operation, "called_computations", &[]) {
                Some(range) => self.symbol_names(range)?,
                None => Vec::new(),
            },
            _ => Vec::new(),
        })
    }

    /// Parses a required list of integers, which is the attribute `name` in the generic form, and
    /// `field` in the operation's own syntax.
    fn list_of(
        &mut self,
        operation: &MlirOperation<'a>,
        name: &str,
        field: &str,
    ) -> Result<Vec<i64>> {
        let range = self.required(operation, name, &[field])?;
        self.integers(range)
    }

    /// Parses a required integer, which is the attribute `name` in the generic form, and `dim` in
    /// the operation's own syntax.
    fn number_of(&self, operation: &MlirOperation<'a>, name: &str) -> Result<i64> {
        self.integer(self.required(operation, name, &["dim"])?)
    }

    /// Parses the ranges of a slice. They are written as `[0:4:2, 1:3]` in the operation's own
    /// syntax, and as three lists in the generic form.
    fn slice_ranges(&mut self, operation: &MlirOperation<'a>) -> Result<Vec<SliceDimensions>> {
        let Some(range) = self.attribute(operation, "ranges", &["ranges"]) else {
            let starts = self.list_of(operation, "start_indices", "")?;
            let limits = self.list_of(operation, "limit_indices", "")?;
            let strides = self.list_of(operation, "strides", "")?;
            if starts.len() != limits.len() || starts.len() != strides.len() {
                let reason = "expected lists of one length in `start_indices`, `limit_indices` and \
                              `strides`";
                return Err(self.cursor.error(operation.start, reason));
            }
            let lists = starts.into_iter().zip(limits).zip(strides);
            return Ok(lists
                .map(|((start, limit), stride)| SliceDimensions { start, limit, stride })
                .collect());
        };
        let mut cursor = self.cursor.part(range);
        let mut ranges = Vec::new();
        cursor.expect("[")?;
        cursor.list("]", |cursor| {
            let start = super::attribute::integer(cursor)?;
            cursor.expect(":")?;
            let limit = super::attribute::integer(cursor)?;
            let stride = if cursor.eat(":") { super::attribute::integer(cursor)? } else { 1 };
            ranges.push(SliceDimensions { start, limit, stride });
            Ok(())
        })?;
        Ok(ranges)
    }

    /// Parses the padding of each dimension, which StableHLO writes as three lists, and XLA as one
    /// list of three numbers for each dimension.
    fn padding(&mut self, operation: &MlirOperation<'a>) -> Result<PaddingConfig> {
        let low = self.list_of(operation, "edge_padding_low", "low")?;
        let high = self.list_of(operation, "edge_padding_high", "high")?;
        let interior = self.list_of(operation, "interior_padding", "interior")?;
        if low.len() != high.len() || low.len() != interior.len() {
            let reason = "expected lists of one length for the low, high and interior padding";
            return Err(self.cursor.error(operation.start, reason));
        }
        let lists = low.into_iter().zip(high).zip(interior);
        let dimension = |((low, high), interior)| PaddingConfigDimension {
            edge_padding_low: low,
            edge_padding_high: high,
            interior_padding: interior,
        };
        Ok(PaddingConfig { dimensions: lists.map(dimension).collect() })
    }

    /// Parses the dimension numbers of a gather.
    fn gather_numbers(&mut self, operation: &MlirOperation<'a>) -> Result<GatherDimensionNumbers> {
        let mut numbers = GatherDimensionNumbers::default();
        let range = self.required(operation, "dimension_numbers", &[])?;
        for (name, range) in self.structure(range)? {
            match name {
                "offset_dims" => numbers.offset_dims = self.integers(range)?,
                "collapsed_slice_dims" => numbers.collapsed_slice_dims = self.integers(range)?,
                "operand_batching_dims" => numbers.operand_batching_dims = self.integers(range)?,
                "start_indices_batching_dims" => {
                    numbers.start_indices_batching_dims = self.integers(range)?;
                }
                "start_index_map" => numbers.start_index_map = self.integers(range)?,
                "index_vector_dim" => numbers.index_vector_dim = self.integer(range)?,
                _ => return Err(self.unknown_field(name, range.start)),
            }
        }
        Ok(numbers)
    }

    /// Parses the dimension numbers of a scatter.
    fn scatter_numbers(
        &mut self,
        operation: &MlirOperation<'a>,
    ) -> Result<ScatterDimensionNumbers> {
        let mut numbers = ScatterDimensionNumbers::default();
        let range = self.required(operation, "scatter_dimension_numbers", &[])?;
        for (name, range) in self.structure(range)? {
            match name {
                "update_window_dims" => numbers.update_window_dims = self.integers(range)?,
                "inserted_window_dims" => numbers.inserted_window_dims = self.integers(range)?,
                "input_batching_dims" => numbers.input_batching_dims = self.integers(range)?,
                "scatter_indices_batching_dims" => {
                    numbers.scatter_indices_batching_dims = self.integers(range)?;
                }
                "scatter_dims_to_operand_dims" => {
                    numbers.scatter_dims_to_operand_dims = self.integers(range)?;
                }
                "index_vector_dim" => numbers.index_vector_dim = self.integer(range)?,
                _ => return Err(self.unknown_field(name, range.start)),
            }
        }
        Ok(numbers)
    }

    /// Returns the error for a field of a structured attribute that StableHLO does not define.
    fn unknown_field(&self, name: &str, position: usize) -> HloError {
        let given = excerpt(name, 40);
        self.cursor.error(position, format!("expected a field that StableHLO has, got `{given}`"))
    }
}
