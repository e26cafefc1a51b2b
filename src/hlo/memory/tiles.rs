//! [`DefaultTiles`] are the tiles that XLA would give to arrays without tiles.

use crate::shape::{Dimension, ElementType, Shape, Tile, queries};

/// The tiles for arrays whose layouts have none. XLA assigns tiles late in the compilation,
/// together with layouts, so a module from an earlier stage has none. With these tiles, the report
/// shows the memory that its arrays will take on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DefaultTiles {
    /// No tiles, as on a CPU or a GPU.
    #[default]
    None,
    /// The tiles of a TPU, as XLA's `docs/tiled_layout.md` describes them:
    ///
    /// - A tile has 8 rows of 128 elements. If the second most minor dimension has at most 4
    ///   elements, the tile has 1, 2 or 4 rows.
    /// - Elements narrower than 32 bits are packed: the elements of consecutive rows share words of
    ///   32 bits. So a tile has at least as many rows as a word has elements.
    /// - A vector of at most 1024 elements fits one tile, and a longer one has tiles of 1024
    ///   elements. The tile of a scalar has 128 words, and no tile has fewer.
    /// - Elements narrower than a byte take only the bits of their type, as `E(4)` in a layout
    ///   says.
    ///
    /// In contrast to that document, the tile of an array with a single row has 1 row. The document
    /// says 2 rows, as older compilers used, but dumps of current compilers have
    /// `f32[1,128]{1,0:T(1,128)}`, for example in XLA's `host_offloader_test.cc`.
    ///
    /// ```
    /// use stridec::hlo::DefaultTiles;
    /// let tiled = |text: &str| DefaultTiles::Tpu.apply(&text.parse().unwrap()).to_string();
    /// assert_eq!(tiled("f32[100,3]"), "f32[100,3]{1,0:T(8,128)}");
    /// assert_eq!(tiled("f32[100,3]{0,1}"), "f32[100,3]{0,1:T(4,128)}");
    /// assert_eq!(tiled("bf16[2,64]"), "bf16[2,64]{1,0:T(2,128)(2,1)}");
    /// assert_eq!(tiled("s4[9,64]"), "s4[9,64]{1,0:T(8,128)(8,1)E(4)}");
    /// assert_eq!(tiled("f32[300]"), "f32[300]{0:T(512)}");
    /// assert_eq!(tiled("bf16[]"), "bf16[]{:T(256)}");
    /// ```
    Tpu,
}

impl DefaultTiles {
    /// Returns the shape with these tiles for each of its arrays. An array keeps its layout if it
    /// already has tiles, or has padded dimensions, a sparse format or unknown extents.
    #[must_use]
    pub fn apply(self, shape: &Shape) -> Shape {
        match (self, shape.element_type()) {
            (Self::None, _) => shape.clone(),
            (Self::Tpu, ElementType::Tuple) => {
                let parts = shape.tuple_shapes().iter().map(|part| self.apply(part));
                Shape::tuple(parts).unwrap_or_else(|_| shape.clone())
            }
            (Self::Tpu, _) => tpu(shape).unwrap_or_else(|| shape.clone()),
        }
    }
}

/// The number of elements in a row of a TPU's tile, which are the lanes of a vector register.
const LANES: u64 = 128;

/// The maximum number of rows in a TPU's tile, except for types narrower than 4 bits.
const ROWS: u64 = 8;

/// Returns an array's shape with the tiles of a TPU, or `None` if the array keeps its layout.
fn tpu(shape: &Shape) -> Option<Shape> {
    if !shape.is_array() {
        return None;
    }
    let element_type = shape.element_type();
    let mut layout = shape.layout_or_default().into_owned();
    let is_plain =
        layout.tiles.is_empty() && layout.padded_dimensions.is_empty() && layout.is_dense();
    if !is_plain {
        return None;
    }
    let bits = queries::packed_bits(element_type)
        .filter(|bits| bits.is_power_of_two() || *bits > 8)
        .unwrap_or(8);
    // The number of elements that share a word of 32 bits. It is 1 if an element takes a word or
    // more.
    let packed = u64::from((32 / bits).max(1));
    let extent = |place: usize| match shape.dimensions()[layout.minor_to_major[place]] {
        Dimension::Fixed(extent) | Dimension::AtMost(extent) => Some(extent),
        Dimension::Unbounded => None,
    };
    let tiles = match shape.rank() {
        0 => vec![Tile::new([LANES * packed])],
        1 => {
            let least = LANES * packed;
            let size = extent(0)?.min(ROWS * LANES).next_power_of_two().max(least);
            if packed == 1 {
                vec![Tile::new([size])]
            } else {
                vec![Tile::new([size]), Tile::new([LANES]), Tile::new([packed, 1])]
            }
        }
        _ => {
            let rows = match extent(1)? {
                ..=1 => 1,
                2 => 2,
                3..=4 => 4,
                _ => ROWS,
            };
            let first = Tile::new([rows.max(packed), LANES]);
            if packed == 1 { vec![first] } else { vec![first, Tile::new([packed, 1])] }
        }
    };
    layout.tiles = tiles;
    if bits < 8 {
        layout.element_size_in_bits = bits.into();
    }
    Shape::array(element_type, shape.dimensions().iter().copied(), layout).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlo::Footprint;

    /// The expected layouts are from XLA's tests and from dumps of TPU programs.
    #[test]
    fn tiles_are_those_of_a_tpu() {
        for (shape, expected) in [
            ("f32[2048,16384]", "f32[2048,16384]{1,0:T(8,128)}"),
            ("f32[4,9]{0,1}", "f32[4,9]{0,1:T(8,128)}"),
            ("f32[2,2,2,100]", "f32[2,2,2,100]{3,2,1,0:T(2,128)}"),
            ("bf16[4096,50257]", "bf16[4096,50257]{1,0:T(8,128)(2,1)}"),
            ("f32[1,128]", "f32[1,128]{1,0:T(1,128)}"),
            ("f32[8,4,1]{1,2,0}", "f32[8,4,1]{1,2,0:T(1,128)}"),
            ("s32[1,1,128]", "s32[1,1,128]{2,1,0:T(1,128)}"),
            ("bf16[1,64]", "bf16[1,64]{1,0:T(2,128)(2,1)}"),
            ("pred[1,1]", "pred[1,1]{1,0:T(4,128)(4,1)}"),
            ("bf16[3,64]", "bf16[3,64]{1,0:T(4,128)(2,1)}"),
            ("s8[1,64]", "s8[1,64]{1,0:T(4,128)(4,1)}"),
            ("pred[64,64]", "pred[64,64]{1,0:T(8,128)(4,1)}"),
            ("u2[5,8]", "u2[5,8]{1,0:T(16,128)(16,1)E(2)}"),
            ("f32[6]", "f32[6]{0:T(128)}"),
            ("s32[256]", "s32[256]{0:T(256)}"),
            ("s32[301]", "s32[301]{0:T(512)}"),
            ("f32[1048576]", "f32[1048576]{0:T(1024)}"),
            ("bf16[200]", "bf16[200]{0:T(256)(128)(2,1)}"),
            ("bf16[2048]", "bf16[2048]{0:T(1024)(128)(2,1)}"),
            ("s32[]", "s32[]{:T(128)}"),
            ("s8[]", "s8[]{:T(512)}"),
            ("f32[<=8,3]", "f32[<=8,3]{1,0:T(8,128)}"),
            ("f32[8,3]{1,0:T(2,128)}", "f32[8,3]{1,0:T(2,128)}"),
            ("f32[8,3]{1,0:PAD(8,4)}", "f32[8,3]{1,0:PAD(8,4)}"),
            ("f32[?,3]", "f32[?,3]"),
            ("token[]", "token[]"),
            ("(f32[8,3], (s32[]))", "(f32[8,3]{1,0:T(8,128)}, (s32[]{:T(128)}))"),
        ] {
            let given = DefaultTiles::Tpu.apply(&shape.parse().unwrap());
            assert_eq!(given.to_string(), expected);
            assert_eq!(DefaultTiles::None.apply(&given), given);
        }
    }

    /// A tile of a TPU consists of whole words in rows of 128.
    #[test]
    fn every_size_is_a_multiple_of_512_bytes() {
        for element_type in ElementType::ALL {
            for dimensions in ["", "7", "3000", "1,1", "3,129", "5,2,9"] {
                let text = format!("{element_type}[{dimensions}]");
                let Ok(shape) = text.parse::<Shape>() else { continue };
                let tiled = DefaultTiles::Tpu.apply(&shape);
                let (Some(plain), Some(memory)) = (Footprint::of(&shape), Footprint::of(&tiled))
                else {
                    continue;
                };
                if plain.elements > 0 && plain.bytes > 0 {
                    assert!(memory.bytes.is_multiple_of(512) && memory.bytes > 0, "{tiled}");
                    assert!(memory.bytes >= memory.unpadded_bytes, "{tiled}");
                }
            }
        }
    }
}
