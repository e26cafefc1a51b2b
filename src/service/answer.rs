//! A kernel as the proto message of a response.

use crate::{proto::stridec as proto, wgsl::Kernel};

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
                    source_offset: region.source_offset,
                    destination_offset: region.destination_offset,
                    size: region.size,
                })
                .collect(),
            source_bytes: kernel.source_bytes,
            destination_bytes: kernel.destination_bytes,
            strategy: kernel.strategy.to_string(),
            proof: kernel.proof().map(|proof| proto::Proof {
                last_source_word: proof.last_source_word(),
                last_destination_word: proof.last_destination_word(),
                source_words: proof.source_words(),
                destination_words: proof.destination_words(),
                invocations: proof.invocations(),
                trips: proof.trips(),
            }),
            translation: None,
        }
    }
}
