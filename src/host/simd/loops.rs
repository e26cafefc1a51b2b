//! Compiles loops over elements once for each instruction set, so that the compiler can vectorise
//! them.

#![allow(unsafe_code)] // calls functions for instructions that were found

use bytemuck::{Pod, bytes_of, pod_read_unaligned};

/// Calls `run` in a version that was compiled for the widest vector instructions of this processor.
///
/// `run` should be a few loops without branches. Functions that the compiler does not inline into
/// it gain nothing.
#[inline(always)]
pub(in crate::host) fn vectorized<R>(run: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
        {
            // SAFETY: the processor has these instructions.
            return unsafe { avx512(run) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { avx2(run) };
        }
    }
    run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<R>(run: impl FnOnce() -> R) -> R {
    run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn avx512<R>(run: impl FnOnce() -> R) -> R {
    run()
}

/// Calls `convert` for each unit of `SRC` bytes of `from`, and writes the unit of `DST` bytes that
/// it returns to the same place of `to`. Nothing is written past the shorter of the two.
///
/// `convert` should be small and without branches, so that several units share a register.
#[inline(always)]
pub(in crate::host) fn each_unit<const SRC: usize, const DST: usize>(
    from: &[u8],
    to: &mut [u8],
    convert: impl Fn([u8; SRC]) -> [u8; DST],
) {
    vectorized(|| {
        for (to, from) in to.as_chunks_mut::<DST>().0.iter_mut().zip(from.as_chunks::<SRC>().0) {
            *to = convert(*from);
        }
    });
}

/// Writes a unit to each place of `to`: that of `yes` if the code of the place is not 0, and that
/// of `no` if it is. `U` is an integer of the size of a unit. Nothing is written past the shortest
/// of the four.
pub(in crate::host) fn choose_units<U: Pod>(codes: &[u8], no: &[u8], yes: &[u8], to: &mut [u8]) {
    vectorized(|| {
        let [no, yes] = [no, yes].map(|values| values.chunks_exact(size_of::<U>()));
        let places = to.chunks_exact_mut(size_of::<U>()).zip(codes);
        for (((to, &code), no), yes) in places.zip(no).zip(yes) {
            // Both are loaded, so that nothing branches. They are integers, because the compiler
            // does not vectorise a choice of arrays.
            let [no, yes] = [no, yes].map(pod_read_unaligned::<U>);
            let unit = if code == 0 { no } else { yes };
            to.copy_from_slice(bytes_of(&unit));
        }
    });
}

/// Copies a unit of `source` to each place of `out`. `U` is an integer of the size of a unit, and
/// `places` has the index of the unit for each place. Nothing is written past the shorter of them.
///
/// # Panics
///
/// Panics if an index lies outside the source.
pub(in crate::host) fn gather_units<U: Pod>(source: &[u8], places: &[u32], out: &mut [u8]) {
    let last = vectorized(|| places.iter().copied().fold(0, u32::max));
    let units = source.len() / size_of::<U>();
    assert!(places.is_empty() || (last as usize) < units, "unit {last} is outside the source");
    let source = source.as_ptr().cast::<U>();
    for (out, &place) in out.chunks_exact_mut(size_of::<U>()).zip(places) {
        // SAFETY: no index is greater than `last`, which is less than the number of whole units of
        // the source. A check for each unit would take half of the time.
        let unit = unsafe { source.add(place as usize).read_unaligned() };
        out.copy_from_slice(bytes_of(&unit));
    }
}

/// Replaces each of `codes` by its entry, and writes the entries to `out`. Nothing is written past
/// the shorter of the two.
pub(in crate::host) fn look_up_bytes(entries: &[u8; 256], codes: &[u8], out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512vbmi") && is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has these instructions.
        return unsafe { look_up_64(entries, codes, out) };
    }
    for (out, &code) in out.iter_mut().zip(codes) {
        *out = entries[usize::from(code)];
    }
}

/// Looks up 64 codes at a time, in a table of four registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up_64(entries: &[u8; 256], codes: &[u8], out: &mut [u8]) {
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_mask_storeu_epi8,
        _mm512_maskz_loadu_epi8, _mm512_movepi8_mask, _mm512_permutex2var_epi8,
    };
    let table: [_; 4] = std::array::from_fn(|part| {
        // SAFETY: the table has four parts of 64 bytes.
        unsafe { _mm512_loadu_si512(entries.as_ptr().add(part * 64).cast()) }
    });
    for (codes, out) in codes.chunks(64).zip(out.chunks_mut(64)) {
        let mask = u64::MAX >> (64 - codes.len().min(out.len()));
        // SAFETY: the mask has a bit for each code and place, of which there is at least one.
        unsafe {
            let codes = _mm512_maskz_loadu_epi8(mask, codes.as_ptr().cast());
            // A permutation ignores the highest bit of a code.
            let low = _mm512_permutex2var_epi8(table[0], codes, table[1]);
            let high = _mm512_permutex2var_epi8(table[2], codes, table[3]);
            let entries = _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
            _mm512_mask_storeu_epi8(out.as_mut_ptr().cast(), mask, entries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_of_the_codes() {
        let entries: [u8; 256] = std::array::from_fn(|code| (code * 167 + 13) as u8);
        let codes: Vec<u8> = (0..1000_u32).map(|n| (n * n) as u8).collect();
        for (count, places) in
            [(0, 5), (1, 1), (63, 70), (64, 64), (65, 65), (200, 130), (1000, 1000)]
        {
            let mut out = vec![7; places];
            look_up_bytes(&entries, &codes[..count], &mut out);
            for (n, &byte) in out.iter().enumerate() {
                let expected = if n < count { entries[usize::from(codes[n])] } else { 7 };
                assert_eq!(byte, expected, "{n} of {count}");
            }
        }
    }

    #[test]
    fn gathered_units_are_those_of_the_places() {
        let source: Vec<u8> = (0..403_u32).map(|n| ((n * 167) >> 3) as u8).collect();
        let places: Vec<u32> = (0..50).map(|n| n * 37 % 100).collect();
        let mut out = vec![7; 203];
        gather_units::<u32>(&source, &places, &mut out);
        for (n, &place) in places.iter().enumerate() {
            assert_eq!(out[4 * n..][..4], source[4 * place as usize..][..4]);
        }
        assert_eq!(out[200..], [7; 3]);
        let past = [0, 100];
        assert!(
            std::panic::catch_unwind(move || gather_units::<u32>(&source, &past, &mut [0; 8]))
                .is_err()
        );
    }
}
