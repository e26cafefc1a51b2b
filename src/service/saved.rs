//! Saves kernels and programs as bytes, and reads them again.
//!
//! A saved kernel includes the nest of its copy and its target. A reader proves that the nest stays
//! inside its buffers, and then writes the kernel of the nest again. If the saved code differs from
//! the new code, the proof does not hold for it and the kernel is refused. The reader of a saved
//! program first checks a checksum, because no proof covers data such as the contents of constants.

use prost::{
    Message, Name,
    encoding::{DecodeContext, WireType, decode_key, skip_field},
};

use super::answer;
use crate::{
    error::{Error, SavedError},
    nest::CopyNest,
    program::{AliasRefusal, ArrayBuffer, BufferId, Program, ProgramAlias, ProgramParts},
    proto::stridec as proto,
    schedule::{OuterLoop, RunTimeExtents, Strategy, Target, schedule, schedule_items},
    shape::{FieldPath, MAX_INPUT_BYTES, Shape, ShapeError},
    wgsl::{Binding, CopyRegion, Dispatch, Kernel, KernelExtents, KernelParts, proved_again},
};

impl Kernel {
    /// Saves the kernel as a serialized `stridec.Kernel`, which includes the nest of its copy and
    /// its target.
    ///
    /// ```
    /// use stridec::{Kernel, Operation, Target};
    /// let operation = Operation::relayout("u8[2,3]".parse()?, "u8[2,3]{0,1}".parse()?)?;
    /// let kernel = operation.compile(&Target::webgpu())?;
    /// let mut bytes = kernel.encode()?;
    /// assert_eq!(Kernel::decode(&bytes)?, kernel);
    /// bytes[3] ^= 1;
    /// assert!(Kernel::decode(&bytes).is_err());
    /// # Ok::<(), stridec::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`SavedError::Unproved`] for a kernel that stridec did not compile, and an error if
    /// the kernel cannot be proved again from its nest.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let expected = "a kernel that stridec compiled";
        let origin = self.origin().ok_or(SavedError::Unproved { expected })?;
        let message = proto::Kernel {
            nest: Some((&origin.nest).into()),
            target: Some((&origin.target).into()),
            ..self.into()
        };
        let bytes = sealed(&message);
        Self::decode(&bytes)?;
        Ok(bytes)
    }

    /// Reads a kernel that [`encode`](Self::encode) saved, and proves its bounds again.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a serialized `stridec.Kernel` or were changed, if the
    /// copy cannot be proved to stay inside its buffers, or if this version of stridec writes other
    /// code for the copy.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let message: proto::Kernel = opened(bytes)?;
        let nest = message.nest.as_ref().ok_or_else(|| missing("nest"))?;
        let nest = nested(CopyNest::try_from(nest), || FieldPath::new("nest"))?;
        let target = message.target.as_ref().ok_or_else(|| missing("target"))?;
        kernel(&message, nest, &Target::try_from(target)?)
    }
}

impl Program {
    /// Saves the program and its kernels as a serialized `stridec.Program`. A runner can read the
    /// bytes with [`decode`](Self::decode), and then needs neither the module nor a compilation.
    ///
    /// ```
    /// use stridec::{Target, hlo::Module, program::{Program, compile_module}};
    /// let module = Module::parse(
    ///     "ENTRY e {
    ///        p = u8[2,3] parameter(0)
    ///        ROOT t = u8[3,2] transpose(p), dimensions={1,0}
    ///      }",
    /// )?;
    /// let bytes = compile_module(&module, &Target::webgpu())?.encode()?;
    /// let program = Program::decode(&bytes)?;
    /// assert!(program.kernels()[0].proof().is_some());
    /// assert_eq!(program.run_on_host(&[b"abcdef"])?, [b"adbecf"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`SavedError::Unproved`] if the program was only lowered. Returns another error if a
    /// kernel cannot be proved again from its nest.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        if self.kernels().len() != self.steps().len() {
            let expected = "a compiled program, such as `compile_module` returns";
            return Err(SavedError::Unproved { expected }.into());
        }
        let bytes = sealed(&message(self)?);
        Self::decode(&bytes)?;
        Ok(bytes)
    }

    /// Reads a program that [`encode`](Self::encode) saved, and proves the bounds of its kernels
    /// again.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not a serialized `stridec.Program` or were changed, if a
    /// copy cannot be proved to stay inside its buffers, or if this version of stridec writes other
    /// code for a copy.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let saved: proto::Program = opened(bytes)?;
        let program = program(&saved)?;
        // The message also describes the kernels, for example by the numbers of a proof. Saving the
        // program again must give the same description.
        if message(&program)? != saved {
            return Err(
                field(FieldPath::new("kernels"), "kernels as `encode` describes them").into()
            );
        }
        Ok(program)
    }
}

/// A message that can be saved, with a checksum in its last field.
trait Saved: Message + Name + Default {
    /// The number of the field that contains the checksum.
    const CHECKSUM: u8;
    /// The number of the field whose bytes may have any length, if the message has such a field.
    const BYTES: Option<u32>;

    /// Removes the checksum from the message and returns it.
    fn take_checksum(&mut self) -> u64;
}

impl Saved for proto::Kernel {
    const CHECKSUM: u8 = 15;
    const BYTES: Option<u32> = None;

    fn take_checksum(&mut self) -> u64 {
        std::mem::take(&mut self.checksum)
    }
}

impl Saved for proto::Program {
    const CHECKSUM: u8 = 11;
    const BYTES: Option<u32> = Some(6);

    fn take_checksum(&mut self) -> u64 {
        std::mem::take(&mut self.checksum)
    }
}

/// Serializes a message and appends its checksum as the last field.
fn sealed<M: Saved>(message: &M) -> Vec<u8> {
    let mut bytes = message.encode_to_vec();
    let checksum = fnv1a(&bytes);
    bytes.push(M::CHECKSUM << 3 | WireType::SixtyFourBit as u8);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Parses the output of [`sealed`]. Returns the message without its checksum.
fn opened<M: Saved>(bytes: &[u8]) -> Result<M, Error> {
    let few = || field(FieldPath::new("input"), "fewer and longer fields");
    let unlimited = bytes_in::<M>(bytes).ok_or_else(few)?;
    let (given, limit) = (bytes.len() - unlimited, MAX_INPUT_BYTES);
    if given > limit {
        let field = FieldPath::new("input");
        return Err(ShapeError::TooMany { field, what: "bytes", given, limit }.into());
    }
    let mut message: M = crate::shape::decode_unlimited(bytes)?;
    let given = message.take_checksum();
    let expected = fnv1a(&message.encode_to_vec());
    if given != expected {
        return Err(SavedError::Checksum { message: M::NAME, expected, given }.into());
    }
    Ok(message)
}

/// Returns the number of bytes in the field of unlimited length, counted up to the first invalid
/// field. Returns `None` if a message has far more submessages than a saved message of the same
/// length, because parsing it would take much memory.
fn bytes_in<M: Saved>(bytes: &[u8]) -> Option<usize> {
    let (mut rest, mut unlimited) = (bytes, 0);
    let mut submessages = 0;
    while let Ok((field, kind)) = decode_key(&mut rest) {
        let before = rest.len();
        if skip_field(kind, field, &mut rest, DecodeContext::default()).is_err() {
            break;
        }
        if M::BYTES == Some(field) {
            unlimited += before - rest.len();
        } else {
            submessages += usize::from(kind == WireType::LengthDelimited);
        }
    }
    (submessages <= bytes.len() / 16 + 16).then_some(unlimited)
}

/// Returns the 64-bit FNV-1a hash of bytes. A change of a single byte always changes the hash.
fn fnv1a(bytes: &[u8]) -> u64 {
    let next = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, next)
}

fn missing(name: &'static str) -> SavedError {
    field(FieldPath::new(name), "a value, as `encode` writes it")
}

fn field(field: FieldPath, expected: &'static str) -> SavedError {
    SavedError::Field { field, expected }
}

/// Adds a path before the field that an error names.
fn nested<T>(result: Result<T, Error>, path: impl Fn() -> FieldPath) -> Result<T, Error> {
    result.map_err(|error| error.below(&path()))
}

/// Restores the kernel of a message. Refuses the message if its code is not the code that is
/// written for `nest`.
fn kernel(message: &proto::Kernel, nest: CopyNest, target: &Target) -> Result<Kernel, Error> {
    let three = |numbers: &[u32], name| {
        let three = <[u32; 3]>::try_from(numbers);
        three.map_err(|_| field(FieldPath::new(name), "three numbers"))
    };
    let strategies =
        [Strategy::Empty, Strategy::Copy, Strategy::Rows, Strategy::Transpose, Strategy::Gather];
    let strategy = strategies.into_iter().find(|of| of.name() == message.strategy);
    let dispatches = message.dispatches.iter();
    let dispatches = dispatches
        .map(|of| Ok(Dispatch { workgroups: three(&of.workgroups, "dispatches")? }))
        .collect::<Result<_, SavedError>>()?;
    let gaps = proto::Gaps::try_from(message.gaps)
        .map_err(|_| field(FieldPath::new("gaps"), "a number of stridec.Gaps, 0 or 1"))?;
    let mut parts = KernelParts::default();
    parts.wgsl.clone_from(&message.wgsl);
    parts.entry_point.clone_from(&message.entry_point);
    parts.workgroup_size = three(&message.workgroup_size, "workgroup_size")?;
    parts.bindings = message.bindings.iter().map(binding).collect();
    parts.dispatches = dispatches;
    parts.copy_regions = message.copy_regions.iter().map(copy_region).collect();
    parts.strategy =
        strategy.ok_or_else(|| field(FieldPath::new("strategy"), "the name of a strategy"))?;
    parts.source_bytes = message.source_bytes;
    parts.destination_bytes = message.destination_bytes;
    parts.gaps = gaps.into();
    let schedule = match &message.extents {
        None => schedule(nest, target)?,
        Some(saved) => schedule_items(nest, &extents(saved)?, target)?,
    };
    parts.extents = KernelExtents::of(&schedule);
    if parts.extents.as_ref().map(proto::KernelExtents::from) != message.extents {
        return Err(field(FieldPath::new("extents"), "extents as `encode` writes them").into());
    }
    Ok(proved_again(parts, &schedule, target)?)
}

/// Returns the loops whose extents a saved kernel reads.
fn extents(of: &proto::KernelExtents) -> Result<RunTimeExtents, SavedError> {
    let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let loops = of.loops.iter().map(|one| OuterLoop {
        dimension: place(one.dimension),
        most: one.most,
        argument: one.argument.map(place),
    });
    let source_order = of.source_order.iter().copied().map(place);
    RunTimeExtents::new(loops, source_order)
        .ok_or_else(|| field(FieldPath::new("extents"), "loops as a kernel has them"))
}

fn binding(of: &proto::Binding) -> Binding {
    let &proto::Binding { group, binding, writable, size_in_bytes, .. } = of;
    Binding { group, binding, writable, size_in_bytes }
}

fn copy_region(of: &proto::CopyRegion) -> CopyRegion {
    let &proto::CopyRegion { source, source_offset, destination_offset, size } = of;
    CopyRegion { source, source_offset, destination_offset, size }
}

/// Converts a compiled program to its message, without the checksum.
fn message(program: &Program) -> Result<proto::Program, Error> {
    let alias = |of: &ProgramAlias, refusal: proto::program_alias::Refusal| {
        let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let (result, parameter) = (number(of.result), number(of.parameter));
        proto::ProgramAlias { result, parameter, refusal: refusal.into() }
    };
    let refused = |(of, refusal): &(ProgramAlias, AliasRefusal)| {
        alias(
            of,
            match refusal {
                AliasRefusal::ReadsWhatItWrites => proto::program_alias::Refusal::ReadsWhatItWrites,
                AliasRefusal::NoOrder => proto::program_alias::Refusal::NoOrder,
            },
        )
    };
    let aliases = program.aliases().iter();
    let origins = program.kernels().iter().map(Kernel::origin);
    Ok(proto::Program {
        target: origins.flatten().next().map(|origin| (&origin.target).into()),
        steps: program
            .steps()
            .iter()
            .map(|step| proto::ProgramStep {
                sources: step.sources().iter().map(|&source| source.into()).collect(),
                destination: Some(step.destination().into()),
                nest: Some(step.nest().into()),
            })
            .collect(),
        aliases: aliases.map(|of| alias(of, proto::program_alias::Refusal::None)).collect(),
        refused_aliases: program.refused_aliases().iter().map(refused).collect(),
        ..answer::program(program, proto::Language::Wgsl)?
    })
}

fn program(message: &proto::Program) -> Result<Program, Error> {
    let target = message.target.as_ref().map(Target::try_from).transpose()?.unwrap_or_default();
    if message.kernels.len() != message.steps.len() {
        return Err(field(FieldPath::new("steps"), "a step for each kernel").into());
    }
    let (mut steps, mut kernels) = (Vec::new(), Vec::new());
    for (number, (saved, step)) in message.kernels.iter().zip(&message.steps).enumerate() {
        let path = || FieldPath::new("steps").index(number);
        let nest = step.nest.as_ref().ok_or_else(|| field(path().field("nest"), "a nest"))?;
        let nest = nested(CopyNest::try_from(nest), || path().field("nest"))?;
        let kernel = nested(kernel(saved, nest.clone(), &target), || {
            FieldPath::new("kernels").index(number)
        })?;
        let value = |of: proto::ProgramBuffer| {
            value(of).ok_or_else(|| field(path(), "buffers of a program"))
        };
        let sources = step.sources.iter().copied().map(value).collect::<Result<_, _>>()?;
        steps.push((nest, sources, value(step.destination.unwrap_or_default())?));
        kernels.push(kernel);
    }
    let parts = ProgramParts {
        name: message.name.clone(),
        parameters: buffers(&message.parameters, "parameters", BufferId::Parameter)?,
        results: buffers(&message.results, "results", BufferId::Result)?,
        scratch: buffers(&message.scratch, "scratch", BufferId::Scratch)?,
        constants: message.constants.clone(),
        steps,
        kernels,
        aliases: message.aliases.iter().map(alias).collect(),
        refused_aliases: message
            .refused_aliases
            .iter()
            .map(|of| Some((alias(of), refusal(of)?)))
            .collect::<Option<_>>()
            .ok_or_else(|| field(FieldPath::new("refused_aliases"), "the reason of a refusal"))?,
    };
    Ok(parts.checked().map_err(|(path, expected)| field(path, expected))?)
}

fn buffers(
    images: &[proto::Image],
    name: &'static str,
    value: fn(usize) -> BufferId,
) -> Result<Vec<ArrayBuffer>, Error> {
    let images = images.iter().enumerate();
    images
        .map(|(number, image)| {
            let path = || FieldPath::new(name).index(number).field("shape");
            let shape = image.shape.as_ref().ok_or_else(|| field(path(), "a shape"))?;
            let shape = nested(Shape::try_from(shape).map_err(Error::from), path)?;
            nested(ArrayBuffer::new(value(number), shape).map_err(Error::from), path)
        })
        .collect()
}

fn value(of: proto::ProgramBuffer) -> Option<BufferId> {
    use proto::program_buffer::Kind;
    let number = usize::try_from(of.number).ok()?;
    Some(match of.kind() {
        Kind::Unspecified => return None,
        Kind::Parameter => BufferId::Parameter(number),
        Kind::Constant => BufferId::Constant(number),
        Kind::Scratch => BufferId::Scratch(number),
        Kind::Result => BufferId::Result(number),
    })
}

fn alias(of: &proto::ProgramAlias) -> ProgramAlias {
    let place = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    ProgramAlias { result: place(of.result), parameter: place(of.parameter) }
}

fn refusal(of: &proto::ProgramAlias) -> Option<AliasRefusal> {
    match of.refusal() {
        proto::program_alias::Refusal::None => None,
        proto::program_alias::Refusal::ReadsWhatItWrites => Some(AliasRefusal::ReadsWhatItWrites),
        proto::program_alias::Refusal::NoOrder => Some(AliasRefusal::NoOrder),
    }
}
