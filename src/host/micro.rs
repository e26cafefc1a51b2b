//! Transposes squares in registers of 16 bytes, with instructions that every processor of the build
//! target has. If a processor has more instructions, the code in `simd` is faster and is used
//! instead.

use bytemuck::cast;
use wide::{u8x16, u16x8, u32x4, u64x2};

/// The contents of a 16-byte register.
type Bytes = [u8; 16];

/// Transposes a square of `E` rows of `E` units of `N` bytes. `N` must be 1, 2, 4 or 8, and `E`
/// must be `16 / N`. Any other `N` returns zeros.
#[inline(always)]
pub(super) fn transpose<const N: usize, const E: usize>(rows: &[Bytes; E]) -> [Bytes; E] {
    let mut out = [[0; 16]; E];
    match N {
        1 => {
            // A perfect shuffle interleaves the upper and the lower half of the rows. Four of these
            // shuffles move unit j of row i to unit i of row j.
            let mut rows: [u8x16; E] = std::array::from_fn(|row| u8x16::new(rows[row]));
            for _ in 0..4 {
                let halves = rows;
                for row in 0..E / 2 {
                    rows[2 * row] = u8x16::unpack_low(halves[row], halves[row + E / 2]);
                    rows[2 * row + 1] = u8x16::unpack_high(halves[row], halves[row + E / 2]);
                }
            }
            for (out, row) in out.iter_mut().zip(rows) {
                *out = cast(row);
            }
        }
        2 => {
            let square: [u16x8; 8] = [
                cast(rows[0]),
                cast(rows[1]),
                cast(rows[2]),
                cast(rows[3]),
                cast(rows[4]),
                cast(rows[5]),
                cast(rows[6]),
                cast(rows[7]),
            ];
            for (out, row) in out.iter_mut().zip(u16x8::transpose(square)) {
                *out = cast(row);
            }
        }
        4 => {
            let (a, b): (u32x4, u32x4) = (cast(rows[0]), cast(rows[1]));
            let (c, d): (u32x4, u32x4) = (cast(rows[2]), cast(rows[3]));
            let (ac, ca) = (a.unpack_lo(c), a.unpack_hi(c));
            let (bd, db) = (b.unpack_lo(d), b.unpack_hi(d));
            out[0] = cast(ac.unpack_lo(bd));
            out[1] = cast(ac.unpack_hi(bd));
            out[2] = cast(ca.unpack_lo(db));
            out[3] = cast(ca.unpack_hi(db));
        }
        8 => {
            let (a, b): (u64x2, u64x2) = (cast(rows[0]), cast(rows[1]));
            out[0] = cast(a.unpack_lo(b));
            out[1] = cast(a.unpack_hi(b));
        }
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const N: usize, const E: usize>() {
        let rows: [Bytes; E] =
            std::array::from_fn(|row| std::array::from_fn(|byte| (row * 16 + byte) as u8));
        let square = transpose::<N, E>(&rows);
        for (row, column, byte) in
            (0..E).flat_map(|r| (0..E).flat_map(move |c| (0..N).map(move |b| (r, c, b))))
        {
            assert_eq!(square[row][column * N + byte], rows[column][row * N + byte]);
        }
    }

    #[test]
    fn squares() {
        check::<1, 16>();
        check::<2, 8>();
        check::<4, 4>();
        check::<8, 2>();
    }
}
