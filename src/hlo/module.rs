//! A [`Module`] is a list of computations. It also records which of them is the entry computation,
//! and the layouts of the buffers that the program reads and writes.

use super::{
    BufferDonor, Computation, HloError, InputOutputAlias, Instruction, alias::DonatedBuffers,
};
use crate::shape::{ElementType, FieldPath, Shape, queries};

/// A program in HLO. It is valid by construction; the [module documentation](super) lists the rules
/// that hold.
///
/// The buffers of the program have the layouts of [`parameters`](Self::parameters) and
/// [`result`](Self::result), which XLA calls `host_program_shape`. The layouts of instructions have
/// no effect, because the elements of an intermediate result do not depend on how it is stored. The
/// exception is `bitcast`, which interprets the stored bytes of its operand as another shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    name: String,
    computations: Vec<Computation>,
    entry: usize,
    parameters: Vec<Shape>,
    result: Shape,
    donated: DonatedBuffers,
}

impl Module {
    /// Creates a module from finished computations. `entry` is the index of the entry computation,
    /// and `parameters` and `result` are the shapes of the program's buffers. Returns an error if
    /// the number of parameters, an element type or an extent differs from the entry computation.
    /// Layouts may differ.
    pub(super) fn new(
        name: String,
        computations: Vec<Computation>,
        entry: usize,
        parameters: Vec<Shape>,
        result: Shape,
    ) -> Result<Self, HloError> {
        let computation = &computations[entry];
        let path = FieldPath::new("host_program_shape");
        let count = computation.parameters().len();
        if parameters.len() != count {
            return Err(HloError::Field {
                field: path.field("parameters"),
                given: format!("{} shapes for {count} parameters", parameters.len()),
                accepted: "one shape for each parameter of the entry computation",
            });
        }
        let fits = |field: FieldPath, expected: &Shape, given: &Shape| {
            if queries::compatible(expected, given) {
                return Ok(());
            }
            let (expected, given) = (expected.clone().into(), given.clone().into());
            Err(HloError::EntryLayout { field, expected, given })
        };
        for (number, (expected, given)) in
            computation.parameter_shapes().zip(&parameters).enumerate()
        {
            let field = path.clone().field("parameters").index(number);
            fits(field, expected, given)?;
        }
        fits(path.field("result"), computation.root_shape(), &result)?;
        let donated = DonatedBuffers::default();
        Ok(Self { name, computations, entry, parameters, result, donated })
    }

    /// Returns the module with `donated` as the buffers that results may reuse. Returns an error if
    /// `donated` breaks a rule of [`DonatedBuffers::check`], for example if a path leads to a tuple
    /// instead of an array.
    pub(super) fn with_donated_buffers(self, donated: DonatedBuffers) -> Result<Self, HloError> {
        donated.check(&self.parameters, &self.result)?;
        Ok(Self { donated, ..self })
    }

    /// Returns the name of the module.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the computations. A computation comes after all computations that it calls.
    #[must_use]
    pub fn computations(&self) -> &[Computation] {
        &self.computations
    }

    /// Returns the entry computation, which the program runs.
    #[must_use]
    pub fn entry(&self) -> &Computation {
        &self.computations[self.entry]
    }

    /// Returns the index of the entry computation in [`computations`](Self::computations).
    pub(crate) fn entry_index(&self) -> usize {
        self.entry
    }

    /// Returns the shapes of the program's inputs, in the order of the parameters. If a shape is a
    /// tuple, each array inside it has a separate buffer.
    #[must_use]
    pub fn parameters(&self) -> &[Shape] {
        &self.parameters
    }

    /// Returns the shape of the program's output. If the shape is a tuple, each array inside it has
    /// a separate buffer.
    #[must_use]
    pub fn result(&self) -> &Shape {
        &self.result
    }

    /// Returns the arrays in the result that reuse the buffers of parameters. JAX writes such
    /// aliases for arguments that the user donates. They do not change the values of the result.
    ///
    /// ```
    /// use stridec::hlo::Module;
    /// let module = Module::parse(
    ///     "HloModule m, input_output_alias={ {}: (1, {}, may-alias) }
    ///      ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] parameter(1) }",
    /// )?;
    /// assert_eq!(module.aliases()[0].parameter_number, 1);
    /// assert_eq!(Module::decode(&module.encode())?.aliases(), module.aliases());
    /// # Ok::<(), stridec::hlo::HloError>(())
    /// ```
    #[must_use]
    pub fn aliases(&self) -> &[InputOutputAlias] {
        &self.donated.aliases
    }

    /// Returns the arrays in parameters whose buffers any result may reuse. In contrast to
    /// [`aliases`](Self::aliases), no result is chosen yet.
    #[must_use]
    pub fn donors(&self) -> &[BufferDonor] {
        &self.donated.donors
    }

    /// Returns the aliases and the donors together.
    pub(super) fn donated_buffers(&self) -> &DonatedBuffers {
        &self.donated
    }

    /// Returns the instructions of all computations, in the order of
    /// [`computations`](Self::computations).
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.computations.iter().flat_map(Computation::instructions)
    }

    /// Returns the module with the default layout, which is row-major, for every buffer.
    #[must_use]
    pub fn with_default_layouts(self) -> Self {
        let parameters = self.parameters.iter().map(row_major).collect();
        let result = row_major(&self.result);
        Self { parameters, result, ..self }
    }
}

/// Returns a shape without its layouts. An array without a layout has the default layout, which is
/// row-major.
fn row_major(shape: &Shape) -> Shape {
    if shape.is_array() {
        let dimensions = shape.dimensions().iter().copied();
        let plain = Shape::array(shape.element_type(), dimensions, None);
        return plain.expect("the shape has these extents already");
    }
    if shape.element_type() != ElementType::Tuple {
        return shape.clone();
    }
    let parts = shape.tuple_shapes().iter().map(row_major);
    Shape::tuple(parts).expect("the shape has these parts already")
}
