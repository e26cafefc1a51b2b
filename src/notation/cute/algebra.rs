//! The algebra of CuTe's layouts: coalesce, complement, division, product and inverses. Composition
//! is in a separate file. The tests compare each function with its definition at every coordinate.

use super::{CuteError, CuteLayout, Mode};

pub(super) type Result<T> = std::result::Result<T, CuteError>;

impl CuteLayout {
    /// Merges modes where possible. Returns the layout with the fewest modes that has the same
    /// offset at every coordinate.
    ///
    /// ```
    /// use stridec::notation::CuteLayout;
    /// let layout: CuteLayout = "(2,(1,6)):(1,(6,2))".parse()?;
    /// assert_eq!(layout.coalesce().to_string(), "12:1");
    /// # Ok::<(), stridec::shape::ParseError>(())
    /// ```
    #[must_use]
    pub fn coalesce(&self) -> Self {
        let mut merged: Vec<(u64, i64)> = Vec::new();
        for (extent, stride) in self.mode().leaves() {
            let follows = |last: &(u64, i64)| {
                i64::try_from(last.0).ok().and_then(|extent| extent.checked_mul(last.1))
                    == Some(stride)
            };
            match merged.last_mut() {
                _ if extent == 1 => {}
                Some(last) if follows(last) => last.0 *= extent,
                _ => merged.push((extent, stride)),
            }
        }
        Self::valid(Mode::of_leaves(merged))
    }

    /// Coalesces each top-level mode by itself, so that a dimension has a single stride if
    /// possible.
    #[must_use]
    pub fn coalesce_modes(&self) -> Self {
        let each = |mode: &Mode| Self::valid(mode.clone()).coalesce().mode().clone();
        Self::valid(match self.mode() {
            Mode::Tuple(modes) => Mode::Tuple(modes.iter().map(each).collect()),
            leaf @ Mode::Leaf { .. } => leaf.clone(),
        })
    }

    /// Returns the complement of the layout: the layout with ascending strides whose offsets place
    /// copies of `self` without gaps or overlaps. Each number below `size`, rounded up to whole
    /// copies, is the sum of an offset of `self` and an offset of the complement in exactly one
    /// way.
    ///
    /// # Errors
    ///
    /// Returns an error if two coordinates of the layout have the same offset, if its strides do
    /// not divide each other, or if a stride is negative.
    pub fn complement(&self, size: u64) -> Result<Self> {
        let mut leaves: Vec<(i64, u64)> = Vec::new();
        for (extent, stride) in self.mode().leaves() {
            if stride < 0 {
                return Err(CuteError::Negative { stride });
            }
            if extent > 1 && stride > 0 {
                leaves.push((stride, extent));
            }
        }
        leaves.sort_unstable();
        let mut rest = Vec::new();
        let mut filled = 1_u64;
        for (stride, extent) in leaves {
            let step = stride.unsigned_abs();
            if step < filled {
                return Err(CuteError::Overlap { stride, inside: filled });
            }
            if !step.is_multiple_of(filled) {
                let what = "a stride and the offsets inside it,";
                return Err(CuteError::Indivisible { what, given: step, by: filled });
            }
            rest.push((step / filled, signed(filled)?));
            filled = step.checked_mul(extent).ok_or(CuteError::Range)?;
        }
        rest.push((size.div_ceil(filled).max(1), signed(filled)?));
        Ok(Self::new(Mode::of_leaves(rest))?.coalesce())
    }

    /// Divides the layout into tiles of the shape `tiler`. The result has two modes: the layout
    /// inside a tile, and the layout of the tiles. It is defined as
    /// `self ∘ (tiler, complement(tiler, size))`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`complement`](Self::complement) and
    /// [`composition`](Self::composition).
    pub fn logical_divide(&self, tiler: &Self) -> Result<Self> {
        let rest = tiler.complement(self.size())?;
        let both = Self::new(Mode::Tuple(vec![tiler.mode().clone(), rest.mode().clone()]))?;
        self.composition(&both)
    }

    /// Divides each mode by the tiler at the same position. The result is
    /// `((tile, tile, …), (rest, rest, …))`: the first mode contains the layouts inside the tiles,
    /// and the second mode the layouts of the tiles.
    ///
    /// Modes without a tiler are appended to the second mode unchanged.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`logical_divide`](Self::logical_divide), and an error if there are
    /// more tilers than modes.
    pub fn zipped_divide(&self, tilers: &[Self]) -> Result<Self> {
        let modes = self.modes();
        if tilers.len() > modes.len() {
            return Err(CuteError::Rank { given: tilers.len(), limit: modes.len() });
        }
        let (mut tiles, mut rest) = (Vec::new(), Vec::new());
        for (mode, tiler) in modes.iter().zip(tilers) {
            let divided = Self::new(mode.clone())?.logical_divide(tiler)?;
            let [tile, others] = divided.modes() else { return Err(CuteError::Range) };
            tiles.push(tile.clone());
            rest.push(others.clone());
        }
        rest.extend_from_slice(&modes[tilers.len()..]);
        Self::new(Mode::Tuple(vec![Mode::Tuple(tiles), Mode::Tuple(rest)]))
    }

    /// Repeats this layout at each coordinate of `other`. The result is defined as
    /// `(self, complement(self, size · cosize(other)) ∘ other)`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`complement`](Self::complement) and
    /// [`composition`](Self::composition).
    pub fn logical_product(&self, other: &Self) -> Result<Self> {
        let size = self.size().checked_mul(other.cosize()).ok_or(CuteError::Range)?;
        let copies = self.complement(size)?.composition(other)?;
        Self::new(Mode::Tuple(vec![self.mode().clone(), copies.mode().clone()]))
    }

    /// Returns the largest layout `R` such that `self(R(i)) = i` for every `i` below the size of
    /// `R`.
    #[must_use]
    pub fn right_inverse(&self) -> Self {
        let mut leaves = Vec::new();
        let mut before = 1_i64;
        for (extent, stride) in self.mode().leaves() {
            leaves.push((stride, extent, before));
            before = before.saturating_mul(i64::try_from(extent).unwrap_or(i64::MAX));
        }
        leaves.sort_unstable();
        let mut inverse = Vec::new();
        let mut next = 1_i64;
        for (stride, extent, before) in leaves.into_iter().filter(|leaf| leaf.1 > 1) {
            if stride != next {
                // Strides of 0 or less are first in the sorted order. They are skipped.
                if stride < next {
                    continue;
                }
                break;
            }
            inverse.push((extent, before));
            next = stride.saturating_mul(i64::try_from(extent).unwrap_or(i64::MAX));
        }
        Self::valid(Mode::of_leaves(inverse)).coalesce()
    }

    /// Returns a layout `R` such that `R(self(i)) = i` for every `i` below the size of this layout.
    ///
    /// # Errors
    ///
    /// Returns an error if two coordinates have the same offset, if the strides do not divide each
    /// other, or if a stride is negative.
    pub fn left_inverse(&self) -> Result<Self> {
        if let Some((_, stride)) =
            self.mode().leaves().into_iter().find(|leaf| leaf.0 > 1 && leaf.1 == 0)
        {
            return Err(CuteError::Overlap { stride, inside: 1 });
        }
        let rest = self.complement(1)?;
        let both = Self::new(Mode::Tuple(vec![self.mode().clone(), rest.mode().clone()]))?;
        Ok(both.right_inverse())
    }

    /// Creates a layout from a mode that the caller has derived from valid layouts.
    fn valid(mode: Mode) -> Self {
        Self::new(mode).expect("its size and its offsets are those of a layout")
    }
}

/// Converts a number to a stride. Returns an error if the number does not fit an int64.
pub(super) fn signed(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|_| CuteError::Range)
}

#[cfg(test)]
mod tests {
    use super::{
        super::samples::{layout, small},
        *,
    };

    #[test]
    fn coalescing_changes_no_offset() {
        for layout in small() {
            let coalesced = layout.coalesce();
            assert_eq!(coalesced.size(), layout.size());
            assert!((0..layout.size()).all(|i| coalesced.at(i) == layout.at(i)), "{layout}");
            let modes = layout.coalesce_modes();
            assert!((0..layout.size()).all(|i| modes.at(i) == layout.at(i)), "{layout}");
        }
    }

    #[test]
    fn a_complement_fills_what_is_left() {
        let mut found = 0;
        for layout in small() {
            let Ok(rest) = layout.complement(24) else { continue };
            let both = CuteLayout::new(Mode::Tuple(vec![
                layout.coalesce().mode().clone(),
                rest.mode().clone(),
            ]))
            .unwrap();
            let has_zero = layout.mode().leaves().iter().any(|leaf| leaf.0 > 1 && leaf.1 == 0);
            let mut offsets: Vec<i64> = (0..both.size()).map(|i| both.at(i)).collect();
            offsets.sort_unstable();
            offsets.dedup();
            let all: Vec<i64> = (0..i64::try_from(offsets.len()).unwrap()).collect();
            assert_eq!(offsets, all, "{layout}: {rest}");
            assert!(
                offsets.len() >= 24 && (has_zero || offsets.len() as u64 == both.size()),
                "{layout}: {rest}"
            );
            assert!((1..rest.size()).all(|i| rest.at(i) > rest.at(i - 1)), "{layout}: {rest}");
            found += 1;
        }
        assert!(found > 500, "{found}");
        assert!(layout("(4,4):(1,1)").complement(24).is_err());
    }

    #[test]
    fn inverses_give_the_coordinate_back() {
        let mut found = 0;
        for layout in small() {
            let right = layout.right_inverse();
            for i in 0..right.size() {
                let at = u64::try_from(right.at(i)).unwrap();
                assert_eq!(layout.at(at), i64::try_from(i).unwrap(), "{layout}: {right}");
            }
            let Ok(left) = layout.left_inverse() else { continue };
            for i in 0..layout.size() {
                let at = u64::try_from(layout.at(i)).unwrap();
                assert_eq!(left.at(at), i64::try_from(i).unwrap(), "{layout}: {left}");
            }
            found += 1;
        }
        assert!(found > 200, "{found}");
        assert!(layout("(4,8):(1,5)").left_inverse().is_err());
        assert!(layout("(4,8):(0,1)").left_inverse().is_err());
    }

    #[test]
    fn divides_and_products_of_the_documentation() {
        let divided = layout("(4,2,3):(2,1,8)").logical_divide(&layout("4:2")).unwrap();
        assert_eq!(divided.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
        let zipped = layout("(8,24):(1,8)").zipped_divide(&[layout("4:1"), layout("8:1")]).unwrap();
        assert_eq!(zipped.to_string(), "((4,8),(2,3)):((1,8),(4,64))");
        let product = layout("(2,2):(4,1)").logical_product(&layout("6:1")).unwrap();
        assert_eq!(product.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
        assert!(layout("4:1").zipped_divide(&[layout("2:1"), layout("2:1")]).is_err());
    }
}
