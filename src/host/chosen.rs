//! Runs nests that choose between two values by a predicate of each position, such as
//! `where(mask, x, y)`.
//!
//! [`ChoiceCopy`] divides such a nest into copies that do not depend on the predicate: one for each
//! of the two values, and one for the *codes*, the bytes that give the predicate. The destination
//! is filled slab by slab. For each slab, these copies are run into buffers, by whatever way suits
//! each of them, and then every unit is taken from one of the two values. A copy that is contiguous
//! in a source, or a constant, needs no buffer.

use bytemuck::Pod;
use rayon::prelude::*;

use super::{
    looked_up::{LEAST_POSITIONS, slab_codes},
    machine::Machine,
    run::run_sources,
    simd::choose_units,
    stream::{Stream, streaming},
};
use crate::nest::{Case, CaseValue, ChoiceCopy, CopyNest, Value, signed, slab, slab_ranges};

/// The number of units that are chosen in one loop. A constant is repeated this often, and these
/// repetitions should stay in the first-level cache.
const CHUNK_UNITS: usize = 1 << 9;

/// The two values or the codes of a slab.
enum SlabValue<'a> {
    Bytes(&'a [u8]),
    /// The bits of every unit.
    Constant(u128),
}

/// Fills the destination if the nest chooses by a predicate. Returns false and writes nothing for
/// any other nest.
pub(super) fn fill(nest: &CopyNest, sources: &[&[u8]], destination: &mut [u8]) -> bool {
    let Some(choice) = choice(nest) else { return false };
    let unit = nest.dst_bits() as usize / 8;
    let streams = Machine::here().streams(destination.len()).short;
    let mut slabs = vec![];
    let mut left = destination;
    for ranges in slab_ranges(&choice.codes, slab_codes(&choice.codes)) {
        let (codes, _) = slab(&choice.codes, &ranges);
        let (own, others) = left.split_at_mut(codes.dst_bytes() as usize * unit);
        slabs.push((codes, ranges, own));
        left = others;
    }
    let is_plain = (0..).zip(&*choice.holds).all(|(code, &holds)| holds == (code != 0));
    slabs.into_par_iter().with_max_len(1).for_each_init(
        <[Vec<u8>; 4]>::default,
        |[code_buffer, mapped, no, yes], (codes, ranges, out)| {
            let of_codes = &sources[choice.source..=choice.source];
            let SlabValue::Bytes(mut codes) = value(&codes, 1, of_codes, code_buffer) else {
                unreachable!("a predicate is tested")
            };
            if !is_plain {
                mapped.clear();
                mapped.extend(codes.iter().map(|&code| u8::from(choice.holds[usize::from(code)])));
                codes = mapped;
            }
            let [of_no, of_yes] = choice.values.each_ref().map(|of| slab(of, &ranges).0);
            let no = value(&of_no, unit, sources, no);
            let yes = value(&of_yes, unit, sources, yes);
            streaming(|stream| {
                let out = (out, Some(stream).filter(|_| streams));
                match unit {
                    1 => choose::<u8>(codes, &[no, yes], out),
                    2 => choose::<u16>(codes, &[no, yes], out),
                    4 => choose::<u32>(codes, &[no, yes], out),
                    8 => choose::<u64>(codes, &[no, yes], out),
                    _ => choose::<u128>(codes, &[no, yes], out),
                }
            });
        },
    );
    true
}

/// Describes, as text for people, how [`fill`] copies a nest. Returns `None` if it does not.
pub(super) fn plan(nest: &CopyNest) -> Option<String> {
    let choice = choice(nest)?;
    let unit = nest.dst_bits() as usize / 8;
    let codes = slab_codes(&choice.codes);
    let ranges = slab_ranges(&choice.codes, codes).next()?;
    let described = |nest: &CopyNest, unit: usize| {
        let nest = slab(nest, &ranges).0;
        match (constant(&nest, unit), contiguous(&nest)) {
            (Some(_), _) => "a constant",
            (None, Some(_)) => "from the source",
            (None, None) => "from a buffer",
        }
    };
    let [no, yes] = choice.values.each_ref().map(|value| described(value, unit));
    let by = described(&choice.codes, 1);
    Some(format!(
        "units of {unit} chosen by predicates {by}, at most {codes} at a time: if true, {yes}; if \
         false, {no}\n"
    ))
}

/// Returns the parts of a nest that is run by this module, or `None` for any other nest.
///
/// If a predicate is the same in a whole row, `gathered` copies row by row.
fn choice(nest: &CopyNest) -> Option<ChoiceCopy> {
    if nest.positions() < LEAST_POSITIONS || nest.whole_row().is_some() {
        return None;
    }
    nest.choice_copy()
}

/// Returns the value of each unit of a slab. If it is not a part of a source, it is copied to
/// `buffer`.
fn value<'a>(
    slab: &CopyNest,
    unit: usize,
    sources: &[&'a [u8]],
    buffer: &'a mut Vec<u8>,
) -> SlabValue<'a> {
    let bytes = slab.dst_bytes() as usize;
    if let Some(bits) = constant(slab, unit) {
        return SlabValue::Constant(bits);
    }
    if let Some((source, first)) = contiguous(slab) {
        return SlabValue::Bytes(&sources[source][first..first + bytes]);
    }
    buffer.resize(bytes, 0);
    run_sources(slab, sources, buffer).expect("images of the nest's sizes");
    SlabValue::Bytes(buffer)
}

/// Returns the bits that a nest writes to every unit of `unit` bytes, if all are the same constant.
fn constant(nest: &CopyNest, unit: usize) -> Option<u128> {
    if nest.cases().is_empty() {
        return Some(0);
    }
    let always = nest.cases().iter().position(|case| case.when.is_empty())?;
    let mut values = nest.cases()[..=always].iter().map(|case| match case.take {
        CaseValue::Bits(bits) => Some(bits),
        CaseValue::Read { .. } => None,
    });
    let first = values.next()??;
    let same = nest.dst_bits() as usize == unit * 8 && values.all(|value| value == Some(first));
    same.then_some(first)
}

/// Returns the source and the first byte of a nest that copies one contiguous part of a source.
fn contiguous(nest: &CopyNest) -> Option<(usize, usize)> {
    let [Case { when, take: CaseValue::Read { source, at } }, ..] = nest.cases() else {
        return None;
    };
    let is_contiguous = when.is_empty()
        && nest.keeps_units()
        && at.terms().iter().all(|(value, _)| matches!(value, Value::Axis(_)))
        && nest.axes().all(|of| of.extent == 1 || of.src_stride == signed(of.dst_stride));
    let first = (at.offset() - nest.dst_base()).unsigned_abs() as usize;
    is_contiguous.then(|| (*source, first * (nest.dst_bits() as usize / 8)))
}

/// Writes the units of a slab: of the second value if the code is not 0, and of the first if it is.
/// `U` is an integer of the size of a unit. If there is a stream, units are chosen in a buffer and
/// written with non-temporal stores.
fn choose<U: Pod>(
    codes: &[u8],
    values: &[SlabValue; 2],
    (out, stream): (&mut [u8], Option<&Stream>),
) {
    let unit = size_of::<U>();
    let repeated = values.each_ref().map(|value| match value {
        SlabValue::Bytes(_) => vec![],
        SlabValue::Constant(bits) => bits.to_le_bytes()[..unit].repeat(CHUNK_UNITS),
    });
    let mut buffer = vec![0; if stream.is_some() { CHUNK_UNITS * unit } else { 0 }];
    let chunks = codes.chunks(CHUNK_UNITS).zip(out.chunks_mut(CHUNK_UNITS * unit));
    for (chunk, (codes, out)) in chunks.enumerate() {
        let [no, yes] = [0, 1].map(|number| match values[number] {
            SlabValue::Bytes(bytes) => &bytes[chunk * CHUNK_UNITS * unit..][..out.len()],
            SlabValue::Constant(_) => &repeated[number][..out.len()],
        });
        if let Some(stream) = stream {
            choose_units::<U>(codes, no, yes, &mut buffer);
            stream.copy(out, &buffer[..out.len()]);
        } else {
            choose_units::<U>(codes, no, yes, out);
        }
    }
}
