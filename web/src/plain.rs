//! A kernel as plain data, for scripts.

use serde_json::{Value, json};
use stridec::{Kernel, nest::Gaps};

/// Returns a kernel with the names and values of protobuf's JSON for `stridec.Kernel`, except that
/// 64-bit numbers are numbers too. `js/test.sh` compares it with the output of the command line.
pub(crate) fn of_kernel(kernel: &Kernel) -> Value {
    let bindings = kernel.bindings.iter().map(|binding| {
        json!({
            "group": binding.group,
            "binding": binding.binding,
            "writable": binding.writable,
            "sizeInBytes": binding.size_in_bytes,
        })
    });
    let dispatches =
        kernel.dispatches.iter().map(|dispatch| json!({ "workgroups": dispatch.workgroups }));
    let regions = kernel.copy_regions.iter().map(|region| {
        json!({
            "sourceOffset": region.source_offset,
            "destinationOffset": region.destination_offset,
            "size": region.size,
            "source": region.source,
        })
    });
    let gaps = match kernel.gaps {
        Gaps::Keep => "GAPS_KEEP",
        Gaps::Fill => "GAPS_FILL",
    };
    let mut value = json!({
        "wgsl": kernel.wgsl,
        "entryPoint": kernel.entry_point,
        "workgroupSize": kernel.workgroup_size,
        "bindings": bindings.collect::<Vec<_>>(),
        "dispatches": dispatches.collect::<Vec<_>>(),
        "copyRegions": regions.collect::<Vec<_>>(),
        "sourceBytes": kernel.source_bytes,
        "destinationBytes": kernel.destination_bytes,
        "strategy": kernel.strategy.to_string(),
        "gaps": gaps,
    });
    if let Some(proof) = kernel.proof() {
        let source = |number| {
            let mut value = json!({ "words": proof.words_of_source(number) });
            if let Some(last) = proof.last_word_of_source(number) {
                value["lastWord"] = last.into();
            }
            value
        };
        let mut proved = json!({
            "lastDestinationWord": proof.last_destination_word(),
            "sourceWords": proof.words_of_source(0),
            "destinationWords": proof.destination_words(),
            "invocations": proof.invocations(),
            "trips": proof.trips(),
            "furtherSources": (1..proof.sources()).map(source).collect::<Vec<_>>(),
        });
        if let Some(last) = proof.last_word_of_source(0) {
            proved["lastSourceWord"] = last.into();
        }
        value["proof"] = proved;
    }
    value
}
