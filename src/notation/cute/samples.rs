//! Sample layouts for tests.

use super::{CuteLayout, Mode};

pub(super) fn layout(text: &str) -> CuteLayout {
    text.parse().unwrap()
}

/// Returns layouts of one to three modes, with small extents and small strides.
pub(super) fn small() -> Vec<CuteLayout> {
    let mut layouts = Vec::new();
    let leaves: Vec<(u64, i64)> = [1, 2, 3, 4]
        .into_iter()
        .flat_map(|extent| [0, 1, 2, 3, 4, 6, 8].map(|stride| (extent, stride)))
        .collect();
    for &first in &leaves {
        layouts.push(vec![first]);
        for &second in &leaves {
            layouts.push(vec![first, second]);
            for &third in leaves.iter().step_by(5) {
                layouts.push(vec![first, second, third]);
            }
        }
    }
    layouts.into_iter().map(|leaves| CuteLayout::new(Mode::of_leaves(leaves)).unwrap()).collect()
}
