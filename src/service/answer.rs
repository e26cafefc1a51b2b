//! Converts kernels and programs to the messages of responses.

use super::language;
use crate::{
    error::Error,
    program::{ArrayBuffer, BufferId, Program},
    proto::{stridec as proto, xla},
    schedule::OuterLoop,
    wgsl::{Kernel, KernelExtents},
};

/// Converts a compiled program to its message. If `language` is not WGSL, each kernel in it
/// includes its translation.
pub(super) fn program(
    program: &Program,
    language: proto::Language,
) -> Result<proto::Program, Error> {
    let mut kernels = Vec::with_capacity(program.kernels().len());
    for (kernel, step) in program.kernels().iter().zip(program.steps()) {
        let mut kernel = language::answer(kernel, language)?;
        let values = step.sources().iter().copied().chain([step.destination()]);
        for (binding, value) in kernel.bindings.iter_mut().zip(values) {
            binding.source = Some(value.into());
        }
        kernels.push(kernel);
    }
    let images = |buffers: &[ArrayBuffer]| buffers.iter().map(proto::Image::from).collect();
    Ok(proto::Program {
        name: program.name().to_owned(),
        kernels,
        parameters: images(program.parameters()),
        results: images(program.results()),
        scratch: images(program.scratch()),
        constants: program.constants().to_vec(),
        ..Default::default()
    })
}

impl From<BufferId> for proto::ProgramBuffer {
    fn from(value: BufferId) -> Self {
        use proto::program_buffer::Kind;
        let (kind, number) = match value {
            BufferId::Parameter(number) => (Kind::Parameter, number),
            BufferId::Constant(number) => (Kind::Constant, number),
            BufferId::Scratch(number) => (Kind::Scratch, number),
            BufferId::Result(number) => (Kind::Result, number),
        };
        // The number fits, because a program has far fewer than 2^32 buffers.
        Self { kind: kind.into(), number: u32::try_from(number).unwrap_or(u32::MAX) }
    }
}

impl From<&ArrayBuffer> for proto::Image {
    fn from(buffer: &ArrayBuffer) -> Self {
        Self { shape: Some(xla::Shape::from(buffer.shape())), size_in_bytes: buffer.bytes() }
    }
}

impl From<&Kernel> for proto::Kernel {
    fn from(kernel: &Kernel) -> Self {
        Self {
            wgsl: kernel.wgsl.clone(),
            entry_point: kernel.entry_point.clone(),
            workgroup_size: kernel.workgroup_size.to_vec(),
            bindings: kernel
                .bindings
                .iter()
                .map(|binding| proto::Binding {
                    group: binding.group,
                    binding: binding.binding,
                    writable: binding.writable,
                    size_in_bytes: binding.size_in_bytes,
                    slot: None,
                    source: None,
                })
                .collect(),
            dispatches: kernel
                .dispatches
                .iter()
                .map(|dispatch| proto::Dispatch { workgroups: dispatch.workgroups.to_vec() })
                .collect(),
            copy_regions: kernel
                .copy_regions
                .iter()
                .map(|region| proto::CopyRegion {
                    source: region.source,
                    source_offset: region.source_offset,
                    destination_offset: region.destination_offset,
                    size: region.size,
                })
                .collect(),
            source_bytes: kernel.source_bytes,
            destination_bytes: kernel.destination_bytes,
            strategy: kernel.strategy.to_string(),
            proof: kernel.proof().map(|proof| proto::Proof {
                last_source_word: proof.last_word_of_source(0),
                last_destination_word: proof.last_destination_word(),
                source_words: proof.words_of_source(0),
                destination_words: proof.destination_words(),
                invocations: proof.invocations(),
                trips: proof.trips(),
                further_sources: (1..proof.sources())
                    .map(|number| proto::SourceProof {
                        last_word: proof.last_word_of_source(number),
                        words: proof.words_of_source(number),
                    })
                    .collect(),
            }),
            translation: None,
            gaps: proto::Gaps::from(kernel.gaps).into(),
            extents: kernel.extents.as_ref().map(Into::into),
            ..Default::default()
        }
    }
}

impl From<&KernelExtents> for proto::KernelExtents {
    fn from(of: &KernelExtents) -> Self {
        // The numbers fit, because a tensor has far fewer than 2^32 dimensions.
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let outer_loop = |one: &OuterLoop| proto::OuterLoop {
            dimension: narrow(one.dimension),
            most: one.most,
            argument: one.argument.map(narrow),
        };
        Self {
            group: of.group,
            binding: of.binding,
            loops: of.loops.loops().iter().map(outer_loop).collect(),
            source_order: of.loops.source_order().iter().copied().map(narrow).collect(),
            source_item_bytes: of.source_item_bytes,
            destination_item_bytes: of.destination_item_bytes,
            item_invocations: of.item_invocations,
        }
    }
}
