//! Wraps the instructions of x86-64 that shuffle bytes, and compiles the loops that use them.
#![allow(unsafe_code)] // The intrinsics take pointers.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadl_epi64, _mm_loadu_si128, _mm_or_si128, _mm_setzero_si128,
    _mm_shuffle_epi8, _mm_storeu_si128, _mm_stream_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi16,
    _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi16,
    _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm256_castsi128_si256, _mm256_inserti128_si256,
    _mm256_loadu_si256, _mm256_or_si256, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_storeu_si256, _mm256_stream_si256, _mm256_unpackhi_epi8, _mm256_unpackhi_epi16,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi8, _mm256_unpacklo_epi16,
    _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm512_castsi128_si512, _mm512_inserti32x4,
    _mm512_loadu_si512, _mm512_mask_set1_epi64, _mm512_mask_storeu_epi8, _mm512_permutex2var_epi8,
    _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_storeu_si512, _mm512_stream_si512,
    _mm512_unpackhi_epi8, _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi8, _mm512_unpacklo_epi16, _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

use super::{
    super::stream::{LINE, PAGE, prefetch},
    registers::copy_part,
    select::{MANY, Selection, TRIPLE},
    transpose::{Inner, ROW_PREFETCH_SRC_BYTES},
};

select!(ssse3, "ssse3", 1, 16, _mm_setzero_si128(), term_16, store_16, stream_16);
select!(avx2, "avx2", 2, 16, _mm256_setzero_si256(), term_32, store_32, stream_32);
select!(
    avx512_vbmi,
    "avx512f,avx512bw,avx512vbmi",
    1,
    64,
    _mm512_setzero_si512(),
    term_64,
    store_64,
    stream_64
);

transpose!(transpose_16, "ssse3", 1, lanes_16, low_16, high_16, permute_16, write_16);
transpose!(transpose_32, "avx2", 2, lanes_32, low_32, high_32, permute_32, write_32);
// AVX-512VL has 32 registers, so that squares of bytes need no stack.
transpose!(
    transpose_32_of_many,
    "avx2,avx512bw,avx512vl",
    2,
    lanes_32,
    low_32,
    high_32,
    permute_32,
    write_32
);
transpose!(
    transpose_64,
    "avx512f,avx512bw,avx512vbmi",
    4,
    lanes_64,
    low_64,
    high_64,
    permute_64,
    write_64
);

registers!(
    registers_16,
    "ssse3",
    16,
    lanes_16,
    pieces_of_term_16,
    write_16,
    stream_16,
    store_part_16
);
registers!(
    registers_16_of_avx2,
    "avx2",
    16,
    lanes_16,
    pieces_of_term_16,
    write_16,
    stream_16,
    store_part_16
);
registers!(
    registers_64,
    "avx512f,avx512bw,avx512vbmi",
    64,
    whole_64,
    pieces_of_term_64,
    write_64,
    stream_64,
    store_part_64
);

strips!(strips_16, "ssse3", 1, lanes_16, low_16, high_16, permute_16, stream_16);
strips!(strips_32, "avx2", 2, lanes_32, low_32, high_32, permute_32, stream_32);

#[inline]
#[target_feature(enable = "sse2")]
unsafe fn lanes_16(lane: impl Fn(usize) -> *const u8) -> __m128i {
    // SAFETY: the caller guarantees that 16 bytes may be read at `lane(0)`.
    unsafe { _mm_loadu_si128(lane(0).cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn lanes_32(lane: impl Fn(usize) -> *const u8) -> __m256i {
    // SAFETY: the caller guarantees that 16 bytes may be read at the address of each lane.
    unsafe {
        let first = _mm256_castsi128_si256(_mm_loadu_si128(lane(0).cast()));
        _mm256_inserti128_si256::<1>(first, _mm_loadu_si128(lane(1).cast()))
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn low_16<const N: usize>(a: __m128i, b: __m128i) -> __m128i {
    match N {
        1 => _mm_unpacklo_epi8(a, b),
        2 => _mm_unpacklo_epi16(a, b),
        4 => _mm_unpacklo_epi32(a, b),
        _ => _mm_unpacklo_epi64(a, b),
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn high_16<const N: usize>(a: __m128i, b: __m128i) -> __m128i {
    match N {
        1 => _mm_unpackhi_epi8(a, b),
        2 => _mm_unpackhi_epi16(a, b),
        4 => _mm_unpackhi_epi32(a, b),
        _ => _mm_unpackhi_epi64(a, b),
    }
}

#[inline]
#[target_feature(enable = "sse2")]
unsafe fn write_16(to: *mut u8, bytes: __m128i) {
    // SAFETY: the caller guarantees that 16 bytes may be written at `to`.
    unsafe { _mm_storeu_si128(to.cast(), bytes) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn low_32<const N: usize>(a: __m256i, b: __m256i) -> __m256i {
    match N {
        1 => _mm256_unpacklo_epi8(a, b),
        2 => _mm256_unpacklo_epi16(a, b),
        4 => _mm256_unpacklo_epi32(a, b),
        _ => _mm256_unpacklo_epi64(a, b),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn high_32<const N: usize>(a: __m256i, b: __m256i) -> __m256i {
    match N {
        1 => _mm256_unpackhi_epi8(a, b),
        2 => _mm256_unpackhi_epi16(a, b),
        4 => _mm256_unpackhi_epi32(a, b),
        _ => _mm256_unpackhi_epi64(a, b),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn write_32(to: *mut u8, bytes: __m256i) {
    // SAFETY: the caller guarantees that 32 bytes may be written at `to`.
    unsafe { _mm256_storeu_si256(to.cast(), bytes) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn lanes_64(lane: impl Fn(usize) -> *const u8) -> __m512i {
    // SAFETY: the caller guarantees that 16 bytes may be read at the address of each lane.
    unsafe {
        let first = _mm512_castsi128_si512(_mm_loadu_si128(lane(0).cast()));
        let two = _mm512_inserti32x4::<1>(first, _mm_loadu_si128(lane(1).cast()));
        let three = _mm512_inserti32x4::<2>(two, _mm_loadu_si128(lane(2).cast()));
        _mm512_inserti32x4::<3>(three, _mm_loadu_si128(lane(3).cast()))
    }
}

/// Loads 64 contiguous bytes from the address `lane(0)`; the other lanes are not used.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn whole_64(lane: impl Fn(usize) -> *const u8) -> __m512i {
    // SAFETY: the caller guarantees that 64 bytes may be read at `lane(0)`.
    unsafe { _mm512_loadu_si512(lane(0).cast()) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
pub(super) fn low_64<const N: usize>(a: __m512i, b: __m512i) -> __m512i {
    match N {
        1 => _mm512_unpacklo_epi8(a, b),
        2 => _mm512_unpacklo_epi16(a, b),
        4 => _mm512_unpacklo_epi32(a, b),
        _ => _mm512_unpacklo_epi64(a, b),
    }
}

#[inline]
#[target_feature(enable = "avx512bw")]
pub(super) fn high_64<const N: usize>(a: __m512i, b: __m512i) -> __m512i {
    match N {
        1 => _mm512_unpackhi_epi8(a, b),
        2 => _mm512_unpackhi_epi16(a, b),
        4 => _mm512_unpackhi_epi32(a, b),
        _ => _mm512_unpackhi_epi64(a, b),
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn write_64(to: *mut u8, bytes: __m512i) {
    // SAFETY: the caller guarantees that 64 bytes may be written at `to`.
    unsafe { _mm512_storeu_si512(to.cast(), bytes) }
}

#[inline]
#[target_feature(enable = "avx512bw")]
pub(super) fn permute_64(bytes: __m512i, table: __m512i) -> __m512i {
    _mm512_shuffle_epi8(bytes, table)
}

#[inline]
#[target_feature(enable = "ssse3")]
fn permute_16(bytes: __m128i, table: __m128i) -> __m128i {
    _mm_shuffle_epi8(bytes, table)
}

#[inline]
#[target_feature(enable = "avx2")]
fn permute_32(bytes: __m256i, table: __m256i) -> __m256i {
    _mm256_shuffle_epi8(bytes, table)
}

#[inline]
#[target_feature(enable = "sse2")]
unsafe fn stream_16(to: *mut u8, bytes: __m128i) {
    // SAFETY: the caller guarantees that 16 bytes may be written at `to`, a multiple of 16.
    unsafe { _mm_stream_si128(to.cast(), bytes) }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn stream_32(to: *mut u8, bytes: __m256i) {
    // SAFETY: the caller guarantees that 32 bytes may be written at `to`, a multiple of 32.
    unsafe { _mm256_stream_si256(to.cast(), bytes) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn stream_64(to: *mut u8, bytes: __m512i) {
    // SAFETY: the caller guarantees that 64 bytes may be written at `to`, a multiple of 64.
    unsafe { _mm512_stream_si512(to.cast(), bytes) }
}

#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn term_16(bytes: __m128i, load: impl Fn(usize) -> *const u8, places: *const u8) -> __m128i {
    // SAFETY: the caller guarantees that 16 bytes may be read at `load(0)` and at `places`.
    unsafe {
        let loaded = _mm_loadu_si128(load(0).cast());
        _mm_or_si128(bytes, _mm_shuffle_epi8(loaded, _mm_loadu_si128(places.cast())))
    }
}

/// Adds the bytes of a term, which has one load.
#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn pieces_of_term_16(
    bytes: __m128i,
    load: impl Fn(usize) -> *const u8,
    places: *const u8,
    _: usize,
) -> __m128i {
    // SAFETY: the caller makes the same guarantees.
    unsafe { term_16(bytes, load, places) }
}

#[inline]
#[target_feature(enable = "ssse3")]
fn store_16(to: &mut [u8; 16], bytes: __m128i) {
    // SAFETY: the array has the register's length.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), bytes) }
}

/// Stores the first `length` bytes of a register. `length` is 1 to 15.
#[inline]
#[target_feature(enable = "sse2")]
unsafe fn store_part_16(to: *mut u8, bytes: __m128i, length: usize) {
    let mut whole = [0; 16];
    // SAFETY: the array has the register's length.
    unsafe { _mm_storeu_si128(whole.as_mut_ptr().cast(), bytes) };
    // SAFETY: the caller guarantees that `length` bytes may be written at `to`.
    unsafe { copy_part(to, &whole, length) };
}

/// Stores the first `length` bytes of a register. `length` is 1 to 63.
#[inline]
#[target_feature(enable = "avx512bw")]
unsafe fn store_part_64(to: *mut u8, bytes: __m512i, length: usize) {
    // SAFETY: the caller guarantees that `length` bytes may be written at `to`.
    unsafe { _mm512_mask_storeu_epi8(to.cast(), u64::MAX >> (64 - length), bytes) };
}

/// Loads 16 bytes from each of `load(0)` and `load(1)`, shuffles each half by its 16 entries of the
/// table `places`, and combines the result with `bytes` by OR.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn term_32(bytes: __m256i, load: impl Fn(usize) -> *const u8, places: *const u8) -> __m256i {
    // SAFETY: the caller guarantees that 16 bytes may be read at both loads, and 32 at `places`.
    unsafe {
        let first = _mm_loadu_si128(load(0).cast());
        let second = _mm_loadu_si128(load(1).cast());
        let loaded = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(first), second);
        let places = _mm256_loadu_si256(places.cast());
        _mm256_or_si256(bytes, _mm256_shuffle_epi8(loaded, places))
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_32(to: &mut [u8; 32], bytes: __m256i) {
    // SAFETY: the array has the register's length.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), bytes) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn term_64(bytes: __m512i, load: impl Fn(usize) -> *const u8, places: *const u8) -> __m512i {
    // SAFETY: the caller guarantees that 64 bytes may be read at `load(0)` and at `places`.
    unsafe {
        let loaded = _mm512_loadu_si512(load(0).cast());
        let places = _mm512_loadu_si512(places.cast());
        // Indexes from 64 select from `bytes`.
        _mm512_permutex2var_epi8(loaded, places, bytes)
    }
}

/// Adds the bytes of a term: one load of 64 bytes, or 2, 4 or 8 `pieces` of eight bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn pieces_of_term_64(
    bytes: __m512i,
    load: impl Fn(usize) -> *const u8,
    places: *const u8,
    pieces: usize,
) -> __m512i {
    // SAFETY: the caller guarantees that the pieces may be read, and 64 bytes at `places`.
    unsafe {
        if pieces == 1 {
            return term_64(bytes, load, places);
        }
        let loaded = pieces_64(load, pieces);
        let places = _mm512_loadu_si512(places.cast());
        _mm512_permutex2var_epi8(loaded, places, bytes)
    }
}

/// Loads 2, 4 or 8 `pieces` of eight bytes into one register.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn pieces_64(load: impl Fn(usize) -> *const u8, pieces: usize) -> __m512i {
    // SAFETY: the caller guarantees that all pieces may be read.
    unsafe {
        let word = |piece: usize| load(piece).cast::<i64>().read_unaligned();
        let mut register = _mm512_castsi128_si512(_mm_loadl_epi64(load(0).cast()));
        register = _mm512_mask_set1_epi64(register, 1 << 1, word(1));
        if pieces > 2 {
            register = _mm512_mask_set1_epi64(register, 1 << 2, word(2));
            register = _mm512_mask_set1_epi64(register, 1 << 3, word(3));
        }
        if pieces > 4 {
            register = _mm512_mask_set1_epi64(register, 1 << 4, word(4));
            register = _mm512_mask_set1_epi64(register, 1 << 5, word(5));
            register = _mm512_mask_set1_epi64(register, 1 << 6, word(6));
            register = _mm512_mask_set1_epi64(register, 1 << 7, word(7));
        }
        register
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn store_64(to: &mut [u8; 64], bytes: __m512i) {
    // SAFETY: the array has the register's length.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), bytes) }
}
