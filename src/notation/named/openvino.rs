//! `OpenVINO`'s formats of GPU memory: `b_fs_yx_fsv16`, `bs_fs_yx_bsv16_fsv16`, `byxf`.
//!
//! ```text
//! format = part { "_" part }
//! part   = letters | letter "s" | letter "sv" size | letter "sa" size
//! ```
//!
//! The parts give the order of the dimensions from major to minor. The letters of data are b for
//! batches, f for features, and w, z, y, x for the spatial dimensions. Weights have the letters g
//! for groups, o for outputs, and i for inputs instead of b and f. `fs` means the slices of the
//! features, and `fsv16` the 16 features in a slice; `osa4` means a block around other blocks. The
//! logical order is `bfwzyx` for data and `goiwzyx` for weights.

use super::{Cursor, Prefix, Result, Stacked, Tensor, no_such_format};
use crate::notation::prefix::written;

/// The formats of `src/plugins/intel_gpu/src/runtime/format.cpp` that this grammar can express. The
/// other formats in that file swizzle, align in other ways, or are texture images.
const FORMATS: &str = "
bfyx byxf yxfb fbyx fyxb fybx xbfy ybfx byfx bxfy bzyxf bfzyx bfwzyx bfuwzyx bfvuwzyx
b_fs_yx_fsv2 b_fs_yx_fsv4 b_fs_yx_fsv8 b_fs_yx_fsv16 b_fs_yx_fsv32 b_fs_zyx_fsv2 b_fs_zyx_fsv4
b_fs_zyx_fsv8 b_fs_zyx_fsv16 b_fs_zyx_fsv32 fs_b_yx_fsv32 bs_f_bsv16
bs_fs_yx_bsv16_fsv32 bs_fs_yx_bsv16_fsv16 bs_fs_yx_bsv16_fsv8 bs_fs_yx_bsv16_fsv4
bs_fs_yx_bsv16_fsv2 bs_fs_yx_bsv8_fsv4 bs_fs_yx_bsv8_fsv2 bs_fs_yx_bsv4_fsv4 bs_fs_yx_bsv4_fsv2
bs_fs_yx_bsv32_fsv32 bs_fs_yx_bsv32_fsv16 bs_fs_zyx_bsv16_fsv32 bs_fs_zyx_bsv16_fsv16
bs_fs_zyx_bsv16_fsv8 bs_fs_zyx_bsv16_fsv4 bs_fs_zyx_bsv16_fsv2 bs_fs_zyx_bsv8_fsv4
bs_fs_zyx_bsv8_fsv2 bs_fs_zyx_bsv4_fsv4 bs_fs_zyx_bsv4_fsv2 bs_fs_zyx_bsv32_fsv32
bs_fs_zyx_bsv32_fsv16
oiyx ioyx iyxo oyxi oyix oxiy yxio oizyx iozyx os_is_yx_isv16_osv16 o_is_yx_isv4 o_is_yx_isv16
os_iyx_osv8 os_iyx_osv16 os_iyx_osv32 os_iyx_osv64 os_is_yx_isa8_osv16_isv4
os_is_yx_osa4_isa8_osv8_isv4 os_is_zyx_osa4_isa8_osv8_isv4 os_is_yx_isa8_osv8_isv4
os_is_zyx_isa8_osv8_isv4 os_is_zyx_isa8_osv16_isv4 os_is_yx_osv8_isv4 os_is_yx_osv16_isv4
os_is_yx_osv32_isv4 os_is_zyx_osv32_isv4 os_is_yx_osv16_isv16 os_is_zyx_osv16_isv16
os_is_zyx_osv32_isv16 os_is_zyx_osv64_isv16 os_is_zyx_isv16_osv16 is_os_yx_isv16_osv16
is_os_zyx_isv16_osv16 os_is_yx_isv8_osv16_isv2 os_is_zyx_isv8_osv16_isv2 os_zyxi_osv16 os_i_osv16
goiyx gioyx goizyx giozyx gyxio g_os_iyx_osv8 g_os_iyx_osv16 g_os_iyx_osv32 gs_oiyx_gsv16
gs_oiyx_gsv32 gs_oizyx_gsv16 g_is_os_yx_isv16_osv16 g_is_os_zyx_isv16_osv16
g_os_is_yx_isv16_osv16 g_os_is_yx_isv8_osv16_isv2 g_os_is_zyx_isv8_osv16_isv2
g_os_is_yx_osv16_isv4 g_os_is_zyx_osv16_isv16 g_os_zyx_is_osv16_isv4 g_os_zyx_is_osv16_isv16
g_os_zyx_is_osv16_isv32 g_os_zyx_is_osv32_isv4 g_os_zyx_is_osv32_isv16 g_os_zyx_is_osv32_isv32
";

/// All letters in logical order. One list is enough, because data and weights only share the
/// spatial letters.
const LOGICAL: &str = "gbofivuwzyx";

/// Parses an array and a format, such as `f32[2,17,8,8] b_fs_yx_fsv16`.
pub(in crate::notation) fn read(cursor: &mut Cursor<'_>) -> Result<Tensor> {
    let prefix = Prefix::read(cursor)?;
    let (text, place) = cursor.word(|letter| letter.is_ascii_graphic());
    cursor.end()?;
    let name = text.rsplit(['.', ':']).next().unwrap_or(text);
    let known = FORMATS.split_ascii_whitespace().find(|known| *known == name);
    let stacked = known.and_then(stacked).ok_or_else(|| {
        let expected = "a format that says only an order and blocks, such as byxf or b_fs_yx_fsv16";
        cursor.wrong(place.clone(), expected)
    })?;
    if stacked.rank() != prefix.sizes.len() {
        return Err(no_such_format(place, &prefix.sizes, name));
    }
    stacked.array(&prefix, place)
}

/// Writes the array with the first format that has the same offsets and the same memory size.
pub(in crate::notation) fn write(array: &Tensor) -> std::result::Result<String, String> {
    let tensor = array.descriptor();
    let is_same = |name: &&str| stacked(name).is_some_and(|stacked| stacked.describes(tensor));
    let name = FORMATS.split_ascii_whitespace().find(is_same).ok_or_else(|| {
        "expected a layout with a name, such as byxf, b_fs_yx_fsv16 or bs_fs_yx_bsv16_fsv16"
            .to_owned()
    })?;
    Ok(format!("{} {name}", written(tensor.element_type(), tensor.element_bits(), tensor.sizes())))
}

/// Returns the memory order of the format `name`, or `None` if the name does not match the grammar.
fn stacked(name: &str) -> Option<Stacked> {
    let (mut outer, mut blocks) = (Vec::new(), Vec::new());
    for part in name.split('_') {
        let letters = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let size = &part[letters.len()..];
        let mut all = letters.chars();
        match (all.next()?, all.as_str(), size) {
            (letter, "sv" | "sa", size) if !size.is_empty() => {
                blocks.push((letter, size.parse::<u64>().ok()?));
            }
            (letter, "s", "") => outer.push(letter),
            (_, _, "") => outer.extend(letters.chars()),
            _ => return None,
        }
    }
    let logical: Vec<char> = LOGICAL.chars().filter(|letter| outer.contains(letter)).collect();
    let dimension = |letter: &char| logical.iter().position(|other| other == letter);
    let order: Vec<usize> = outer.iter().map(dimension).collect::<Option<_>>()?;
    let blocks: Vec<(u64, usize)> = blocks
        .iter()
        .map(|(letter, size)| Some((*size, dimension(letter)?)))
        .collect::<Option<_>>()?;
    (order.len() == logical.len()).then(|| Stacked::nested(&order, &blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_follows_the_grammar() {
        for name in FORMATS.split_ascii_whitespace() {
            assert!(stacked(name).is_some(), "{name}");
        }
    }
}
