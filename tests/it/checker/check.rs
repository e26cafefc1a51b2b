//! Checks the accesses, the stores and the proof of a kernel by its text.

use naga::front::wgsl;
use stridec::{Kernel, Target, wgsl::Proof};

use super::{
    interpret::{Buffer, Interpreter, Place},
    value::Fault,
};

/// The facts about a kernel that a run finds.
#[derive(Debug)]
pub(crate) struct Seen {
    /// True if the last source word that the proof allows was read. The proof is then exact.
    pub(crate) is_tight: bool,
    pub(crate) invocations: u64,
}

/// A destination whose gaps are kept: its bytes before the kernel runs, and a mask of the bits that
/// belong to elements.
pub(crate) struct KeptImage<'a> {
    pub(crate) before: &'a [u8],
    pub(crate) elements: &'a [u8],
}

/// Runs every invocation of `kernel` on the bytes of its sources. Checks that the kernel stays
/// within its proof, its bindings and the target's limits, that it writes every word of the
/// destination once, and that the words are equal to `expected`.
pub(crate) fn check(
    kernel: &Kernel,
    proof: &Proof,
    target: &Target,
    images: &[&[u8]],
    expected: &[u8],
) -> Result<Seen, Fault> {
    check_onto(kernel, proof, target, images, None, expected)
}

/// Checks a kernel as [`check`] does. If `kept` is given, the kernel keeps gaps: it may write only
/// words with bits of elements, and all other bits of the binding must stay unchanged.
pub(crate) fn check_onto(
    kernel: &Kernel,
    proof: &Proof,
    target: &Target,
    images: &[&[u8]],
    kept: Option<&KeptImage>,
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
    // The bytes after the end of a tensor are arbitrary, because no result may depend on them.
    let words = |bytes: &[u8], size: u64| {
        let mut bytes = bytes.to_vec();
        bytes.resize(usize::try_from(size).unwrap(), 0xdb);
        bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
    };
    let images = images.iter().copied().chain([kept.map_or(&[][..], |kept| kept.before)]);
    let bound = images.zip(&kernel.bindings);
    let buffers: Vec<Buffer> =
        bound.map(|(image, binding)| Buffer::new(words(image, binding.size_in_bytes))).collect();
    let mut interpreter = Interpreter::new(&module, entry, buffers, ());
    interpreter.keeps = kept.is_some();

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
    let most = proof.invocations();
    let holds = if kept.is_some() { working <= most } else { working == most };
    must(holds, "the number of invocations that have work")?;
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
    let last = proof.last_destination_word();
    match kept {
        None => check_writes(&destination.writes, |word| word <= last)?,
        Some(kept) => {
            let mut elements = kept.elements.to_vec();
            elements.resize(elements.len().next_multiple_of(16), 0);
            // Units of several words are written as a whole.
            let unit = kernel.proof().map_or(1, |_| unit_words(kernel));
            let is_written = |word: u64| {
                let first = usize::try_from(word / unit * unit).unwrap() * 4;
                let end = elements.len().min(first + usize::try_from(unit).unwrap() * 4);
                elements.get(first..end).is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0))
            };
            check_writes(&destination.writes, is_written)?;
            let read = destination.last_read.map(|word| word as u64);
            must(read.is_none_or(|read| read <= last), "the last word that is read")?;
            let written = destination.writes.iter().rposition(|times| *times > 0);
            must(written.is_none_or(|word| word as u64 <= last), "the last word that is written")?;
        }
    }
    let bytes: Vec<u8> = destination.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // The rest of the last word is zero, or unchanged like all words after it.
    let mut expected = expected.to_vec();
    match kept {
        None => expected.resize(expected.len().next_multiple_of(4), 0),
        Some(_) => expected.resize(bytes.len(), 0xdb),
    }
    if let Some(at) = (0..expected.len()).find(|&at| bytes[at] != expected[at]) {
        return Err(format!("byte {at} is {:#x} in place of {:#x}", bytes[at], expected[at]));
    }
    Ok(Seen { is_tight, invocations })
}

/// Returns the entry point that the kernel names. Checks that it has the kernel's workgroup size,
/// and that this size is within the limits of any target.
pub(super) fn entry_point<'a>(kernel: &Kernel, module: &'a naga::Module) -> &'a naga::Function {
    let [entry] = &module.entry_points[..] else { panic!("one entry point") };
    assert_eq!((&entry.name, entry.stage), (&kernel.entry_point, naga::ShaderStage::Compute));
    assert_eq!(entry.workgroup_size, kernel.workgroup_size);
    assert!(entry.workgroup_size_overrides.is_none() && module.overrides.is_empty());
    &entry.function
}

/// Returns the number of words in an element of the destination's binding.
fn unit_words(kernel: &Kernel) -> u64 {
    let line = kernel.wgsl.lines().find(|line| line.contains(" destination: array<")).unwrap();
    let kinds = [("array<vec4<u32>>", 4), ("array<vec2<u32>>", 2)];
    kinds.iter().find(|(kind, _)| line.contains(kind)).map_or(1, |(_, words)| *words)
}

/// Checks that every word for which `is_written` returns true is written once, and no other word.
fn check_writes(writes: &[u8], is_written: impl Fn(u64) -> bool) -> Result<(), Fault> {
    let expected = |word: usize| u8::from(is_written(word as u64));
    match writes.iter().enumerate().find(|&(word, &times)| times != expected(word)) {
        None => Ok(()),
        Some((word, times)) => {
            Err(format!("word {word} of the destination is written {times} times"))
        }
    }
}

fn must(holds: bool, what: &str) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(format!("{what} is not as the kernel says")) }
}

/// Returns every position below `extents`.
pub(super) fn each([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}
