//! Converts contiguous elements from one type to another. [`Conversion::apply`] defines the result.
//!
//! Each pair of common types has its own loop without branches, so that the compiler can use vector
//! instructions. Other types of at most 8 bits are converted through a table. All loops read and
//! write whole bytes: elements of fewer than 8 bits have been unpacked to a byte each.

#![expect(clippy::cast_precision_loss, clippy::float_cmp)] // rounding is what is meant
#![expect(clippy::cast_lossless, clippy::cast_sign_loss, clippy::cast_possible_wrap)] // a macro's

use crate::{
    nest::Conversion,
    shape::{ElementType, FloatFormat},
};

use super::{
    bits::{load, store},
    simd::each_unit,
};

/// A conversion of arrays of elements, each of whole bytes.
pub(super) struct UnitConversion {
    conversion: Conversion,
    /// The size of an element before and after the conversion, in bytes.
    bytes: (usize, usize),
    /// The width of an element after the conversion, in bits.
    dst: u32,
    units: UnitLoop,
}

/// A function that converts the elements in the first slice and writes them to the second.
type ConvertUnits = fn(&[u8], &mut [u8]);

/// The code for a pair of types, chosen once when a conversion is created.
enum UnitLoop {
    /// The results for all 256 values of a byte, for types of at most 8 bits that have no loop.
    Table(Box<[u64; 256]>),
    /// A loop that was compiled for this pair of types.
    Loop(ConvertUnits),
    /// A call of [`Conversion::unit`] for each element.
    Each,
}

impl UnitConversion {
    /// Returns the conversion of elements that take `src` bits to elements that take `dst` bits.
    pub(super) fn new(conversion: Conversion, src: u32, dst: u32) -> Self {
        let bytes = (src.div_ceil(8) as usize, dst.div_ceil(8) as usize);
        let [from, to] = [conversion.from(), conversion.to()];
        let width = |of: ElementType| of.storage_bits().unwrap_or(0);
        // The loops are compiled for elements of their usual width, or of one byte if that is less.
        let is_plain = src.max(8) == width(from) && dst.max(8) == width(to);
        let chosen = if is_plain { loop_of(from, to) } else { None };
        let units = match chosen {
            Some(chosen) => UnitLoop::Loop(chosen),
            None if from.bits() <= Some(8) && dst <= 64 => {
                let value = |byte: usize| conversion.unit(byte as u128, dst) as u64;
                UnitLoop::Table(Box::new(std::array::from_fn(value)))
            }
            None => UnitLoop::Each,
        };
        Self { conversion, bytes, dst, units }
    }

    /// Converts the elements of `from` and writes them to `to`, which must have room for the same
    /// number of elements.
    pub(super) fn run(&self, from: &[u8], to: &mut [u8]) {
        let (src, dst) = self.bytes;
        debug_assert_eq!(from.len() / src, to.len() / dst, "as many units");
        match &self.units {
            UnitLoop::Loop(run) => run(from, to),
            UnitLoop::Table(table) => {
                let from = from.iter().step_by(src);
                match dst {
                    1 => looked_up::<1>(table, from, to),
                    2 => looked_up::<2>(table, from, to),
                    4 => looked_up::<4>(table, from, to),
                    _ => looked_up::<8>(table, from, to),
                }
            }
            UnitLoop::Each => {
                for unit in 0..from.len() / src {
                    let value = load(from, unit, src as u32 * 8);
                    store(to, unit, dst as u32 * 8, self.conversion.unit(value, self.dst));
                }
            }
        }
    }
}

/// Writes the table entry of each byte of `from` to `to`, as the low `DST` bytes of the entry.
fn looked_up<'a, const DST: usize>(
    table: &[u64; 256],
    from: impl Iterator<Item = &'a u8>,
    to: &mut [u8],
) {
    for (to, &byte) in to.as_chunks_mut::<DST>().0.iter_mut().zip(from) {
        let unit = table[usize::from(byte)].to_le_bytes();
        to.copy_from_slice(&unit[..DST]);
    }
}

/// A number of a primitive type, between its load and its store. It is converted to integers with
/// `as`, which truncates fractions, saturates at the limits of the integer and turns NaN into zero.
trait Held: Copy {
    /// Returns true if the number is not zero.
    fn is_true(self) -> bool;
    /// Returns the number as an `s4` if `is_signed` is true, and otherwise as a `u4`, in the low 4
    /// bits.
    fn low_bits(self, is_signed: bool) -> u8;
    /// Returns the bits of the `f32` that is nearest to the number.
    fn single(self) -> u32;
    /// Returns the bits of the `f64` that is nearest to the number.
    fn double(self) -> u64;
    /// Returns the bits of the number rounded to an `f32` by rounding to odd: a number between two
    /// `f32` becomes the one whose last bit is 1. This result can be rounded again, to a float of
    /// at most 16 bits, as if the original number were rounded only once.
    fn odd(self) -> u32;
}

/// Returns the bits of a quiet NaN without payload, with the sign of `nan`.
#[inline(always)]
fn quiet(nan: u32) -> u32 {
    nan & 0x8000_0000 | 0x7fc0_0000
}

/// Returns a number as an `s4` or a `u4`, in the low 4 bits. `signed` and `unsigned` are the number
/// saturated to `i8` and to `u8`.
#[inline(always)]
fn limited(signed: i8, unsigned: u8, is_signed: bool) -> u8 {
    if is_signed { signed.clamp(-8, 7) as u8 & 0xf } else { unsigned.min(0xf) }
}

impl Held for f32 {
    #[inline(always)]
    fn low_bits(self, is_signed: bool) -> u8 {
        limited(self as i8, self as u8, is_signed)
    }

    #[inline(always)]
    fn is_true(self) -> bool {
        self != 0.0
    }

    #[inline(always)]
    fn single(self) -> u32 {
        let bits = self.to_bits();
        if self.is_nan() { quiet(bits) } else { bits }
    }

    #[inline(always)]
    fn double(self) -> u64 {
        let nan = u64::from(self.to_bits() >> 31) << 63 | 0x7ff8 << 48;
        if self.is_nan() { nan } else { f64::from(self).to_bits() }
    }

    #[inline(always)]
    fn odd(self) -> u32 {
        self.to_bits()
    }
}

impl Held for f64 {
    #[inline(always)]
    fn low_bits(self, is_signed: bool) -> u8 {
        limited(self as i8, self as u8, is_signed)
    }

    #[inline(always)]
    fn is_true(self) -> bool {
        self != 0.0
    }

    #[inline(always)]
    fn single(self) -> u32 {
        let nan = (self.to_bits() >> 32) as u32;
        if self.is_nan() { quiet(nan) } else { (self as f32).to_bits() }
    }

    #[inline(always)]
    fn double(self) -> u64 {
        self.to_bits()
    }

    #[inline(always)]
    fn odd(self) -> u32 {
        let nearest = self as f32;
        let bits = nearest.to_bits();
        let back = f64::from(nearest);
        // Round towards zero, and set the last bit if the result is inexact. If the number lies
        // between two `f32`, this gives the odd one.
        let is_past = back.abs() > self.abs();
        let inexact = back != self && !self.is_nan();
        let low = bits - u32::from(inexact && is_past);
        if self.is_nan() { quiet(bits) } else { low | u32::from(inexact) }
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Held for $type {
            #[inline(always)]
            fn low_bits(self, _: bool) -> u8 {
                self as u8 & 0xf
            }

            #[inline(always)]
            fn is_true(self) -> bool {
                self != 0
            }

            #[inline(always)]
            fn single(self) -> u32 {
                (self as f32).to_bits()
            }

            #[inline(always)]
            fn double(self) -> u64 {
                (self as f64).to_bits()
            }

            #[inline(always)]
            fn odd(self) -> u32 {
                if <$type>::BITS <= 16 {
                    return self.single();
                }
                // An `f32` has 24 significant bits. If any bit after these is 1, set the last of
                // the 24, which rounds to odd. All types compute with 64 bits here, so that the
                // compiler generates the same code for them.
                let wide = i128::from(self);
                let magnitude = wide.unsigned_abs() as u64;
                let past = (40 - magnitude.leading_zeros().cast_signed()).max(0);
                let rest = magnitude & ((1 << past) - 1);
                let odd = (magnitude >> past | u64::from(rest != 0)) << past;
                (odd as f32).to_bits() | u32::from(wide < 0) << 31
            }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);

/// The format of a float type of at most 16 bits, and the bit patterns of its special values.
#[derive(Clone, Copy)]
struct Small {
    exponent: u32,
    mantissa: u32,
    bias: u32,
    /// The pattern of numbers that are too large for the type: infinity, NaN or the greatest finite
    /// number.
    most: u32,
    /// The pattern of NaN, without the sign bit.
    nan: u32,
}

impl Small {
    /// Returns the format of a float type. It must not be a type in which NaN is the pattern of
    /// negative zero.
    const fn of(element_type: ElementType) -> Self {
        let Some(format) = FloatFormat::of(element_type) else { panic!("a float") };
        let Some(nan) = format.nan() else { panic!("a type with NaN") };
        let FloatFormat { exponent_bits, mantissa_bits, bias, .. } = format;
        Self {
            exponent: exponent_bits,
            mantissa: mantissa_bits,
            bias,
            most: format.too_large() as u32,
            nan: nan as u32,
        }
    }
}

/// Rounds the `f32` with the given bits to the nearest number of a narrower type, and returns its
/// bits.
#[inline(always)]
fn small(bits: u32, Small { exponent, mantissa, bias, most, nan }: Small) -> u32 {
    let sign = bits >> 31 << (exponent + mantissa);
    let rest = bits & 0x7fff_ffff;
    let shift = 23 - mantissa;
    let even = (rest >> shift) & 1;
    let rounded = rest.wrapping_add((1 << (shift - 1)) - 1 + even) >> shift;
    let normal = rounded.wrapping_sub((127 - bias) << mantissa);
    // Subnormal numbers are multiples of the smallest one. Adding a power of two whose last bit has
    // that value makes the processor round to such a multiple.
    let unit = (151 - bias - mantissa) << 23;
    let subnormal = (f32::from_bits(rest) + f32::from_bits(unit)).to_bits().wrapping_sub(unit);
    let number = if rest < (128 - bias) << 23 { subnormal } else { normal };
    sign | if rest > 0x7f80_0000 { nan } else { number.min(most) }
}

/// Returns the number with the given bits of a narrower type, as an `f32`.
#[inline(always)]
fn from_small(
    bits: u32,
    Small { exponent, mantissa, bias, nan, .. }: Small,
    has_infinity: bool,
) -> f32 {
    let sign = bits >> (exponent + mantissa) << 31;
    let pattern = bits & ((1 << (exponent + mantissa)) - 1);
    let rest = pattern << (23 - mantissa);
    // The exponent of an `f32` is greater by the difference of the biases. A subnormal number has
    // no leading one, so it is first read as a normal number, with a one that the subtraction
    // removes again.
    let least = (128 - bias) << 23;
    let subnormal = (f32::from_bits(rest + least) - f32::from_bits(least)).to_bits();
    let normal = rest + ((127 - bias) << 23);
    let number = if rest < 1 << 23 { subnormal } else { normal };
    let infinity = ((1 << exponent) - 1) << mantissa;
    let special = if has_infinity { rest | 0x7f80_0000 } else { 0x7fc0_0000 };
    let is_special = if has_infinity { pattern >= infinity } else { pattern == nan };
    f32::from_bits(sign | if is_special { special } else { number })
}

/// Returns true if a float type has infinities.
const fn has_infinity(element_type: ElementType) -> bool {
    matches!(FloatFormat::of(element_type), Some(format) if format.has_infinity())
}

/// Returns the loop for a pair of types, or `None` if there is no loop for the pair.
fn loop_of(from: ElementType, to: ElementType) -> Option<ConvertUnits> {
    use ElementType as E;
    /// Rounds a number to a narrow float type, and returns the bits.
    macro_rules! narrow {
        ($value:expr, $to:ident) => {
            small(Held::odd($value), const { Small::of(E::$to) })
        };
    }
    /// Returns the value of a narrow float, given its bits, as an `f32`.
    macro_rules! widened {
        ($bits:expr, $from:ident) => {
            from_small(
                u32::from($bits),
                const { Small::of(E::$from) },
                const { has_infinity(E::$from) },
            )
        };
    }
    /// Selects the loop that converts from one type to the type `to`. `$load` reads a number from
    /// the `$bytes` bytes of an element.
    macro_rules! loops {
        ($bytes:literal, $load:expr) => {{
            macro_rules! every {
                ($to:literal, $convert:expr) => {
                    Some(|from: &[u8], to: &mut [u8]| {
                        each_unit::<$bytes, $to>(from, to, |bytes| {
                            $convert($load(bytes)).to_le_bytes()
                        });
                    })
                };
            }
            match to {
                E::Pred => every!(1, |value| u8::from(Held::is_true(value))),
                E::U8 => every!(1, |value| value as u8),
                E::S8 => every!(1, |value| value as i8),
                E::U16 => every!(2, |value| value as u16),
                E::S16 => every!(2, |value| value as i16),
                E::U32 => every!(4, |value| value as u32),
                E::S32 => every!(4, |value| value as i32),
                E::U64 => every!(8, |value| value as u64),
                E::S64 => every!(8, |value| value as i64),
                E::U4 => every!(1, |value| Held::low_bits(value, false)),
                E::S4 => every!(1, |value| Held::low_bits(value, true)),
                E::F32 => every!(4, Held::single),
                E::F64 => every!(8, Held::double),
                E::F16 => every!(2, |value| narrow!(value, F16) as u16),
                E::Bf16 => every!(2, |value| narrow!(value, Bf16) as u16),
                E::F8e5m2 => every!(1, |value| narrow!(value, F8e5m2) as u8),
                E::F8e4m3 => every!(1, |value| narrow!(value, F8e4m3) as u8),
                E::F8e3m4 => every!(1, |value| narrow!(value, F8e3m4) as u8),
                E::F8e4m3fn => every!(1, |value| narrow!(value, F8e4m3fn) as u8),
                _ => None,
            }
        }};
    }
    match from {
        E::U8 => loops!(1, u8::from_le_bytes),
        E::S8 => loops!(1, i8::from_le_bytes),
        E::U16 => loops!(2, u16::from_le_bytes),
        E::S16 => loops!(2, i16::from_le_bytes),
        E::U32 => loops!(4, u32::from_le_bytes),
        E::S32 => loops!(4, i32::from_le_bytes),
        E::U64 => loops!(8, u64::from_le_bytes),
        E::S64 => loops!(8, i64::from_le_bytes),
        E::F32 => loops!(4, f32::from_le_bytes),
        E::F64 => loops!(8, f64::from_le_bytes),
        E::F16 => loops!(2, |bytes| widened!(u16::from_le_bytes(bytes), F16)),
        E::Bf16 => {
            loops!(2, |bytes| f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16))
        }
        E::F8e5m2 => loops!(1, |[byte]: [u8; 1]| widened!(byte, F8e5m2)),
        E::F8e4m3 => loops!(1, |[byte]: [u8; 1]| widened!(byte, F8e4m3)),
        E::F8e3m4 => loops!(1, |[byte]: [u8; 1]| widened!(byte, F8e3m4)),
        E::F8e4m3fn => loops!(1, |[byte]: [u8; 1]| widened!(byte, F8e4m3fn)),
        E::Pred => loops!(1, |[byte]: [u8; 1]| u8::from(byte != 0)),
        E::U4 => loops!(1, |[byte]: [u8; 1]| byte & 0xf),
        E::S4 => loops!(1, |[byte]: [u8; 1]| (byte << 4).cast_signed() >> 4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a loop, units are converted one by one, which is many times slower.
    #[test]
    fn everyday_types_are_converted_by_loops() {
        use ElementType::{
            Bf16, F8e3m4, F8e4m3, F8e4m3fn, F8e5m2, F16, F32, F64, Pred, S4, S8, S16, S32, S64, U4,
            U8, U16, U32, U64,
        };
        let integers = [Pred, S4, U4, S8, U8, S16, U16, S32, U32, S64, U64];
        let floats = [F8e3m4, F8e4m3, F8e4m3fn, F8e5m2, F16, Bf16, F32, F64];
        for from in integers.into_iter().chain(floats) {
            for to in integers.into_iter().chain(floats).filter(|&to| to != from) {
                assert!(loop_of(from, to).is_some(), "{from} to {to}");
            }
        }
    }

    /// Compares the result for every pair of types with [`Conversion::apply`]: for all values of
    /// types of at most 16 bits, and for special and random values of the others.
    #[test]
    fn units_are_converted_as_defined() {
        let mut state = 1_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let types =
            || ElementType::ALL.into_iter().filter(|of| Conversion::new(*of, other(*of)).is_some());
        for from in types() {
            let bits = from.storage_bits().unwrap();
            let values: Vec<u64> = if bits <= 16 {
                (0..1 << bits).collect()
            } else {
                let near = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, !0 << bit]);
                let patterns = (0..4000).map(|_| {
                    // Random numbers of every magnitude, half of them with few bits set.
                    let (number, shift) = (random(), random() % 64);
                    if shift % 2 == 0 { number } else { number >> shift & random() }
                });
                near.chain(patterns).flat_map(|of| [of, of.wrapping_neg(), of | 1 << 31]).collect()
            };
            let bytes = bits as usize / 8;
            let image: Vec<u8> =
                values.iter().flat_map(|of| of.to_le_bytes().into_iter().take(bytes)).collect();
            for to in types().filter(|&to| to != from) {
                let conversion = Conversion::new(from, to).unwrap();
                let wide = to.storage_bits().unwrap();
                let mut given = vec![0xaa; values.len() * wide as usize / 8];
                UnitConversion::new(conversion, bits, wide).run(&image, &mut given);
                for unit in 0..values.len() {
                    let value = load(&image, unit, bits);
                    let expected = conversion.apply(value) & (u128::MAX >> (128 - wide));
                    let found = load(&given, unit, wide);
                    assert_eq!(
                        found, expected,
                        "{conversion} of {value:#x}: {found:#x}, not {expected:#x}"
                    );
                }
            }
        }
    }

    fn other(of: ElementType) -> ElementType {
        if of == ElementType::F32 { ElementType::F64 } else { ElementType::F32 }
    }
}
