//! Wraps the instructions of Arm that shuffle bytes, and compiles the loops that use them.
#![allow(unsafe_code)] // The intrinsics take pointers.

use std::arch::aarch64::{
    uint8x16_t, vdupq_n_u8, vld1q_u8, vorrq_u8, vqtbl1q_u8, vreinterpretq_u8_u16,
    vreinterpretq_u8_u32, vreinterpretq_u8_u64, vreinterpretq_u16_u8, vreinterpretq_u32_u8,
    vreinterpretq_u64_u8, vst1q_u8, vzip1q_u8, vzip1q_u16, vzip1q_u32, vzip1q_u64, vzip2q_u8,
    vzip2q_u16, vzip2q_u32, vzip2q_u64,
};

use super::{
    super::stream::{LINE, PAGE, prefetch},
    registers::copy_part,
    select::{MANY, Selection, TRIPLE},
    transpose::{Inner, ROW_PREFETCH_SRC_BYTES},
};

select!(neon, "neon", 1, 16, vdupq_n_u8(0), term, store, write_16);

// With Neon, ordinary stores take the place of non-temporal ones.
registers!(registers_16, "neon", 16, lanes_16, pieces_of_term, write_16, write_16, store_part_16);

transpose!(transpose_16, "neon", 1, lanes_16, low_16, high_16, permute_16, write_16);

// With Neon, ordinary stores take the place of non-temporal ones.
strips!(strips_16, "neon", 1, lanes_16, low_16, high_16, permute_16, write_16);

#[inline]
#[target_feature(enable = "neon")]
unsafe fn lanes_16(lane: impl Fn(usize) -> *const u8) -> uint8x16_t {
    // SAFETY: the caller guarantees that 16 bytes may be read at `lane(0)`.
    unsafe { vld1q_u8(lane(0)) }
}

#[inline]
#[target_feature(enable = "neon")]
fn low_16<const N: usize>(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    match N {
        1 => vzip1q_u8(a, b),
        2 => vreinterpretq_u8_u16(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))),
        4 => vreinterpretq_u8_u32(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b))),
        _ => vreinterpretq_u8_u64(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b))),
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn high_16<const N: usize>(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    match N {
        1 => vzip2q_u8(a, b),
        2 => vreinterpretq_u8_u16(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b))),
        4 => vreinterpretq_u8_u32(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b))),
        _ => vreinterpretq_u8_u64(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b))),
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn permute_16(bytes: uint8x16_t, table: uint8x16_t) -> uint8x16_t {
    vqtbl1q_u8(bytes, table)
}

#[inline]
#[target_feature(enable = "neon")]
unsafe fn write_16(to: *mut u8, bytes: uint8x16_t) {
    // SAFETY: the caller guarantees that 16 bytes may be written at `to`.
    unsafe { vst1q_u8(to, bytes) }
}

/// Adds the bytes of a term, which has one load.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn pieces_of_term(
    bytes: uint8x16_t,
    load: impl Fn(usize) -> *const u8,
    places: *const u8,
    _: usize,
) -> uint8x16_t {
    // SAFETY: the caller makes the same guarantees.
    unsafe { term(bytes, load, places) }
}

#[inline]
#[target_feature(enable = "neon")]
unsafe fn term(
    bytes: uint8x16_t,
    load: impl Fn(usize) -> *const u8,
    places: *const u8,
) -> uint8x16_t {
    // SAFETY: the caller guarantees that 16 bytes may be read at `load(0)` and at `places`.
    unsafe {
        let loaded = vld1q_u8(load(0));
        vorrq_u8(bytes, vqtbl1q_u8(loaded, vld1q_u8(places)))
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn store(to: &mut [u8; 16], bytes: uint8x16_t) {
    // SAFETY: the array has the register's length.
    unsafe { vst1q_u8(to.as_mut_ptr(), bytes) }
}

/// Stores the first `length` bytes of a register. `length` is 1 to 15.
#[inline]
#[target_feature(enable = "neon")]
unsafe fn store_part_16(to: *mut u8, bytes: uint8x16_t, length: usize) {
    let mut whole = [0; 16];
    store(&mut whole, bytes);
    // SAFETY: the caller guarantees that `length` bytes may be written at `to`.
    unsafe { copy_part(to, &whole, length) };
}
