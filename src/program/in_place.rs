//! Programs in place: a result may take over the buffer of a parameter, if `input_output_alias` of
//! the module allows it. XLA calls this donation.
//!
//! Often such a result differs from its parameter only in a window, as after
//! `dynamic-update-slice`. Then the program computes the result in the parameter's buffer and
//! writes only the window. All other steps that read the parameter must run before that, so the
//! steps are reordered. If no order is possible, the alias is refused, and the result gets a
//! separate buffer.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

use super::{BufferId, Program, ProgramError, ProgramStep, lower::lowered};
use crate::{
    hlo::Module,
    nest::{Assembly, Gaps},
    schedule::Target,
};

/// A result that takes over the buffer of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProgramAlias {
    /// The result, as an index into [`Program::results`].
    pub result: usize,
    /// The parameter, as an index into [`Program::parameters`].
    pub parameter: usize,
}

/// The reason why a result does not take over the buffer of its parameter, although the module
/// allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AliasRefusal {
    /// The computation of the result would read places of the parameter after it has overwritten
    /// them, as in a reversal. Also the reason if the compiler cannot prove the opposite.
    ReadsWhatItWrites,
    /// Two or more results wait for each other, for example if a module swaps two parameters. Each
    /// of them is computed from a parameter that another one overwrites, so that none can be
    /// written before the others.
    NoOrder,
}

impl fmt::Display for AliasRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadsWhatItWrites => {
                "as far as the compiler can tell, the result is computed from places of the parameter that it overwrites"
            }
            Self::NoOrder => {
                "the parameter is read by a result that has to be written after this one"
            }
        })
    }
}

/// Compiles all results of a module for a target, in place if the module's
/// [`aliases`](Module::aliases) allow it.
///
/// [`Program::aliases`] lists the results that take over the buffer of a parameter. In contrast,
/// [`compile_module`](super::compile_module) gives every result a separate buffer.
///
/// ```
/// use stridec::{Target, hlo::Module, program::{HostParameter, compile_in_place}};
/// let module = Module::parse(
///     "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
///      ENTRY e {
///        cache = u8[4,2] parameter(0)
///        row = u8[1,2] parameter(1)
///        at = s32[] parameter(2)
///        zero = s32[] constant(0)
///        ROOT r = u8[4,2] dynamic-update-slice(cache, row, at, zero)
///      }",
/// )?;
/// let program = compile_in_place(&module, &Target::webgpu())?;
/// assert_eq!((program.aliases()[0].result, program.aliases()[0].parameter), (0, 0));
/// let (mut cache, at) = (*b"aabbccdd", 2_i32.to_le_bytes());
/// let parameters =
///     [HostParameter::Donated(&mut cache), HostParameter::Read(b"xy"), HostParameter::Read(&at)];
/// program.run_on_host_in_place(parameters, &mut [])?;
/// assert_eq!(&cache, b"aabbxydd");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`compile_module`](super::compile_module). An alias that the program
/// cannot honour is not an error; [`Program::refused_aliases`] lists it with the reason.
pub fn compile_in_place(module: &Module, target: &Target) -> Result<Program, ProgramError> {
    Program::lower_in_place(module)?.compiled(target)
}

impl Program {
    /// Lowers all results of a module to steps, as [`lower`](Self::lower) does. In addition, a
    /// result takes over the buffer of a parameter if the module's [`aliases`](Module::aliases)
    /// allow it. At most one result takes over a given buffer, and it has the size of that buffer.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`lower`](Self::lower).
    pub fn lower_in_place(module: &Module) -> Result<Self, ProgramError> {
        let lowered = lowered(module, false, Some(Assembly::in_place))?;
        let (mut program, mut candidates) = (lowered.program, Vec::new());
        for (alias, step) in lowered.in_place {
            match step {
                None => program.refused_aliases.push((alias, AliasRefusal::ReadsWhatItWrites)),
                Some(step) => candidates.push((alias, step)),
            }
        }
        let mut accepted: Vec<&(ProgramAlias, ProgramStep)> = candidates.iter().collect();
        let mut order = in_order(&program.steps, &accepted);
        if order.is_none() {
            // No order honours all aliases. Try them in the order of the results, and accept each
            // alias that still leaves a possible order.
            accepted.clear();
            for candidate in &candidates {
                accepted.push(candidate);
                match in_order(&program.steps, &accepted) {
                    None => {
                        accepted.pop();
                        program.refused_aliases.push((candidate.0, AliasRefusal::NoOrder));
                    }
                    found => order = found,
                }
            }
        }
        for (alias, step) in accepted {
            program.aliases.push(*alias);
            let written = step.destination;
            if let Some(own) = program.steps.iter_mut().find(|own| own.destination == written) {
                own.clone_from(step);
            }
        }
        if let Some(order) = order {
            program.steps = order.into_iter().map(|number| program.steps[number].clone()).collect();
        }
        program.aliases.sort_by_key(|alias| alias.result);
        program.refused_aliases.sort_by_key(|(alias, _)| alias.result);
        Ok(program)
    }

    /// Returns the results that take over the buffer of a parameter, in the order of the results.
    /// The list is empty unless the program was made by [`compile_in_place`] or
    /// [`lower_in_place`](Self::lower_in_place).
    ///
    /// The caller passes one buffer for such a result and its parameter. The buffer holds the
    /// parameter before the program runs, and the result afterwards. The program does not write
    /// padding, nor bytes that the compiler can prove unchanged, such as those around an updated
    /// window.
    #[must_use]
    pub fn aliases(&self) -> &[ProgramAlias] {
        &self.aliases
    }

    /// Returns the aliases of the module that the program does not honour, each with the reason, in
    /// the order of the results. The results of these aliases have separate buffers.
    #[must_use]
    pub fn refused_aliases(&self) -> &[(ProgramAlias, AliasRefusal)] {
        &self.refused_aliases
    }

    /// Returns the buffer in which `value` is stored. If `value` is a result that takes over the
    /// buffer of a parameter, this is the parameter's buffer; otherwise it is `value` itself.
    #[must_use]
    pub fn home(&self, value: BufferId) -> BufferId {
        let alias = self.aliases.iter().find(|alias| value == BufferId::Result(alias.result));
        alias.map_or(value, |alias| BufferId::Parameter(alias.parameter))
    }

    /// Runs the program on the CPU. Each result that takes over a parameter is written to the
    /// buffer of that parameter.
    ///
    /// `parameters` has the buffer of each parameter. `results` has a buffer for each result that
    /// takes over no parameter, in order.
    ///
    /// # Errors
    ///
    /// Returns [`ProgramError::NotDonated`] if a parameter that a result takes over is passed as
    /// [`HostParameter::Read`]. Also returns the errors of
    /// [`run_on_host_into`](Self::run_on_host_into). After an error, nothing has been written.
    pub fn run_on_host_in_place<'a>(
        &self,
        parameters: impl IntoIterator<Item = HostParameter<'a>>,
        results: &mut [&mut [u8]],
    ) -> Result<(), ProgramError> {
        let mut parameters: Vec<HostParameter> = parameters.into_iter().collect();
        let images = |parameters: &[HostParameter]| -> Vec<usize> {
            parameters.iter().map(|parameter| parameter.bytes().len()).collect()
        };
        super::program::check("parameter", &self.parameters, images(&parameters).into_iter())?;
        let own: Vec<usize> = (0..self.results.len())
            .filter(|&result| self.home(BufferId::Result(result)) == BufferId::Result(result))
            .collect();
        let buffers: Vec<_> = own.iter().map(|&result| self.results[result].clone()).collect();
        super::program::check("result", &buffers, results.iter().map(|given| given.len()))?;
        for &ProgramAlias { result, parameter } in &self.aliases {
            if let HostParameter::Read(_) = parameters[parameter] {
                return Err(ProgramError::NotDonated { parameter, result });
            }
        }
        let mut scratch = self.empty_scratch()?;
        for step in &self.steps {
            match self.home(step.destination) {
                BufferId::Parameter(number) => {
                    let HostParameter::Donated(written) = &mut parameters[number] else {
                        continue;
                    };
                    let written = std::mem::take(written);
                    self.run_step(step, &bytes(&parameters), &scratch, written)?;
                    parameters[number] = HostParameter::Donated(written);
                }
                BufferId::Result(number) => {
                    let Ok(place) = own.binary_search(&number) else { continue };
                    self.run_step(step, &bytes(&parameters), &scratch, results[place])?;
                }
                _ => self.run_scratch_step(step, &bytes(&parameters), &mut scratch)?,
            }
        }
        Ok(())
    }

    /// Prepares a run in which every result has a separate buffer, although some steps were made to
    /// run in place. Such a step writes only a window, so this function first copies the parameter
    /// to the buffer of the result, which supplies the bytes around the window. `parameters` and
    /// `results` have a buffer for each array.
    pub(super) fn copy_taken(&self, parameters: &[&[u8]], results: &mut [&mut [u8]]) {
        for alias in &self.aliases {
            let of = BufferId::Result(alias.result);
            let keeps = |step: &ProgramStep| step.nest.gaps() == Gaps::Keep;
            if self.steps.iter().any(|step| step.destination == of && keeps(step)) {
                results[alias.result].copy_from_slice(parameters[alias.parameter]);
            }
        }
    }
}

/// The buffer of a parameter on the host.
#[derive(Debug, PartialEq, Eq)]
pub enum HostParameter<'a> {
    /// Bytes that the program only reads.
    Read(&'a [u8]),
    /// Bytes that the program overwrites if a result takes them over.
    Donated(&'a mut [u8]),
}

impl HostParameter<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Donated(bytes) => bytes,
        }
    }
}

fn bytes<'a>(parameters: &'a [HostParameter<'_>]) -> Vec<&'a [u8]> {
    parameters.iter().map(HostParameter::bytes).collect()
}

/// Returns an order in which the steps can run, as indices of `steps`, or `None` if there is none.
/// `accepted` has the aliases to honour, each with the step that replaces the original step of its
/// result.
///
/// A step must run after the steps that write its sources. If it overwrites a parameter, it must
/// also run after all other steps that read this parameter. Apart from these rules, steps keep
/// their order.
fn in_order(
    steps: &[ProgramStep],
    accepted: &[&(ProgramAlias, ProgramStep)],
) -> Option<Vec<usize>> {
    let taken: HashMap<BufferId, &(ProgramAlias, ProgramStep)> =
        accepted.iter().map(|of| (of.1.destination, *of)).collect();
    let replaced = |step| taken.get(&step).map(|of| &of.1);
    let steps: Vec<&ProgramStep> =
        steps.iter().map(|step| replaced(step.destination).unwrap_or(step)).collect();
    let mut writers: HashMap<BufferId, Vec<usize>> = HashMap::new();
    let mut readers: HashMap<BufferId, Vec<usize>> = HashMap::new();
    for (number, step) in steps.iter().enumerate() {
        writers.entry(step.destination).or_default().push(number);
        for &source in &step.sources {
            readers.entry(source).or_default().push(number);
        }
    }
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    let mut waits = vec![0_usize; steps.len()];
    for (number, step) in steps.iter().enumerate() {
        let made = step.sources.iter().filter_map(|source| writers.get(source)).flatten();
        let earlier = writers[&step.destination].iter().filter(|&&other| other < number);
        let overwritten = taken
            .get(&step.destination)
            .into_iter()
            .filter_map(|of| readers.get(&BufferId::Parameter(of.0.parameter)));
        for &before in made.chain(earlier).chain(overwritten.flatten()) {
            if before != number {
                next[before].push(number);
                waits[number] += 1;
            }
        }
    }
    let mut ready: BTreeSet<usize> = (0..steps.len()).filter(|&of| waits[of] == 0).collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(number) = ready.pop_first() {
        order.push(number);
        for &after in &next[number] {
            waits[after] -= 1;
            if waits[after] == 0 {
                ready.insert(after);
            }
        }
    }
    (order.len() == steps.len()).then_some(order)
}
