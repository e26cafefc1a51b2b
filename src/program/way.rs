//! [`Ways`]: reports the origin of each element of a result, which is a parameter or a constant.
//! The *way* of an element is the list of instructions between the result and this origin.

use std::collections::HashMap;

use super::{
    BufferId, Program, ProgramError,
    graph::TuplePath,
    literal::storage_bits,
    lower,
    trail::{End, Trail},
};
use crate::hlo::Module;

/// A lowered module that can report the [`Way`] of any element of a result: the instructions
/// through which the element passes, from the result back to its origin.
///
/// The report evaluates the same affine expressions that the kernels use, for one element.
/// Therefore a report cannot contradict the kernels.
///
/// ```
/// use stridec::{hlo::Module, program::{Origin, Ways}};
/// let module = Module::parse(
///     "ENTRY main {
///        x = u8[2,3] parameter(0)
///        y = u8[3,2] transpose(x), dimensions={1,0}
///        ROOT z = u8[3,1] slice(y), slice={[0:3], [1:2]}
///      }",
/// )?;
/// let ways = Ways::new(&module)?;
/// let way = ways.way(0, &[2, 0], 0).unwrap();
/// let indices: Vec<_> = way.passed.iter().map(|passed| passed.index.as_slice()).collect();
/// assert_eq!(indices, [[2, 0], [2, 1], [1, 2]]);
/// assert_eq!(way.origin, Origin::Parameter { number: 0, index: vec![1, 2], bit: 40 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ways<'m> {
    module: &'m Module,
    program: Program,
    /// The parameter that contains each array that the program reads, with the path to the array.
    parameters: Vec<(usize, TuplePath)>,
    /// The record of the instructions that `pull` passed, for each step of the program.
    trails: Vec<Trail>,
    /// The contents of the parameters and of the scratch buffers, in this order. Lookups load from
    /// them. `None` if the caller gave no parameters.
    images: Option<[Vec<Vec<u8>>; 2]>,
    /// The step that writes each buffer, as an index into the steps of the program.
    steps: HashMap<BufferId, usize>,
}

/// The way of one element, from the result to its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The instructions whose value contains the element, from the result to the origin.
    pub passed: Vec<Passed>,
    /// The origin of the element.
    pub origin: Origin,
}

/// An instruction whose value contains the element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The computation, as an index into [`Module::computations`].
    pub computation: usize,
    /// The instruction, as an index into
    /// [`Computation::instructions`](crate::hlo::Computation::instructions).
    pub instruction: usize,
    /// The index of the element in the instruction's value.
    pub index: Vec<u64>,
    /// The index, inside this element, of the bit that the caller requested. The index changes
    /// along the way if an instruction joins elements or divides them, as `bitcast-convert` does.
    pub bit: u32,
}

/// The origin of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An element of a parameter.
    Parameter {
        /// The array, as an index into [`Program::parameters`].
        number: usize,
        /// The index of the element in the array.
        index: Vec<u64>,
        /// The index of the requested bit, counted from the start of the array's buffer.
        bit: u64,
    },
    /// A constant, or a value that is computed from constants.
    Constant {
        /// The bits of the element, shifted so that the requested bit is the lowest bit. Bits past
        /// the end of the element have no meaning.
        bits: u128,
    },
}

impl<'m> Ways<'m> {
    /// Lowers a module, and records the instructions that each step passes through, so that
    /// [`way`](Self::way) can report them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Program::lower`].
    pub fn new(module: &'m Module) -> Result<Self, ProgramError> {
        let lower::Lowered { program, parameters, trails, .. } = lower::trace(module)?;
        let steps = program.steps().iter().enumerate();
        let steps = steps.map(|(number, step)| (step.destination(), number)).collect();
        Ok(Self { module, program, parameters, trails, images: None, steps })
    }

    /// Sets the contents of the parameters: `images` has one buffer for each array in
    /// [`Program::parameters`]. The contents decide the values of lookups, such as the start of a
    /// dynamic slice. Without contents, every integer that a lookup loads is 0, except from a
    /// constant.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Program::run_on_host`].
    pub fn with_parameters(mut self, images: &[&[u8]]) -> Result<Self, ProgramError> {
        let scratch = self.program.scratch_on_host(images)?;
        self.images = Some([images.iter().map(|image| image.to_vec()).collect(), scratch]);
        Ok(self)
    }

    /// Returns true if the contents of the parameters were given.
    #[cfg(feature = "explain")]
    pub(crate) fn has_parameters(&self) -> bool {
        self.images.is_some()
    }

    /// Returns the module.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// Returns the lowered program. It has steps, but no kernels.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the parameter that contains array `number`, and the path to the array inside that
    /// parameter: the index of the element to enter in each nested tuple, outermost first. `number`
    /// is an index into [`Program::parameters`].
    ///
    /// # Panics
    ///
    /// Panics if the program has no parameter array `number`.
    #[must_use]
    pub fn parameter(&self, number: usize) -> (usize, &[usize]) {
        let (parameter, path) = &self.parameters[number];
        (*parameter, path)
    }

    /// Returns the parameters and scratch buffers from which the lookups of result `result` load.
    /// They contain the indices and starts that are known only at run time, so the ways of the
    /// result depend on their contents.
    ///
    /// # Panics
    ///
    /// Panics if the program has no such result.
    #[must_use]
    pub fn lookup_buffers(&self, result: usize) -> Vec<BufferId> {
        let steps = self.program.steps_of(result);
        let mut buffers: Vec<BufferId> =
            steps.into_iter().flat_map(|step| self.trails[step].lookup_buffers()).collect();
        buffers.retain(|buffer| !matches!(buffer, BufferId::Constant(_)));
        buffers.sort_unstable();
        buffers.dedup();
        buffers
    }

    /// Returns the way of one bit of the element at `index` of result `result`. Returns `None` if
    /// the result has no such element, or if the element has no bit `bit`.
    #[must_use]
    pub fn way(&self, result: usize, index: &[u64], bit: u32) -> Option<Way> {
        let (mut value, mut index, mut bit) = (BufferId::Result(result), index.to_vec(), bit);
        let mut passed: Vec<Passed> = vec![];
        loop {
            let buffer = self.program.buffer(value)?;
            let storage = storage_bits(buffer.shape().element_type());
            let step = *self.steps.get(&value)?;
            if bit >= storage {
                return None;
            }
            let trail = &self.trails[step];
            // Without given contents, only constants have bytes. No memory is allocated for other
            // buffers, because a module may have arrays that are larger than any memory.
            let image = |value: BufferId| match (value, &self.images) {
                (BufferId::Constant(number), _) => Some(&self.program.constants()[number][..]),
                (BufferId::Parameter(number), Some([parameters, _])) => {
                    Some(&parameters[number][..])
                }
                (BufferId::Scratch(number), Some([_, scratch])) => Some(&scratch[number][..]),
                (BufferId::Parameter(_) | BufferId::Scratch(_), None) => None,
                (BufferId::Result(_), _) => unreachable!("no kernel reads a result"),
            };
            let (found, end) = trail.way(buffer.descriptor(), &index, bit, &image)?;
            // An instruction whose value is in a scratch buffer appears twice: at the end of the
            // way to the buffer, and at the start of the way from the buffer. Only one of the two
            // is kept.
            let again = passed.last() == found.first();
            passed.extend(found.into_iter().skip(usize::from(again)));
            match end {
                End::Array { value: BufferId::Scratch(number), index: at, within, .. } => {
                    (value, index, bit) = (BufferId::Scratch(number), at, within);
                }
                end => return Some(Way { passed, origin: end.origin(self.program.constants())? }),
            }
        }
    }
}
