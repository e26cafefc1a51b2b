//! Builds modules from HLO text: the reader parses the text, and the [`ModuleTarget`] here builds a
//! module from the instructions.

use super::{
    cursor::Cursor,
    reader::{TextTarget, read_text},
    written::WrittenInstruction,
};
use crate::{
    hlo::{
        Builder, HloError, InstructionError, MAX_MODULE_BYTES, Module,
        attributes::{OpcodeContext, opcode},
        builder::OpenComputation,
        infer::{Callees, Signature},
        stablehlo,
    },
    shape::Shape,
};

impl Module {
    /// Parses a module from text. The text is HLO, in the form that XLA prints and `--xla_dump_to`
    /// writes, or StableHLO, in the form that JAX prints. A text that begins with `module`, with
    /// `func.func` or with an alias of MLIR is StableHLO.
    ///
    /// HLO text may omit the `%` of names, the shapes of operands, layouts, and shapes that can be
    /// inferred. A layout that is omitted is the default layout. If the text has no
    /// `entry_computation_layout`, the buffers of the program have the layouts of the parameters
    /// and of the root.
    ///
    /// ```
    /// use stridec::hlo::Module;
    /// let module = Module::parse(
    ///     "HloModule flip, entry_computation_layout={(f32[2,3]{1,0})->f32[3,2]{0,1}}
    ///
    ///      ENTRY %main.3 (x: f32[2,3]) -> f32[3,2] {
    ///        %x = f32[2,3]{1,0} parameter(0)
    ///        ROOT %transpose.2 = f32[3,2]{0,1} transpose(f32[2,3]{1,0} %x), dimensions={1,0}
    ///      }",
    /// )?;
    /// assert_eq!(module.result().to_string(), "f32[3,2]{0,1}");
    /// assert_eq!(Module::parse(&module.to_string())?, module);
    /// # Ok::<(), stridec::hlo::HloError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a module, if the module is invalid, or if it exceeds a
    /// limit of stridec.
    pub fn parse(text: &str) -> Result<Self, HloError> {
        let mut cursor = Cursor::new(text);
        cursor.start()?;
        if cursor.is_mlir() {
            return stablehlo::parse(text);
        }
        let mut target = ModuleTarget { builder: Builder::new(""), outer: Vec::new() };
        let read = read_text(text, &mut target)?;
        let builder = target.builder;
        let (parameters, result) =
            read.buffers.unwrap_or_else(|| builder.computations()[read.entry].signature());
        let module = builder.named(read.name).module(read.entry, parameters, result)?;
        module.with_donated_buffers(read.donated)
    }
}

/// A [`TextTarget`] that builds a module from the instructions of a text.
struct ModuleTarget {
    builder: Builder,
    /// The unfinished computations around the current one, outermost first, because a text may
    /// contain a computation inside an instruction of another one.
    outer: Vec<OpenComputation>,
}

impl Callees for ModuleTarget {
    fn signature(&self, computation: usize) -> Option<Signature<'_>> {
        self.builder.signature(computation)
    }
}

impl TextTarget for ModuleTarget {
    const HAS_LITERALS: bool = true;

    fn begin(&mut self, name: &str) {
        self.outer.push(self.builder.set_aside());
        self.builder.begin(name);
    }

    fn end(&mut self, name: &str, root: usize) -> Result<usize, HloError> {
        let place = self.builder.computation(name, root)?;
        if let Some(outer) = self.outer.pop() {
            self.builder.resume(outer);
        }
        Ok(place)
    }

    fn add(&mut self, instruction: WrittenInstruction) -> Result<usize, HloError> {
        let WrittenInstruction { name, shape, proto, literal, operands, called, source } =
            instruction;
        self.builder.source(source);
        let instructions = self.builder.instructions();
        let shapes: Vec<&Shape> =
            operands.iter().map(|&place| instructions[place].shape()).collect();
        let context = OpcodeContext { literal, called, operands: &shapes, shape: Some(&shape) };
        let opcode = opcode(&proto, context)
            .map_err(|error| self.builder.instruction_error(&name, error))?;
        self.builder.add_named(name, opcode, operands, Some(Shape::clone(&shape)))
    }

    fn shape(&self, instruction: usize) -> &Shape {
        self.builder.instructions()[instruction].shape()
    }

    fn locate(&self, name: &str, error: InstructionError) -> HloError {
        self.builder.instruction_error(name, error)
    }

    fn within_limit(&self, given: usize) -> Result<(), HloError> {
        let limit = MAX_MODULE_BYTES;
        if given > limit { Err(HloError::TooManyBytes { given, limit }) } else { Ok(()) }
    }

    fn takes_fragments(&self) -> bool {
        false
    }
}
