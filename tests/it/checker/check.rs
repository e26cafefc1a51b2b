//! Judges a kernel by its text: its accesses, its stores and its proof.

use naga::front::wgsl;
use stridec::{Kernel, Target, wgsl::Proof};

use super::{
    interpret::{Buffer, Interpreter, Place},
    value::Fault,
};

/// The observations of a run.
#[derive(Debug)]
pub(crate) struct Seen {
    /// True if the last source word that the proof allows was read, so that the proof is exact.
    pub(crate) is_tight: bool,
    pub(crate) invocations: u64,
}

/// Runs every invocation of `kernel` on the images of its sources. Checks that the kernel keeps its
/// proof, stays inside its bindings and the target's limits, writes every word of the destination
/// once, and that the words are `expected`.
pub(crate) fn check(
    kernel: &Kernel,
    proof: &Proof,
    target: &Target,
    images: &[&[u8]],
    expected: &[u8],
) -> Result<Seen, Fault> {
    let module = wgsl::parse_str(&kernel.wgsl).map_err(|error| error.message().to_owned())?;
    let entry = entry_point(kernel, &module);
    assert_eq!((kernel.bindings.len(), proof.sources()), (images.len() + 1, images.len()));
    for (n, binding) in kernel.bindings.iter().enumerate() {
        let number = usize::try_from(binding.binding).unwrap();
        assert_eq!((binding.group, number, binding.writable), (0, n, n == images.len()));
        must(binding.size_in_bytes <= target.max_storage_buffer_binding_size, "a binding's limit")?;
    }
    // The bytes past the image are arbitrary: no result may depend on them.
    let words = |bytes: &[u8], size: u64| {
        let mut bytes = bytes.to_vec();
        bytes.resize(usize::try_from(size).unwrap(), 0xdb);
        bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
    };
    let images = images.iter().copied().chain([&[][..]]);
    let bound = images.zip(&kernel.bindings);
    let buffers: Vec<Buffer> =
        bound.map(|(image, binding)| Buffer::new(words(image, binding.size_in_bytes))).collect();
    let mut interpreter = Interpreter::new(&module, entry, buffers, ());

    let (mut invocations, mut working, mut trips) = (0, 0, 0);
    let size = kernel.workgroup_size;
    for dispatch in &kernel.dispatches {
        let groups = dispatch.workgroups;
        let most = target.max_compute_workgroups_per_dimension;
        must(groups.iter().all(|&groups| (1..=most).contains(&groups)), "a dispatch's limit")?;
        for group in each(groups) {
            for local in each(size) {
                interpreter
                    .invoke(&Place { group, local, size, groups })
                    .map_err(|fault| format!("workgroup {group:?}, {local:?}: {fault}"))?;
                invocations += 1;
                working += u64::from(interpreter.stored > 0);
                trips = trips.max(interpreter.trips);
            }
        }
    }
    must(working == proof.invocations(), "the number of invocations that have work")?;
    must(trips <= proof.trips(), "the number of loop trips")?;
    let [sources @ .., destination] = &interpreter.buffers[..] else { panic!("no buffers") };
    let mut is_tight = true;
    for (number, source) in sources.iter().enumerate() {
        let words = source.words.len() as u64;
        must(words == proof.words_of_source(number), "the words of a binding")?;
        let read = source.last_read.map(|word| word as u64);
        must(read <= proof.last_word_of_source(number), "the last word that is read")?;
        is_tight &= read == proof.last_word_of_source(number);
    }
    let words = destination.words.len() as u64;
    must(words == proof.destination_words(), "the words of a binding")?;
    check_writes(&destination.writes, proof.last_destination_word())?;
    let bytes: Vec<u8> = destination.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // The rest of the last word is zero.
    let mut expected = expected.to_vec();
    expected.resize(expected.len().next_multiple_of(4), 0);
    if let Some(at) = (0..expected.len()).find(|&at| bytes[at] != expected[at]) {
        return Err(format!("byte {at} is {:#x} in place of {:#x}", bytes[at], expected[at]));
    }
    Ok(Seen { is_tight, invocations })
}

/// The entry point that the kernel names. It has the workgroup size that the kernel gives, within
/// the limits of any target.
fn entry_point<'a>(kernel: &Kernel, module: &'a naga::Module) -> &'a naga::Function {
    let [entry] = &module.entry_points[..] else { panic!("one entry point") };
    assert_eq!((&entry.name, entry.stage), (&kernel.entry_point, naga::ShaderStage::Compute));
    assert_eq!(entry.workgroup_size, kernel.workgroup_size);
    assert!(entry.workgroup_size_overrides.is_none() && module.overrides.is_empty());
    &entry.function
}

/// Checks that every word up to `last` is written once, and no word after it.
fn check_writes(writes: &[u8], last: u64) -> Result<(), Fault> {
    let end = usize::try_from(last).unwrap() + 1;
    let expected = |word: usize| u8::from(word < end);
    match writes.iter().enumerate().find(|&(word, &times)| times != expected(word)) {
        None => must(end <= writes.len(), "the last word that is written"),
        Some((word, times)) => {
            Err(format!("word {word} of the destination, of {end}, is written {times} times"))
        }
    }
}

fn must(holds: bool, what: &str) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(format!("{what} is not as the kernel says")) }
}

/// Every position below `extents`.
fn each([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}
