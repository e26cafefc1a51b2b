//! Builds the computations of an HLO module from the functions and regions of a StableHLO module.
//!
//! A *region* is a body inside an operation, such as each of the two branches of an `if`. A region
//! may use values of the function around it; these are called *captured* values. An HLO computation
//! has no access to outside values, so the computation of a region receives captured values in its
//! parameters.
//!
//! Some operations have several results, but an HLO instruction has one. The instruction of such an
//! operation returns a tuple, and a `get-tuple-element` returns each result that is used.

use std::collections::{HashMap, HashSet};

use super::{
    constant::MlirConstant,
    fields::hlo_opcode,
    parse::MlirParser,
    syntax::{MlirFunction, MlirOperation, MlirRegion, ValueId},
};
use crate::{
    hlo::{
        Builder, HloError, InstructionError, Literal, Opcode,
        attributes::{OpcodeContext, opcode},
        infer::is_dynamic,
    },
    proto::hlo::HloInstructionProto,
    shape::{Shape, queries},
    text::excerpt,
};

type Result<T> = std::result::Result<T, HloError>;

/// The state of building the HLO module, which all its computations share.
pub(super) struct MlirEmitter<'a, 'f> {
    pub(super) parser: MlirParser<'a>,
    pub(super) builder: Builder,
    /// The index of the computation of each function that was built so far, by the name of the
    /// function.
    functions: HashMap<&'f str, usize>,
    /// The operations that define constants, by their results. If a region captures a constant, its
    /// computation may get a copy of the constant instead of a parameter.
    constants: HashMap<ValueId, &'f MlirOperation<'a>>,
    /// The number of regions whose computations were named so far, which gives the next one its
    /// name.
    regions: usize,
}

/// The instruction that holds a value in the computation under construction, or the tuple that has
/// it as an element.
#[derive(Clone, Copy)]
enum ValuePlace {
    /// The result of the instruction with this index.
    Instruction(usize),
    /// Element `index` of the instruction `tuple`. The first use of the value adds a
    /// `get-tuple-element`, which then holds the value.
    Element { tuple: usize, index: usize },
}

/// The place of each value in the computation under construction.
type ValuePlaces = HashMap<ValueId, ValuePlace>;

/// The computations that were built for the regions of one operation, and the captured values of
/// each, in the order of the regions.
#[derive(Default)]
struct MlirCallees {
    computations: Vec<usize>,
    captured: Vec<Vec<ValueId>>,
}

/// The form in which the computation of a region receives its arguments and captured values. The
/// opcode that calls the computation prescribes it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RegionInput {
    /// A parameter for each argument. The computation has no parameters for captured values, so the
    /// region can capture only constants, which are copied into the computation. Functions and most
    /// operations use this form.
    Separate,
    /// A single parameter: a tuple of the arguments and the captured values, or the value itself if
    /// there is only one. The condition of a loop and the branches of a conditional use this form.
    Joined,
    /// A single parameter as in `Joined`, and a result of the same shape, because it is the next
    /// state of a loop. So the captured values are added to the result. The body of a loop uses
    /// this form.
    State,
}

impl<'a, 'f> MlirEmitter<'a, 'f> {
    /// Creates an emitter for the module that `parser` has parsed.
    pub(super) fn new(parser: MlirParser<'a>) -> Self {
        let builder = Builder::new(parser.name.clone());
        Self { parser, builder, functions: HashMap::new(), constants: HashMap::new(), regions: 0 }
    }

    /// Builds the computations of all functions, callees before callers. Returns the index of the
    /// computation of `functions[entry]`, the entry function.
    pub(super) fn functions(
        &mut self,
        functions: &'f [MlirFunction<'a>],
        entry: usize,
    ) -> Result<usize> {
        for place in self.callees_first(functions)? {
            let function = &functions[place];
            let Some(body) = &function.body else { continue };
            let results: Vec<usize> = function.results.iter().map(|&(result, _)| result).collect();
            let input = RegionInput::Separate;
            let index = self.computation(&function.name, body, input, &[], Some(&results))?;
            self.functions.insert(&function.name, index);
        }
        let function = &functions[entry];
        self.functions.get(function.name.as_str()).copied().ok_or_else(|| {
            let reason = "expected a function with a body, got a declaration";
            self.parser.cursor.error(function.start, reason)
        })
    }

    /// Sorts functions so that callees precede callers, and returns their indices in this order.
    /// Returns an error if a function calls itself, directly or through others, or if two functions
    /// have the same name.
    fn callees_first(&self, functions: &'f [MlirFunction<'a>]) -> Result<Vec<usize>> {
        let mut places = HashMap::new();
        for (place, function) in functions.iter().enumerate() {
            if places.insert(function.name.as_str(), place).is_some() {
                let given = excerpt(&function.name, 40);
                let reason = format!("expected a new name, got the function `{given}` again");
                return Err(self.parser.cursor.error(function.start, reason));
            }
        }
        let mut order = Vec::with_capacity(functions.len());
        // This is a depth-first search with an explicit stack, `open`. The value of a function is
        // `false` while it is on the stack, and `true` afterwards. A call of a function with
        // `false` is a recursion.
        let mut visited: HashMap<usize, bool> = HashMap::new();
        for first in 0..functions.len() {
            if visited.contains_key(&first) {
                continue;
            }
            visited.insert(first, false);
            let mut open = vec![(first, self.callees(&functions[first], &places)?)];
            while let Some((place, callees)) = open.last_mut() {
                let Some((callee, start)) = callees.pop() else {
                    visited.insert(*place, true);
                    order.push(*place);
                    open.pop();
                    continue;
                };
                match visited.get(&callee) {
                    Some(true) => {}
                    Some(false) => {
                        let reason = "expected a function that does not call itself";
                        return Err(self.parser.cursor.error(start, reason));
                    }
                    None => {
                        visited.insert(callee, false);
                        open.push((callee, self.callees(&functions[callee], &places)?));
                    }
                }
            }
        }
        Ok(order)
    }

    /// Returns the indices of the functions that `function` calls, each once, with the position of
    /// a call for errors.
    fn callees(
        &self,
        function: &MlirFunction<'a>,
        places: &HashMap<&str, usize>,
    ) -> Result<Vec<(usize, usize)>> {
        let mut callees = Vec::new();
        let mut seen = HashSet::new();
        let mut regions: Vec<&MlirRegion<'a>> = function.body.iter().collect();
        while let Some(region) = regions.pop() {
            for operation in &region.operations {
                for name in self.parser.called_functions(operation)? {
                    let Some(&callee) = places.get(name.as_str()) else {
                        let given = excerpt(&name, 40);
                        let reason = format!("expected a function of the module, got `@{given}`");
                        return Err(self.parser.cursor.error(operation.start, reason));
                    };
                    if seen.insert(callee) {
                        callees.push((callee, operation.start));
                    }
                }
                regions.extend(&operation.regions);
            }
        }
        Ok(callees)
    }

    /// Builds the computation of a region, and returns its index. `captured` are the values from
    /// outside that the region uses. If `results` is given, the region is the body of a function,
    /// and its return must have values of these types.
    fn computation(
        &mut self,
        name: &str,
        region: &'f MlirRegion<'a>,
        input: RegionInput,
        captured: &[ValueId],
        results: Option<&[usize]>,
    ) -> Result<usize> {
        let mut callees: HashMap<usize, MlirCallees> = HashMap::new();
        for (place, operation) in region.operations.iter().enumerate() {
            if hlo_opcode(operation) == "constant" && operation.results.len() == 1 {
                self.constants.insert(operation.results.start, operation);
            }
            if !operation.regions.is_empty() {
                callees.insert(place, self.region_callees(operation)?);
            }
        }
        self.builder.begin(name);
        self.builder.source(None);
        let mut places = HashMap::new();
        let start = region.operations.first().map_or(0, |operation| operation.start);
        self.parameters(start, region, input, captured, &mut places)?;
        let (returned, operations) =
            region.operations.split_last().expect("a region ends with a return");
        for (place, operation) in operations.iter().enumerate() {
            let callees = callees.remove(&place).unwrap_or_default();
            self.operation(operation, callees, &mut places)?;
        }
        let mut values = returned.operands.to_vec();
        if let Some(results) = results {
            self.check_results(returned, results)?;
        }
        if input == RegionInput::State {
            values.extend(captured);
        }
        let values = self.used(returned.start, &values, &mut places)?;
        self.builder.source(None);
        let root = self.joined(returned.start, values)?;
        self.builder.computation(name, root).map_err(|error| self.located(returned.start, error))
    }

    /// Checks that a return has values of the given types.
    fn check_results(&self, returned: &MlirOperation<'a>, results: &[usize]) -> Result<()> {
        let types = &self.parser.types;
        let given = returned.operands.iter().map(|&value| self.parser.value_type(value));
        if given.map(|number| types.shape(number)).eq(results.iter().map(|&it| types.shape(it))) {
            return Ok(());
        }
        let expected: Vec<String> = results.iter().map(|&it| types.shape(it).to_string()).collect();
        let expected = excerpt(&expected.join(", "), 200).into_owned();
        let reason = format!("expected values of the types of the function's results: {expected}");
        Err(self.parser.cursor.error(returned.start, reason))
    }

    /// Adds the parameters of a computation. Records in `places` the arguments and captured values
    /// that they hold.
    fn parameters(
        &mut self,
        start: usize,
        region: &'f MlirRegion<'a>,
        input: RegionInput,
        captured: &[ValueId],
        places: &mut ValuePlaces,
    ) -> Result<()> {
        if input == RegionInput::Separate {
            for (number, &argument) in region.arguments.iter().enumerate() {
                let place = self.parameter(start, format!("arg{number}"), number, argument)?;
                places.insert(argument, ValuePlace::Instruction(place));
            }
            for value in captured {
                let operation = self.constants[value];
                self.operation(operation, MlirCallees::default(), places)?;
            }
            return Ok(());
        }
        let values: Vec<ValueId> = region.arguments.iter().chain(captured).copied().collect();
        if let &[value] = values.as_slice() {
            let place = self.parameter(start, "arg0".to_owned(), 0, value)?;
            places.insert(value, ValuePlace::Instruction(place));
            return Ok(());
        }
        let shape = self.tuple_shape(start, &values)?;
        let opcode = Opcode::Parameter { number: 0 };
        let added = self.builder.add_named("arg0".to_owned(), opcode, Vec::new(), Some(shape));
        let tuple = added.map_err(|error| self.located(start, error))?;
        let elements = values.into_iter().enumerate();
        places.extend(elements.map(|(index, value)| (value, ValuePlace::Element { tuple, index })));
        Ok(())
    }

    /// Adds a parameter with the type of `value`, and returns the index of its instruction.
    fn parameter(
        &mut self,
        start: usize,
        name: String,
        number: usize,
        value: ValueId,
    ) -> Result<usize> {
        let shape = self.shape(value).clone();
        let opcode = Opcode::Parameter { number };
        let added = self.builder.add_named(name, opcode, Vec::new(), Some(shape));
        added.map_err(|error| self.located(start, error))
    }

    /// Returns the instruction that holds each value. If a value is an element of a tuple, its
    /// first use adds a `get-tuple-element`.
    fn used(
        &mut self,
        start: usize,
        values: &[ValueId],
        places: &mut ValuePlaces,
    ) -> Result<Vec<usize>> {
        let mut used = Vec::with_capacity(values.len());
        for value in values {
            used.push(match places[value] {
                ValuePlace::Instruction(place) => place,
                ValuePlace::Element { tuple, index } => {
                    let name = format!("{}.{index}", self.builder.instructions()[tuple].name());
                    let opcode = Opcode::GetTupleElement { index };
                    let added = self.builder.add_named(name, opcode, vec![tuple], None);
                    let place = added.map_err(|error| self.located(start, error))?;
                    places.insert(*value, ValuePlace::Instruction(place));
                    place
                }
            });
        }
        Ok(used)
    }

    /// Joins values to a single one, because a parameter, a result and an operand of some opcodes
    /// hold only one. Returns the only value, or adds a tuple and returns its index.
    fn joined(&mut self, start: usize, values: Vec<usize>) -> Result<usize> {
        if let &[value] = values.as_slice() {
            return Ok(value);
        }
        let added = self.builder.add_named(String::new(), Opcode::Tuple, values, None);
        added.map_err(|error| self.located(start, error))
    }

    /// Builds a computation for each region of an operation. The condition and the body of a loop
    /// get the captured values of both, because they share one state.
    fn region_callees(&mut self, operation: &'f MlirOperation<'a>) -> Result<MlirCallees> {
        let mut callees = MlirCallees::default();
        let is_loop = operation.stablehlo_name() == Some("while");
        let is_joined = is_loop || hlo_opcode(operation) == "conditional";
        for region in &operation.regions {
            if region.operations.is_empty() {
                let reason = "expected a region with a return";
                return Err(self.parser.cursor.error(operation.start, reason));
            }
            let from =
                if is_loop { operation.regions.as_slice() } else { std::slice::from_ref(region) };
            let captured = captured(from);
            if !is_joined && captured.iter().any(|value| !self.constants.contains_key(value)) {
                let reason = "expected regions that use only their arguments and constants";
                return Err(self.parser.cursor.not_supported(operation.start, reason));
            }
            callees.captured.push(captured);
        }
        for (number, region) in operation.regions.iter().enumerate() {
            let input = match (is_loop, is_joined) {
                (true, _) if number == 1 => RegionInput::State,
                (_, true) => RegionInput::Joined,
                _ => RegionInput::Separate,
            };
            let name = format!("region_{}", self.regions);
            self.regions += 1;
            let captured = callees.captured[number].clone();
            callees.computations.push(self.computation(&name, region, input, &captured, None)?);
        }
        Ok(callees)
    }

    /// Adds the instructions of an operation, and records in `places` the instructions that hold
    /// its results. `callees` are the computations of its regions.
    fn operation(
        &mut self,
        operation: &MlirOperation<'a>,
        callees: MlirCallees,
        places: &mut ValuePlaces,
    ) -> Result<()> {
        let location = operation.location.clone();
        let source = location.and_then(|range| self.parser.source_line(range));
        self.builder.source(source);
        let start = operation.start;
        let mut operands = self.used(start, &operation.operands, places)?;
        let mut captured = Vec::with_capacity(callees.captured.len());
        for values in &callees.captured {
            captured.push(self.used(start, values, places)?);
        }
        let results: Vec<ValueId> = operation.results.clone().collect();
        let mut shape = self.result_shape(start, &results)?;
        let mut opcode = hlo_opcode(operation);
        let mut is_tuple = results.len() != 1;
        match opcode.as_str() {
            "sdy.sharding_group" if results.is_empty() => return Ok(()),
            "constant" if results.len() == 1 => {
                let place = self.constant(operation, &shape)?;
                places.insert(operation.results.start, ValuePlace::Instruction(place));
                return Ok(());
            }
            "opt-barrier" => {
                if operands.is_empty() && results.is_empty() {
                    return Ok(());
                }
                operands = vec![self.joined(start, operands)?];
            }
            "while" if results.len() != operands.len() => {
                let reason = "expected a result for each value that the loop takes";
                return Err(self.parser.cursor.error(start, reason));
            }
            "while" => {
                let outside = callees.captured.first().into_iter().flatten();
                let state: Vec<ValueId> = results.iter().chain(outside).copied().collect();
                operands.extend(captured.first().into_iter().flatten());
                is_tuple = state.len() != 1;
                shape = match state.as_slice() {
                    &[value] => self.shape(value).clone(),
                    state => self.tuple_shape(start, state)?,
                };
                operands = vec![self.joined(start, operands)?];
            }
            "conditional" => {
                for values in captured {
                    let input = self.joined(start, values)?;
                    operands.push(input);
                }
            }
            "sdy.manual_computation" if self.is_whole(operation) => "call".clone_into(&mut opcode),
            "reshape" | "broadcast" | "iota"
                if operation.name.contains(".dynamic_") && !is_dynamic(&shape) =>
            {
                operands.pop();
            }
            _ => {}
        }
        let mut called = callees.computations;
        for name in self.parser.called_functions(operation)? {
            let Some(&computation) = self.functions.get(name.as_str()) else {
                let reason =
                    format!("expected a function with a body, got `@{}`", excerpt(&name, 40));
                return Err(self.parser.cursor.not_supported(start, reason));
            };
            called.push(computation);
        }
        let mut proto = self.parser.hlo_fields(operation, &opcode)?;
        if opcode == "broadcast" {
            self.broadcast(operation, &mut proto, &mut operands, &shape)?;
        }
        let name = instruction_name(operation, &opcode);
        let place = self.instruction(start, name, &proto, None, called, operands, shape)?;
        for (index, value) in results.into_iter().enumerate() {
            let of = if is_tuple {
                ValuePlace::Element { tuple: place, index }
            } else {
                ValuePlace::Instruction(place)
            };
            places.insert(value, of);
        }
        Ok(())
    }

    /// Adds a constant, and returns its index. If a large constant has equal elements, adds a
    /// scalar constant and a broadcast of it instead, to save memory.
    fn constant(&mut self, operation: &MlirOperation<'a>, shape: &Shape) -> Result<usize> {
        let start = operation.start;
        let name = instruction_name(operation, "constant");
        let with_opcode = |of: &str| HloInstructionProto {
            opcode: of.to_owned(),
            ..HloInstructionProto::default()
        };
        let mut proto = with_opcode("constant");
        let (mut literal, mut operands) = (None, Vec::new());
        if !is_dynamic(shape) {
            let range = self.parser.required(operation, "value", &["value"])?;
            self.parser.check_constant_type(range.clone(), shape)?;
            match self.parser.constant(range, shape)? {
                MlirConstant::Elided => {}
                MlirConstant::Whole(whole) => literal = Some(whole),
                MlirConstant::Repeated(element) => {
                    let (of, scalar) = (format!("{name}.element"), element.shape().clone());
                    let (called, none) = (Vec::new(), Vec::new());
                    let element =
                        self.instruction(start, of, &proto, Some(element), called, none, scalar)?;
                    operands.push(element);
                    proto = with_opcode("broadcast");
                }
            }
        }
        self.instruction(start, name, &proto, literal, Vec::new(), operands, shape.clone())
    }

    /// Completes a broadcast, for which StableHLO and HLO have different rules.
    ///
    /// StableHLO's `broadcast_in_dim` may repeat dimensions of extent 1, but XLA's broadcast only
    /// adds dimensions. So a reshape first removes the dimensions that are repeated. The older
    /// operation `broadcast` has no list of dimensions; it adds dimensions at the front.
    fn broadcast(
        &mut self,
        operation: &MlirOperation<'a>,
        proto: &mut HloInstructionProto,
        operands: &mut Vec<usize>,
        shape: &Shape,
    ) -> Result<()> {
        let start = operation.start;
        let &[operand] = operands.as_slice() else { return Ok(()) };
        let from = self.builder.instructions()[operand].shape().clone();
        let (Some(extents), Some(to)) = (queries::bounds(&from), queries::bounds(shape)) else {
            return Ok(());
        };
        if operation.stablehlo_name() == Some("broadcast") {
            let range = self.parser.required(operation, "broadcast_sizes", &["sizes"])?;
            let sizes = self.parser.integers(range)?;
            let given = sizes.iter().map(|&size| u64::try_from(size).unwrap_or(u64::MAX));
            if !given.chain(extents.iter().copied()).eq(to.iter().copied()) {
                let reason = "expected a result with the dimensions of `sizes` and of the operand";
                return Err(self.parser.cursor.error(start, reason));
            }
            let added = i64::try_from(sizes.len()).unwrap_or(0);
            proto.dimensions = (added..).take(extents.len()).collect();
            return Ok(());
        }
        if proto.dimensions.len() != extents.len() || is_dynamic(&from) || is_dynamic(shape) {
            return Ok(());
        }
        let extent_of = |&dimension: &i64| to.get(usize::try_from(dimension).ok()?).copied();
        let mut kept = Vec::new();
        for (&extent, dimension) in extents.iter().zip(&proto.dimensions) {
            match extent_of(dimension) {
                None => return Ok(()),
                Some(repeated) if extent == 1 && repeated != 1 => {}
                Some(_) => kept.push((extent, *dimension)),
            }
        }
        if kept.len() == extents.len() {
            return Ok(());
        }
        // Check the dimensions here, because the builder sees only the ones that the reshape keeps.
        // They must be distinct, as in any broadcast.
        let distinct: HashSet<i64> = proto.dimensions.iter().copied().collect();
        if distinct.len() != extents.len() {
            let reason = "expected each dimension of the result at most once";
            return Err(self.parser.cursor.error(start, reason));
        }
        let kept_shape =
            Shape::new(from.element_type(), kept.iter().map(|&(extent, _)| extent), None)
                .map_err(|error| self.parser.cursor.error(start, error.to_string()))?;
        let opcode = "reshape".to_owned();
        let reshape = HloInstructionProto { opcode, ..HloInstructionProto::default() };
        let name = format!("{}.reshape", instruction_name(operation, "broadcast"));
        let none = Vec::new();
        let place =
            self.instruction(start, name, &reshape, None, none, vec![operand], kept_shape)?;
        *operands = vec![place];
        proto.dimensions = kept.into_iter().map(|(_, dimension)| dimension).collect();
        Ok(())
    }

    /// Returns true if an `sdy.manual_computation`, whose region runs on each device with its own
    /// shards, takes and returns arrays of the same shapes as the region. Then each shard is the
    /// whole array, so the operation is equivalent to a call of the region.
    fn is_whole(&self, operation: &MlirOperation<'a>) -> bool {
        let types = |values: &[ValueId]| -> Vec<&Shape> {
            values.iter().map(|&value| self.shape(value)).collect()
        };
        let [region] = operation.regions.as_slice() else { return false };
        let results: Vec<ValueId> = operation.results.clone().collect();
        let returned = region.operations.last().map(|returned| returned.operands.as_slice());
        types(&operation.operands) == types(&region.arguments)
            && returned.is_some_and(|returned| types(returned) == types(&results))
    }

    /// Converts the fields `proto` to an opcode, adds the instruction to the current computation,
    /// and returns its index.
    #[allow(clippy::too_many_arguments)] // the parts of an instruction
    fn instruction(
        &mut self,
        start: usize,
        name: String,
        proto: &HloInstructionProto,
        literal: Option<Literal>,
        called: Vec<usize>,
        operands: Vec<usize>,
        shape: Shape,
    ) -> Result<usize> {
        let instructions = self.builder.instructions();
        let shapes: Vec<&Shape> =
            operands.iter().map(|&place| instructions[place].shape()).collect();
        let context = OpcodeContext { literal, called, operands: &shapes, shape: Some(&shape) };
        let opcode = opcode(proto, context);
        let opcode = opcode.map_err(|error| self.refused(start, &name, error))?;
        let added = self.builder.add_named(name, opcode, operands, Some(shape));
        added.map_err(|error| self.located(start, error))
    }

    /// Completes the error for an instruction that breaks a rule of its opcode, with the line of
    /// its operation.
    fn refused(&self, start: usize, name: &str, error: InstructionError) -> HloError {
        self.located(start, self.builder.instruction_error(name, error))
    }

    /// Adds the line of position `start` to an error of the builder, because the builder knows no
    /// positions in the text.
    pub(super) fn located(&self, start: usize, error: HloError) -> HloError {
        HloError::Line { line: self.parser.cursor.line(start), error: error.into() }
    }

    /// Returns the shape of a value.
    fn shape(&self, value: ValueId) -> &Shape {
        self.parser.types.shape(self.parser.value_type(value))
    }

    /// Returns the shape of a tuple of some values.
    fn tuple_shape(&self, start: usize, values: &[ValueId]) -> Result<Shape> {
        Shape::tuple(values.iter().map(|&value| self.shape(value).clone()))
            .map_err(|error| self.parser.cursor.error(start, error.to_string()))
    }

    /// Returns the shape of an instruction with these results: the shape of the only result, or a
    /// tuple of all results.
    fn result_shape(&self, start: usize, results: &[ValueId]) -> Result<Shape> {
        match results {
            &[result] => Ok(self.shape(result).clone()),
            results => self.tuple_shape(start, results),
        }
    }
}

/// Returns the values that the regions use but do not define, in the order of their first use.
fn captured(regions: &[MlirRegion<'_>]) -> Vec<ValueId> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for region in regions {
        let mut inner = vec![region];
        while let Some(part) = inner.pop() {
            for operation in &part.operations {
                for &value in &operation.operands {
                    if !region.values.contains(&value) && seen.insert(value) {
                        found.push(value);
                    }
                }
                inner.extend(&operation.regions);
            }
        }
    }
    found
}

/// Returns the name for the instruction of an operation, which is the name of the operation's
/// result. If this is a number, as in `%3`, the opcode precedes it, as in `add.3`.
fn instruction_name(operation: &MlirOperation<'_>, opcode: &str) -> String {
    match operation.result_name {
        "" => String::new(),
        name if name.starts_with(|letter: char| letter.is_ascii_digit()) => {
            format!("{opcode}.{name}")
        }
        name => name.to_owned(),
    }
}
