//! A [`Builder`] builds a module instruction by instruction, and checks every instruction. The
//! readers of protos and of texts use it, so that a module obeys the same rules in whichever way it
//! was made. Other compilers can use it to pass modules to stridec.

use super::{
    Computation, HloError, Instruction, InstructionError, MAX_CALLED_SHAPES, MAX_COMPUTATIONS,
    MAX_INSTRUCTIONS, MAX_LITERAL_BYTES, Module, Opcode, SourceLine,
    infer::{Callees, Inputs, Signature, infer, infer_mixed},
};
use crate::{
    shape::{FieldPath, Shape},
    text::excerpt,
};

/// The maximum length of a name in an error message, in characters.
const MAX_PRINTED: usize = 80;

/// Builds a [`Module`] in code, and checks every instruction when it is added.
///
/// The methods add instructions to the current computation. Each returns the index of the new
/// instruction in that computation, by which later instructions refer to it as an operand.
/// [`computation`](Self::computation) finishes the current computation, so that later ones can call
/// it. [`finish`](Self::finish) finishes the entry computation and the module.
///
/// ```
/// use stridec::hlo::{Builder, Opcode};
/// let mut builder = Builder::new("twice");
/// let x = builder.parameter("f32[2,3]".parse()?)?;
/// let transposed = builder.add(Opcode::Transpose { dimensions: vec![1, 0] }, &[x])?;
/// let transpose = builder.computation("transpose", transposed)?;
///
/// let x = builder.parameter("f32[2,3]{0,1}".parse()?)?;
/// let once = builder.add(Opcode::Call { computation: transpose }, &[x])?;
/// let square = builder.add_as(Opcode::Reshape, &[once], "f32[2,3]".parse()?)?;
/// let root = builder.add(Opcode::Call { computation: transpose }, &[square])?;
/// let module = builder.finish("main", root)?;
/// assert_eq!(module.entry().instructions()[root].shape().to_string(), "f32[3,2]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    computations: Vec<Computation>,
    /// The name of the current computation in error messages. It is empty if the name is not known
    /// yet, because a caller of the public methods gives it only at the end.
    current: String,
    instructions: Vec<Instruction>,
    parameters: usize,
    /// The source line of the instructions that are added next.
    source: Option<SourceLine>,
    /// The number of instructions in all computations so far, which is limited.
    count: usize,
    /// The number of bytes in all constants so far, which is limited.
    literal_bytes: usize,
    /// The number of shapes in the operands of all calls so far, which is limited.
    called_shapes: usize,
}

impl Callees for Builder {
    fn signature(&self, computation: usize) -> Option<Signature<'_>> {
        let computation = self.computations.get(computation)?;
        Some(Signature {
            name: computation.name(),
            parameters: computation.parameter_shapes().collect(),
            result: computation.root_shape(),
        })
    }
}

impl Builder {
    /// Creates a builder for a module called `name`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            computations: Vec::new(),
            current: String::new(),
            instructions: Vec::new(),
            parameters: 0,
            source: None,
            count: 0,
            literal_bytes: 0,
            called_shapes: 0,
        }
    }

    /// Sets the source line of all instructions that are added from now on. Errors of the compiler
    /// name this line.
    pub fn source(&mut self, source: Option<SourceLine>) {
        self.source = source;
    }

    /// Adds the next parameter of the current computation. Returns the index of its instruction.
    ///
    /// # Errors
    ///
    /// Returns an error if the module would have too many instructions.
    pub fn parameter(&mut self, shape: Shape) -> Result<usize, HloError> {
        let number = self.parameters;
        self.add_named(String::new(), Opcode::Parameter { number }, Vec::new(), Some(shape))
    }

    /// Adds an instruction whose shape is inferred from its operands and attributes. Returns the
    /// index of the instruction.
    ///
    /// # Errors
    ///
    /// Returns an error if the instruction breaks a rule of its opcode, or if the opcode needs
    /// [`add_as`](Self::add_as).
    pub fn add(&mut self, opcode: Opcode, operands: &[usize]) -> Result<usize, HloError> {
        self.add_named(String::new(), opcode, operands.to_vec(), None)
    }

    /// Adds an instruction with a declared shape. Returns the index of the instruction.
    ///
    /// Parameter, reshape, broadcast, iota, convert, bitcast, bitcast-convert and [`Opcode::Other`]
    /// require a declared shape, because their operands and attributes do not determine one. So do
    /// operands of several float types. In all other cases, the declared shape must have the types
    /// and extents of the inferred one.
    ///
    /// # Errors
    ///
    /// Returns an error if the instruction breaks a rule of its opcode.
    pub fn add_as(
        &mut self,
        opcode: Opcode,
        operands: &[usize],
        shape: Shape,
    ) -> Result<usize, HloError> {
        self.add_named(String::new(), opcode, operands.to_vec(), Some(shape))
    }

    /// Adds an instruction called `name`, and returns its index. If the name is empty, the
    /// instruction gets a generated one. `shape` is the declared shape, as in
    /// [`add_as`](Self::add_as); if it is `None`, the shape is inferred.
    ///
    /// # Errors
    ///
    /// Returns an error if the instruction breaks a rule of its opcode.
    pub fn add_named(
        &mut self,
        name: String,
        opcode: Opcode,
        operands: Vec<usize>,
        shape: Option<Shape>,
    ) -> Result<usize, HloError> {
        self.count += 1;
        if self.count > MAX_INSTRUCTIONS {
            let (given, limit) = (self.count, MAX_INSTRUCTIONS);
            return Err(HloError::TooManyInstructions { given, limit });
        }
        if let Opcode::Constant(literal) = &opcode {
            self.count_literal(literal.bytes().len())?;
        }
        if let Opcode::Call { .. } | Opcode::Fusion { .. } | Opcode::AsyncStart { .. } = opcode {
            self.count_called(&operands)?;
        }
        let name = if name.is_empty() {
            format!("{}.{}", opcode.name(), self.instructions.len())
        } else {
            name
        };
        let checked = self.checked(opcode, operands, shape);
        let (opcode, operands, shape) =
            checked.map_err(|error| self.instruction_error(&name, error))?;
        if let Opcode::Parameter { .. } = opcode {
            self.parameters += 1;
        }
        let source = self.source.clone();
        self.instructions.push(Instruction { name, shape, opcode, operands, source });
        Ok(self.instructions.len() - 1)
    }

    /// Checks an instruction, and returns its opcode, its operands and its shape. The returned
    /// opcode is [`Opcode::Other`] if the compiler does not support the instruction because of its
    /// extents or because it mixes float types.
    fn checked(
        &self,
        opcode: Opcode,
        operands: Vec<usize>,
        declared: Option<Shape>,
    ) -> Result<(Opcode, Vec<usize>, Shape), InstructionError> {
        let mut shapes = Vec::with_capacity(operands.len());
        for (i, &operand) in operands.iter().enumerate() {
            let instruction = self.instructions.get(operand);
            shapes.push(instruction.map(Instruction::shape).ok_or_else(|| {
                InstructionError::Unknown {
                    field: FieldPath::new("operand_ids").index(i),
                    given: operand.to_string(),
                    accepted: "an instruction before this one, of the same computation",
                }
            })?);
        }
        let inputs = Inputs { operands: &shapes, declared: declared.as_ref(), callees: self };
        let opcode = match opcode {
            opcode if opcode.takes_dynamic_extents() || !inputs.are_dynamic() => opcode,
            opcode => opcode.without_attributes(),
        };
        if let Some(shape) = infer_mixed(&opcode, &inputs)? {
            return Ok((opcode.without_attributes(), operands, shape));
        }
        let inferred = infer(&opcode, &inputs)?;
        Ok((opcode, operands, declared.unwrap_or(inferred)))
    }

    /// Counts the shapes of a call's operands. Each of them is compared with a parameter of the
    /// called computation, so the count bounds the time. Returns an error if it exceeds the limit.
    fn count_called(&mut self, operands: &[usize]) -> Result<(), HloError> {
        for instruction in operands.iter().filter_map(|&operand| self.instructions.get(operand)) {
            self.called_shapes = self.called_shapes.saturating_add(instruction.shape().shapes());
        }
        if self.called_shapes > MAX_CALLED_SHAPES {
            let (given, limit) = (self.called_shapes, MAX_CALLED_SHAPES);
            return Err(HloError::TooManyCalledShapes { given, limit });
        }
        Ok(())
    }

    /// Counts the bytes of a constant. Returns an error if all constants together exceed the limit.
    fn count_literal(&mut self, bytes: usize) -> Result<(), HloError> {
        self.literal_bytes = self.literal_bytes.saturating_add(bytes);
        if self.literal_bytes > MAX_LITERAL_BYTES {
            let (given, limit) = (self.literal_bytes, MAX_LITERAL_BYTES);
            return Err(HloError::TooManyLiteralBytes { given, limit });
        }
        Ok(())
    }

    /// Finishes the current computation, whose result is the instruction with index `root`. Returns
    /// the index by which later computations call it.
    ///
    /// # Errors
    ///
    /// Returns an error if the computation has no instruction `root`, if its parameters are not
    /// numbered from 0, if the module would have too many computations, or if calls would be nested
    /// too deeply.
    pub fn computation(&mut self, name: impl Into<String>, root: usize) -> Result<usize, HloError> {
        let (place, limit) = (self.computations.len(), MAX_COMPUTATIONS);
        if place >= limit {
            return Err(HloError::TooManyComputations { given: place + 1, limit });
        }
        let instructions = std::mem::take(&mut self.instructions);
        self.parameters = 0;
        self.current.clear();
        if root >= instructions.len() {
            return Err(HloError::Field {
                field: FieldPath::new("computations").index(place).field("root_id"),
                given: format!("{root} is no instruction"),
                accepted: "an instruction of the computation",
            });
        }
        let computation = Computation::new(name.into(), instructions, root, &self.computations)?;
        self.computations.push(computation);
        Ok(place)
    }

    /// Finishes the entry computation and the module. The buffers of the program get the layouts of
    /// the parameters and of the root; [`finish_with_layouts`](Self::finish_with_layouts) gives
    /// them other layouts.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`computation`](Self::computation).
    pub fn finish(mut self, name: impl Into<String>, root: usize) -> Result<Module, HloError> {
        let entry = self.computation(name, root)?;
        let (parameters, result) = self.computations[entry].signature();
        self.module(entry, parameters, result)
    }

    /// Finishes the module as [`finish`](Self::finish) does, but gives the buffers of the program
    /// the layouts of `parameters` and `result`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`computation`](Self::computation). Also returns an error if the
    /// element types or the extents of a buffer differ from those of the parameter or the root.
    pub fn finish_with_layouts(
        mut self,
        name: impl Into<String>,
        root: usize,
        parameters: Vec<Shape>,
        result: Shape,
    ) -> Result<Module, HloError> {
        let entry = self.computation(name, root)?;
        self.module(entry, parameters, result)
    }

    /// Builds the module from the finished computations. `entry` is the index of the entry
    /// computation.
    pub(super) fn module(
        self,
        entry: usize,
        parameters: Vec<Shape>,
        result: Shape,
    ) -> Result<Module, HloError> {
        Module::new(self.name, self.computations, entry, parameters, result)
    }

    /// Returns the builder with another name for the module.
    pub(super) fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Removes the unfinished current computation from the builder, so that another one can be
    /// built first. HLO text needs this, because it may contain a computation inside an instruction
    /// of its caller. [`resume`](Self::resume) continues the removed computation.
    pub(super) fn set_aside(&mut self) -> OpenComputation {
        OpenComputation {
            name: std::mem::take(&mut self.current),
            instructions: std::mem::take(&mut self.instructions),
            parameters: std::mem::take(&mut self.parameters),
        }
    }

    /// Continues with a computation that was removed by [`set_aside`](Self::set_aside).
    pub(super) fn resume(&mut self, open: OpenComputation) {
        self.current = open.name;
        self.instructions = open.instructions;
        self.parameters = open.parameters;
    }

    /// Sets the name by which error messages refer to the current computation.
    pub(super) fn begin(&mut self, name: &str) {
        name.clone_into(&mut self.current);
    }

    /// Returns the finished computations.
    pub(super) fn computations(&self) -> &[Computation] {
        &self.computations
    }

    /// Returns the instructions of the current computation.
    pub(super) fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Adds the names and the path of the instruction that is being added to an error.
    pub(super) fn instruction_error(&self, name: &str, error: InstructionError) -> HloError {
        let (computation, instruction) = (self.computations.len(), self.instructions.len());
        let path = FieldPath::new("computations").index(computation);
        let current = match self.current.as_str() {
            "" => computation.to_string(),
            name => excerpt(name, MAX_PRINTED).into_owned(),
        };
        HloError::Instruction {
            computation: current,
            instruction: excerpt(name, MAX_PRINTED).into_owned(),
            path: path.field("instructions").index(instruction),
            error: error.into(),
        }
    }
}

/// An unfinished computation that was removed from the builder while another one is built.
#[derive(Debug)]
pub(super) struct OpenComputation {
    name: String,
    instructions: Vec<Instruction>,
    parameters: usize,
}
