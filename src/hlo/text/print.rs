//! Prints modules as HLO text, in a form that XLA can read.

use std::{
    collections::HashSet,
    fmt::{self, Display, Formatter, Write},
};

use super::{cursor::is_word, source, values::PrintedScalar};
use crate::{
    hlo::{
        Computation, Gather, Instruction, Literal, Module, Opcode, Scatter,
        alias::{DonatedBuffers, path},
    },
    shape::{ElementType, Shape, queries},
};

/// Prints the module as XLA does. [`Module::parse`] parses the text back to an equal module, except
/// that names are changed if they are invalid in HLO text or occur twice.
impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let computations = self.computations();
        let names =
            names(computations.iter().map(Computation::name), |i| format!("computation.{i}"));
        let name = if is_name(self.name()) { self.name() } else { "module" };
        write!(f, "HloModule {name}")?;
        print_donated_buffers(f, self.donated_buffers())?;
        write!(f, ", entry_computation_layout={{(")?;
        for (i, parameter) in self.parameters().iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{parameter}")?;
        }
        writeln!(f, ")->{}}}", self.result())?;
        for (i, computation) in computations.iter().enumerate() {
            let entry = if i == self.entry_index() { "ENTRY " } else { "" };
            write!(f, "\n{entry}%{}", names[i])?;
            print(f, computation, &names)?;
        }
        Ok(())
    }
}

/// Prints the buffers that results may reuse, as attributes of the module with a comma before each.
/// Prints nothing if there are none.
fn print_donated_buffers(f: &mut Formatter<'_>, donated: &DonatedBuffers) -> fmt::Result {
    let aliases = donated.aliases.iter().map(|alias| {
        let kind = if alias.must_alias { "must-alias" } else { "may-alias" };
        let (output, index) = (path(&alias.output_index), path(&alias.parameter_index));
        format!("{output}: ({}, {index}, {kind})", alias.parameter_number)
    });
    let donors = donated
        .donors
        .iter()
        .map(|donor| format!("({}, {})", donor.parameter_number, path(&donor.parameter_index)));
    let lists: [(&str, Vec<String>); 2] =
        [("input_output_alias", aliases.collect()), ("buffer_donor", donors.collect())];
    for (name, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
        write!(f, ", {name}={{ {} }}", list.join(", "))?;
    }
    Ok(())
}

impl Module {
    /// Returns the text of an instruction as XLA prints it, such as
    /// `pad(x, zero), padding=0_1x0_0`. A constant of more than 8 elements is printed as `{...}`,
    /// because the text is meant for messages.
    ///
    /// # Panics
    ///
    /// Panics if the module has no such computation, or if the computation has no such instruction.
    #[must_use]
    pub fn expression(&self, computation: usize, instruction: usize) -> String {
        const MOST_ELEMENTS: u64 = 8;
        let instructions = self.computations()[computation].instructions();
        let instruction = &instructions[instruction];
        let mut text = String::new();
        let operand = |operand: usize| instructions[operand].name().to_owned();
        let literal = |text: &mut String, literal: &Literal| {
            let elements = queries::elements_in(literal.shape()).unwrap_or(u64::MAX);
            if elements > MOST_ELEMENTS {
                text.write_str("{...}")
            } else {
                print_literal(text, literal)
            }
        };
        let _ = expression(&mut text, instruction, operand, literal);
        let callees = match instruction.opcode().computations() {
            [] => vec![],
            _ => self.computations().iter().map(|callee| callee.name().to_owned()).collect(),
        };
        let _ = attributes(&mut text, instruction.opcode(), &callees);
        text
    }
}

/// Returns names that are valid and distinct, one for each name in `own`. As in XLA, each invalid
/// character becomes `_`. If the name is still invalid, it is replaced by `other` of its position.
/// A name that occurred before gets a numeric suffix.
fn names<'a>(own: impl Iterator<Item = &'a str>, other: impl Fn(usize) -> String) -> Vec<String> {
    let mut seen = HashSet::new();
    let distinct = own.enumerate().map(|(i, name)| {
        let name = name.replace(|letter| !is_word(letter), "_");
        let mut name = if is_name(&name) { name } else { other(i) };
        while !seen.insert(name.clone()) {
            let _ = write!(name, ".{i}");
        }
        name
    });
    distinct.collect()
}

/// Returns true if the name is valid in HLO text.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_word) && !name.starts_with('-')
}

/// Prints a computation from its parameters on; the caller has printed its name. `callees` has the
/// names of all computations of the module, by index.
fn print(f: &mut impl Write, computation: &Computation, callees: &[String]) -> fmt::Result {
    let instructions = computation.instructions();
    let names = names(instructions.iter().map(Instruction::name), |i| {
        let opcode = instructions[i].opcode().name();
        format!("{}.{i}", if is_name(opcode) { opcode } else { "other" })
    });
    f.write_str(" (")?;
    for (number, &place) in computation.parameters().iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        write!(f, "{comma}{}: {}", names[place], instructions[place].shape().without_layout())?;
    }
    writeln!(f, ") -> {} {{", computation.root_shape().without_layout())?;
    for (place, instruction) in instructions.iter().enumerate() {
        let root = if place == computation.root() { "ROOT " } else { "" };
        let (shape, opcode) = (instruction.shape(), instruction.opcode());
        write!(f, "  {root}%{} = {shape} ", names[place])?;
        let operand = |operand: usize| format!("%{}", names[operand]);
        expression(f, instruction, operand, |f, literal| print_literal(f, literal))?;
        attributes(f, opcode, callees)?;
        if let Some(source) = instruction.source() {
            source::print(f, source)?;
        }
        f.write_str("\n")?;
    }
    f.write_str("}\n")
}

/// Prints the opcode of an instruction and its operands, without its attributes. `operand` returns
/// the name of an operand, and `literal` prints the value of a constant.
fn expression<W: Write>(
    f: &mut W,
    instruction: &Instruction,
    operand: impl Fn(usize) -> String,
    literal: impl Fn(&mut W, &Literal) -> fmt::Result,
) -> fmt::Result {
    let opcode = instruction.opcode();
    write!(f, "{}(", opcode.name().replace(|letter| !is_word(letter), "_"))?;
    match opcode {
        Opcode::Parameter { number } => write!(f, "{number}")?,
        Opcode::Constant(value) => literal(f, value)?,
        _ => {
            let operands = instruction.operands().iter().map(|&place| operand(place));
            f.write_str(&joined(operands, ", "))?;
        }
    }
    f.write_str(")")
}

/// Prints items with the separator `between` them.
fn joined<T: Display>(items: impl IntoIterator<Item = T>, between: &str) -> String {
    let mut text = String::new();
    for (i, item) in items.into_iter().enumerate() {
        let _ = write!(text, "{}{item}", if i == 0 { "" } else { between });
    }
    text
}

/// Prints the attributes of an opcode with a comma before each. `callees` has the names of all
/// computations of the module, by index.
fn attributes(f: &mut impl Write, opcode: &Opcode, callees: &[String]) -> fmt::Result {
    match opcode {
        Opcode::Transpose { dimensions }
        | Opcode::Broadcast { dimensions }
        | Opcode::Reverse { dimensions } => {
            write!(f, ", dimensions={{{}}}", joined(dimensions, ","))
        }
        Opcode::Reduce { dimensions, computation } => {
            let dimensions = joined(dimensions, ",");
            write!(f, ", dimensions={{{dimensions}}}, to_apply=%{}", callees[*computation])
        }
        Opcode::Concatenate { dimension } | Opcode::GetDimensionSize { dimension } => {
            write!(f, ", dimensions={{{dimension}}}")
        }
        Opcode::Sort { dimension, is_stable, computation } => {
            let stable = if *is_stable { ", is_stable=true" } else { "" };
            let name = &callees[*computation];
            write!(f, ", dimensions={{{dimension}}}{stable}, to_apply=%{name}")
        }
        Opcode::Iota { dimension } => write!(f, ", iota_dimension={dimension}"),
        Opcode::Slice { dimensions } => {
            let ranges = dimensions.iter().map(|slice| match slice.stride {
                1 => format!("[{}:{}]", slice.start, slice.limit),
                stride => format!("[{}:{}:{stride}]", slice.start, slice.limit),
            });
            write!(f, ", slice={{{}}}", joined(ranges, ", "))
        }
        Opcode::Pad { dimensions } => {
            let pads = dimensions.iter().map(|pad| {
                let (low, high) = (pad.edge_padding_low, pad.edge_padding_high);
                match pad.interior_padding {
                    0 => format!("{low}_{high}"),
                    interior => format!("{low}_{high}_{interior}"),
                }
            });
            write!(f, ", padding={}", joined(pads, "x"))
        }
        Opcode::DynamicSlice { sizes } => {
            write!(f, ", dynamic_slice_sizes={{{}}}", joined(sizes, ","))
        }
        Opcode::Gather(gather) => print_gather(f, gather),
        Opcode::Scatter(scatter) => print_scatter(f, scatter, callees),
        Opcode::GetTupleElement { index } => write!(f, ", index={index}"),
        Opcode::Call { computation } => write!(f, ", to_apply=%{}", callees[*computation]),
        Opcode::Fusion { computation, kind } => {
            if is_name(kind) {
                write!(f, ", kind={kind}")?;
            }
            write!(f, ", calls=%{}", callees[*computation])
        }
        Opcode::AsyncStart { computation } => write!(f, ", calls=%{}", callees[*computation]),
        Opcode::Conditional { computations } => {
            let names = computations.iter().map(|&callee| format!("%{}", callees[callee]));
            write!(f, ", branch_computations={{{}}}", joined(names, ", "))
        }
        Opcode::IdentityCall(call) => write!(f, ", custom_call_target=\"{}\"", call.name()),
        Opcode::Compare { direction, total_order } => {
            write!(f, ", direction={}", direction.name())?;
            if *total_order { f.write_str(", type=TOTALORDER") } else { Ok(()) }
        }
        Opcode::Other { target, computations, .. } => {
            if !target.is_empty() {
                write!(f, ", custom_call_target=\"{}\"", target.replace(['"', '\\'], "_"))?;
            }
            if computations.is_empty() {
                return Ok(());
            }
            let names = computations.iter().map(|&callee| format!("%{}", callees[callee]));
            write!(f, ", called_computations={{{}}}", joined(names, ", "))
        }
        _ => Ok(()),
    }
}

fn print_gather(f: &mut impl Write, gather: &Gather) -> fmt::Result {
    write!(f, ", offset_dims={{{}}}", joined(&gather.offset_dims, ","))?;
    write!(f, ", collapsed_slice_dims={{{}}}", joined(&gather.collapsed_slice_dims, ","))?;
    write!(f, ", start_index_map={{{}}}", joined(&gather.start_index_map, ","))?;
    if !gather.operand_batching_dims.is_empty() {
        write!(f, ", operand_batching_dims={{{}}}", joined(&gather.operand_batching_dims, ","))?;
        let dims = joined(&gather.start_indices_batching_dims, ",");
        write!(f, ", start_indices_batching_dims={{{dims}}}")?;
    }
    write!(f, ", index_vector_dim={}", gather.index_vector_dim)?;
    write!(f, ", slice_sizes={{{}}}", joined(&gather.slice_sizes, ","))
}

fn print_scatter(f: &mut impl Write, scatter: &Scatter, callees: &[String]) -> fmt::Result {
    write!(f, ", update_window_dims={{{}}}", joined(&scatter.update_window_dims, ","))?;
    write!(f, ", inserted_window_dims={{{}}}", joined(&scatter.inserted_window_dims, ","))?;
    let map = joined(&scatter.scatter_dims_to_operand_dims, ",");
    write!(f, ", scatter_dims_to_operand_dims={{{map}}}")?;
    if !scatter.input_batching_dims.is_empty() {
        write!(f, ", input_batching_dims={{{}}}", joined(&scatter.input_batching_dims, ","))?;
        let dims = joined(&scatter.scatter_indices_batching_dims, ",");
        write!(f, ", scatter_indices_batching_dims={{{dims}}}")?;
    }
    write!(f, ", index_vector_dim={}", scatter.index_vector_dim)?;
    write!(f, ", to_apply=%{}", callees[scatter.computation])
}

/// Prints a literal as XLA does, with braces around each dimension of an array and parentheses
/// around a tuple.
fn print_literal(f: &mut impl Write, literal: &Literal) -> fmt::Result {
    if literal.shape().element_type() != ElementType::Tuple {
        return Elements { shape: literal.shape(), bytes: literal.bytes() }.print(f);
    }
    f.write_str("(")?;
    for (i, part) in literal.parts().iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        print_literal(f, part)?;
    }
    f.write_str(")")
}

/// The elements of an array, as bytes in row-major order. `shape` is the shape of the whole array.
struct Elements<'a> {
    shape: &'a Shape,
    bytes: &'a [u8],
}

impl Elements<'_> {
    fn print(&self, f: &mut impl Write) -> fmt::Result {
        let extents = queries::bounds(self.shape).unwrap_or_default();
        if extents.contains(&0) {
            return f.write_str("{}");
        }
        self.dimension(f, &extents, self.bytes)
    }

    /// Prints the part of the array that `bytes` contains, whose extents are `extents`.
    fn dimension(&self, f: &mut impl Write, extents: &[u64], bytes: &[u8]) -> fmt::Result {
        let Some((&extent, inner)) = extents.split_first() else { return self.element(f, bytes) };
        let extent = usize::try_from(extent).unwrap_or(usize::MAX);
        f.write_str("{")?;
        for (i, part) in bytes.chunks(bytes.len() / extent).enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            self.dimension(f, inner, part)?;
        }
        f.write_str("}")
    }

    fn element(&self, f: &mut impl Write, bytes: &[u8]) -> fmt::Result {
        let value = |element_type, bytes: &[u8]| {
            let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
            PrintedScalar { element_type, bits }
        };
        let part = match self.shape.element_type() {
            ElementType::C64 => ElementType::F32,
            ElementType::C128 => ElementType::F64,
            // XLA prints a scalar as `true` or `false`, but the elements of an array as digits.
            ElementType::Pred if self.shape.rank() == 0 => return write!(f, "{}", bytes != [0]),
            element_type => return write!(f, "{}", value(element_type, bytes)),
        };
        let (real, imaginary) = bytes.split_at(bytes.len() / 2);
        write!(f, "({}, {})", value(part, real), value(part, imaginary))
    }
}
