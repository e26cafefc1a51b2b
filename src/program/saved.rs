//! [`ProgramParts`]: a program that was read from a file, before its checks. It becomes a
//! [`Program`] only if its steps fit its buffers.

use super::{AliasRefusal, ArrayBuffer, BufferId, Program, ProgramAlias, ProgramStep};
use crate::{nest::CopyNest, shape::FieldPath, wgsl::Kernel};

/// The fields of a program that was read from a file. The file may be damaged: so far, the reader
/// has only proved that each kernel is the kernel of its step's nest. [`checked`](Self::checked)
/// checks the rest.
#[derive(Debug)]
pub(crate) struct ProgramParts {
    pub(crate) name: String,
    pub(crate) parameters: Vec<ArrayBuffer>,
    pub(crate) results: Vec<ArrayBuffer>,
    pub(crate) scratch: Vec<ArrayBuffer>,
    pub(crate) constants: Vec<Vec<u8>>,
    /// The nest of each step, the buffers that the step reads, and the buffer that it writes.
    pub(crate) steps: Vec<(CopyNest, Vec<BufferId>, BufferId)>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) aliases: Vec<ProgramAlias>,
    pub(crate) refused_aliases: Vec<(ProgramAlias, AliasRefusal)>,
}

/// The field of a saved program that is invalid, and a description of the values that the field
/// accepts.
pub(crate) type InvalidField = (FieldPath, &'static str);

impl ProgramParts {
    /// Checks that the steps fit the buffers, and returns the program.
    ///
    /// # Errors
    ///
    /// Returns the invalid field if a step reads a buffer that does not exist, that no earlier step
    /// has written, or whose size differs from the size in the step's nest. Also returns an error
    /// if an alias is invalid or if no step writes a result.
    pub(crate) fn checked(self) -> Result<Program, InvalidField> {
        let Self { name, parameters, results, scratch, constants, .. } = self;
        let step = |(nest, sources, destination)| ProgramStep { nest, sources, destination };
        let program = Program {
            name,
            parameters,
            results,
            scratch,
            constants,
            steps: self.steps.into_iter().map(step).collect(),
            kernels: self.kernels,
            aliases: self.aliases,
            refused_aliases: self.refused_aliases,
            parameter_names: Vec::new(),
            result_names: Vec::new(),
        };
        check_aliases(&program)?;
        let mut written = Vec::new();
        for (number, step) in program.steps.iter().enumerate() {
            check_step(&program, step, &written)
                .map_err(|expected| (FieldPath::new("steps").index(number), expected))?;
            written.push(step.destination);
        }
        let results = (0..program.results.len()).map(BufferId::Result);
        match results.enumerate().find(|(_, result)| !written.contains(result)) {
            Some((number, _)) => {
                Err((FieldPath::new("results").index(number), "a result that a step writes"))
            }
            None => Ok(program),
        }
    }
}

/// Checks that the buffers of a step exist and have the sizes in its nest, and that its sources are
/// available when the step runs. `written` has the destinations of all earlier steps.
fn check_step(
    program: &Program,
    ProgramStep { nest, sources, destination }: &ProgramStep,
    written: &[BufferId],
) -> Result<(), &'static str> {
    if sources.len() != nest.sources().len() {
        return Err("a buffer for each source of the nest");
    }
    let home = program.home(*destination);
    for (source, image) in sources.iter().zip(nest.sources()) {
        if matches!(source, BufferId::Result(_)) || program.bytes(*source) != Some(image.bytes()) {
            return Err("sources that exist and have the sizes of the nest's sources");
        }
        if matches!(source, BufferId::Scratch(_)) && !written.contains(source) {
            return Err("scratch buffers that an earlier step writes");
        }
        let overwritten = written.iter().any(|of| *of != *source && program.home(*of) == *source);
        if overwritten || home == *source {
            return Err("sources that no step overwrites before they are read");
        }
    }
    let is_written = matches!(destination, BufferId::Result(_) | BufferId::Scratch(_));
    if !is_written || program.bytes(*destination) != Some(nest.dst_bytes()) {
        return Err("a result or a scratch buffer of the size of the nest's destination");
    }
    Ok(())
}

fn check_aliases(program: &Program) -> Result<(), InvalidField> {
    for (number, alias) in program.aliases.iter().enumerate() {
        let path = FieldPath::new("aliases").index(number);
        let result = program.bytes(BufferId::Result(alias.result));
        let is_same = result.is_some_and(|bytes| {
            program.bytes(BufferId::Parameter(alias.parameter)) == Some(bytes)
        });
        let is_taken =
            |of: &ProgramAlias| of.result == alias.result || of.parameter == alias.parameter;
        if !is_same || program.aliases[..number].iter().any(is_taken) {
            return Err((path, "a result and a parameter of one size, each of them once"));
        }
    }
    Ok(())
}

impl Program {
    /// Returns the size of a buffer, in bytes, or `None` if the program has no such buffer.
    fn bytes(&self, value: BufferId) -> Option<u64> {
        match value {
            BufferId::Constant(number) => self.constants.get(number).map(|of| of.len() as u64),
            value => self.buffer(value).map(ArrayBuffer::bytes),
        }
    }
}
