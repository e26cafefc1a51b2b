//! Compiles loops over elements once for each instruction set, so that the compiler can vectorise
//! them.

#![allow(unsafe_code)] // calls functions for instructions that were found

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
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
        {
            // SAFETY: the processor has these instructions.
            return unsafe { avx512(from, to, convert) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { avx2(from, to, convert) };
        }
    }
    plain(from, to, convert);
}

#[inline(always)]
fn plain<const SRC: usize, const DST: usize>(
    from: &[u8],
    to: &mut [u8],
    convert: impl Fn([u8; SRC]) -> [u8; DST],
) {
    for (to, from) in to.as_chunks_mut::<DST>().0.iter_mut().zip(from.as_chunks::<SRC>().0) {
        *to = convert(*from);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<const SRC: usize, const DST: usize>(
    from: &[u8],
    to: &mut [u8],
    convert: impl Fn([u8; SRC]) -> [u8; DST],
) {
    plain(from, to, convert);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn avx512<const SRC: usize, const DST: usize>(
    from: &[u8],
    to: &mut [u8],
    convert: impl Fn([u8; SRC]) -> [u8; DST],
) {
    plain(from, to, convert);
}

/// Writes a unit of `BYTES` bytes to each place of `to`: that of `yes` if the code of the place is
/// not 0, and that of `no` if it is. Nothing is written past the shortest of the four.
pub(in crate::host) fn choose_units<const BYTES: usize>(
    codes: &[u8],
    no: &[u8],
    yes: &[u8],
    to: &mut [u8],
) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
        {
            // SAFETY: the processor has these instructions.
            return unsafe { choose_avx512::<BYTES>(codes, no, yes, to) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has these instructions.
            return unsafe { choose_avx2::<BYTES>(codes, no, yes, to) };
        }
    }
    choose_plain::<BYTES>(codes, no, yes, to);
}

#[inline(always)]
fn choose_plain<const BYTES: usize>(codes: &[u8], no: &[u8], yes: &[u8], to: &mut [u8]) {
    let [no, yes] = [no, yes].map(|values| values.as_chunks::<BYTES>().0);
    let places = to.as_chunks_mut::<BYTES>().0.iter_mut().zip(codes);
    for (((to, &code), no), yes) in places.zip(no).zip(yes) {
        // Both are loaded, so that nothing branches.
        let (no, yes) = (*no, *yes);
        *to = if code == 0 { no } else { yes };
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn choose_avx2<const BYTES: usize>(codes: &[u8], no: &[u8], yes: &[u8], to: &mut [u8]) {
    choose_plain::<BYTES>(codes, no, yes, to);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
fn choose_avx512<const BYTES: usize>(codes: &[u8], no: &[u8], yes: &[u8], to: &mut [u8]) {
    choose_plain::<BYTES>(codes, no, yes, to);
}
